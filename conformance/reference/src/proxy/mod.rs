//! A proxy: a process between the suite and a correct server, which changes calls, answers or files.
//!
//! The correct server is any program that serves the contract over standard input and output. Messages pass in turn: the next request
//! is read once the last one is answered. Without a mutant, each passes as it is.

mod code;
mod memory;
mod notes;
mod record;

use std::{
    io::{self, BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Map, Value, json};

use self::record::Record;
use crate::mutant;

/// Serves with the server that `command` starts until the input ends.
///
/// # Errors
/// If the server does not start, or a pipe breaks.
pub fn serve(command: &[String]) -> io::Result<()> {
    let mut proxy = Proxy::start(command)?;
    for line in io::stdin().lock().lines() {
        let message = serde_json::from_str(&line?)?;
        if let Some(answer) = proxy.answer(message)? {
            print(&answer)?;
        }
    }
    proxy.end()
}

/// Runs a command by which a person is shown a proposal or decides on it.
///
/// # Errors
/// If it can't be run, or it fails.
pub fn decide(command: &[String]) -> io::Result<()> {
    notes::decide(command)
}

/// Returns the folder that an option of a command names; empty if the command lacks it.
fn folder(command: &[String], option: &str) -> PathBuf {
    let mut words = command.iter().skip_while(|word| *word != option);
    PathBuf::from(words.nth(1).map_or("", String::as_str))
}

/// Writes a message to standard output.
fn print(message: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{message}")?;
    output.flush()
}

/// The server behind this process, and the memory of a defect.
struct Proxy {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    program: String,
    /// The library, or the folder of the data.
    folder: PathBuf,
    /// The folder of the source code.
    workspace: PathBuf,
    /// The client's current request, without its call.
    request: Value,
    /// Number of the requests that this process added.
    added: u64,
    record: Record,
}

/// Names of the number of all entries, of which a list has some.
const TOTALS: [&str; 2] = ["total", "total_results"];

/// A call of a tool.
#[derive(Clone)]
struct Call {
    tool: String,
    arguments: Map<String, Value>,
}

/// An answer to a call: the whole message.
struct Reply(Value);

impl Proxy {
    fn start(command: &[String]) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::other("name the correct server after `--`"))?;
        let library = folder(command, "--library");
        let folder = match library.as_os_str().is_empty() {
            true => folder(command, "--data"),
            false => library,
        };
        let mut server = Command::new(program);
        server.args(arguments);
        code::before_start(&mut server);
        let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = server
            .stdin
            .take()
            .zip(server.stdout.take())
            .ok_or_else(|| io::Error::other("the server has no pipes"))?;
        Ok(Self {
            server,
            input,
            output: BufReader::new(output),
            program: program.clone(),
            record: Record::open(&folder)?,
            folder,
            workspace: self::folder(command, "--workspace"),
            request: Value::Null,
            added: 0,
        })
    }

    /// Ends the server's input, and waits for its end.
    fn end(self) -> io::Result<()> {
        let Self {
            mut server, input, ..
        } = self;
        drop(input);
        server.wait()?;
        Ok(())
    }

    /// Returns the answer to a message; `None` if it is a notification.
    fn answer(&mut self, message: Value) -> io::Result<Option<Value>> {
        if message["id"].is_null() {
            writeln!(self.input, "{message}")?;
            return Ok(None);
        }
        let Some(mutant) = mutant::current() else {
            return self.exchange(&message).map(Some);
        };
        if message["method"] == "resources/read" {
            return notes::read(mutant, &message, self).map(Some);
        }
        if message["method"] != "tools/call" {
            return self.exchange(&message).map(Some);
        }
        let params = &message["params"];
        let call = Call {
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            arguments: params["arguments"].as_object().cloned().unwrap_or_default(),
        };
        self.request = message;
        let mut answer = match &*call.tool {
            "memory" => memory::answer(mutant, call, self)?,
            "search" if call.text("resource") != "code" => memory::answer(mutant, call, self)?,
            "search" | "index" | "vcs" | "validate" => code::answer(mutant, call, self)?,
            _ => notes::answer(mutant, call, self)?,
        };
        answer.0["id"] = self.request["id"].clone();
        answer.restate();
        Ok(Some(answer.0))
    }

    /// Makes a call in place of the client's.
    fn forward(&mut self, call: &Call) -> io::Result<Reply> {
        let mut request = self.request.clone();
        self.added += 1;
        request["id"] = format!("proxy-{}", self.added).into();
        request["params"]["name"] = call.tool.as_str().into();
        request["params"]["arguments"] = call.arguments.clone().into();
        self.exchange(&request).map(Reply)
    }

    /// Sends a request, and returns its answer. Other messages pass to the client.
    fn exchange(&mut self, request: &Value) -> io::Result<Value> {
        writeln!(self.input, "{request}")?;
        self.input.flush()?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == request["id"] && message.get("method").is_none() {
                return Ok(message);
            }
            print(&message)?;
        }
    }

    /// Returns a member of the request's `_meta`, whose name ends with `name`.
    fn meta(&self, name: &str) -> Option<&Value> {
        let meta = self.request["params"]["_meta"].as_object()?;
        let found = meta
            .iter()
            .find(|(key, _)| key.rsplit(['/', '.']).next() == Some(name));
        found.map(|(_, value)| value)
    }

    /// Answers the client's call.
    fn respond(&self, response: Value) -> Reply {
        let result = json!({ "resultType": "complete", "content": [], "structuredContent": response, "isError": false });
        Reply(json!({ "jsonrpc": "2.0", "id": self.request["id"], "result": result }))
    }

    /// Refuses the client's call.
    fn refuse(&self, message: &str) -> Reply {
        let error = json!({ "code": -32602, "message": message });
        Reply(json!({ "jsonrpc": "2.0", "id": self.request["id"], "error": error }))
    }
}

