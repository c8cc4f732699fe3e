//! Detects once before all checks whether a command is an MCP server, and which eras it speaks.

use std::{
    fmt::Write as _,
    io::{BufReader, Write},
    process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use tabellion_runtime::spec::EffectKind;

use crate::{
    Own, Subject,
    client::prepare,
    era::Era,
    judgement::Stop,
    report::visible,
    request::With,
    scene::Scene,
    sdk::{self, Sdk},
    settled,
    subject::Commits,
    target::{is_stray, next_line, process::Process},
    trace::Trace,
};

/// Timeout for the answer to `server/discover` after the answer to the `initialize` that was sent with it.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(3);
/// Number of lines after which no message is looked for among them.
const MAX_STRAYS: usize = 1_000;
/// Timeout for the answer of a server that has written a line that is not a message.
const STRAY_TIMEOUT: Duration = Duration::from_secs(20);
/// Number of lines of a server's output to show: as many from the beginning as from the end.
const MAX_LINES: usize = 48;
/// Length to which a shown line, a name and a version are cut, in characters.
const MAX_WIDTH: usize = 160;

/// Eras and identity of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Eras that the server speaks, the older one first.
    pub eras: Vec<Era>,
    /// Name and version of the server.
    pub identity: Option<Identity>,
}

/// Name and version that a server reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Version, if reported.
    pub version: String,
}

/// Starts the server over a small library and opens a session in each era.
///
/// # Errors
/// If the server cannot be started or speaks no era: a message with its answer or its output.
pub fn probe(subject: &Subject) -> Result<ServerInfo, String> {
    let scene = Scene::new(subject, &Trace::default(), &[("README.md", "# Library\n")]);
    let scene = scene.map_err(|stop| format!("the library could not be created: {stop}"))?;
    if subject.launch.is_http() {
        return over_http(subject, &scene);
    }
    let program = &subject.launch.command[0];
    let start = || {
        let prepared = subject.launch.prepare(&scene.library());
        let started = prepared.and_then(|prepared| match prepared {
            Some((command, _)) => Server::start(command, subject),
            None => Err(std::io::Error::other("the server is external")),
        });
        started.map_err(|error| not_started(program, &error))
    };
    let mut session = start()?;
    session.ask(1, "initialize", initialize());
    let opened = session.answer(&[1], subject.launch.patience);
    let mut stateless = start()?;
    let discover = |server: &mut Server| {
        let mut params = json!({});
        prepare(Era::Stateless, &mut params, &json!({}));
        server.ask(1, "server/discover", params);
    };
    discover(&mut stateless);
    // A server that does not know `server/discover` may ignore it, but must answer the second request.
    stateless.ask(2, "initialize", initialize());
    let mut discovered = stateless.answer(&[1, 2], subject.launch.patience);
    if matches!(&discovered, Ok((2, _))) {
        discovered = stateless.answer(&[1], DISCOVER_TIMEOUT);
    }
    let mut spoken = ServerInfo { eras: Vec::new(), identity: None };
    for (era, answer) in [(Era::Session, &opened), (Era::Stateless, &discovered)] {
        if let Ok((_, message)) = answer
            && message.get("result").is_some()
        {
            spoken.eras.push(era);
            spoken.identity = identity(&message["result"]).or(spoken.identity);
        }
    }
    if !spoken.eras.is_empty() {
        return Ok(spoken);
    }
    let why = match opened {
        Ok((_, message)) => format!("it answered `initialize` with {}", excerpt(&message.to_string())),
        Err(why) => why,
    };
    let written = session.end();
    Err(format!("`{program}` does not speak MCP over standard input and output: {why}{written}"))
}

/// Probes a server over HTTP, with a connection for each request.
fn over_http(subject: &Subject, scene: &Scene<'_>) -> Result<ServerInfo, String> {
    let mut spoken = ServerInfo { eras: Vec::new(), identity: None };
    let mut why = String::new();
    for era in Era::ALL {
        let target = scene.connect_in(era);
        let mut target = target.map_err(|stop| not_reached(subject, &stop.to_string()))?;
        // A server that knows its callers answers no one else.
        if let Some((role, ..)) = subject.launch.role_headers.first() {
            target.set_headers(subject.launch.headers_of(role));
        }
        let answer = match era {
            Era::Session => target.request("initialize", initialize()),
            Era::Stateless => {
                let mut params = json!({});
                prepare(era, &mut params, &json!({}));
                target.request("server/discover", params)
            }
        };
        match answer {
            Ok(message) if message.get("result").is_some() => {
                spoken.eras.push(era);
                spoken.identity = identity(&message["result"]).or(spoken.identity);
            }
            Ok(message) if why.is_empty() => {
                why = format!("it answered `initialize` with {}", excerpt(&message.to_string()));
            }
            Err(error) if why.is_empty() => why = error.to_string(),
            _ => {}
        }
    }
    if spoken.eras.is_empty() {
        return Err(not_reached(subject, &why));
    }
    Ok(spoken)
}

