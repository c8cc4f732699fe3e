//! The process that a server is, and its end.

use std::{
    io::{self, PipeWriter, Write},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::ANSWER_TIMEOUT;
use crate::stepper::Stepper;

/// A server that we started.
#[derive(Debug)]
pub(super) enum Process {
    /// It ends when its input does.
    Plain(Child),
    /// It listens, and does not mind its input: it is ended together with all that it started.
    Group { child: Child, _watcher: Watcher },
    /// It runs step by step.
    Stepped(Stepper),
}

impl Process {
    /// Starts a server that would outlive us, in a group of processes of its own.
    ///
    /// # Errors
    /// When it can't be started.
    pub(super) fn start_group(command: &mut Command) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let mut child = command.process_group(0).spawn()?;
        match Watcher::over(child.id()) {
            Ok(_watcher) => Ok(Self::Group { child, _watcher }),
            Err(error) => {
                signal_group(child.id(), Signal::KILL);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        match self {
            Self::Plain(child) | Self::Group { child, .. } => child.id(),
            Self::Stepped(stepper) => stepper.id(),
        }
    }

    /// How it ended, if it has.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Plain(child) | Self::Group { child, .. } => child.try_wait(),
            Self::Stepped(stepper) => Ok(stepper.status()),
        }
    }

    /// How it ended, if it does in time.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(super) fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if let Self::Stepped(stepper) = self {
            return Ok(stepper.wait(patience));
        }
        let since = Instant::now();
        loop {
            match self.status()? {
                None if since.elapsed() <= patience => thread::sleep(Duration::from_millis(5)),
                status => return Ok(status),
            }
        }
    }

    /// Asks it to end, as an operator would.
    pub(super) fn ask_to_end(&self) {
        signal_group(self.id(), Signal::TERM);
    }

    /// Ends it, whatever it is at.
    pub(super) fn kill(&mut self) {
        // It may have ended by itself; the error does not matter.
        match self {
            Self::Plain(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Self::Group { child, .. } => {
                signal_group(child.id(), Signal::KILL);
                let _ = child.wait();
            }
            Self::Stepped(stepper) => {
                stepper.kill();
                let _ = stepper.wait(ANSWER_TIMEOUT);
            }
        }
    }
}

fn signal_group(id: u32, signal: Signal) {
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // It may be gone.
        let _ = kill_process_group(group, signal);
    }
}

/// A process that ends a group of processes when the suite is gone, even if it is killed: it waits for the end of a pipe that we
/// hold.
#[derive(Debug)]
pub(super) struct Watcher {
    shell: Child,
    pipe: PipeWriter,
}

impl Watcher {
    fn over(group: u32) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let (reader, pipe) = io::pipe()?;
        let shell = Command::new("sh")
            .args(["-c", "read -r over || kill -s KILL -- \"-$0\""])
            .arg(group.to_string())
            .stdin(reader)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends us by the terminal must not end it.
            .process_group(0)
            .spawn()?;
        Ok(Self { shell, pipe })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The group has ended when this is dropped; its id may be reused soon.
        let _ = self.pipe.write_all(b"over\n");
        let _ = self.shell.wait();
    }
}
