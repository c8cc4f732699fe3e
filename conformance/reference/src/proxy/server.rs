//! The correct server behind the proxy.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    message::{Call, Reply, TOTALS, id},
    record::Record,
};

/// The server behind this process, and the memory of a defect.
pub(super) struct Proxy {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(super) program: String,
    /// The command that started it.
    pub(super) command: Vec<String>,
    /// The library, or the folder of the data.
    pub(super) folder: PathBuf,
    /// The folder of the source code.
    pub(super) workspace: PathBuf,
    /// The client's current request.
    pub(super) request: Value,
    /// Number of the requests that this process added.
    pub(super) added: u64,
    pub(super) record: Record,
    /// The rest of a call, once the client has its answer.
    pub(super) after_answer: Option<Box<dyn FnOnce() -> io::Result<()>>>,
}

impl Proxy {
    /// Starts the server of `command`, as `server` has it.
    pub(super) fn start(command: &[String], mut server: Command) -> io::Result<Self> {
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
            program: command[0].clone(),
            command: command.to_vec(),
            record: Record::open(&data_folder(command))?,
            folder: data_folder(command),
            workspace: folder(command, "--workspace"),
            request: Value::Null,
            added: 0,
            after_answer: None,
        })
    }

    /// Ends the server's input, and waits for its end.
    pub(super) fn end(self) -> io::Result<()> {
        let Self { mut server, input, .. } = self;
        drop(input);
        server.wait()?;
        Ok(())
    }

    /// Makes a call in place of the client's.
    pub(super) fn forward(&mut self, call: &Call) -> io::Result<Reply> {
        let mut request = self.request.clone();
        self.added += 1;
        request["id"] = format!("proxy-{}", self.added).into();
        request["params"]["name"] = call.tool.as_str().into();
        request["params"]["arguments"] = call.arguments.clone().into();
        self.exchange(&request).map(Reply)
    }

    /// Makes a request of the proxy's own.
    pub(super) fn ask(&mut self, method: &str, mut params: Value) -> io::Result<Value> {
        self.added += 1;
        params["_meta"] = self.request["params"]["_meta"].clone();
        let id = format!("proxy-{}", self.added);
        self.exchange(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    /// Sends a notification.
    pub(super) fn notify(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.input, "{message}")
    }

    /// Sends a request, and returns its answer. Other messages pass to the client.
    pub(super) fn exchange(&mut self, request: &Value) -> io::Result<Value> {
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
    pub(super) fn meta(&self, name: &str) -> Option<&Value> {
        let meta = self.request["params"]["_meta"].as_object()?;
        let found = meta.iter().find(|(key, _)| key.rsplit(['/', '.']).next() == Some(name));
        found.map(|(_, value)| value)
    }

    /// Answers the client's call.
    pub(super) fn respond(&self, response: Value) -> Reply {
        let result = json!({ "resultType": "complete", "content": [], "structuredContent": response, "isError": false });
        Reply(json!({ "jsonrpc": "2.0", "id": self.request["id"], "result": result }))
    }

    /// Refuses the client's call.
    pub(super) fn refuse(&self, message: &str) -> Reply {
        let error = json!({ "code": -32602, "message": message });
        Reply(json!({ "jsonrpc": "2.0", "id": self.request["id"], "error": error }))
    }

    /// Answers with the part of the unfiltered answer that passes the filters.
    pub(super) fn after_cut(&mut self, call: &Call, filters: &[&str]) -> io::Result<Reply> {
        let passing = self.forward(call)?;
        if filters.iter().all(|name| !call.arguments.contains_key(*name)) {
            return Ok(passing);
        }
        let all = self.forward(&call.clone().without(filters))?;
        let same = |one: &Value, other: &Value| {
            let names = ["file_path", "start_line", "collection"];
            id(one) == id(other) && names.iter().all(|name| one.get(*name) == other.get(*name))
        };
        let all = all.list("results").to_vec();
        let left = passing.retain("results", |entry| all.iter().any(|other| same(entry, other)));
        let count = left.list("results").len();
        Ok(TOTALS.iter().fold(left, |left, total| left.reset(total, count)))
    }
}

/// Returns the library, or the folder of the data, of a command that starts a server.
pub(super) fn data_folder(command: &[String]) -> PathBuf {
    let options = ["--library", "--data"].map(|option| folder(command, option));
    let named = options.into_iter().find(|folder| !folder.as_os_str().is_empty());
    // An example of `tabellion-codegen` takes its folder as its second argument, after its name.
    named.or_else(|| command.get(2).map(PathBuf::from)).unwrap_or_default()
}

/// Returns the folder that an option of a command names; empty if the command lacks it.
pub(super) fn folder(command: &[String], option: &str) -> PathBuf {
    let mut words = command.iter().skip_while(|word| *word != option);
    PathBuf::from(words.nth(1).map_or("", String::as_str))
}

/// Writes a message to standard output.
pub(super) fn print(message: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{message}")?;
    output.flush()
}
