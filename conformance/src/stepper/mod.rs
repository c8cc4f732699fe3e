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
//! | `fault` | faults, and the calls that can fail so |
//! | `shared` | the state of the program |
//! | `calls` | which system calls change files, and which files |
//! | `tracer` | the thread that starts and traces the program |
//! | `system` | ptrace and wait; the only unsafe code |
//!
//! Linux on x86-64 only; elsewhere [`Stepper::start`] returns an error.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
mod fault;
mod shared;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system;
#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;

use std::{
    io,
    path::Path,
    process::{Command, ExitStatus},
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

pub use fault::{Effect, Errno, Fault};
use shared::Shared;
pub use shared::{Call, OUTPUT, Pipes, StepperError};

/// When counting begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// At the program's first instruction, optionally with a fault.
    FromStart(Option<Fault>),
    /// When the stepper is [armed](Stepper::arm).
    WhenArmed,
}

/// A program under trace. Clones share it.
#[derive(Debug, Clone)]
pub struct Stepper(Arc<Shared>);

impl Stepper {
    /// Starts `command` under trace, and counts its changes below `folders`.
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
        state.is_counted = None;
        state.records_output = false;
    }

    /// As [`arm`](Self::arm), but counts only changes to files that `is_counted` accepts, by their paths in [`Call`], so that concurrent work
    /// on other files does not change the numbers of calls.
    pub fn arm_for(&self, fault: Option<Fault>, is_counted: fn(&Path) -> bool) {
        self.arm(fault);
        self.0.state().is_counted = Some(is_counted);
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
