//! Git's index file, as it is on the disk.

use std::{fs, path::Path};

use tabellion_platform::{FileStat, Timestamp, file_stat};
use tabellion_runtime::Failure;

use super::{
    index_file::{self, IndexError},
    trouble::{At, refused},
};

/// Git's index, and which file it was.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) bytes: Vec<u8>,
    pub(super) stat: IndexStat,
}

impl Index {
    /// The index in the file at `path`; an empty one where there is none.
    ///
    /// # Errors
    /// When it can't be read.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        loop {
            let stat = IndexStat::of(path)?;
            let bytes = match stat.0 {
                Some(_) => fs::read(path).at("read", path)?,
                None => index_file::empty(),
            };
            if stat.is_at(path)? {
                return Ok(Self { bytes, stat });
            }
        }
    }
}

/// Which file an index was; `None` where there was none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexStat(Option<FileStat>);

impl IndexStat {
    /// # Errors
    /// When the system does not tell.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        match fs::metadata(path) {
            Ok(found) => Ok(Self(Some(file_stat(&found)))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(error).at("look at", path),
        }
    }

    /// Returns when it was written.
    pub(super) fn modified(&self) -> Option<Timestamp> {
        Some(self.0?.mtime)
    }

    /// Whether the file at `path` is still that one.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(super) fn is_at(&self, path: &Path) -> Result<bool, Failure> {
        Ok(Self::of(path)? == *self)
    }
}

/// An index that can't be changed is a state to refuse.
pub(super) fn index_failure(error: IndexError) -> Failure {
    refused(error.to_string())
}
