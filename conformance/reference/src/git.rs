//! Runs git, and disables everything that a repository's configuration, its hooks or the environment could make it do.

use std::{
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use data_encoding::HEXLOWER;
use sha1::{Digest, Sha1};
use tabellion_runtime::{Failure, FailureKind};

use super::{
    failed,
    mutant::{Mutant, is},
};

/// Settings that override the repository's own.
const SETTINGS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.quotePath=false",
    "core.fsync=loose-object",
    "core.fsyncMethod=fsync",
    "gc.auto=0",
    "maintenance.auto=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "safe.directory=*",
];

/// A repository and a folder in its work tree.
#[derive(Debug, Clone)]
pub(super) struct Git {
    library: PathBuf,
    /// Folder with the index.
    pub(super) dir: PathBuf,
    /// Folder with the branches.
    pub(super) common: PathBuf,
    /// Prefix that turns a library's path into the repository's: empty, or `folder/`.
    pub(super) prefix: String,
    /// Environment variables that name the repository and the work tree.
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Opens the repository that contains `library`.
    pub(super) fn open(library: &Path) -> Result<Self, Failure> {
        let mut git = Self {
            library: library.to_owned(),
            dir: PathBuf::new(),
            common: PathBuf::new(),
            prefix: String::new(),
            variables: Vec::new(),
        };
        let arguments = [
            "rev-parse",
            "--absolute-git-dir",
            "--show-prefix",
            "--show-ref-format",
            "--show-object-format",
            "--git-common-dir",
        ];
        let output = git.text(&arguments)?;
        let [dir, prefix, refs, objects, common] = output.lines().collect::<Vec<_>>()[..] else {
            return Err(Failure::new(
                FailureKind::Refused,
                "the library is not in a repository with a work tree",
            ));
        };
        if (refs, objects) != ("files", "sha1") {
            let message = format!("a repository with {refs} and {objects} is not served; files and sha1 are");
            return Err(Failure::new(FailureKind::Refused, message));
        }
        let prefix = if is(Mutant::ForgetsPrefix) { "" } else { prefix };
        (git.dir, git.common, git.prefix) = (dir.into(), library.join(common), prefix.into());
        Ok(git)
    }

    /// Runs git; returns its output without the final line ending.
    pub(super) fn text(&self, arguments: &[&str]) -> Result<String, Failure> {
        self.feed(arguments, b"", &[])
    }

    /// As [`text`](Self::text), but returns `None` if git fails, which some commands do for a negative answer.
    pub(super) fn ask(&self, arguments: &[&str]) -> Option<String> {
        self.text(arguments).ok()
    }

    /// As [`text`](Self::text), with standard input and environment variables.
    pub(super) fn feed(
        &self,
        arguments: &[&str],
        input: &[u8],
        variables: &[(&str, OsString)],
    ) -> Result<String, Failure> {
        let output = self.bytes(arguments, input, variables)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// As [`feed`](Self::feed), but returns the exact output.
    pub(super) fn bytes(
        &self,
        arguments: &[&str],
        input: &[u8],
        variables: &[(&str, OsString)],
    ) -> Result<Vec<u8>, Failure> {
        let mut command = self.command();
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed("start git"))?;
        let stdin = child.stdin.take();
        let output = thread::scope(|scope| {
            // If git closes its input early, its exit status and message report why.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
            child.wait_with_output()
        });
        let output = output.map_err(failed("run git"))?;
        let no_is_an_answer = arguments[0] == "check-ignore" && output.status.code() == Some(1);
        if output.status.success() || no_is_an_answer {
            return Ok(output.stdout);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let message = format!("`git {}` failed: {}", arguments[0], stderr.trim());
        Err(Failure::new(FailureKind::Io, message))
    }

    /// Returns the repository with an empty folder as its work tree.
    pub(super) fn without_documents(&self, empty: &Path) -> Self {
        let variables = vec![
            ("GIT_DIR", self.dir.clone().into_os_string()),
            ("GIT_WORK_TREE", empty.to_owned().into_os_string()),
        ];
        Self { library: empty.to_owned(), ..self.with_variables(variables) }
    }

    /// Returns the repository that these environment variables name.
    pub(super) fn with_variables(&self, variables: Vec<(&'static str, OsString)>) -> Self {
        Self { variables, ..self.clone() }
    }

    /// Returns the bytes of an object.
    pub(super) fn blob(&self, id: &str) -> Result<Vec<u8>, Failure> {
        self.bytes(&["cat-file", "blob", id], b"", &[])
    }

    /// Writes bytes as an object, without filters.
    pub(super) fn keep(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.feed(&["hash-object", "-w", "--no-filters", "--stdin"], bytes, &[]).map(drop)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.library);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        if !is(Mutant::TrustsEnvironment) {
            command.env_clear();
        }
        for name in ["PATH", "HOME", "TMPDIR"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", "Reference"),
            ("GIT_AUTHOR_EMAIL", "reference@localhost"),
            ("GIT_COMMITTER_NAME", "Reference"),
            ("GIT_COMMITTER_EMAIL", "reference@localhost"),
        ]);
        command.envs(self.variables.iter().cloned());
        command
    }
}

/// Returns git's id of these bytes.
pub(super) fn id_of(bytes: &[u8]) -> String {
    let mut hash = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    HEXLOWER.encode(&hash.finalize())
}
