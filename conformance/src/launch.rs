//! Starts and reaches servers: over standard input and output, or over HTTP.

use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Target, WireError,
    era::Era,
    http::Url,
    judgement::{Stop, not_applicable, not_shown},
    layout::{AROUND, DATA, DOCUMENT, WORKSPACE},
    ledger::database,
    setup::run_within,
    stepper::{Counting, Stepper},
    target::free_port,
};

/// Placeholder for the name of a mode of operation.
pub const MODE: &str = "{mode}";
/// Placeholder for the name of a role.
pub const ROLE: &str = "{role}";
/// Placeholder for a person's decision: `approve`, `reject` or `revise`.
pub const DECISION: &str = "{decision}";
/// Placeholder for the address of a case's database.
pub const DATABASE: &str = "{database}";
/// Placeholder for the id of the pending item that a person decides on.
pub const INSTANCE: &str = "{id}";
/// Placeholder for the bare repository that a library is shared through.
pub const SHARED: &str = "{remote}";
/// Placeholder for the text that a call stores.
pub const TOKEN: &str = "{token}";
/// Placeholder for the numbers of the parts that a person approves, separated by blanks; empty for all.
pub const PARTS: &str = "{parts}";

/// Instructions to start a server.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program and arguments. `{library}` stands for the library's folder, `{document}` for the path of a
    /// single-document contract's document in it, `{data}` for the folder of a server that keeps rows, `{workspace}` for the folder
    /// with source code that it may read, `{port}` for the port to listen on.
    pub command: Vec<String>,
    /// The PostgreSQL server on which each case has a database, `postgres://USER@HOST:PORT`: `{database}` stands for the address of that.
    pub database: Option<String>,
    /// Variables added to the environment, with the same placeholders.
    pub environment: Vec<(String, String)>,
    /// Working directory, if not the suite's own; with the same placeholders.
    pub directory: Option<PathBuf>,
    /// The argument that sets the mode of operation, if there is one; `{mode}` stands for its name.
    pub mode: Option<String>,
    /// The argument that gives the client on standard input and output a role, if there is one; `{role}` stands for its name.
    pub role: Option<String>,
    /// Headers by which a client over HTTP is a caller of a role: the role, the name and the value.
    pub role_headers: Vec<(String, String, String)>,
    /// The shell command that shows a person the pending items, before each decision, if there is one; with [`INSTANCE`] and `{library}`.
    pub show: Option<String>,
    /// The shell command by which a person decides on a pending item, if there is one; with [`DECISION`], [`INSTANCE`] and `{library}`,
    /// and with [`PARTS`] if it takes them.
    pub decide: Option<String>,
    /// The shell command by which a library is shared through a remote that acknowledges its changes, if there is one; with [`SHARED`] and
    /// `{library}`.
    pub share: Option<String>,
    /// Calls that store a text, for servers whose store is not one file a document.
    pub store: Vec<StoreCall>,
    /// The environment variable by which a build for tests has its clock ahead by that many seconds, if there is one.
    pub clock_offset: Option<String>,
    /// True if the server's standard error is shown.
    pub verbose: bool,
    /// Timeout for each answer, including the first one.
    pub patience: Duration,
    /// Transport.
    pub reach: Reach,
}

/// A call that stores a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreCall {
    /// Name of the tool.
    pub tool: String,
    /// Its arguments, with [`TOKEN`] for the text.
    pub arguments: Value,
}

impl StoreCall {
    /// Parses `TOOL=ARGUMENTS`.
    ///
    /// # Errors
    /// If the arguments are not a JSON object with a place for the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = format!(r#"expected TOOL=ARGUMENTS, such as add_note={{"text": "{TOKEN}"}}"#);
        let (tool, arguments) = text.split_once('=').ok_or(&*example)?;
        if !arguments.contains(TOKEN) {
            return Err(format!("`{TOKEN}` is missing, for the text that is stored; {example}"));
        }
        match serde_json::from_str(arguments) {
            Ok(arguments @ Value::Object(_)) => Ok(Self { tool: tool.to_owned(), arguments }),
            Ok(_) => Err(example),
            Err(error) => Err(format!("{error}; {example}")),
        }
    }

    /// Returns the arguments that store `text`.
    pub fn filled(&self, text: &str) -> Value {
        fn fill(value: &Value, text: &str) -> Value {
            match value {
                Value::String(part) => part.replace(TOKEN, text).into(),
                Value::Array(items) => items.iter().map(|item| fill(item, text)).collect(),
                Value::Object(members) => {
                    let members = members.iter();
                    members.map(|(name, value)| (name.clone(), fill(value, text))).collect()
                }
                other => other.clone(),
            }
        }
        fill(&self.arguments, text)
    }
}

