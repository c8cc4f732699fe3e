//! A library in a temporary folder, edits by hand, and git's view of both.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    task::{Context, Poll, Waker},
};

use tabellion_runtime::{
    BoxFuture, CallContext, Change, Claim, Content, Edit, Entry, Failure, Prepared, Session, Store,
    StoreError,
};
use tempfile::TempDir;

use crate::{Library, Options, checkpoint::Watch, path::LibraryPath};

/// A repository with a few committed files, and functions to inspect it.
pub(crate) struct Bench {
    folder: TempDir,
    /// Kept as long as the repository exists.
    elsewhere: Option<TempDir>,
}

impl Bench {
    /// A repository with `plan.md`, `notes/a.md` and `notes/b.md`.
    pub(crate) fn new() -> Self {
        let bench = Self::empty();
        bench.git(&["init", "-q", "-b", "main"]);
        bench.filled()
    }

    /// A repository without a commit.
    pub(crate) fn unborn() -> Self {
        let bench = Self::empty();
        bench.git(&["init", "-q", "-b", "main"]);
        bench
    }

    /// As [`Self::new`], its `.git` on a different device; `None` if there is no such device.
    pub(crate) fn on_two_devices() -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let mut bench = Self::empty();
        let elsewhere = tempfile::tempdir_in("/dev/shm").ok()?;
        if fs::metadata(elsewhere.path()).ok()?.dev() == fs::metadata(bench.path("")).ok()?.dev() {
            return None;
        }
        let git_dir = elsewhere.path().join("git");
        bench.git(&["init", "-q", "-b", "main", "--separate-git-dir", git_dir.to_str()?]);
        bench.elsewhere = Some(elsewhere);
        Some(bench.filled())
    }

    /// Two clones of one bare repository that has the files of [`Self::new`], each shared through it; and that repository.
    pub(crate) fn shared() -> ([Self; 2], TempDir) {
        let shared = tempfile::tempdir().unwrap();
        git(shared.path(), &["init", "-q", "--bare", "-b", "main"]);
        let address = shared.path().to_str().unwrap();
        let first = Self::new();
        first.git(&["remote", "add", "origin", address]);
        first.git(&["push", "-q", "origin", "main"]);
        let second = Self::empty();
        second.git(&["clone", "-q", address, "."]);
        for bench in [&first, &second] {
            bench.git(&["config", "user.name", "Ann"]);
            bench.git(&["config", "user.email", "ann@example.com"]);
        }
        ([first, second], shared)
    }

    fn filled(self) -> Self {
        self.git(&["config", "user.name", "Ann"]);
        self.git(&["config", "user.email", "ann@example.com"]);
        self.write("plan.md", "old plan\n");
        self.write("notes/a.md", "old a\n");
        self.write("notes/b.md", "old b\n");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "first"]);
        self
    }

    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), elsewhere: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.path().to_owned() } else { self.folder.path().join(name) }
    }

    pub(crate) fn library(&self) -> Library {
        Library::open(self.folder.path(), self.options()).unwrap()
    }

    pub(crate) fn watched(&self, watch: Watch) -> Library {
        Library::open_watched(self.folder.path(), self.options(), watch).unwrap()
    }

    /// The options of a user with a separate folder.
    fn options(&self) -> Options {
        Options { user: Some(self.folder.path().join(".git/of-user")), ..Options::default() }
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a file that git knows, and commits all changes of such files by hand.
    pub(crate) fn commit(&self, name: &str, content: &str) {
        self.write(name, content);
        self.git(&["commit", "-qam", "by hand"]);
    }

    /// Commits everything by hand.
    pub(crate) fn commit_all(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "by hand"]);
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// Returns the output of a git command, which must succeed.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let (succeeded, output) = self.try_git(arguments);
        assert!(succeeded, "git {arguments:?}: {output}");
        output
    }

    pub(crate) fn try_git(&self, arguments: &[&str]) -> (bool, String) {
        git(self.folder.path(), arguments)
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn status(&self) -> String {
        self.git(&["--no-optional-locks", "status", "--porcelain"])
    }

    /// Git finds no errors, and no files of a transaction are left.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        assert_eq!(self.leftovers(), Vec::<String>::new());
        self.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        self.assert_cached_trees();
    }

    /// Git itself compares the cached trees of the index with its entries.
    #[track_caller]
    fn assert_cached_trees(&self) {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.folder.path())
            .env("GIT_TEST_CHECK_CACHE_TREE", "true")
            .args(["update-index", "--force-write-index"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Files that a transaction must not leave.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let git_dir = PathBuf::from(self.git(&["rev-parse", "--absolute-git-dir"]));
        let mut left = Vec::new();
        for folder in [
            git_dir.clone(),
            git_dir.join("tabellion"),
            git_dir.join("refs/heads"),
            git_dir.join("objects/pack"),
            self.path(""),
            self.path("notes"),
        ] {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name().into_string().unwrap();
                let empty = entry.metadata().is_ok_and(|found| found.len() == 0);
                let stays = name == "lock"
                    || name == "gathering.lock"
                    || name.starts_with("remote")
                    || name == "intent" && empty
                    || name.starts_with("log.sqlite");
                let ours = folder.ends_with("tabellion") && !stays;
                let theirs = [".lock", ".keep"].iter().any(|end| name.ends_with(end));
                if ours || theirs && !stays || name.starts_with(".tabellion") {
                    left.push(name);
                }
            }
        }
        left
    }
}

