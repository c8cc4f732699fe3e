//! Small servers of the contracts `learning-os` and `safe-markdown-editor`, to test the checks of those with, and ways to
//! break them, one promise each.
//!
//! They are right where the checks of their own families look, and as simple as that allows: plain files, the git program,
//! one lock, requests that stand for themselves (2026-07-28), nothing that recovers after a crash.

mod editor;
mod memory;

use std::{
    fs::{self, File},
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::{Value, json};
use tabellion_conformance::{Subject, era::Era};
use tabellion_contracts::{learning_os, safe_markdown_editor};
use tabellion_runtime::{ContractSpec, ToolSpec};

/// A promise that a small server breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What the server does then.
    pub does: &'static str,
    /// The contract that it breaks.
    pub contract: &'static str,
    /// The check that fails.
    pub seen_by: &'static str,
}

/// The checks that the small servers are right for: of the others nothing is promised.
pub const RIGHT_FOR: &[&str] = &[
    "append",
    "approval",
    "policy",
    "outline",
    "undo",
    "mutation/recorded",
];

/// All ways to break the small servers.
pub fn breaks() -> impl Iterator<Item = &'static Break> {
    memory::BREAKS.iter().chain(editor::BREAKS)
}

static BROKEN: OnceLock<&'static str> = OnceLock::new();

/// Whether this process breaks that promise.
fn is(name: &str) -> bool {
    debug_assert!(breaks().any(|it| it.name == name), "{name}");
    BROKEN.get() == Some(&name)
}

/// A small server as a server under test; `program` is the binary `tabellion-reference`.
///
/// # Panics
/// When there is no small server of that contract.
pub fn subject(program: &Path, contract: &str, broken: Option<&Break>) -> Subject {
    let contract = contracts()
        .find(|it| it.id == contract)
        .expect("a contract of a small server");
    let program = program.to_string_lossy();
    let mut command = vec![&*program, "--library", "{library}", "--contract", contract.id];
    if contract.document {
        command.extend(["--document", "{document}"]);
    }
    if let Some(broken) = broken {
        command.extend(["--break", broken.name]);
    }
    Subject {
        name: broken.map_or(contract.id, |it| it.name).to_owned(),
        era: Era::Stateless,
        ..Subject::new(contract, command.into_iter().map(String::from).collect())
    }
}

/// The contracts that have a small server.
pub fn contracts() -> impl Iterator<Item = &'static ContractSpec> {
    [&learning_os::CONTRACT, &safe_markdown_editor::CONTRACT].into_iter()
}

/// Why a call is refused: code and message.
type Refused = (i64, String);

fn refused(message: impl Into<String>) -> Refused {
    (-32000, message.into())
}

fn failed(error: io::Error) -> Refused {
    (-32603, error.to_string())
}

/// What a call is answered with.
enum Answer {
    /// This response.
    Done(Value),
    /// A question, and what is to come back with its answer.
    Asked { message: String, state: String },
}

/// What a person said to a question, and the state that came back with it.
struct Said {
    answer: Value,
    state: String,
}

/// What a server does.
trait Serves {
    fn call(&mut self, tool: &str, arguments: &Value, said: Option<Said>) -> Result<Answer, Refused>;

    /// The list that a resource is, if there is one.
    fn resource(&mut self, uri: &str) -> Option<Value> {
        let _ = uri;
        None
    }
}

/// Serves the library at `root` over standard input and output until its end.
///
/// # Errors
/// When there is no such contract, or a pipe breaks.
pub fn serve(root: &Path, contract: &str, document: Option<&str>, broken: Option<&Break>) -> io::Result<()> {
    if let Some(broken) = broken {
        BROKEN.get_or_init(|| broken.name);
    }
    let found = contracts().find(|it| it.id == contract);
    let contract =
        found.ok_or_else(|| io::Error::other(format!("there is no small server of `{contract}`")))?;
    let library = Library(root.to_owned());
    let mut server: Box<dyn Serves> = match document {
        Some(document) => Box::new(editor::Editor::new(library, document)),
        None => Box::new(memory::Memory::new(library)),
    };
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        let Some(id) = message.get("id") else { continue };
        let answer = match answer(contract, &mut *server, &message) {
            Ok(mut result) => {
                if result.get("resultType").is_none() {
                    result["resultType"] = "complete".into();
                }
                json!({ "jsonrpc": "2.0", "id": id, "result": result })
            }
            Err((code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(
    contract: &'static ContractSpec,
    server: &mut dyn Serves,
    message: &Value,
) -> Result<Value, Refused> {
    let params = &message["params"];
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" => Ok(json!({
            "supportedVersions": [Era::Stateless.revision()],
            "capabilities": { "tools": {}, "resources": {} },
        })),
        "tools/list" => Ok(json!({ "tools": contract.tools.iter().map(listed).collect::<Vec<_>>() })),
        "resources/read" => {
            let uri = params["uri"].as_str().unwrap_or_default();
            let list = server
                .resource(uri)
                .ok_or_else(|| refused("there is no such resource"))?;
            Ok(json!({ "contents": [{ "uri": uri, "text": list.to_string() }] }))
        }
        "tools/call" => call(contract, server, params),
        method => Err((-32601, format!("there is no method `{method}`"))),
    }
}

