//! The data folder, where contracts over rows keep them: one file per contract.

mod folder;

pub(crate) use self::folder::{DataFolder, VARIABLE};
