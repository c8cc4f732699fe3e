//! A state on the disk, with a person's work in it, and a server for it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use tabellion_conformance::Target;
use tempfile::TempDir;

use super::State;
use crate::support::{Server, TABELLION};

/// A repository of a few files.
const FIRST: &str = "
    git init -q --template= .
    mkdir .git/info
    mkdir notes
    printf '# A\\n' > notes/a.md
    printf '# Gone\\n' > notes/gone.md
    printf 'other\\n' > other.txt
    git add -A
    git commit -qm first";

/// A person's work in the library: a staged file, a changed one, and a new one.
const WORK: &str = "
    printf 'staged\\n' > staged.md
    git add --sparse staged.md
    printf 'changed\\n' >> other.txt
    printf 'new\\n' > untracked.md";

/// The person's configuration.
const CONFIGURATION: &str = "
[user]
    name = A Person
    email = person@localhost
[init]
    defaultBranch = main
[protocol \"file\"]
    allow = always
[gc]
    auto = 0
[safe]
    directory = *
[advice]
    detachedHead = false
";

pub(super) struct Scene {
    pub(super) state: State,
    dir: TempDir,
}

/// Returns a folder in memory if the system has one, because these tests do not concern the disk.
fn base() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

impl Scene {
    pub(super) fn new(state: State) -> Self {
        let scene = Self { state, dir: TempDir::new_in(base()).expect("a temporary folder") };
        for folder in ["home", "lib"] {
            fs::create_dir_all(scene.top().join(folder)).expect("a folder");
        }
        fs::write(scene.top().join("home/.gitconfig"), CONFIGURATION).expect("a configuration");
        scene.shell("lib", FIRST);
        scene.shell("lib", state.make);
        if !matches!(state.expected, super::Expected::NotStarted(_)) {
            scene.shell(state.library, WORK);
            scene.shell(state.library, state.then);
        }
        scene
    }

    /// Returns the folder that contains everything: `$T`.
    pub(super) fn top(&self) -> PathBuf {
        self.dir.path().join("t")
    }

    /// Returns the library's folder.
    pub(super) fn library(&self) -> PathBuf {
        self.top().join(self.state.library)
    }

    pub(super) fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.library().join(path)).ok()
    }

    /// Runs a script of the person's in the folder `at`; returns its output.
    pub(super) fn shell(&self, at: &str, script: &str) -> String {
        let output = self
            .apart("sh")
            .args(["-e", "-c", script])
            .current_dir(self.top().join(at))
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {script}\n{said}", self.state.name);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git in the library; returns its output.
    pub(super) fn git(&self, arguments: &str) -> String {
        self.shell(self.state.library, &format!("git {arguments}"))
    }

    /// Runs scripts of the person's one after another in the library; returns the output of each.
    pub(super) fn parts<const N: usize>(&self, scripts: [&str; N]) -> [String; N] {
        const BETWEEN: &str = "\u{1}";
        let output = self.shell(self.state.library, &scripts.join(&format!("\nprintf '{BETWEEN}'\n")));
        let parts: Vec<_> = output.split(BETWEEN).map(String::from).collect();
        parts.try_into().expect("an output for each script")
    }

    pub(super) fn serve(&self) -> Server {
        let mut target = Target::start(&mut self.server()).expect("the server starts");
        target
            .initialize("2025-11-25")
            .unwrap_or_else(|error| panic!("{}: {error}: {}", self.state.name, self.said()));
        Server { target }
    }

    /// Returns the command that serves the library.
    pub(super) fn server(&self) -> Command {
        let script = format!("{}\nexec \"$0\" serve --library \"$1\"", self.state.environment);
        let mut command = self.apart("sh");
        command
            .args(["-e", "-c", &script, TABELLION])
            .arg(self.library())
            .env("CANARY", self.canary())
            .stderr(File::create(self.dir.path().join("said")).expect("a file"));
        command
    }

    /// Returns the standard error of the last server.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.dir.path().join("said")).unwrap_or_default()
    }

    /// Returns the file that exists if the server, not git, ran a program that the repository configures.
    pub(super) fn canary(&self) -> PathBuf {
        self.dir.path().join("canary")
    }

    /// Returns a program's command without the environment and configuration of the user who runs the tests.
    fn apart(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.top().join("home"))
            .env("T", self.top())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Environment")
                .env(format!("GIT_{who}_EMAIL"), "environment@localhost");
        }
        command
    }
}
