//! Server processes, and their end.

use std::{
    io,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::error::ANSWER_TIMEOUT;
use crate::{stepper::Stepper, watcher};

/// A server that the suite started.
#[derive(Debug)]
pub(crate) enum Process {
    /// Leads a process group, so that all processes that its command starts end with it.
    Group(Child),
    /// Runs under a stepper.
    Stepped(Stepper),
}

impl Process {
    /// Starts a server in a process group of its own, which ends with the suite even if the suite is killed.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        // The watcher is started first, so that it learns of the server without delay.
        watcher::start();
        let child = command.process_group(0).spawn()?;
        watcher::add_group(child.id());
        Ok(Self::Group(child))
    }

    /// Takes the client's ends of the pipes to standard input and output, if the command asked for pipes.
    pub(crate) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>) {
        match self {
            Self::Group(child) => (child.stdin.take(), child.stdout.take()),
            Self::Stepped(_) => (None, None),
        }
    }

    /// Takes the client's end of the pipe to standard error, if the command asked for one.
    pub(crate) fn stderr(&mut self) -> Option<ChildStderr> {
        match self {
            Self::Group(child) => child.stderr.take(),
            Self::Stepped(_) => None,
        }
    }

    pub(super) fn id(&self) -> u32 {
        match self {
            Self::Group(child) => child.id(),
            Self::Stepped(stepper) => stepper.id(),
        }
    }

    /// Returns the exit status, if the process has ended.
    pub(crate) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Group(child) => child.try_wait(),
            Self::Stepped(stepper) => Ok(stepper.status()),
        }
    }

    /// Waits for the exit status; returns `None` after `patience`.
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

    /// Stops the process, and all processes that it started, until [`resume`](Self::resume).
    pub(super) fn pause(&self) {
        signal_group(self.id(), Signal::STOP);
    }

    pub(super) fn resume(&self) {
        signal_group(self.id(), Signal::CONT);
    }

    /// Kills the process, and all processes that it started.
    pub(crate) fn kill(&mut self) {
        // The process may have ended already.
        match self {
            Self::Group(child) => {
                signal_group(child.id(), Signal::KILL);
                let _ = child.wait();
                watcher::remove_group(child.id());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if the process exists and is not a zombie.
    #[cfg(target_os = "linux")]
    fn is_alive(id: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = status.rsplit(')').next().unwrap_or_default();
        !state.is_empty() && !state.starts_with(" Z")
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_servers_command_starts_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id");
        let script = format!("sleep 60 & echo $! > {0}.new; mv {0}.new {0}; wait", file.display());
        let mut process = Process::start(Command::new("sh").args(["-c", &script])).unwrap();
        let since = Instant::now();
        let wait_while = |goes_on: &dyn Fn() -> bool| {
            while goes_on() && since.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(5));
            }
        };
        wait_while(&|| !file.exists());
        let id = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        assert!(is_alive(&id));
        process.kill();
        wait_while(&|| is_alive(&id));
        assert!(!is_alive(&id));
    }
}
