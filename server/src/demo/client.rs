//! A minimal MCP client: one request at a time, over a child's standard input and output.

use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Map, Value, json};

/// A server running as a child process.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    requests: u64,
}

/// A tool's response and the result's `_meta`, or the error's text.
pub(super) type Outcome = Result<(Value, Map<String, Value>), String>;

impl Client {
    /// Starts the server and opens a session.
    pub(super) fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().ok_or("the server has no standard output")?);
        let mut client = Self {
            child,
            stdin,
            stdout,
            requests: 0,
        };
        let info = json!({ "name": "tabellion-demo", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        client.request("initialize", hello)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends a request and returns its result.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value, Box<dyn Error>> {
        self.requests += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }))?;
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            return Err("the server ended".into());
        }
        let mut response: Value = serde_json::from_str(&line)?;
        match response.get("error") {
            Some(error) => Err(error.to_string().into()),
            None => Ok(response["result"].take()),
        }
    }

    /// Calls a tool with preconditions in `_meta`.
    pub(super) fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        meta: Value,
    ) -> Result<Outcome, Box<dyn Error>> {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let mut result = self.request("tools/call", params)?;
        if result["isError"] == true {
            return Ok(Err(result["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .into()));
        }
        let meta = result["_meta"].as_object().cloned().unwrap_or_default();
        Ok(Ok((result["structuredContent"].take(), meta)))
    }

    /// Ends the session and waits for the server to exit.
    pub(super) fn close(mut self) -> Result<(), Box<dyn Error>> {
        self.stdin = None;
        self.child.wait()?;
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<(), Box<dyn Error>> {
        let stdin = self.stdin.as_mut().ok_or("the session is closed")?;
        writeln!(stdin, "{message}")?;
        Ok(stdin.flush()?)
    }
}
