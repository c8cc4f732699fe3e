//! A server over standard input and output, timed up to its answers.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::table::Row;
use xtask::{Outcome, run};

use crate::measure::resident;

/// Number of calls in flight in the rows of concurrent calls.
const IN_FLIGHT: usize = 32;

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

    /// Starts Tabellion with these options, the last of which is that of the folder, and greets it. Its messages go to
    /// standard error.
    pub(super) fn greet(options: &[&str], folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(run::released("tabellion"));
        let mut pipe = Self::start(command.arg("serve").args(options).arg(folder))?;
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

    /// Sends a request; returns the time until its answer, and the answer.
    fn exchange(&mut self, method: &str, params: &Value) -> Outcome<(Duration, Value)> {
        let since = Instant::now();
        self.post(method, params)?;
        let line = self.line()?;
        let elapsed = since.elapsed();
        Ok((elapsed, serde_json::from_str(&line)?))
    }

    /// Times a request that must succeed.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Outcome<Duration> {
        let (elapsed, answer) = self.exchange(method, params)?;
        succeeded(&answer)?;
        Ok(elapsed)
    }

    /// Makes a call that must succeed, and returns its time and its result.
    pub(super) fn ask(&mut self, tool: &str, arguments: &Value) -> Outcome<(Duration, Value)> {
        let (elapsed, mut answer) =
            self.exchange("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        succeeded(&answer)?;
        Ok((elapsed, answer["result"].take()))
    }

    /// Times a call that must succeed.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Duration> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Times a call with this `_meta`, which must succeed.
    pub(super) fn call_with(&mut self, tool: &str, arguments: Value, meta: Value) -> Outcome<Duration> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments, "_meta": meta }))
    }

    /// As [`call_with`](Self::call_with), for a call that must be refused.
    pub(super) fn refused(&mut self, tool: &str, arguments: Value, meta: Value) -> Outcome<Duration> {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let (elapsed, answer) = self.exchange("tools/call", &params)?;
        match succeeded(&answer) {
            Ok(()) => Err(format!("not refused: {answer}").into()),
            Err(_) => Ok(elapsed),
        }
    }

    /// Measures concurrent calls of a tool: the time of each as a share of the whole. `arguments` takes the numbers of a round and of a
    /// call in it; from [`IN_FLIGHT`] on, calls are made one at a time.
    pub(super) fn in_flight(
        &mut self,
        what: &'static str,
        calls: usize,
        tool: &str,
        arguments: impl Fn(usize, usize) -> Value,
    ) -> Outcome<Row> {
        let mut row = Row::new(what, "one at a time", "less than alone");
        for round in 0..(calls / IN_FLIGHT).max(3) {
            let since = Instant::now();
            for i in 0..IN_FLIGHT {
                let params = json!({ "name": tool, "arguments": arguments(round, i) });
                self.post("tools/call", &params)?;
            }
            for _ in 0..IN_FLIGHT {
                self.answer()?;
            }
            row.ours(since.elapsed() / IN_FLIGHT as u32);
            for i in 0..4 {
                row.peer(self.call(tool, arguments(round, IN_FLIGHT + i))?);
            }
        }
        Ok(row)
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

/// Fails if a call was refused.
fn succeeded(answer: &Value) -> Outcome {
    if answer["result"]["isError"] == true || answer.get("error").is_some() {
        return Err(answer.to_string().into());
    }
    Ok(())
}
