//! Server processes, and how they end.

use std::{
    io::{self, PipeWriter, Write},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::ANSWER_TIMEOUT;
use crate::stepper::Stepper;

/// A server that the suite started.
#[derive(Debug)]
pub(super) enum Process {
    /// Ends when its standard input is closed.
    Plain(Child),
    /// Listens, and ignores its standard input; ended by a signal to its process group.
    Group { child: Child, _watcher: Watcher },
    /// Runs under a stepper.
    Stepped(Stepper),
}

impl Process {
    /// Starts a listening server in a process group of its own.
    ///
    /// # Errors
    /// If the process cannot be started.
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

    /// Returns the exit status, if the process has ended.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Plain(child) | Self::Group { child, .. } => child.try_wait(),
            Self::Stepped(stepper) => Ok(stepper.status()),
        }
    }

    /// Waits for the exit status; returns `None` after `patience`.
    ///
    /// # Errors
    /// If the system reports an error.
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

    /// Sends `SIGTERM`, as an operator would.
    pub(super) fn ask_to_end(&self) {
        signal_group(self.id(), Signal::TERM);
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) {
        // The process may have ended already.
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
        // The group may have ended already.
        let _ = kill_process_group(group, signal);
    }
}

/// A process that kills a process group when the suite ends, even if the suite is killed: it waits for the end of a
/// pipe that the suite holds.
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
            // A signal from the terminal must not reach it.
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
