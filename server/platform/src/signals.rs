//! Requests of the operating system to end the process.

use std::io;

/// Waits for a request to end the process: an interrupt (Ctrl-C); on Unix, `SIGTERM`; on Windows, Ctrl-Break, the closing of its
/// console, and the user's logging off. From this call on, these no longer end it directly.
///
/// Windows gives a process whose console is closed some seconds, and then ends it.
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
    #[cfg(windows)]
    {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

        let mut interrupted = ctrl_c()?;
        let mut broken = ctrl_break()?;
        let mut closed = ctrl_close()?;
        let mut logged_off = ctrl_logoff()?;
        let mut shut_down = ctrl_shutdown()?;
        Ok(async move {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = broken.recv() => {}
                _ = closed.recv() => {}
                _ = logged_off.recv() => {}
                _ = shut_down.recv() => {}
            }
        })
    }
}
