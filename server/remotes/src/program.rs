//! The `git` program: its environment, its deadline, and its output.

use std::{
    env,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tabellion_platform as platform;

/// Maximum bytes kept of each stream.
const MAX_PRINTED: usize = 64 << 10;
/// Maximum characters shown of a program's output.
const MAX_WORDS: usize = 300;
/// Maximum interval between checks for the program's end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum wait for the output of a program that has ended: a child of it may hold the stream open.
const DRAIN: Duration = Duration::from_millis(200);
/// Git's variables that belong to the user, not to a repository.
const OF_USER: [&str; 10] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_NO_VERIFY",
    "GIT_PROXY_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// The paths that the library lends to git.
#[derive(Debug, Clone)]
pub struct Lent {
    /// The folder for our own repository, which is created.
    pub folder: PathBuf,
    /// The library's folder of objects.
    pub objects: PathBuf,
    /// The file with the boundary of a shallow clone; it need not exist.
    pub shallow: PathBuf,
    /// The user's folder for ssh connections, which are kept for a minute, if there is one.
    pub connections: Option<PathBuf>,
}

/// Reason for a missing answer from the remote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Unreachable {
    /// The kind of trouble, as far as the words reveal it.
    pub trouble: Trouble,
    /// The output of the programs or our own message, masked, cut and on one line.
    pub words: String,
}

/// A kind of trouble with a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Credentials are missing, expired or not enough, or the host is unknown. Nothing was sent.
    Auth,
    /// No connection was made. Nothing was sent.
    Offline,
    /// There is no repository at the address. Nothing was sent.
    Missing,
    /// This machine's disk is full. Sent data may have arrived.
    Full,
    /// The git program can't be started.
    NoGit,
    /// Anything else: the connection was cut, or the deadline passed. Sent data may have arrived.
    Cut,
}

impl Trouble {
    /// Returns the machine-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Offline => "offline",
            Self::Missing => "missing",
            Self::Full => "full",
            Self::NoGit => "no_git",
            Self::Cut => "cut",
        }
    }
}

impl Unreachable {
    /// Returns true if a push that failed this way may have been accepted.
    pub fn may_have_arrived(&self) -> bool {
        matches!(self.trouble, Trouble::Cut | Trouble::Full)
    }
}

/// The program with our own repository.
#[derive(Debug)]
pub(crate) struct Git {
    lent: Lent,
    has_own_ssh: OnceLock<bool>,
}

/// The outcome of a program.
pub(crate) enum Ended {
    /// Success, with the standard output.
    Well(String),
    /// Failure, with the exit code, the standard output and the standard error.
    Badly { code: Option<i32>, printed: String, words: String },
    /// It could not be started, or its deadline passed and it was killed.
    Not(Unreachable),
}

impl Git {
    pub(crate) fn new(lent: &Lent) -> Self {
        Self { lent: lent.clone(), has_own_ssh: OnceLock::new() }
    }

    /// Returns the folder of our own repository.
    pub(crate) fn folder(&self) -> &Path {
        &self.lent.folder
    }

    /// Runs git with these arguments. It is killed at the deadline, with every program that it started.
    pub(crate) fn run(&self, arguments: &[&str], deadline: Duration) -> Ended {
        let mut command = self.command(arguments);
        if !self.has_own_ssh() {
            command.env("GIT_SSH_COMMAND", ssh(self.lent.connections.as_deref()));
        }
        run(command, deadline)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_") && !OF_USER.contains(&&*text) {
                command.env_remove(&name);
            }
        }
        command
            .args(arguments)
            .current_dir(&self.lent.folder)
            .env("GIT_DIR", &self.lent.folder)
            .env("GIT_OBJECT_DIRECTORY", &self.lent.objects)
            .env("GIT_SHALLOW_FILE", &self.lent.shallow)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", no_answer())
            .env("SSH_ASKPASS", no_answer())
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("GCM_INTERACTIVE", "never")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        platform::lead_group(&mut command);
        command
    }

    /// Returns true if the user has chosen a program for ssh.
    fn has_own_ssh(&self) -> bool {
        *self.has_own_ssh.get_or_init(|| {
            let is_set = |name: &str| env::var_os(name).is_some();
            let configured = || {
                let command = self.command(&["config", "--get", "core.sshCommand"]);
                matches!(run(command, Duration::from_secs(5)), Ended::Well(_))
            };
            is_set("GIT_SSH") || is_set("GIT_SSH_COMMAND") || configured()
        })
    }
}

/// Longest path, in bytes, of a folder for connections: ssh adds 58 to name a socket, whose path has at most 103.
const MAX_CONNECTIONS: usize = 45;

/// Returns the command for ssh, as a shell takes it. It never prompts; its connection is kept for a minute, because opening one takes
/// longer than a push.
fn ssh(connections: Option<&Path>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let folder = connections
        .and_then(Path::to_str)
        .filter(|folder| folder.len() <= MAX_CONNECTIONS && folder.chars().all(is_plain));
    let folder = folder.filter(|_| cfg!(unix));
    match folder.filter(|folder| platform::create_folders(Path::new(folder), 5).is_ok()) {
        Some(folder) => format!(
            "ssh -o BatchMode=yes -o ServerAliveInterval=5 -o ControlMaster=auto -o ControlPersist=60 -o ControlPath={folder}/%C"
        ),
        None => "ssh -o BatchMode=yes".to_owned(),
    }
}

