//! Blocking calls in an asynchronous runtime.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs blocking `work` without delaying other tasks, if the runtime has threads for that.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}

/// Returns true if so many rows, found by a key or an index, take less time than [`blocking`] needs to move the thread's other
/// tasks away.
pub(crate) fn is_few(rows: u64) -> bool {
    rows <= 4
}
