//! A traced program's pipes and its state, which the client and the tracing thread share.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    process::{ChildStdin, ChildStdout, ExitStatus},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use super::fault::{Effect, Fault};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use super::system;

/// Reason why a program cannot run under the stepper.
#[derive(Debug, thiserror::Error)]
pub enum StepperError {
    /// The system is not supported.
    #[error("stepping through a program is supported on Linux on x86-64 only")]
    Unsupported,
    /// The system forbids tracing, as some containers do.
    #[error("the system does not permit ptrace: {0}; in a container, add the capability SYS_PTRACE")]
    Denied(io::Error),
    /// The program cannot be started, or a folder does not exist.
    #[error("can't start the program: {0}")]
    Io(#[from] io::Error),
}

/// The client's ends of a program's pipes, if the command asks for pipes.
#[derive(Debug, Default)]
pub struct Pipes {
    /// Standard input.
    pub stdin: Option<ChildStdin>,
    /// Standard output.
    pub stdout: Option<ChildStdout>,
}

/// A call that would make a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Name of the system call.
    pub name: &'static str,
    /// Affected files, relative to the given folder that contains them; absolute if outside of all.
    pub paths: Vec<PathBuf>,
    /// Injected fault, if any.
    pub effect: Option<Effect>,
}

/// Name of a call that writes to the program's standard output.
pub const OUTPUT: &str = "output";

/// State shared with the tracing thread.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) ended: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) armed: bool,
    pub(super) fault: Option<Fault>,
    pub(super) calls: Vec<Call>,
    pub(super) asked_for_ring: bool,
    /// Returns true for files whose changes are counted; `None` if all are.
    pub(super) is_counted: Option<fn(&Path) -> bool>,
    /// True if writes to the program's standard output are recorded too.
    pub(super) records_output: bool,
    pub(super) root: i32,
    /// Live threads and processes, including the root.
    pub(super) live: Vec<i32>,
    pub(super) killed: bool,
    /// Exit status of the root.
    pub(super) status: Option<ExitStatus>,
    /// True if all others have ended too.
    pub(super) is_over: bool,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(super) fn kill(&self) {
        let mut state = self.state();
        state.killed = true;
        if !state.is_over {
            state.live.iter().for_each(|&process| system::kill(process));
        }
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub(super) fn kill(&self) {}
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
        write!(f, "{} {}", self.name, paths.join(" -> "))?;
        match self.effect {
            Some(effect) => write!(f, "  <== {effect}"),
            None => Ok(()),
        }
    }
}
