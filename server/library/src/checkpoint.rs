//! The points at which tests interrupt a transaction.

use tabellion_runtime::StoreError;

/// The step that a transaction has just finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkpoint {
    /// Objects, contents and the intent are durable; none of them is visible.
    Written,
    /// The remote's branch has the commits.
    Pushed,
    /// Index, HEAD and branch are locked.
    Locked,
    /// The documents have been exchanged.
    Swapped,
    /// The new index is in its lock file.
    Indexed,
    /// The branch has moved.
    Committed,
    /// The new index is in place.
    Published,
}

/// Reason why a transaction stopped.
#[derive(Debug)]
pub(super) enum Interruption {
    /// A step failed; the transaction is undone.
    Failed(StoreError),
    /// A simulated death of the process, without undoing any step.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests simulate a killed process"))]
    Killed,
}

impl<T: Into<StoreError>> From<T> for Interruption {
    fn from(error: T) -> Self {
        Self::Failed(error.into())
    }
}

/// Called at each checkpoint; an error interrupts the transaction there.
pub(super) type Watch = Box<dyn Fn(Checkpoint) -> Result<(), Interruption> + Send + Sync>;
