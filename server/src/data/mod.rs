//! The data folder, where contracts over rows keep them: one file per contract.

mod folder;
#[cfg(all(test, unix))]
mod folder_tests;
mod upkeep;

pub(crate) use self::{folder::DataFolder, upkeep::Upkeep};
