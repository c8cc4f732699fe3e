//! Git's index file on disk.

use std::{fs, path::Path};

use tabellion_platform::{FileStat, Timestamp, file_stat, read_regular};
use tabellion_runtime::Failure;

use super::{
    failures::{IoContext, refused},
    index_file::{self, IndexError},
};

/// Size limit of git's index: that of some millions of files.
pub(super) const MAX_BYTES: u64 = 512 << 20;

/// Git's index, and the identity of its file.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) bytes: Vec<u8>,
    pub(super) stat: IndexStat,
}

impl Index {
    /// Reads the index at `path`; a missing file is an empty index.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        loop {
            let stat = IndexStat::read(path)?;
            let bytes = match stat.0 {
                Some(_) => {
                    read_regular(path, MAX_BYTES).map_err(std::io::Error::from).context("read", path)?
                }
                None => index_file::empty(),
            };
            if stat.is_at(path)? {
                return Ok(Self { bytes, stat });
            }
        }
    }
}

/// Identity of an index file; `None` if it was missing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexStat(Option<FileStat>);

impl IndexStat {
    /// Reads the identity of the index at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        match fs::metadata(path) {
            Ok(found) => Ok(Self(Some(file_stat(&found)))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(error).context("look at", path),
        }
    }

    /// Returns the modification time.
    pub(super) fn modified(&self) -> Option<Timestamp> {
        Some(self.0?.mtime)
    }

    /// Returns true if the file at `path` is still the same.
    pub(super) fn is_at(&self, path: &Path) -> Result<bool, Failure> {
        Ok(Self::read(path)? == *self)
    }
}

/// Converts an error of the index to a refusal.
pub(super) fn index_failure(error: IndexError) -> Failure {
    refused(error.to_string())
}
