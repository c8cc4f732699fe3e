//! Server processes, and their end.

use std::{
    io::{self, PipeWriter, Write},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::error::ANSWER_TIMEOUT;
use crate::stepper::Stepper;

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
        LazyLock::force(&WATCHER);
        let child = command.process_group(0).spawn()?;
        Watcher::add(child.id());
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

    /// Kills the process, and all processes that it started.
    pub(crate) fn kill(&mut self) {
        // The process may have ended already.
        match self {
            Self::Group(child) => {
                signal_group(child.id(), Signal::KILL);
                let _ = child.wait();
                Watcher::remove(child.id());
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

/// A process that kills the process groups of all servers when the suite ends, even if the suite is killed: it reads
/// which groups there are from a pipe that the suite holds, until the pipe's end.
#[derive(Debug)]
struct Watcher(Mutex<PipeWriter>);

/// Without it, a killed suite leaves servers behind; no other function depends on it.
static WATCHER: LazyLock<Option<Watcher>> = LazyLock::new(|| Watcher::start().ok());

impl Watcher {
    /// Remembers groups from lines such as `+ 17` and `- 17`.
    const SCRIPT: &str = r#"groups=" "
while read -r sign group; do
    case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;; esac ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done"#;

    fn start() -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let (reader, pipe) = io::pipe()?;
        Command::new("sh")
            .args(["-c", Self::SCRIPT])
            .stdin(reader)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal from the terminal must not reach it.
            .process_group(0)
            .spawn()?;
        Ok(Self(Mutex::new(pipe)))
    }

    fn add(group: u32) {
        Self::tell('+', group);
    }

    fn remove(group: u32) {
        Self::tell('-', group);
    }

    fn tell(sign: char, group: u32) {
        if let Some(Watcher(pipe)) = &*WATCHER {
            let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = pipe.write_all(format!("{sign} {group}\n").as_bytes());
        }
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

    #[test]
    fn the_watcher_kills_the_groups_that_remain() {
        use std::os::unix::process::CommandExt;
        let start = |_| Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let mut groups: Vec<_> = (0..3).map(start).collect();
        let ids: Vec<_> = groups.iter().map(Child::id).collect();
        let lines = format!("+ {}\n+ {}\n+ {}\n- {}\n", ids[0], ids[1], ids[2], ids[1]);
        let mut shell =
            Command::new("sh").args(["-c", Watcher::SCRIPT]).stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        shell.wait().unwrap();
        assert!(!groups[0].wait().unwrap().success());
        assert!(!groups[2].wait().unwrap().success());
        assert!(groups[1].try_wait().unwrap().is_none());
        groups[1].kill().unwrap();
        groups[1].wait().unwrap();
    }
}
