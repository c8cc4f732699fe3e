//! The thread that traces a program. Tracing is tied to a thread, so one thread starts the program and traces it to the
//! end.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, mpsc},
    thread,
};

use super::{
    calls::{self, IO_URING_SETUP},
    fault::{Effect, Errno, Fault},
    shared::{Call, OUTPUT, Pipes, Shared, StepperError},
    system::{self, Entry, Event},
};

/// Starts `command`, and traces it until it and all its children have ended.
pub(super) fn start(
    command: Command,
    folders: Vec<PathBuf>,
    shared: Arc<Shared>,
) -> Result<Pipes, StepperError> {
    let (sender, started) = mpsc::channel();
    thread::spawn(move || match spawn(command, &shared) {
        Ok(pipes) => {
            // The caller waits for the pipes at the end of this function.
            let _ = sender.send(Ok(pipes));
            Tracer { folders, shared }.run();
        }
        Err(error) => drop(sender.send(Err(error))),
    });
    started.recv().unwrap_or_else(|_| Err(ended_early().into()))
}

/// Starts the command, stopped before its first instruction.
fn spawn(mut command: Command, shared: &Shared) -> Result<Pipes, StepperError> {
    system::let_parent_trace(&mut command);
    let mut child = command.spawn().map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => StepperError::Denied(error),
        _ => StepperError::Io(error),
    })?;
    let root = i32::try_from(child.id()).map_err(io::Error::other)?;
    match system::wait()? {
        (process, Event::Signal(_)) if process == root => system::follow_children(root)?,
        _ => return Err(ended_early().into()),
    }
    let mut state = shared.state();
    state.root = root;
    state.live.push(root);
    system::go_on(root, 0);
    Ok(Pipes { stdin: child.stdin.take(), stdout: child.stdout.take() })
}

/// Returns true if a call writes to the standard output of the program.
fn is_output(root: i32, paths: &[PathBuf]) -> bool {
    let output = fs::read_link(format!("/proc/{root}/fd/1"));
    output.is_ok_and(|output| paths.contains(&output))
}

fn ended_early() -> io::Error {
    io::Error::other("the program ended before its first instruction")
}

struct Tracer {
    folders: Vec<PathBuf>,
    shared: Arc<Shared>,
}

impl Tracer {
    fn run(self) {
        while let Ok((thread, event)) = system::wait() {
            let mut state = self.shared.state();
            if let Event::Ended(status) = event {
                state.live.retain(|&live| live != thread);
                if thread == state.root {
                    state.status = Some(status);
                }
                continue;
            }
            if !state.live.contains(&thread) {
                state.live.push(thread);
            }
            if state.killed {
                system::kill(thread);
                continue;
            }
            drop(state);
            let signal = match event {
                // Each new thread begins with a stop that only concerns the tracer.
                Event::Signal(libc::SIGSTOP) => 0,
                Event::Signal(signal) => signal,
                _ => 0,
            };
            if let Event::Call = event
                && let Some(entry) = system::entry(thread)
            {
                self.before(thread, &entry);
            }
            system::go_on(thread, signal);
        }
        self.shared.state().is_over = true;
        self.shared.ended.notify_all();
    }

    /// Counts the call if it changes a folder, and injects the fault if it is due.
    fn before(&self, thread: i32, entry: &Entry) {
        if entry.number == IO_URING_SETUP {
            self.shared.state().asked_for_ring = true;
            // Fails only for a thread that was killed meanwhile.
            let _ = system::refuse(thread, Errno::ENOSYS);
            return;
        }
        if !self.shared.state().armed {
            return;
        }
        let Some((name, paths)) = calls::change(thread, entry) else {
            return;
        };
        if !paths.iter().any(|path| self.inside(path).is_some()) {
            let mut state = self.shared.state();
            if state.records_output && is_output(state.root, &paths) {
                state.calls.push(Call { name: OUTPUT, paths: Vec::new(), effect: None });
            }
            return;
        }
        let relative = |path: PathBuf| self.inside(&path).map(Path::to_owned).unwrap_or(path);
        let paths = paths.into_iter().map(relative).collect();
        match self.count(name, paths) {
            Some(Effect::Kill) => self.shared.kill(),
            Some(Effect::Fail(errno) | Effect::FailOn(errno)) => {
                // As above.
                let _ = system::refuse(thread, errno);
            }
            None => {}
        }
    }

    /// Records the call; returns the fault to inject.
    fn count(&self, name: &'static str, paths: Vec<PathBuf>) -> Option<Effect> {
        let mut state = self.shared.state();
        let is_counted = state.is_counted.unwrap_or(|_| true);
        if !state.armed || !paths.iter().any(|path| is_counted(path)) {
            return None;
        }
        let number = state.calls.len() + 1;
        let is_due = |fault: &Fault| match fault.effect {
            Effect::FailOn(_) => number >= fault.at,
            _ => number == fault.at,
        };
        let fault = state.fault.filter(is_due);
        let effect = fault.map(|fault| fault.effect).filter(|effect| effect.is_of(name));
        state.calls.push(Call { name, paths, effect });
        effect
    }

    /// Returns the path relative to the folder that contains it.
    fn inside<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.folders.iter().find_map(|folder| path.strip_prefix(folder).ok())
    }
}
