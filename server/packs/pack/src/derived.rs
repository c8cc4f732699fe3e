//! Indexes derived from rows: they can be rebuilt from the rows at any time, and report their completeness.

use std::path::Path;

use tabellion_runtime::Failure;

/// An index in a separate file, next to the rows.
pub trait Derived: Send + Sync {
    /// Returns the path of its file, which need not exist.
    fn path(&self) -> &Path;

    /// Compares the index with the rows, without changing it.
    ///
    /// # Errors
    /// If the rows or the file can't be read.
    fn standing(&self) -> Result<IndexState, Failure>;

    /// Rebuilds it from the rows. Other processes use the old index until the new one is complete; the old one stays if this fails.
    /// `progress` gets the number of rows indexed so far and the number of all.
    ///
    /// # Errors
    /// If the rows can't be read, or the file can't be written.
    fn rebuild(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Count>, Failure>;
}

/// Number of rows of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Name of the entity.
    pub entity: &'static str,
    /// Number of its rows.
    pub rows: u64,
}

/// State of an index, compared with the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexState {
    /// There is no file yet. The next search creates it.
    Missing {
        /// Number of rows to index.
        rows: u64,
    },
    /// It has all rows in their current form.
    Current {
        /// Number of rows.
        rows: u64,
        /// The last entry of the log.
        at: i64,
    },
    /// Rows have changed since. The next search takes the changes.
    Behind {
        /// Number of rows in the index.
        has: u64,
        /// Number of rows to index.
        rows: u64,
        /// The last entry of the log that it has taken.
        at: i64,
        /// The last entry of the log.
        end: i64,
    },
    /// It is not a valid index of these rows: damaged, of a different version, or made of data that a backup replaced. The next search
    /// rebuilds it.
    Void(String),
    /// It claims to be complete, but has a different number of rows: only rebuilding helps.
    Wrong {
        /// Number of rows in the index.
        has: u64,
        /// Number of rows to index.
        rows: u64,
    },
}
