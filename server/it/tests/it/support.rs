//! A temporary library, a server for it, and short forms of calls.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
};

use serde_json::{Map, Value, json};
use tabellion::PACKS;
use tabellion_conformance::{Ledger, Target, WireError, era::Era, ledger};
use tabellion_library as library;
use tabellion_pack::Grounds;
use tabellion_runtime::Contract;
use tempfile::TempDir;
use walkdir::{DirEntry, WalkDir};

/// The `tabellion` program.
pub(crate) const TABELLION: &str = env!("CARGO_BIN_EXE_tabellion-under-test");
/// Its argument that serves a library.
pub(crate) const SERVE: &str = "serve";
/// Its argument that serves a library with the further tool `change_documents`.
pub(crate) const SEVERAL_DOCUMENTS: &str = "several-documents";

/// A library in a temporary folder.
pub(crate) struct Library {
    dir: TempDir,
    /// The program's first argument to serve it.
    server: &'static str,
}

impl Library {
    /// Creates a library whose repository the server will create.
    pub(crate) fn empty() -> Self {
        Self { dir: TempDir::new().expect("a temporary folder"), server: SERVE }
    }

    /// Like [`empty`](Self::empty), in a new folder below `place`.
    pub(crate) fn empty_in(place: &Path) -> Self {
        Self { dir: TempDir::new_in(place).expect("a temporary folder"), server: SERVE }
    }

    /// Returns the same library, served by the server of this name.
    pub(crate) fn served_by(self, server: &'static str) -> Self {
        Self { server, ..self }
    }

    /// Creates a library with `files`, committed by a person.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let library = Self::empty();
        ledger::git(library.root(), &["init", "--quiet", "--initial-branch=main"]).expect("git init");
        for (path, content) in files {
            library.put(path, content);
        }
        library.commit_all("first");
        library
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file as a person would.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    pub(crate) fn commit_all(&self, message: &str) {
        ledger::git(self.root(), &["add", "--all"]).expect("git add");
        ledger::git(self.root(), &["commit", "--quiet", "--allow-empty", "-m", message]).expect("git commit");
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::read(self.root()).expect("a ledger")
    }

    /// Starts a server over this library and opens a session.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// Like [`serve`](Self::serve), with more arguments.
    pub(crate) fn serve_with(&self, arguments: &[&str]) -> Server {
        Server::start(self.command().args(arguments))
    }

    /// Returns the command that serves this library.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(TABELLION);
        command.arg(self.server).arg("--library").arg(self.root()).stderr(Stdio::inherit());
        command
    }
}

/// A server with an open session.
pub(crate) struct Server {
    pub(crate) target: Target,
}

impl Server {
    /// Starts a server and opens a session.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut target = Target::start(command).expect("the server starts");
        target.initialize("2025-11-25").expect("a handshake");
        Self { target }
    }

    /// As [`start`](Self::start); `None` if no session can be opened.
    pub(crate) fn try_start(command: &mut Command) -> Option<Self> {
        let mut target = Target::start(command).ok()?;
        target.initialize("2025-11-25").ok()?;
        Some(Self { target })
    }

    /// Calls a tool; returns its response or error.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        self.call_with(tool, arguments, json!({})).map(|answer| answer.response)
    }

    /// Calls a tool under conditions in `_meta`.
    pub(crate) fn call_with(&mut self, tool: &str, arguments: Value, meta: Value) -> Outcome<Answer> {
        self.try_call(tool, arguments, meta).expect("an answer")
    }

    /// As [`call_with`](Self::call_with), of a server that may end before it answers.
    pub(crate) fn try_call(
        &mut self,
        tool: &str,
        arguments: Value,
        meta: Value,
    ) -> Result<Outcome<Answer>, WireError> {
        let meta = meta.as_object().cloned().unwrap_or_default();
        let message = self.target.call(tool, arguments, meta)?;
        Ok(outcome(&message))
    }

    /// Ends the session.
    pub(crate) fn close(self) {
        assert!(exited(self.target).success());
    }
}

/// Ends a server that was started here; returns its exit status.
pub(crate) fn exited(target: Target) -> ExitStatus {
    let ended = target.close().expect("the server exits");
    ended.expect("it was started here")
}

/// Returns every file, link and folder below a folder.
pub(crate) fn below(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    WalkDir::new(folder).min_depth(1).into_iter().map(|entry| entry.expect("an entry"))
}

/// A process that is killed when dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens a contract over the library at `root`, in this process.
pub(crate) fn contract(root: &Path, id: &str) -> Arc<dyn Contract> {
    let library = library::Library::open(root, library::Options::default()).expect("a library");
    let grounds = Grounds { library: Some(Arc::new(library)), ..Grounds::default() };
    PACKS.service(id, &grounds).expect("a contract").0
}

/// Runs a command without input to its end; returns its exit code, its standard output and its standard error.
pub(crate) fn ended(command: &mut Command) -> (Option<i32>, String, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Returns the process id of a server that was started here.
pub(crate) fn process(target: &Target) -> u32 {
    target.id().expect("it was started here")
}

/// A tool's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Value,
    pub(crate) meta: Map<String, Value>,
}

/// A tool's answer, or its error.
pub(crate) type Outcome<T> = Result<T, Box<Refusal>>;

/// A tool's error.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl Refusal {
    /// Returns the ids of the broken rules.
    pub(crate) fn rules(&self) -> Vec<&str> {
        let violations = self.data["violations"].as_array().map(Vec::as_slice).unwrap_or_default();
        violations.iter().filter_map(|violation| violation["rule"].as_str()).collect()
    }
}

/// Returns the `_meta` of a request without a session, by the client `agent/7` with these capabilities.
pub(crate) fn stateless(capabilities: &Value) -> Map<String, Value> {
    let meta = [
        ("protocolVersion", json!(Era::Stateless.revision())),
        ("clientCapabilities", capabilities.clone()),
        ("clientInfo", json!({ "name": "agent", "version": "7" })),
    ];
    meta.into_iter().map(|(name, value)| (format!("io.modelcontextprotocol/{name}"), value)).collect()
}

/// Reads a response message.
pub(crate) fn outcome(message: &Value) -> Outcome<Answer> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    if let Some(error) = message.get("error") {
        return Err(Box::new(Refusal {
            code: error["code"].as_i64().unwrap_or_default(),
            name: String::new(),
            message: text(&error["message"]),
            data: error["data"].clone(),
        }));
    }
    let result = &message["result"];
    if result["isError"] == true {
        assert!(result.get("structuredContent").is_none(), "an error has no structured content: {message}");
        let error = &result["_meta"]["tabellion/error"];
        return Err(Box::new(Refusal {
            code: error["code"].as_i64().unwrap_or_default(),
            name: text(&error["name"]),
            message: text(&result["content"][0]["text"]),
            data: error["data"].clone(),
        }));
    }
    let response = result["structuredContent"].clone();
    let repeated: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text block"))
        .expect("the text block repeats the structured content");
    assert_eq!(repeated, response);
    Ok(Answer { response, meta: result["_meta"].as_object().cloned().unwrap_or_default() })
}

/// Returns the arguments of an edit of a section, or of the whole file if `target` is empty.
pub(crate) fn edit(path: &str, operation: &str, target: &str, content: &str) -> Value {
    let mut request = json!({ "path": path, "operation": { "type": operation, "content": content } });
    if !target.is_empty() {
        request["operation"]["target"] = target.into();
    }
    request
}
