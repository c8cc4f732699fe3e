//! JSON lines for a small server, and the library of one that has documents.

use std::{
    fs::{self, File},
    io::{self, BufRead, Write},
    path::PathBuf,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use tabellion_conformance::era::Era;
use tabellion_runtime::{ContractSpec, ToolSpec};

use crate::{
    file,
    mutant::{Mutant, is},
};

/// A refusal of a call: code and message.
pub(super) type Refusal = (i64, String);

pub(super) fn refused(message: impl Into<String>) -> Refusal {
    (-32000, message.into())
}

/// Returns the time in seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// JSON-RPC's code for the server's own errors.
const INTERNAL_ERROR: i64 = -32603;

pub(super) fn failed(error: io::Error) -> Refusal {
    (INTERNAL_ERROR, error.to_string())
}

/// Answer to a call.
#[derive(Clone)]
pub(super) enum Answer {
    /// A response.
    Response(Value),
    /// A response with `_meta`.
    Noted { response: Value, meta: Value },
    /// An error as a result, with structured content and `_meta`.
    Error { message: String, body: Value, meta: Value },
}

/// A call.
pub(super) struct Call<'a> {
    /// The operation, which is the tool if that has no others.
    pub(super) operation: &'static str,
    pub(super) arguments: &'a Value,
    /// The request's `_meta`.
    pub(super) meta: &'a Value,
}

impl<'a> Call<'a> {
    /// Returns an argument that is a text; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.arguments[name].as_str().unwrap_or_default()
    }
}

/// A server of a contract.
pub(super) trait ContractServer {
    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal>;

    /// Returns true if the tool is listed.
    fn lists(&self, tool: &ToolSpec) -> bool {
        let _ = tool;
        true
    }

    /// Decides if a call is made at all, before any other check; `meta` is the request's `_meta`.
    fn admit(&mut self, tool: &ToolSpec, meta: &Value) -> Result<(), Refusal> {
        let _ = (tool, meta);
        Ok(())
    }

    /// Called once an answer is sent.
    fn answered(&mut self) {}
}

/// Answers each line of standard input until its end.
pub(super) fn serve_lines(
    contract: &'static ContractSpec,
    server: &mut dyn ContractServer,
) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        let Some(answer) = respond(contract, server, &message) else {
            continue;
        };
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
        drop(output);
        server.answered();
    }
    Ok(())
}

/// Returns the answer to a message; `None` if it is a notification.
pub(super) fn respond(
    contract: &'static ContractSpec,
    server: &mut dyn ContractServer,
    message: &Value,
) -> Option<Value> {
    let id = message.get("id")?;
    Some(match answer(contract, server, message) {
        Ok(mut result) => {
            result["resultType"] = "complete".into();
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        }
        Err((_, message)) if is(Mutant::RefusesByResult) => {
            let result = json!({
                "resultType": "complete",
                "isError": true,
                "content": [{ "type": "text", "text": message }],
            });
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        }
        Err((code, message)) => {
            let mut error = json!({ "code": code, "message": message });
            if code == INTERNAL_ERROR && !is(Mutant::NamesNoRequest) {
                eprintln!("request {id}: {message}");
                error["data"] = json!({ "rule": "internal", "requestId": id.to_string() });
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    })
}

fn answer(
    contract: &'static ContractSpec,
    server: &mut dyn ContractServer,
    message: &Value,
) -> Result<Value, Refusal> {
    let params = &message["params"];
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" => Ok(json!({
            "supportedVersions": [Era::Stateless.revision()],
            "capabilities": { "tools": {} },
        })),
        "tools/list" => {
            let tools = contract.tools.iter().filter(|tool| server.lists(tool));
            Ok(json!({ "tools": tools.map(listed).collect::<Vec<_>>() }))
        }
        "tools/call" => call(contract, server, params),
        method => Err((-32601, format!("unknown method `{method}`"))),
    }
}

pub(super) fn listed(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input.wire(),
        "outputSchema": tool.output.wire(),
    })
}

fn call(
    contract: &'static ContractSpec,
    server: &mut dyn ContractServer,
    params: &Value,
) -> Result<Value, Refusal> {
    let tool = contract.tool(params["name"].as_str().unwrap_or_default());
    let tool = tool.ok_or_else(|| (-32602, "unknown tool".to_owned()))?;
    server.admit(tool, &params["_meta"])?;
    let arguments = &params["arguments"];
    let members = arguments.as_object().cloned().unwrap_or_default();
    let operation = tool.operation_of(&members);
    let tool = operation.ok_or_else(|| (-32602, "no operation has these values".to_owned()))?;
    if let Err(wrong) = tool.input.check(arguments) {
        return Err((-32602, wrong[0].to_string()));
    }
    match server.call(&Call { operation: tool.label(), arguments, meta: &params["_meta"] })? {
        Answer::Noted { response, meta } => {
            Ok(json!({ "content": [], "structuredContent": response, "_meta": meta }))
        }
        Answer::Error { message, body, meta } => Ok(json!({
            "isError": true,
            "content": [{ "type": "text", "text": message }],
            "structuredContent": body,
            "_meta": meta,
        })),
        Answer::Response(response) => Ok(json!({ "content": [], "structuredContent": response })),
    }
}

/// A folder in a repository.
pub(super) struct Library(pub(super) PathBuf);

impl Library {
    /// Takes the lock among processes, which is held until the file is dropped.
    pub(super) fn lock(&self) -> Result<File, Refusal> {
        file::lock(&self.own("lock")?).map_err(failed)
    }

    /// Returns the path of a file in the server's folder in `.git`.
    pub(super) fn own(&self, name: &str) -> Result<PathBuf, Refusal> {
        let folder = self.0.join(".git/small");
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(folder.join(name))
    }

    /// Reads a file without following symbolic links; returns `None` if it does not exist.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Refusal> {
        let mut at = self.0.clone();
        for part in path.split('/') {
            at.push(part);
            if at.is_symlink() {
                return Err((-32001, format!("`{path}` is, or is below, a symbolic link")));
            }
        }
        match fs::read(&at) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    /// Writes or removes a file, and commits only that file.
    pub(super) fn write(&self, path: &str, bytes: Option<&[u8]>, message: &str) -> Result<(), Refusal> {
        let at = self.0.join(path);
        match bytes {
            Some(bytes) => {
                fs::create_dir_all(at.parent().unwrap_or(&self.0)).map_err(failed)?;
                fs::write(&at, bytes).map_err(failed)?;
            }
            None => fs::remove_file(&at).map_err(failed)?,
        }
        self.git(&["add", "--force", "--", path])?;
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message, "--", path])
    }

    /// Returns the id of the last commit.
    pub(super) fn head(&self) -> Result<String, Refusal> {
        let output = Command::new("git").arg("-C").arg(&self.0).args(["rev-parse", "HEAD"]).output();
        Ok(String::from_utf8_lossy(&output.map_err(failed)?.stdout).trim().to_owned())
    }

    pub(super) fn git(&self, arguments: &[&str]) -> Result<(), Refusal> {
        let who = ["-c", "user.name=small", "-c", "user.email=small@localhost", "-c", "gc.auto=0"];
        let output = Command::new("git").arg("-C").arg(&self.0).args(who).args(arguments).output();
        let output = output.map_err(failed)?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(refused(error)) }
    }
}