/// Transport to a server.
#[derive(Debug, Clone)]
pub enum Reach {
    /// Lines over standard input and output.
    Lines,
    /// HTTP at this URL, in which `{port}` stands for a free port.
    Http(String),
    /// HTTP to an external server.
    External(ExternalServer),
}

/// An external server over one folder. Clones share it.
#[derive(Debug, Clone)]
pub struct ExternalServer {
    url: Url,
    library: PathBuf,
    reset: String,
    is_taken: Arc<AtomicBool>,
}

impl Launch {
    /// Creates instructions from a command alone: standard input and output, with the default timeout.
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            database: None,
            environment: Vec::new(),
            directory: None,
            mode: None,
            role: None,
            role_headers: Vec::new(),
            show: None,
            decide: None,
            share: None,
            store: Vec::new(),
            clock_offset: None,
            verbose: false,
            patience: crate::target::ANSWER_TIMEOUT,
            reach: Reach::Lines,
        }
    }

    /// Returns true if `{library}` occurs in the command, the environment or the working directory.
    pub fn names_library(&self) -> bool {
        self.names("{library}")
    }

    /// Returns true if the server works on the library of a case: its command names it, or it is external and serves the folder.
    pub fn has_library(&self) -> bool {
        self.names_library() || self.running().is_some()
    }

    /// Returns true if the placeholder occurs in the command, the environment or the working directory.
    pub fn names(&self, placeholder: &str) -> bool {
        let directory = self.directory.iter().map(|directory| directory.to_string_lossy());
        let variables = self.environment.iter().map(|(_, value)| value.into());
        let mut all = self.command.iter().map(Into::into).chain(variables).chain(directory);
        all.any(|text: Cow<'_, str>| text.contains(placeholder))
    }

    /// Returns true if the server speaks HTTP.
    pub fn is_http(&self) -> bool {
        !matches!(self.reach, Reach::Lines)
    }

    /// Returns the external server, if it is one.
    pub fn running(&self) -> Option<&ExternalServer> {
        match &self.reach {
            Reach::External(running) => Some(running),
            Reach::Lines | Reach::Http(_) => None,
        }
    }

    /// Returns the words of the suite's command line that select this server.
    pub fn words(&self) -> Vec<String> {
        let word = |word: &str| word.to_owned();
        match &self.reach {
            Reach::Lines => self.command.clone(),
            Reach::Http(url) => {
                let before = [word("--url"), url.clone(), word("--")];
                before.into_iter().chain(self.command.clone()).collect()
            }
            Reach::External(running) => vec![word("--url"), running.url.to_string()],
        }
    }

    /// Returns the argument that sets a mode of operation; `None` if none does.
    pub fn mode_argument(&self, mode: &str) -> Option<String> {
        Some(self.mode.as_ref()?.replace(MODE, mode))
    }

    /// Returns the argument that gives the client a role; `None` if none does.
    pub fn role_argument(&self, role: &str) -> Option<String> {
        Some(self.role.as_ref()?.replace(ROLE, role))
    }

    /// Returns the command by which a person decides on a pending item in the library at `root`; `None` if there is none.
    pub fn decision(&self, root: &Path, decision: &str, parts: &[usize], instance: &str) -> Option<Command> {
        let shell = self.decide.as_ref()?.replace(DECISION, decision);
        let parts: Vec<String> = parts.iter().map(usize::to_string).collect();
        let shell = shell.replace(PARTS, &parts.join(" "));
        Some(self.shell(&shell.replace(INSTANCE, instance), root))
    }

    /// Returns the command that shows a person the pending items in the library at `root`; `None` if there is none.
    pub fn shown(&self, root: &Path, instance: &str) -> Option<Command> {
        Some(self.shell(&self.show.as_ref()?.replace(INSTANCE, instance), root))
    }

    /// Returns the command by which the library at `root` is shared through a bare repository; `None` if there is none.
    pub fn shared(&self, root: &Path, remote: &Path) -> Option<Command> {
        Some(self.shell(&self.share.as_ref()?.replace(SHARED, &remote.to_string_lossy()), root))
    }

    /// Returns a shell command about the library at `root`, with the server's variables.
    fn shell(&self, shell: &str, root: &Path) -> Command {
        let filled = |text: &str| text.replace("{library}", &root.to_string_lossy());
        let mut command = Command::new("sh");
        command.args(["-c", &filled(shell)]);
        command.envs(self.environment.iter().map(|(name, value)| (name, filled(value))));
        command
    }

    /// Returns the environment variable by which the server's clock is ahead.
    ///
    /// # Errors
    /// "Not applicable", if there is none.
    pub fn clock_variable(&self) -> Result<&str, Stop> {
        self.clock_offset.as_deref().ok_or_else(|| {
            let why = "no variable sets the server's clock ahead: add `--clock-offset NAME`, with a build of the server for tests";
            not_applicable(why)
        })
    }

    /// Returns the headers by which a client over HTTP is a caller of a role.
    pub fn headers_of(&self, role: &str) -> Vec<(String, String)> {
        let of_role = self.role_headers.iter().filter(|(of, _, _)| of == role);
        of_role.map(|(_, name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns the command that serves the library at `root`.
    fn command(&self, root: &Path, port: Option<u16>) -> Command {
        let filled = |text: &str| {
            let text = text.replace("{library}", &root.to_string_lossy());
            let text = text.replace("{document}", DOCUMENT);
            let text = text.replace("{data}", &root.with_file_name(DATA).to_string_lossy());
            let text = match &self.database {
                Some(server) => {
                    text.replace(DATABASE, &database::address(server, &root.with_file_name(DATA)))
                }
                None => text,
            };
            let text = text.replace("{workspace}", &root.with_file_name(WORKSPACE).to_string_lossy());
            match port {
                Some(port) => text.replace("{port}", &port.to_string()),
                None => text,
            }
        };
        let mut arguments = self.command.iter().map(|argument| filled(argument));
        let mut command = Command::new(arguments.next().unwrap_or_default());
        command.args(arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, filled(value))));
        if let Some(directory) = &self.directory {
            command.current_dir(filled(&directory.to_string_lossy()));
        }
        if !self.verbose {
            command.stderr(Stdio::null());
        }
        command
    }

    /// Returns the command that serves the library at `root`, and its URL if the server speaks HTTP; `None` if the
    /// server is external.
    ///
    /// # Errors
    /// If no port is free, or the database can't be made.
    pub fn prepare(&self, root: &Path) -> io::Result<Option<(Command, Option<Url>)>> {
        if let Some(server) = self.database.as_ref().filter(|_| self.names(DATABASE)) {
            database::make(server, &root.with_file_name(DATA)).map_err(io::Error::other)?;
        }
        Ok(match &self.reach {
            Reach::Lines => Some((self.command(root, None), None)),
            Reach::Http(url) => {
                let port = free_port()?;
                let url = Url::parse(&url.replace("{port}", &port.to_string())).map_err(io::Error::other)?;
                Some((self.command(root, Some(port)), Some(url)))
            }
            Reach::External(_) => None,
        })
    }

    /// Starts a server over the library at `root` without sending a message. `change` can modify the command before it runs.
    pub fn start(
        &self,
        root: &Path,
        era: Era,
        change: impl FnOnce(&mut Command),
    ) -> Result<Target, WireError> {
        let mut target = match (self.prepare(root)?, self.running()) {
            (Some((mut command, url)), _) => {
                change(&mut command);
                match url {
                    Some(url) => Target::serve(&mut command, url, era, self.patience)?,
                    None => Target::start(&mut command)?,
                }
            }
            (None, running) => {
                let url = running.map(|running| running.url.clone());
                let url =
                    url.ok_or_else(|| io::Error::other("the server is neither started nor external"))?;
                Target::connect(url, era, self.patience)?
            }
        };
        target.patience = self.patience;
        Ok(target)
    }

    /// As [`start`](Self::start), but under a stepper.
    ///
    /// # Errors
    /// If stepping is not supported on this machine, or the server does not start.
    pub fn start_stepped(
        &self,
        root: &Path,
        era: Era,
        counting: Counting,
    ) -> Result<(Target, Stepper), Stop> {
        let prepared = self.prepare(root)?;
        let (command, url) = prepared.ok_or_else(not_ours)?;
        let data = root.with_file_name(DATA);
        let folders = if self.names("{data}") { vec![root, &data] } else { vec![root] };
        let (mut target, stepper) = match url {
            Some(url) => Target::serve_stepped(command, &folders, counting, url, era, self.patience)??,
            None => Target::start_stepped(command, &folders, counting)?,
        };
        target.patience = self.patience;
        Ok((target, stepper))
    }
}

/// Returns the reason why a check cannot run with an external server.
pub fn not_ours() -> Stop {
    not_shown("the check needs a server that the suite starts; give the server's command".to_owned())
}

impl ExternalServer {
    /// Creates the server at `url`, which serves `library`. Before each case, once the library is in place, the shell
    /// runs `reset`, which must make the server reload the library.
    ///
    /// # Errors
    /// If the folder is not empty, because its content would be deleted.
    pub fn new(url: Url, library: &Path, reset: String) -> Result<Self, String> {
        let shown = library.display();
        let wrong = |error: io::Error| format!("`{shown}`: {error}");
        fs::create_dir_all(library).map_err(wrong)?;
        if fs::read_dir(library).map_err(wrong)?.next().is_some() {
            return Err(format!(
                "`{shown}` is not empty, and each case deletes its content; give an empty folder"
            ));
        }
        let library = library.canonicalize().map_err(wrong)?;
        for around in AROUND {
            let around = library.with_file_name(around);
            if around.exists() {
                return Err(format!(
                    "`{}` exists, but the suite creates it to test that the server does not touch it; give a folder without siblings",
                    around.display()
                ));
            }
        }
        Ok(Self { url, library, reset, is_taken: Arc::default() })
    }

    /// Reserves the folder, emptied, until the returned guard is dropped.
    ///
    /// # Errors
    /// If the folder is in use, or the disk fails.
    pub(crate) fn take(&self) -> Result<OperatorFolder, Stop> {
        if self.is_taken.swap(true, Ordering::AcqRel) {
            let why = "the server serves one folder, and the check needs two libraries at the same time";
            return Err(not_shown(why.to_owned()));
        }
        let folder = OperatorFolder(self.clone());
        folder.clear()?;
        Ok(folder)
    }

    /// Runs the reset command.
    ///
    /// # Errors
    /// If the command fails; the message contains its output.
    pub(crate) fn reset(&self, patience: Duration) -> Result<(), Stop> {
        let mut shell = Command::new("sh");
        shell.args(["-c", &self.reset]).env("TABELLION_LIBRARY", &self.library);
        run_within(&mut shell, patience).map_err(|why| Stop::Harness(format!("`{}` {why}", self.reset)))
    }
}

/// Guard of an external server's folder. Empties the folder when dropped.
#[derive(Debug)]
pub(crate) struct OperatorFolder(ExternalServer);

impl OperatorFolder {
    pub(crate) fn library(&self) -> &Path {
        &self.0.library
    }

    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.0.library)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        for around in AROUND {
            let around = self.0.library.with_file_name(around);
            if around.exists() {
                fs::remove_dir_all(around)?;
            }
        }
        Ok(())
    }
}

impl Drop for OperatorFolder {
    fn drop(&mut self) {
        // The next reservation clears the folder again.
        let _ = self.clear();
        self.0.is_taken.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_stores_has_a_place_for_the_text() {
        let call =
            StoreCall::parse(r#"add={"items": [{"name": "{token}", "at": 1}], "about": "of {token}"}"#);
        let filled = call.expect("a call").filled("x");
        assert_eq!(filled, json!({ "items": [{ "name": "x", "at": 1 }], "about": "of x" }));
        for (text, expected) in [
            ("add", "expected TOOL=ARGUMENTS"),
            (r#"add={"a": 1}"#, "`{token}` is missing"),
            (r#"add=["{token}"]"#, "expected TOOL=ARGUMENTS"),
            (r#"add={"a": "{token}""#, "EOF"),
        ] {
            let error = StoreCall::parse(text).expect_err(text);
            assert!(error.contains(expected), "{error}");
        }
    }
}
