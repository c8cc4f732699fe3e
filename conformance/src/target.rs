//! A server under test: a child process that speaks MCP in JSON lines over its standard input and output.

use std::{
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
    io::Errno,
};
use serde_json::{Map, Value, json};

use crate::{
    stepper::{Counting, Stepper, StepperError},
    trace::Trace,
};

/// How long a target may take for an answer or its exit before it counts as hung.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Why a target gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The process could not be started, or a pipe to it broke.
    #[error("the server can't be reached: {0}")]
    Io(#[from] io::Error),
    /// Its standard output was closed.
    #[error("the server closed its output")]
    Closed,
    /// No line came for so long.
    #[error("the server gave no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// A line of its standard output is not JSON.
    #[error("the server wrote a line that is not JSON: {0}")]
    NotJson(String),
}

/// A running server and the client's side of its pipes.
#[derive(Debug)]
pub struct Target {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
    next_id: i64,
    /// How long it may take for an answer or its exit before it counts as hung: [`PATIENCE`] unless set.
    pub patience: Duration,
    /// Where to note what is said, if anywhere.
    pub trace: Option<Trace>,
}

#[derive(Debug)]
enum Process {
    Plain(Child),
    Stepped(Stepper),
}

impl Target {
    /// Starts `command` with pipes to its standard input and output; standard error stays as `command` has it.
    ///
    /// # Errors
    /// When the process can't be started.
    pub fn start(command: &mut Command) -> Result<Self, WireError> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Self::over(Process::Plain(child), stdin, stdout)
    }

    /// As [`start`](Self::start), but step by step: [`Stepper::start`] says what is counted.
    ///
    /// # Errors
    /// When the process can't be started or traced.
    pub fn start_stepped(
        mut command: Command,
        folders: &[&Path],
        counting: Counting,
    ) -> Result<(Self, Stepper), StepperError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let (stepper, pipes) = Stepper::start(command, folders, counting)?;
        let process = Process::Stepped(stepper.clone());
        let target = Self::over(process, pipes.stdin, pipes.stdout).map_err(io::Error::other)?;
        Ok((target, stepper))
    }

    fn over(
        process: Process,
        stdin: Option<ChildStdin>,
        stdout: Option<ChildStdout>,
    ) -> Result<Self, WireError> {
        let stdout = stdout.ok_or(WireError::Closed)?;
        if let Some(stdin) = &stdin {
            // So that a server that does not read can't keep us waiting for ever.
            let flags = rustix::fs::fcntl_getfl(stdin).map_err(io::Error::from)?;
            rustix::fs::fcntl_setfl(stdin, flags | OFlags::NONBLOCK).map_err(io::Error::from)?;
        }
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            process,
            stdin,
            lines,
            next_id: 0,
            patience: PATIENCE,
            trace: None,
        })
    }

    /// Writes `line` and a newline, whatever it holds.
    ///
    /// # Errors
    /// When the pipe is broken, or the server does not read.
    pub fn send(&mut self, line: impl AsRef<[u8]>) -> Result<(), WireError> {
        if let Some(trace) = &self.trace {
            trace.sent(line.as_ref());
        }
        let stdin = self.stdin.as_mut().ok_or(WireError::Closed)?;
        write_all(stdin, line.as_ref(), self.patience)?;
        write_all(stdin, b"\n", self.patience)
    }

    /// The next message of the server.
    ///
    /// # Errors
    /// When none comes, or one that is not JSON.
    pub fn receive(&mut self) -> Result<Value, WireError> {
        match self.lines.recv_timeout(self.patience) {
            Ok(line) => {
                let line = line?;
                if let Some(trace) = &self.trace {
                    trace.received(&line);
                }
                serde_json::from_str(&line).map_err(|_| WireError::NotJson(line))
            }
            Err(RecvTimeoutError::Timeout) => Err(WireError::Silent(self.patience)),
            Err(RecvTimeoutError::Disconnected) => Err(WireError::Closed),
        }
    }

    /// Sends a request without waiting for its response; returns its id.
    ///
    /// # Errors
    /// When the pipe is broken.
    pub fn post(&mut self, method: &str, params: Value) -> Result<i64, WireError> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())?;
        Ok(id)
    }

    /// Sends a request and waits for its response, the whole message; other messages in between are dropped.
    ///
    /// # Errors
    /// When no response comes.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, WireError> {
        let id = self.post(method, params)?;
        loop {
            let message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    /// Opens a session of the era that begins with `initialize`; returns the response.
    ///
    /// # Errors
    /// When no response comes.
    pub fn initialize(&mut self, revision: &str) -> Result<Value, WireError> {
        let client = json!({ "name": "tabellion-conformance", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
        let response = self.request("initialize", params)?;
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())?;
        Ok(response)
    }

    /// Calls a tool with `meta` as the request's `_meta`; returns the response, the whole message.
    ///
    /// # Errors
    /// When no response comes.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> Result<Value, WireError> {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if !meta.is_empty() {
            params["_meta"] = meta.into();
        }
        self.request("tools/call", params)
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        match &self.process {
            Process::Plain(child) => child.id(),
            Process::Stepped(stepper) => stepper.id(),
        }
    }

    /// Closes the server's standard input, and still listens.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Closes the server's standard input and waits for its exit.
    ///
    /// # Errors
    /// When it does not exit in time; it is killed then.
    pub fn close(mut self) -> Result<ExitStatus, WireError> {
        self.stdin = None;
        let child = match &mut self.process {
            Process::Stepped(stepper) => {
                let ended = stepper.wait(self.patience);
                return ended.ok_or(WireError::Silent(self.patience));
            }
            Process::Plain(child) => child,
        };
        let since = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if since.elapsed() > self.patience {
                return Err(WireError::Silent(self.patience));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the server without warning.
    pub fn kill(self) {}
}

/// Writes all of `bytes` to a pipe that does not block, as long as some of them go through within `patience`.
fn write_all(pipe: &mut ChildStdin, mut bytes: &[u8], patience: Duration) -> Result<(), WireError> {
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(0) => return Err(WireError::Closed),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let patient = Timespec::try_from(patience).map_err(io::Error::other)?;
                let mut pipes = [PollFd::new(pipe, PollFlags::OUT)];
                match poll(&mut pipes, Some(&patient)) {
                    Ok(0) => return Err(WireError::Silent(patience)),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(io::Error::from(error).into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have exited by itself; there is nobody to tell either way.
        match &mut self.process {
            Process::Plain(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Process::Stepped(stepper) => {
                stepper.kill();
                let _ = stepper.wait(PATIENCE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_read_is_not_waited_for() {
        let mut target = Target::start(Command::new("sleep").arg("60")).unwrap();
        target.patience = Duration::from_millis(50);
        let sent = target.send(vec![b'x'; 4 << 20]);
        assert!(matches!(sent, Err(WireError::Silent(_))), "{sent:?}");
    }

    #[test]
    fn long_lines_go_through() {
        let mut target = Target::start(&mut Command::new("cat")).unwrap();
        let line = Value::from("x".repeat(4 << 20));
        target.send(line.to_string()).unwrap();
        assert!(target.receive().unwrap() == line);
    }
}
