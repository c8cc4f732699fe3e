//! Runs a program step by step: counts its changes to given folders, and kills it or fails a system call at a chosen
//! one.
//!
//! [`Stepper::start`] runs a command under `ptrace`. Once [armed](Stepper::arm), it counts every system call of the
//! program's threads and child processes that would change something below the folders, before the call takes effect,
//! and a [`Fault`] can strike at that call. So a test reaches each point at which a crash or a full disk can interrupt
//! a program, in any language. Writes through a shared memory mapping are not counted.
//!
//! | module | is for |
//! |---|---|
//! | `calls` | which system calls change files, and which files |
//! | `tracer` | the thread that starts and traces the program |
//! | `system` | ptrace and wait; the only unsafe code |
//!
//! Linux on x86-64 only; elsewhere [`Stepper::start`] returns an error.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system;
#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    process::{ChildStdin, ChildStdout, Command, ExitStatus},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

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

/// When counting begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// At the program's first instruction, optionally with a fault.
    FromStart(Option<Fault>),
    /// When the stepper is [armed](Stepper::arm).
    WhenArmed,
}

/// A fault to inject, and the call at which it strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Number of the call, counted from one.
    pub at: usize,
    /// Effect of the fault.
    pub effect: Effect,
}

/// Effect of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Kills the program and all its children; the call does not take effect.
    Kill,
    /// Fails the call, which has no effect; ignored if the call [cannot](Errno::is_of) fail so.
    Fail(Errno),
    /// Fails the call and all later ones that can fail so, until [`Stepper::disarm`].
    FailOn(Errno),
}

/// An error number with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno {
    name: &'static str,
    number: i32,
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

/// A program under trace. Clones share it.
#[derive(Debug, Clone)]
pub struct Stepper(Arc<Shared>);

/// The client's ends of a program's pipes, if the command asks for pipes.
#[derive(Debug, Default)]
pub struct Pipes {
    /// Standard input.
    pub stdin: Option<ChildStdin>,
    /// Standard output.
    pub stdout: Option<ChildStdout>,
}

/// State shared with the tracing thread.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    fault: Option<Fault>,
    calls: Vec<Call>,
    asked_for_ring: bool,
    /// True if writes to the program's standard output are recorded too.
    records_output: bool,
    root: i32,
    /// Live threads and processes, including the root.
    live: Vec<i32>,
    killed: bool,
    /// Exit status of the root.
    status: Option<ExitStatus>,
    /// True if all others have ended too.
    is_over: bool,
}

impl Stepper {
    /// Starts `command` under trace, and counts its changes below `folders`.
    ///
    /// # Errors
    /// [`StepperError`].
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub fn start(
        command: Command,
        folders: &[&Path],
        counting: Counting,
    ) -> Result<(Self, Pipes), StepperError> {
        let folders: io::Result<_> = folders.iter().map(|folder| folder.canonicalize()).collect();
        let stepper = Self(Arc::default());
        if let Counting::FromStart(fault) = counting {
            stepper.arm(fault);
        }
        let pipes = tracer::start(command, folders?, Arc::clone(&stepper.0))?;
        Ok((stepper, pipes))
    }

    /// Returns an error, because the system is not supported.
    ///
    /// # Errors
    /// [`StepperError::Unsupported`].
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub fn start(_: Command, _: &[&Path], _: Counting) -> Result<(Self, Pipes), StepperError> {
        Err(StepperError::Unsupported)
    }

    /// Resets the recorded calls and starts counting. `fault` strikes at its call.
    pub fn arm(&self, fault: Option<Fault>) {
        let mut state = self.0.state();
        state.calls.clear();
        state.fault = fault;
        state.armed = true;
        state.records_output = false;
    }

    /// Resets the recorded calls and starts counting. Writes to the program's standard output are recorded too, as [`OUTPUT`].
    pub fn record_with_output(&self) {
        self.arm(None);
        self.0.state().records_output = true;
    }

    /// Stops counting and failing; returns the calls since the stepper was armed.
    pub fn disarm(&self) -> Vec<Call> {
        let mut state = self.0.state();
        state.armed = false;
        state.fault = None;
        std::mem::take(&mut state.calls)
    }

    /// Returns true if the fault has struck.
    pub fn has_struck(&self) -> bool {
        self.0.state().calls.iter().any(|call| call.effect.is_some())
    }

    /// Returns true if the program requested an `io_uring`. The request fails with `ENOSYS`, because calls through a
    /// ring cannot be counted.
    pub fn asked_for_ring(&self) -> bool {
        self.0.state().asked_for_ring
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.0.state().root.unsigned_abs()
    }

    /// Kills the program and its children.
    pub fn kill(&self) {
        self.0.kill();
    }

    /// Returns the program's exit status once it and all its children have ended.
    pub fn status(&self) -> Option<ExitStatus> {
        let state = self.0.state();
        state.status.filter(|_| state.is_over)
    }

    /// Waits until the program and all its children have ended; returns `None` after `patience`.
    pub fn wait(&self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        let mut state = self.0.state();
        while !state.is_over {
            let left = until.checked_duration_since(Instant::now())?;
            let waited = self.0.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.status
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn kill(&self) {
        let mut state = self.state();
        state.killed = true;
        if !state.is_over {
            state.live.iter().for_each(|&process| system::kill(process));
        }
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    fn kill(&self) {}
}

macro_rules! errnos {
    ($($name:ident = $number:literal, $meaning:literal;)*) => {
        impl Errno {
            $(
                #[doc = $meaning]
                pub const $name: Self = Self { name: stringify!($name), number: $number };
            )*
        }
    };
}

errnos! {
    EIO = 5, "The disk failed.";
    EACCES = 13, "Permission denied.";
    EMFILE = 24, "Too many open files.";
    EFBIG = 27, "The file would be too large.";
    ENOSPC = 28, "The disk is full.";
    EROFS = 30, "The file system is read-only.";
    ENOSYS = 38, "The system call does not exist.";
    EDQUOT = 122, "The user's disk quota is exceeded.";
}

/// Beginnings of the names of calls that need no space on the disk.
const NEEDS_NO_SPACE: &[&str] = &[
    "flock",
    "unlink",
    "rmdir",
    "chmod",
    "fchmod",
    "chown",
    "lchown",
    "fchown",
    "utime",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
];

impl Errno {
    /// Returns true if a call of this name can fail so, according to the manual pages. No server need handle others.
    pub fn is_of(self, call: &str) -> bool {
        match self {
            Self::ENOSPC | Self::EDQUOT => !NEEDS_NO_SPACE.iter().any(|name| call.starts_with(name)),
            Self::EIO => call != "flock",
            _ => true,
        }
    }
}

impl Effect {
    /// Returns true if this can happen at a call of this name.
    pub fn is_of(self, call: &str) -> bool {
        match self {
            Self::Kill => true,
            Self::Fail(errno) | Self::FailOn(errno) => errno.is_of(call),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => f.write_str("killed"),
            Self::Fail(errno) => write!(f, "{errno} once"),
            Self::FailOn(errno) => write!(f, "{errno} from then on"),
        }
    }
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
