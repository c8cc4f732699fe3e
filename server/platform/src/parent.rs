//! Detects the end of the parent process.
//!
//! Clients that crash leave their servers behind: most servers see the end of input, but not if another process holds the
//! pipe's other end. This calls `getppid` once a second and compares. The alternatives are worse here: `PR_SET_PDEATHSIG`
//! fires when the parent's *thread* ends, and a pidfd needs a fallback anyway, if the parent is in another PID namespace, on
//! old kernels, and on systems other than Linux. An orphan is adopted by init or a subreaper, so the number always changes; a
//! server whose parent is init from the start is never ended by this.
//!
//! Windows has no such number; there only the end of input counts.

#[cfg(unix)]
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// The parent process at the time of the call to [`Parent::now`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    #[cfg(unix)]
    pid: Option<rustix::process::Pid>,
}

impl Parent {
    /// Looks up the parent. To be called as early as possible.
    pub fn now() -> Self {
        Self {
            #[cfg(unix)]
            pid: rustix::process::getppid(),
        }
    }

    /// Waits until this process has another parent. On Windows, never returns.
    pub async fn gone(self) {
        #[cfg(unix)]
        no_longer(self, Self::now).await;
        #[cfg(not(unix))]
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn no_longer<T: PartialEq>(first: T, look: impl Fn() -> T) {
    while look() == first {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_for_the_first_change() {
        let looks = Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            if looks.get() < 5 { "parent" } else { "init" }
        };
        no_longer("parent", look).await;
        assert_eq!(looks.get(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_living_parent_is_not_gone() {
        assert_eq!(Parent::now().gone().now_or_never(), None);
    }
}
