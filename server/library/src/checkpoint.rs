//! The points of a transaction at which tests interrupt it.

use tabellion_runtime::StoreError;

/// What a transaction has just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkpoint {
    /// The new objects, contents and the intent are durable, and nothing is visible.
    Written,
    /// Index, HEAD and branch are locked.
    Locked,
    /// The documents are the new ones.
    Swapped,
    /// The new index is in its lock.
    Indexed,
    /// The branch has moved.
    Committed,
    /// The index is the new one.
    Published,
}

/// Why a transaction did not reach its end.
#[derive(Debug)]
pub(super) enum Interruption {
    /// A step failed: the transaction is undone.
    Failed(StoreError),
    /// The process died, as tests simulate it: nothing is undone.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests simulate a killed process"))]
    Killed,
}

impl<T: Into<StoreError>> From<T> for Interruption {
    fn from(setback: T) -> Self {
        Self::Failed(setback.into())
    }
}

/// Called at each checkpoint; an error interrupts the transaction there.
pub(super) type Watch = Box<dyn Fn(Checkpoint) -> Result<(), Interruption> + Send + Sync>;