impl Call {
    /// Returns an argument that is a text; empty if there is none.
    fn text(&self, name: &str) -> &str {
        self.arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn is(&self, tool: &str, action: &str) -> bool {
        self.tool == tool && self.text("action") == action
    }

    /// Returns an argument that is a list.
    fn list(&self, name: &str) -> &[Value] {
        self.arguments
            .get(name)
            .and_then(Value::as_array)
            .map_or(&[], |list| list)
    }

    /// Returns the data to store.
    fn data(&mut self) -> &mut Map<String, Value> {
        let data = self.arguments.entry("data").or_insert_with(|| json!({}));
        data.as_object_mut().expect("the data to store is an object")
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }

    fn without(mut self, names: &[&str]) -> Self {
        self.arguments.retain(|name, _| !names.contains(&&**name));
        self
    }

    /// Returns the limit of an answer, or all.
    fn limit(&self) -> usize {
        let limit = self.arguments.get("limit").and_then(Value::as_u64).unwrap_or(10);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }
}

impl Reply {
    /// Returns the response; `None` if the call was refused.
    fn response(&mut self) -> Option<&mut Map<String, Value>> {
        if self.0["result"]["isError"] == true {
            return None;
        }
        let response = self.0.pointer_mut("/result/structuredContent")?;
        response.as_object_mut()
    }

    /// Returns the details of an error; `null` if the call was not refused.
    fn details(&self) -> &Value {
        &self.0["result"]["structuredContent"]["error"]["details"]
    }

    /// Returns the reason of an error; empty if the call was not refused.
    fn reason(&self) -> &str {
        self.details()["reason"].as_str().unwrap_or_default()
    }

    /// Returns a list of the response; empty if it has none of that name.
    fn list(&self, name: &str) -> &[Value] {
        let list = self.0["result"]["structuredContent"][name].as_array();
        list.map_or(&[], |list| list)
    }

    /// Replaces a member of the response.
    fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Some(response) = self.response() {
            response.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Replaces a member of the response, if it is there.
    fn reset(self, name: &str, value: impl Into<Value>) -> Self {
        if self.0["result"]["structuredContent"].get(name).is_some() {
            self.set(name, value)
        } else {
            self
        }
    }

    /// Changes a list of the response, if it has one of that name, and the numbers of its entries.
    fn edit(mut self, name: &str, change: impl FnOnce(&mut Vec<Value>)) -> Self {
        let Some(response) = self.response() else {
            return self;
        };
        let Some(list) = response.get_mut(name).and_then(Value::as_array_mut) else {
            return self;
        };
        let before = list.len();
        change(list);
        let after = list.len();
        TOTALS.iter().fold(self.reset("count", after), |reply, name| {
            let total = reply.0["result"]["structuredContent"][name].as_u64();
            let total = usize::try_from(total.unwrap_or_default()).unwrap_or(usize::MAX);
            reply.reset(name, (total + after).saturating_sub(before))
        })
    }

    /// Changes each entry of a list of the response.
    fn each(self, name: &str, mut change: impl FnMut(&mut Value)) -> Self {
        self.edit(name, |list| list.iter_mut().for_each(&mut change))
    }

    /// Leaves entries out of a list of the response.
    fn retain(self, name: &str, keeps: impl FnMut(&Value) -> bool) -> Self {
        self.edit(name, |list| list.retain(keeps))
    }

    /// Repeats the response as text, as servers do for clients that read no structured content.
    fn restate(&mut self) {
        if let Some(response) = self.response() {
            let text = Value::from(response.clone()).to_string();
            self.0["result"]["content"] = json!([{ "type": "text", "text": text }]);
        }
    }
}
