//! A minimal MCP client: one request at a time, over a child's standard input and output.

use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

/// A server running as a child process. It is killed when dropped.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    deadline: Option<Instant>,
    requests: u64,
}

/// A tool's response and the result's `_meta`, or the error's text.
pub type Outcome = Result<(Value, Map<String, Value>), String>;

impl Client {
    /// Starts the server and opens a session as the client called `name`.
    ///
    /// # Errors
    /// If it can't be started, or does not answer as a server.
    pub fn start(command: &mut Command, name: &str) -> Result<Self, Box<dyn Error>> {
        let mut client = Self::spawn(command, None)?;
        client.initialize(name)?;
        Ok(client)
    }

    /// Starts the server; all requests together must be answered within `timeout`.
    ///
    /// # Errors
    /// If it can't be started.
    pub fn spawn(command: &mut Command, timeout: Option<Duration>) -> Result<Self, Box<dyn Error>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().ok_or("the server has no standard output")?);
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.map_while(|line| send.send(line).ok()).for_each(drop);
        });
        Ok(Self {
            child,
            stdin,
            lines,
            deadline: timeout.map(|timeout| Instant::now() + timeout),
            requests: 0,
        })
    }

    /// Opens a session; returns the server's answer.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn initialize(&mut self, name: &str) -> Result<Value, Box<dyn Error>> {
        let info = json!({ "name": name, "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        let answer = self.request("initialize", hello)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(answer)
    }

    /// Returns the server's process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a request and returns its result.
    ///
    /// # Errors
    /// If the server ends, does not answer in time, or answers with an error.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Box<dyn Error>> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut response: Value = serde_json::from_str(&self.line()?)?;
            if response["id"] != id {
                continue;
            }
            return match response.get("error") {
                Some(error) => Err(error.to_string().into()),
                None => Ok(response["result"].take()),
            };
        }
    }

    /// Returns the next line that the server writes.
    fn line(&self) -> Result<String, Box<dyn Error>> {
        let received = match self.deadline {
            Some(deadline) => self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => self.lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        Ok(received.map_err(|error| match error {
            RecvTimeoutError::Disconnected => "the server ended",
            RecvTimeoutError::Timeout => "the server did not answer in time",
        })?)
    }

    /// Calls a tool with preconditions in `_meta`.
    ///
    /// # Errors
    /// As [`request`](Self::request); a tool's own error is an [`Outcome`].
    pub fn call(&mut self, tool: &str, arguments: Value, meta: Value) -> Result<Outcome, Box<dyn Error>> {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let mut result = self.request("tools/call", params)?;
        if result["isError"] == true {
            return Ok(Err(result["content"][0]["text"].as_str().unwrap_or_default().into()));
        }
        let meta = result["_meta"].as_object().cloned().unwrap_or_default();
        Ok(Ok((result["structuredContent"].take(), meta)))
    }

    /// Ends the session and waits for the server to exit.
    ///
    /// # Errors
    /// If the process can't be waited for.
    pub fn close(mut self) -> Result<(), Box<dyn Error>> {
        self.stdin = None;
        self.child.wait()?;
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<(), Box<dyn Error>> {
        let stdin = self.stdin.as_mut().ok_or("the session is closed")?;
        writeln!(stdin, "{message}").map_err(|_| "the server ended")?;
        Ok(stdin.flush()?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Both fail if the child has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