/// Returns the output of a git command in `folder`, and true if it succeeded.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
}

pub(crate) fn change(path: &str, content: Option<&str>) -> Change {
    let operation = if content.is_some() { "write" } else { "delete" };
    let Edit { path, content } = edit(path, content);
    let summary = format!("change {path}");
    Change::one(path, content, operation, summary)
}

/// A change of several documents.
pub(crate) fn changes(documents: &[(&str, Option<&str>)]) -> Change {
    let edits = documents.iter().map(|(path, content)| edit(path, *content));
    Change::new(edits.collect(), "change", "change several").unwrap()
}

fn edit(path: &str, content: Option<&str>) -> Edit {
    Edit {
        path: path.to_owned(),
        content: content.map_or(Content::Delete, |text| Content::Write(text.as_bytes().to_vec())),
    }
}

/// Waits for a future that needs no runtime.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}

pub(crate) fn begin(library: &Library) -> Box<dyn Session + '_> {
    wait(library.begin(Claim::default())).unwrap()
}

pub(crate) fn prepare(session: &mut dyn Session, change: &Change) -> Result<Prepared, StoreError> {
    prepare_with(session, change, &serde_json::Map::new())
}

fn prepare_with(
    session: &mut dyn Session,
    change: &Change,
    details: &serde_json::Map<String, serde_json::Value>,
) -> Result<Prepared, StoreError> {
    let call = CallContext { client: Some("test/1".into()), ..CallContext::default() };
    let entry = Entry { tool: "a_tool", call: &call, request: None, details };
    ready(session.prepare(change, &entry))
}

/// Returns the output of a session's future, which never waits.
pub(crate) fn ready<T>(mut future: BoxFuture<'_, T>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("a library's session waited"),
    }
}

/// Makes a change in the way of the runtime, once.
pub(crate) fn make(library: &Library, change: &Change) -> Result<String, StoreError> {
    make_with(library, change, &serde_json::Map::new())
}

/// As [`make`], of a change with these details.
pub(crate) fn make_with(
    library: &Library,
    change: &Change,
    details: &serde_json::Map<String, serde_json::Value>,
) -> Result<String, StoreError> {
    let mut session = wait(library.begin(Claim::default())).map_err(StoreError::Failure)?;
    let prepared = prepare_with(&mut *session, change, details)?;
    wait(session.publish())?;
    Ok(prepared.commit.into())
}

/// Returns the failure of a refused change.
#[track_caller]
pub(crate) fn refusal(library: &Library, change: &Change) -> Failure {
    match make(library, change) {
        Err(StoreError::Failure(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn path(text: &str) -> LibraryPath {
    LibraryPath::parse(text).unwrap()
}
