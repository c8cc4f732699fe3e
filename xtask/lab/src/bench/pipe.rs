//! A server over standard input and output, timed up to its answers.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::answer::succeeded;
use xtask::{Outcome, root};

use crate::measure::resident;

/// A server over standard input and output. A time ends with the line of the answer; parsing it is not included.
pub(super) struct Pipe {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Pipe {
    pub(super) fn start(command: &mut Command) -> Outcome<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (input, output) = input.zip(output).ok_or("the process has no pipes")?;
        Ok(Self { process, input, output: BufReader::new(output), id: 0 })
    }

    /// Starts Tabellion with the contract mcb, and greets it.
    pub(super) fn serve(data: &Path) -> Outcome<Self> {
        Self::greet(&["--contract", "mcb", "--data"], data)
    }

    /// Starts Tabellion with these options, the last of which is that of the folder, and greets it.
    pub(super) fn greet(options: &[&str], folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(root().join("target/release/tabellion"));
        command.arg("serve").args(options).arg(folder);
        let mut pipe = Self::start(command.stderr(Stdio::null()))?;
        let client = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        pipe.request("initialize", &hello)?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        pipe.input.write_all(format!("{ready}\n").as_bytes())?;
        Ok(pipe)
    }

    /// Sends a request, and returns its id.
    pub(super) fn post(&mut self, method: &str, params: &Value) -> Outcome<u64> {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.input.write_all(format!("{request}\n").as_bytes())?;
        Ok(self.id)
    }

    /// Returns the next line.
    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    /// Returns the next answer, which must not be a failure.
    pub(super) fn answer(&mut self) -> Outcome<Value> {
        let answer = serde_json::from_str(&self.line()?)?;
        succeeded(&answer)?;
        Ok(answer)
    }

    /// Times a request that must succeed.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Outcome<Duration> {
        let since = Instant::now();
        self.post(method, params)?;
        let line = self.line()?;
        let elapsed = since.elapsed();
        succeeded(&serde_json::from_str(&line)?)?;
        Ok(elapsed)
    }

    /// Makes a call that must succeed, and returns its time and its result.
    pub(super) fn ask(&mut self, tool: &str, arguments: &Value) -> Outcome<(Duration, Value)> {
        let since = Instant::now();
        self.post("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let line = self.line()?;
        let elapsed = since.elapsed();
        let mut answer: Value = serde_json::from_str(&line)?;
        succeeded(&answer)?;
        Ok((elapsed, answer["result"].take()))
    }

    /// Times a call that must succeed.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Duration> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Returns the id of the process.
    pub(super) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Returns the resident memory of the process.
    pub(super) fn megabytes(&self) -> Outcome<f64> {
        resident(self.process.id()).ok_or_else(|| "the system does not report memory".into())
    }

    /// Ends the server, and waits for its end.
    pub(super) fn close(self) -> Outcome {
        let Self { mut process, input, .. } = self;
        drop(input);
        process.wait()?;
        Ok(())
    }
}
