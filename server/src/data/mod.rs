//! The data folder, where contracts over rows keep them: one file per contract.

mod derived;
mod folder;
#[cfg(all(test, unix))]
mod folder_tests;
mod upkeep;

pub(crate) use self::{
    derived::{Count, Derived, Standing},
    folder::DataFolder,
    upkeep::Upkeep,
};
