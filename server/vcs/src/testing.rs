//! The git program as the reference, and repositories for tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tabellion_platform as platform;

use crate::{GitRepository, Workspaces, error::VcsError};

/// A caller that does not cancel.
pub(crate) const GO_ON: &dyn Fn() -> bool = &|| false;

fn command(folder: &Path, arguments: &[&str]) -> Output {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        git.env_remove(name);
    }
    git.env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", if cfg!(windows) { "NUL" } else { "/dev/null" })
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(["-c", "protocol.file.allow=always", "-c", "safe.directory=*"])
        .args(["-c", "init.defaultBranch=main", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("git is needed for tests: {error}"))
}

/// Runs git in `folder`, and returns its output.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}

/// As [`git`]; `None` if git fails.
pub(crate) fn try_git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = command(folder, arguments);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(printed)
}

/// A temporary folder, with a workspace in it.
pub(crate) struct Playground {
    _folder: tempfile::TempDir,
    pub(crate) at: PathBuf,
    pub(crate) workspaces: Workspaces,
}

impl Playground {
    /// Creates the folders `ws`, the workspace, and `outside`.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = platform::canonicalize(folder.path()).expect("a path");
        for name in ["ws", "outside"] {
            fs::create_dir(at.join(name)).expect("a folder");
        }
        let workspaces = Workspaces::new(&[at.join("ws")], &at.join("ws")).expect("a workspace");
        Self { _folder: folder, at, workspaces }
    }

    /// Returns a path in the playground.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.at.join(path)
    }

    /// Creates a repository with a commit that has one file.
    pub(crate) fn init(&self, path: &str) -> PathBuf {
        let top = self.path(path);
        fs::create_dir_all(&top).expect("a folder");
        git(&top, &["init", "-q"]);
        commit(&top, &[("file", Some(path))], path);
        top
    }

    /// Opens the repository at a path in the workspace.
    pub(crate) fn open(&self, path: &str) -> Result<GitRepository, VcsError> {
        let at = self.workspaces.folder(path)?;
        GitRepository::open(&self.workspaces, &at, GO_ON)
    }
}

/// Writes files, or removes them, and commits all.
pub(crate) fn commit(top: &Path, files: &[(&str, Option<&str>)], message: &str) {
    for (path, text) in files {
        let path = top.join(path);
        match text {
            Some(text) => {
                fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
                fs::write(path, text).expect("a file");
            }
            None => fs::remove_file(path).expect("removed"),
        }
    }
    git(top, &["add", "-A"]);
    git(top, &["commit", "-q", "--allow-empty", "-m", message]);
}

/// Opens a repository anywhere.
pub(crate) fn open(top: &Path) -> GitRepository {
    let workspaces = Workspaces::new(&[top.to_owned()], top).expect("a workspace");
    let at = workspaces.folder(".").expect("a folder");
    GitRepository::open(&workspaces, &at, GO_ON).expect("a repository")
}

/// Reproducible pseudo-random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}