fn not_reached(subject: &Subject, why: &str) -> String {
    let hint = if subject.launch.verbose || subject.launch.running().is_some() {
        ""
    } else {
        "\n  `--verbose` shows what it writes to standard error"
    };
    let words = subject.launch.words().join(" ");
    format!("`{words}` does not speak MCP over HTTP: {why}{hint}")
}

/// Returns the subject with `commits` and `made_at_start` as the disk shows them. If no document can be changed, the contract's
/// own tools are assumed to commit, and others not.
pub fn observed(subject: &Subject) -> Subject {
    let subject = Subject {
        made_at_start: made_at_start(subject).unwrap_or_default(),
        sdk: sdk_of(subject),
        ..subject.clone()
    };
    let mut changes = CHANGES.iter();
    let commits = changes.find_map(|(kind, path)| commits(&subject, *kind, path).ok().flatten());
    Subject {
        commits: commits.unwrap_or(if subject.is_native() { Commits::BeforeAnswer } else { Commits::Never }),
        ..subject
    }
}

/// Returns the kit that a server is written with whose tools are not the contract's own.
fn sdk_of(subject: &Subject) -> Option<&'static Sdk> {
    if subject.is_native() {
        return None;
    }
    let scene = Scene::new(subject, &Trace::default(), &[("README.md", "# Library\n")]).ok()?;
    let answer = scene.start().ok()?.request("tools/call", json!({ "arguments": {} }));
    sdk::by_words(answer.ok()?["error"]["message"].as_str()?)
}

/// Starts the server, lists its tools, closes it, and returns the files and folders that are new in the library.
fn made_at_start(subject: &Subject) -> Result<Own, Stop> {
    let scene = Scene::new(subject, &Trace::default(), &[("README.md", "# Library\n")])?;
    let before = scene.view()?.library;
    let mut client = scene.start()?;
    client.request("tools/list", json!({}))?;
    // `wire/exit-on-eof` judges whether it exits.
    let _ = client.close();
    let after = scene.view()?.library;
    let folders = after.folders.difference(&before.folders).map(|folder| folder.join("**"));
    let files = after.files.keys().filter(|path| !before.files.contains_key(*path)).cloned();
    let globs = folders.chain(files).map(|path| path.to_string_lossy().into_owned());
    // A name that is not a glob, or one that would hide documents, stays visible.
    Ok(globs.filter_map(|glob| Own::parse([glob]).ok()).fold(Own::default(), |all, own| all.and(&own)))
}

/// Ways to change a document, the first of which that a server accepts shows whether it commits. Some servers do not
/// overwrite documents.
const CHANGES: [(EffectKind, &str); 5] = [
    (EffectKind::Write, "README.md"),
    (EffectKind::Write, "new.md"),
    (EffectKind::Append, "README.md"),
    (EffectKind::Delete, "README.md"),
    (EffectKind::InsertSection, "README.md"),
];

/// Returns when a change of this kind makes a commit; `None` if it changes no document.
fn commits(subject: &Subject, kind: EffectKind, path: &str) -> Result<Option<Commits>, Stop> {
    let with = With { path, content: "# Another library\n", target: "" };
    let Some(call) = subject.request(kind, with) else {
        return Ok(None);
    };
    let scene = Scene::new(subject, &Trace::default(), &[("README.md", "# Library\n")])?;
    let mut client = scene.start()?;
    let before = scene.view()?.library;
    client.make(&call)?;
    if !scene.view()?.library.commits_since(&before).is_empty() {
        return Ok(Some(Commits::BeforeAnswer));
    }
    settled::wait_for_commit(&scene, &before)?;
    // A server may commit when it ends. `wire/exit-on-eof` judges whether it exits.
    let _ = client.close();
    let after = scene.view()?.library;
    let path = call.path();
    let is_changed = after.changed_since(&before).iter().any(|changed| changed.to_str() == Some(&path));
    let is_committed = !after.commits_since(&before).is_empty();
    Ok(is_changed.then_some(if is_committed { Commits::Later } else { Commits::Never }))
}

fn initialize() -> Value {
    let client = json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") });
    json!({ "protocolVersion": Era::Session.revision(), "capabilities": {}, "clientInfo": client })
}

fn not_started(program: &str, error: &std::io::Error) -> String {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "; the program or the working directory does not exist",
        std::io::ErrorKind::PermissionDenied => "; is it executable?",
        _ => "",
    };
    format!("`{program}` can't be started: {error}{hint}")
}

