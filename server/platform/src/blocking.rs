//! Blocking calls in an asynchronous runtime.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs blocking `work` without delaying other tasks, if the runtime has threads for that. The runtime then moves this thread's tasks to
/// another thread, which costs more than a short look at the disk.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}