fn listed(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "inputSchema": tool.input.wire(), "outputSchema": tool.output.wire() })
}

fn call(contract: &'static ContractSpec, server: &mut dyn Serves, params: &Value) -> Result<Value, Refused> {
    let tool = contract.tool(params["name"].as_str().unwrap_or_default());
    let tool = tool.ok_or_else(|| (-32602, "there is no such tool".to_owned()))?;
    let arguments = &params["arguments"];
    let is_lenient = is("any-time") || is("any-file");
    if let Err(wrong) = tool.input.check(arguments)
        && !is_lenient
    {
        return Err((-32602, wrong[0].to_string()));
    }
    let said = params["requestState"].as_str().map(|state| Said {
        answer: params["inputResponses"]["approval"].clone(),
        state: state.to_owned(),
    });
    let can_ask = params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"].is_object();
    match server.call(tool.name, arguments, said)? {
        Answer::Done(response) => Ok(json!({ "content": [], "structuredContent": response })),
        Answer::Asked { .. } if !can_ask => {
            Err(refused("it needs a person's approval, and the client can't ask"))
        }
        Answer::Asked { message, state } => {
            let schema = json!({ "type": "object", "properties": {} });
            let question = json!({ "message": message, "requestedSchema": schema });
            Ok(json!({
                "resultType": "input_required",
                "inputRequests": { "approval": { "method": "elicitation/create", "params": question } },
                "requestState": state,
            }))
        }
    }
}

/// A folder in a repository.
struct Library(PathBuf);

impl Library {
    /// Holds off other processes as long as the file is there.
    fn lock(&self) -> Result<File, Refused> {
        let file = File::create(self.own("lock")?).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    /// A file of ours in `.git`.
    fn own(&self, name: &str) -> Result<PathBuf, Refused> {
        let folder = self.0.join(".git/small");
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(folder.join(name))
    }

    /// Bytes of a file that is no link, nor in a linked folder; `None` where there is none.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Refused> {
        let mut at = self.0.clone();
        for part in path.split('/') {
            at.push(part);
            if at.is_symlink() && !is("follows-links") {
                return Err((-32001, format!("`{path}` is a link, or in a linked folder")));
            }
        }
        match fs::read(&at) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    /// Writes a file, or removes it, and commits that alone.
    fn write(&self, path: &str, bytes: Option<&[u8]>, message: &str) -> Result<(), Refused> {
        let at = self.0.join(path);
        match bytes {
            Some(bytes) => {
                fs::create_dir_all(at.parent().unwrap_or(&self.0)).map_err(failed)?;
                fs::write(&at, bytes).map_err(failed)?;
            }
            None => fs::remove_file(&at).map_err(failed)?,
        }
        if is("commits-nothing") {
            return Ok(());
        }
        self.git(&["add", "--force", "--", path])?;
        self.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            &format!("{message} {path}"),
            "--",
            path,
        ])?;
        if is("commits-again") {
            self.git(&["commit", "--quiet", "--allow-empty", "-m", "once more"])?;
        }
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> Result<(), Refused> {
        let who = [
            "-c",
            "user.name=small",
            "-c",
            "user.email=small@localhost",
            "-c",
            "gc.auto=0",
        ];
        let output = Command::new("git")
            .arg("-C")
            .arg(&self.0)
            .args(who)
            .args(arguments)
            .output();
        let output = output.map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(())
        } else {
            Err(refused(said))
        }
    }
}
