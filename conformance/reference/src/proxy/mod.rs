//! A proxy: a process between the suite and a correct server, which changes calls, answers or files.
//!
//! The correct server is any program that serves the contract over standard input and output. Messages pass in turn: the next request
//! is read once the last one is answered. Without a mutant, each passes as it is.

mod code;
mod memory;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Map, Value, json};

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
    /// Folder of the source code.
    workspace: PathBuf,
    /// The client's current request, without its call.
    request: Value,
    /// Number of the requests that this process added.
    added: u64,
    notes: Notes,
}

/// Facts that a defect remembers: those of this process, and those in a file beside the server's data, which later processes read.
#[derive(Default)]
struct Notes {
    /// Begins as `lasting`.
    here: BTreeMap<String, Value>,
    lasting: BTreeMap<String, Value>,
    file: PathBuf,
}

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
        let folder = |option: &str| {
            let mut words = arguments.iter().skip_while(|word| *word != option);
            PathBuf::from(words.nth(1).map_or("", String::as_str))
        };
        let data = folder("--data");
        let file = data.with_extension("defect.json");
        let lasting: BTreeMap<_, _> =
            serde_json::from_slice(&fs::read(&file).unwrap_or_default()).unwrap_or_default();
        let notes = Notes {
            here: lasting.clone(),
            lasting,
            file,
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
            workspace: folder("--workspace"),
            request: Value::Null,
            added: 0,
            notes,
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
    fn answer(&mut self, mut message: Value) -> io::Result<Option<Value>> {
        if message["id"].is_null() {
            writeln!(self.input, "{message}")?;
            return Ok(None);
        }
        let mutant = mutant::current().filter(|_| message["method"] == "tools/call");
        let Some(mutant) = mutant else {
            return self.exchange(&message).map(Some);
        };
        let params = &mut message["params"];
        let call = Call {
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            arguments: params["arguments"].as_object().cloned().unwrap_or_default(),
        };
        self.request = message;
        let mut answer = match &*call.tool {
            "memory" => memory::answer(mutant, call, self)?,
            "search" if call.text("resource") != "code" => memory::answer(mutant, call, self)?,
            _ => code::answer(mutant, call, self)?,
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

    /// Refuses the client's call.
    fn refuse(&self, message: &str) -> Reply {
        let error = json!({ "code": -32602, "message": message });
        Reply(json!({ "jsonrpc": "2.0", "id": self.request["id"], "error": error }))
    }
}

impl Notes {
    /// Returns a list that this process remembers.
    fn list(&mut self, name: &str) -> &mut Vec<Value> {
        let list = self.here.entry(name.to_owned()).or_insert_with(|| json!([]));
        list.as_array_mut().expect("lists have names of their own")
    }

    /// Remembers a fact for later processes too; `null` forgets it.
    fn keep(&mut self, name: &str, fact: Value) -> io::Result<()> {
        self.lasting.insert(name.to_owned(), fact);
        fs::write(&self.file, json!(self.lasting).to_string())
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
        let response = self.0.pointer_mut("/result/structuredContent")?;
        response.as_object_mut()
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
        let total = response.get("total").and_then(Value::as_u64);
        if let Some(total) = total.and_then(|total| usize::try_from(total).ok()) {
            response.insert("total".into(), (total + after).saturating_sub(before).into());
        }
        if response.contains_key("count") {
            response.insert("count".into(), after.into());
        }
        self
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
