//! What is derived from rows, can be made anew from them at any time, and says how much of them it has.

use std::path::Path;

use tabellion_runtime::Failure;

/// An index in a file of its own, beside the rows.
pub trait Derived: Send + Sync {
    /// Returns its file, which need not exist.
    fn path(&self) -> &Path;

    /// Returns how much of the rows it has, and changes nothing.
    ///
    /// # Errors
    /// If the rows or the file can't be read.
    fn standing(&self) -> Result<Standing, Failure>;

    /// Makes it anew from the rows. Others use what was there until it is complete, and what was there stays if this fails. `progress` is
    /// told how many of how many rows are in it.
    ///
    /// # Errors
    /// If the rows can't be read, or the file can't be written.
    fn rebuild(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Count>, Failure>;
}

/// Rows of an entity, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Name of the entity.
    pub entity: &'static str,
    /// How many.
    pub rows: u64,
}

/// How much of the rows an index has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// There is no file yet. The next search makes it.
    Missing {
        /// The rows that belong into it.
        rows: u64,
    },
    /// It has all rows, as they are.
    Current {
        /// The rows.
        rows: u64,
        /// The last entry of the log.
        at: i64,
    },
    /// Rows have changed since. The next search takes the changes.
    Behind {
        /// The rows that it has.
        has: u64,
        /// The rows that belong into it.
        rows: u64,
        /// The entry of the log up to which it has everything.
        at: i64,
        /// The last entry of the log.
        end: i64,
    },
    /// It is no index of these rows: damaged, of a different version, or made of data that a backup replaced. The next search makes it
    /// anew.
    Void(String),
    /// It says that it has everything, and has a different number of rows: only rebuilding helps.
    Wrong {
        /// The rows that it has.
        has: u64,
        /// The rows that belong into it.
        rows: u64,
    },
}
