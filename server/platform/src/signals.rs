//! Requests of the operating system to end the process.

use std::io;

/// Waits for a request to end the process: an interrupt (Ctrl-C) or, on Unix, `SIGTERM`. From this call on, these no longer
/// end it by themselves.
///
/// # Errors
/// If the signals can't be observed.
pub fn asked_to_end() -> io::Result<impl Future<Output = ()> + Send> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut terminated = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    {
        let mut interrupted = tokio::signal::windows::ctrl_c()?;
        Ok(async move {
            interrupted.recv().await;
        })
    }
}