fn identity(result: &Value) -> Option<Identity> {
    let info =
        result.get("serverInfo").or_else(|| result.pointer("/_meta/io.modelcontextprotocol~1serverInfo"))?;
    let short = |text: &str| text.chars().take(MAX_WIDTH).collect();
    Some(Identity {
        name: short(info["name"].as_str()?),
        version: short(info["version"].as_str().unwrap_or_default()),
    })
}

fn excerpt(line: &str) -> String {
    format!("`{}`", visible::cut(line, MAX_WIDTH))
}

/// A server whose output is recorded.
struct Server {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    output: Vec<String>,
    errors: Arc<Mutex<Vec<String>>>,
    /// Closed at the end of standard error.
    errors_end: Receiver<()>,
}

impl Server {
    fn start(mut command: Command, subject: &Subject) -> std::io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start(&mut command)?;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let (reading, errors_end) = channel::<()>();
        let (kept, verbose) = (Arc::clone(&errors), subject.launch.verbose);
        if let Some(stderr) = process.stderr() {
            thread::spawn(move || {
                let _reading = reading;
                read(stderr, |line| {
                    if verbose {
                        eprintln!("{line}");
                    }
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push(line);
                    // The first and the last ones are shown.
                    if kept.len() > MAX_STRAYS {
                        kept.remove(MAX_STRAYS / 2);
                    }
                    true
                });
            });
        }
        let (stdin, stdout) = process.pipes();
        let lines = stdout.map_or_else(|| channel().1, follow);
        Ok(Self { process, stdin, lines, output: Vec::new(), errors, errors_end })
    }

    /// Sends a request. A write error is ignored, because the missing answer reports it.
    fn ask(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
        }
    }

    /// Returns the first answer to one of the requests with the request's id, or the reason why none arrived.
    fn answer(&mut self, ids: &[u64], patience: Duration) -> Result<(u64, Value), String> {
        let mut until = Instant::now() + patience;
        let mut stray = None;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.output.push(line.clone());
                    let Ok(message) = serde_json::from_str::<Value>(&line) else {
                        // Its messages may follow.
                        until = until.min(Instant::now() + STRAY_TIMEOUT);
                        let said = || {
                            format!("it wrote a line to standard output that is not JSON: {}", excerpt(&line))
                        };
                        let stray = stray.get_or_insert_with(said);
                        if self.output.len() > MAX_STRAYS || !is_stray(&line) {
                            return Err(stray.clone());
                        }
                        continue;
                    };
                    if self.output.len() > MAX_STRAYS {
                        return Err(format!("it wrote {MAX_STRAYS} messages, and none is an answer"));
                    }
                    let answered =
                        ids.iter().find(|id| message["id"] == **id && message.get("method").is_none());
                    if let Some(id) = answered {
                        return Ok((*id, message));
                    }
                }
                Err(_) if stray.is_some() => return Err(stray.unwrap_or_default()),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no answer within {} s", patience.as_secs_f64()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status =
                        self.exit().map_or_else(|| "closed its output".into(), |it| format!("ended ({it})"));
                    return Err(format!("it {status} before it answered"));
                }
            }
        }
    }

    /// Returns the server's exit status if it exits soon.
    fn exit(&mut self) -> Option<ExitStatus> {
        for _ in 0..200 {
            match self.process.status() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
        None
    }

    /// Stops the server and returns its output, for people.
    fn end(mut self) -> String {
        self.stop();
        // A child process of the server may still hold the pipe.
        let _ = self.errors_end.recv_timeout(Duration::from_secs(1));
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut text = String::new();
        for (name, lines) in [("output", &self.output), ("error", &errors)] {
            if lines.is_empty() {
                let _ = write!(text, "\n  nothing on standard {name}");
                continue;
            }
            let _ = write!(text, "\n  on standard {name}:");
            let skipped = lines.len().saturating_sub(MAX_LINES);
            for (number, line) in lines.iter().enumerate() {
                if skipped > 0 && number == MAX_LINES / 2 {
                    let _ = write!(text, "\n    … {skipped} lines …");
                }
                if number < MAX_LINES / 2 || number >= MAX_LINES / 2 + skipped {
                    let _ = write!(text, "\n    {}", visible::cut(line, MAX_WIDTH));
                }
            }
        }
        text
    }

    fn stop(&mut self) {
        self.process.kill();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn follow(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = sync_channel(MAX_STRAYS);
    thread::spawn(move || read(stdout, |line| sender.send(line).is_ok()));
    lines
}

/// Forwards each line, with any bytes, until the receiver is gone.
fn read(from: impl std::io::Read, mut to: impl FnMut(String) -> bool) {
    let mut from = BufReader::new(from);
    while let Some(line) = next_line(&mut from).transpose() {
        let is_broken = line.is_err();
        let line =
            line.map_or_else(|error| error.to_string(), |line| String::from_utf8_lossy(&line).into_owned());
        if !to(line) || is_broken {
            return;
        }
    }
}
