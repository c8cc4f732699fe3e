//! Notices that the process which started this one is gone.
//!
//! Clients that crash leave their servers behind: end of input tells most of them, but not where somebody
//! else still holds the pipe's other end. This asks `getppid` once a second and compares. The other ways are
//! worse here: `PR_SET_PDEATHSIG` fires when the *thread* that started us ends, and a pidfd needs a second
//! way anyway, where the parent lives in another PID namespace, on old kernels, and everywhere but on Linux.
//! An orphan is adopted by init or a subreaper, so the number always changes; a server whose parent is init
//! from the start is never ended by this.
//!
//! Windows has no such number. There, end of input has to do.

#[cfg(unix)]
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// The process that had started this one when it was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    #[cfg(unix)]
    pid: Option<rustix::process::Pid>,
}

impl Parent {
    /// Looks up the parent. The earlier in a process's life, the better.
    pub fn now() -> Self {
        Self {
            #[cfg(unix)]
            pid: rustix::process::getppid(),
        }
    }

    /// Waits until this process has another parent. On Windows, for ever.
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
        tokio::time::sleep(PAUSE).await;
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