/// A program that answers each question with failure.
fn no_answer() -> PathBuf {
    PathBuf::from(if cfg!(windows) { "no-askpass" } else { "false" })
}

fn run(mut command: Command, deadline: Duration) -> Ended {
    let end = Instant::now() + deadline;
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            return Ended::Not(Unreachable {
                trouble: Trouble::NoGit,
                words: format!("the program `git` can't be started: {error}"),
            });
        }
    };
    let (printed, said) = (child.stdout.take().map(collect), child.stderr.take().map(collect));
    let status = wait(&mut child, end);
    let [printed, said] = [printed, said].map(|stream| stream.map(Stream::text).unwrap_or_default());
    match status {
        Some(status) if status.success() => Ended::Well(printed),
        Some(status) => Ended::Badly { code: status.code(), printed, words: said },
        None => Ended::Not(Unreachable {
            trouble: Trouble::Cut,
            words: format!("no answer within {} s {}", deadline.as_secs_f32().ceil(), masked(&said))
                .trim_end()
                .to_owned(),
        }),
    }
}

/// Waits until the program has ended; kills it at `end`.
fn wait(child: &mut Child, end: Instant) -> Option<std::process::ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => {}
            _ => {
                platform::end_group(child);
                // It was killed; only its status is missing.
                let _ = child.wait();
                return None;
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(POLL_INTERVAL);
    }
}

/// The output of a program on one stream, collected in the background: another program may hold it open for ever.
struct Stream {
    text: Arc<Mutex<Vec<u8>>>,
    reader: thread::JoinHandle<()>,
}

fn collect(mut stream: impl Read + Send + 'static) -> Stream {
    let text = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&text);
    let reader = thread::spawn(move || {
        let mut part = [0; 8 << 10];
        while let Ok(length @ 1..) = stream.read(&mut part) {
            let mut kept = kept.lock();
            let room = MAX_PRINTED.saturating_sub(kept.len()).min(length);
            kept.extend(&part[..room]);
        }
    });
    Stream { text, reader }
}

impl Stream {
    fn text(self) -> String {
        let end = Instant::now() + DRAIN;
        while !self.reader.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        String::from_utf8_lossy(&self.text.lock()).into_owned()
    }
}

/// Returns the remote's messages in git's output.
pub(crate) fn of_remote(words: &str) -> String {
    let lines = words.lines().filter_map(|line| line.strip_prefix("remote:"));
    lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns a program's words for people: on one line, cut, and without possible secrets.
pub(crate) fn masked(words: &str) -> String {
    let shown: Vec<_> = words.split_whitespace().map(without_secrets).collect();
    let line = shown.join(" ");
    let visible = line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut text: String = visible.clone().take(MAX_WORDS).collect();
    if visible.count() > MAX_WORDS {
        text.push('…');
    }
    text
}

/// Prefixes of forges' tokens.
const TOKENS: [&str; 7] = ["ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox"];

fn without_secrets(word: &str) -> String {
    let mut shown = word.to_owned();
    for begin in TOKENS {
        if let Some(at) = shown.find(begin) {
            let end = shown[at..].find(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
            shown.replace_range(at..end.map_or(shown.len(), |end| at + end), "***");
        }
    }
    if let Some(at) = shown.find("://") {
        let rest = &shown[at + 3..];
        let host = rest.split('/').next().unwrap_or(rest);
        if let Some(user) = host.rfind('@') {
            shown.replace_range(at + 3..at + 3 + user + 1, "");
        }
    }
    shown
}

/// Troubles with the messages that indicate them; the first trouble with a match counts.
const WORDS: [(Trouble, &[&str]); 4] = [
    (
        Trouble::Full,
        &[
            "No space left on device",
            "Disk quota exceeded",
            // A reference's lock: git leaves out the reason.
            "couldn't write '",
        ],
    ),
    (
        Trouble::Auth,
        &[
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "terminal prompts disabled",
            "Permission denied",
            "Host key verification failed",
            "The requested URL returned error: 403",
        ],
    ),
    (
        Trouble::Offline,
        &[
            "Could not resolve host",
            "Couldn't connect to server",
            "Could not connect to server",
            "Failed to connect",
            "Connection refused",
            "Network is unreachable",
            "No route to host",
        ],
    ),
    (Trouble::Missing, &["does not appear to be a git repository", "not found", "does not exist"]),
];

/// Classifies the words of a program.
pub(crate) fn unreachable(words: &str) -> Unreachable {
    let is_said = |(_, parts): &&(Trouble, &[&str])| parts.iter().any(|part| words.contains(part));
    Unreachable {
        trouble: WORDS.iter().find(is_said).map_or(Trouble::Cut, |(trouble, _)| *trouble),
        words: masked(words),
    }
}
