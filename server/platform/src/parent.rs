//! Detects the end of the parent process.
//!
//! Clients that crash leave their servers behind: most servers see the end of input, but not if another process holds the
//! pipe's other end.
//!
//! | system | method |
//! |---|---|
//! | Unix | calls `getppid` once a second and compares: an orphan is adopted by init or a subreaper |
//! | Windows | a thread waits for the parent's process handle |
//!
//! On Linux, `PR_SET_PDEATHSIG` fires when the parent's *thread* ends, and a pidfd needs a fallback anyway: other PID
//! namespaces, old kernels.
//!
//! A server whose parent is init from the start, or can't be watched, is never ended by this.

#[cfg(windows)]
use std::thread;

#[cfg(unix)]
use polled as system;
#[cfg(windows)]
use windows as system;

/// The parent process at the time of the call to [`Parent::now`].
#[derive(Debug, Clone)]
pub struct Parent(system::Parent);

impl Parent {
    /// Looks up the parent. To be called as early as possible.
    pub fn now() -> Self {
        Self(system::Parent::now())
    }

    /// Waits until the parent has ended.
    pub async fn gone(self) {
        self.0.gone().await;
    }
}

/// Runs `wait` in a separate thread, and returns once it has returned true. Never returns if that fails: the end of input is then
/// the only sign.
#[cfg(windows)]
async fn in_a_thread(wait: impl FnOnce() -> bool + Send + 'static) {
    let (ended, parent) = tokio::sync::oneshot::channel();
    let waiting = thread::Builder::new().spawn(move || {
        if wait() {
            // The server may be ending for a different reason.
            let _ = ended.send(());
        }
    });
    if waiting.is_err() || parent.await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
mod polled {
    use std::time::Duration;

    use rustix::process::{Pid, getppid};

    const POLL_INTERVAL: Duration = Duration::from_secs(1);

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Parent(Option<Pid>);

    impl Parent {
        pub(super) fn now() -> Self {
            Self(getppid())
        }

        /// Waits until this process has another parent.
        pub(super) async fn gone(self) {
            no_longer(self, Self::now).await;
        }
    }

    pub(super) async fn no_longer<T: PartialEq>(first: T, look: impl Fn() -> T) {
        while look() == first {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::ptr::null_mut;
    use std::sync::Arc;

    use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessBasicInformation};
    use windows_sys::Win32::Foundation::{FILETIME, HANDLE, WAIT_OBJECT_0};
    use windows_sys::Win32::System::Threading::{
        GetCurrentProcess, GetProcessTimes, INFINITE, OpenProcess, PROCESS_BASIC_INFORMATION,
        PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, WaitForSingleObject,
    };

    /// The parent's handle; `None` if it can't be opened, or has ended already.
    #[derive(Debug, Clone)]
    pub(super) struct Parent(Option<Arc<OwnedHandle>>);

    impl Parent {
        pub(super) fn now() -> Self {
            Self(open_parent().map(Arc::new))
        }

        pub(super) async fn gone(self) {
            match self.0 {
                Some(process) => super::in_a_thread(move || ends(&process)).await,
                None => std::future::pending().await,
            }
        }
    }

    fn open_parent() -> Option<OwnedHandle> {
        let mut found = PROCESS_BASIC_INFORMATION::default();
        // SAFETY: the structure is the one of this class, of which the size is stated.
        let status = unsafe {
            NtQueryInformationProcess(
                GetCurrentProcess(),
                ProcessBasicInformation,
                std::ptr::from_mut(&mut found).cast(),
                size_of::<PROCESS_BASIC_INFORMATION>() as u32,
                null_mut(),
            )
        };
        let id = u32::try_from(found.InheritedFromUniqueProcessId).ok()?;
        let rights = PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION;
        // SAFETY: the call takes integers.
        let process = unsafe { OpenProcess(rights, 0, id) };
        if status < 0 || process.is_null() {
            return None;
        }
        // SAFETY: the handle is open and owned here alone.
        let process = unsafe { OwnedHandle::from_raw_handle(process) };
        // A process that began later has the number of a parent that ended.
        // SAFETY: the call takes nothing, and the pseudo handle needs no closing.
        let own = began(unsafe { GetCurrentProcess() })?;
        (began(process.as_raw_handle())? <= own).then_some(process)
    }

    /// Returns the start time of a process, in intervals of 100 ns.
    fn began(process: HANDLE) -> Option<u64> {
        let mut times = [FILETIME::default(); 4];
        let [created, exited, kernel, user] = &mut times;
        // SAFETY: the handle is open, and the pointers are to structures that live until the call returns.
        let done = unsafe { GetProcessTimes(process, created, exited, kernel, user) };
        (done != 0).then(|| u64::from(created.dwHighDateTime) << 32 | u64::from(created.dwLowDateTime))
    }

    /// Waits until `process` has ended; returns false if that can't be waited for.
    fn ends(process: &OwnedHandle) -> bool {
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(process.as_raw_handle(), INFINITE) == WAIT_OBJECT_0 }
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
        polled::no_longer("parent", look).await;
        assert_eq!(looks.get(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_living_parent_is_not_gone() {
        assert_eq!(Parent::now().gone().now_or_never(), None);
    }
}
