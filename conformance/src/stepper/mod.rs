//! A program run step by step: what it does to given folders is counted, and at the N-th such call it dies or the call
//! fails.
//!
//! [`Stepper::start`] runs a command under `ptrace`. Once [armed](Stepper::arm), every system call of any of its threads
//! and child processes that would change something below the folders is counted before it takes effect, and a [`Fault`]
//! strikes there. So each point at which a crash or a full disk can hit a program is reached in turn, whatever the
//! program is written in. What is written through a shared memory mapping is not seen.
//!
//! | module | is for |
//! |---|---|
//! | `calls` | which system calls change something, and how to read which file |
//! | `tracer` | the thread that starts and traces the command |
//! | `system` | the system's own interface; the only unsafe code |
//!
//! Linux on x86-64 only; elsewhere [`Stepper::start`] says so.

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

/// Why a command can't be run step by step.
#[derive(Debug, thiserror::Error)]
pub enum StepperError {
    /// There is no stepper for this system.
    #[error("stepping through a program is supported on Linux on x86-64 only")]
    Unsupported,
    /// The system forbids tracing, as some containers do.
    #[error("the system does not permit ptrace: {0}; in a container, add the capability SYS_PTRACE")]
    Denied(io::Error),
    /// The command can't be started, or a folder is not there.
    #[error("can't start the program: {0}")]
    Io(#[from] io::Error),
}

/// From when on calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// From the program's first step, with a fault to come or none.
    FromStart(Option<Fault>),
    /// Once the stepper is [armed](Stepper::arm).
    WhenArmed,
}

/// What goes wrong, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Before which call, counted from one.
    pub at: usize,
    /// What happens there.
    pub effect: Effect,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The program and all its children are killed; the call does not take effect.
    Kill,
    /// The call fails, and has no effect.
    Fail(Errno),
    /// The call and all later ones fail, until [`Stepper::disarm`].
    FailOn(Errno),
}

/// An error number, under its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno {
    name: &'static str,
    number: i32,
}

/// A call that would change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The system call.
    pub name: &'static str,
    /// The files that it is about, relative to the folder that they are in; as they are where they are in none.
    pub paths: Vec<PathBuf>,
    /// What was done to it.
    pub effect: Option<Effect>,
}

/// A program under trace. Cheap to clone; all clones are the same one.
#[derive(Debug, Clone)]
pub struct Stepper(Arc<Shared>);

/// The client's ends of a program's pipes, where the command asked for pipes.
#[derive(Debug, Default)]
pub struct Pipes {
    /// Its standard input.
    pub stdin: Option<ChildStdin>,
    /// Its standard output.
    pub stdout: Option<ChildStdout>,
}

/// What the tracing thread and the others share.
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
    root: i32,
    /// Threads and processes that have been seen, the root's included.
    seen: Vec<i32>,
    killed: bool,
    /// How the root ended.
    status: Option<ExitStatus>,
    /// Whether all others ended too.
    is_over: bool,
}

impl Stepper {
    /// Starts `command` under trace, to count its calls below `folders`.
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

    /// Says that this system is not supported.
    ///
    /// # Errors
    /// [`StepperError::Unsupported`].
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub fn start(_: Command, _: &[&Path], _: Counting) -> Result<(Self, Pipes), StepperError> {
        Err(StepperError::Unsupported)
    }

    /// Forgets the calls that were counted, and counts from now on. `fault` strikes when its call comes.
    pub fn arm(&self, fault: Option<Fault>) {
        let mut state = self.0.state();
        state.calls.clear();
        state.fault = fault;
        state.armed = true;
    }

    /// Stops counting and failing; returns the calls since the stepper was armed.
    pub fn disarm(&self) -> Vec<Call> {
        let mut state = self.0.state();
        state.armed = false;
        state.fault = None;
        std::mem::take(&mut state.calls)
    }

    /// Whether the fault has struck.
    pub fn has_struck(&self) -> bool {
        self.0.state().calls.iter().any(|call| call.effect.is_some())
    }

    /// Whether the program asked for an `io_uring`. It is told that there is none: what goes through one is not seen.
    pub fn asked_for_ring(&self) -> bool {
        self.0.state().asked_for_ring
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.0.state().root.unsigned_abs()
    }

    /// Kills the program and its children.
    pub fn kill(&self) {
        self.0.kill();
    }

    /// How the program ended, when it and all its children have.
    pub fn status(&self) -> Option<ExitStatus> {
        let state = self.0.state();
        state.status.filter(|_| state.is_over)
    }

    /// Waits until the program and all its children have ended; `None` when they have not within `patience`.
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
            state.seen.iter().for_each(|&process| system::kill(process));
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
    ENOSYS = 38, "There is no such system call.";
    EDQUOT = 122, "The user's share of the disk is full.";
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
