//! Reads the library: documents, listings, search, the log.

use std::{
    cell::RefCell,
    collections::HashSet,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use tabellion_runtime::{Failure, FailureKind};

use super::{
    folder::{DocumentSnapshot, Folder, Listing},
    git::{Git, id_of},
    mutant::{self, Mutant, is},
};

/// Trailer of a commit's message that holds its log entry.
pub(super) const TRAILER: &str = "Tabellion-Reference: ";

/// Timeout of a reader that waits for a change in progress.
const READ_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Rest of a change, after its answer.
type Rest = Box<dyn FnOnce(&Library) -> Result<(), Failure>>;

/// A folder of documents in a repository.
pub(super) struct Library {
    pub(super) folder: Folder,
    pub(super) git: Git,
    /// The server's own folder in `.git`.
    pub(super) own: PathBuf,
    /// Work that a mutant does after its answer.
    pub(super) postponed: RefCell<Option<Rest>>,
}

/// A document and its state in git.
pub(super) struct Document {
    pub(super) found: DocumentSnapshot,
    /// Content id of the bytes.
    pub(super) blob: String,
    /// HEAD.
    pub(super) commit: String,
    /// True if the bytes differ from HEAD's.
    pub(super) dirty: bool,
}

impl Library {
    /// Opens the library at `root`, and recovers interrupted changes.
    pub(super) fn open(root: &Path) -> Result<Self, Failure> {
        let folder = Folder::open(root)?;
        let git = Git::open(&folder.path)?;
        let own = git.dir.join("tabellion-reference");
        let library = Self { folder, git, own, postponed: RefCell::new(None) };
        mutant::after_open(root, &library)?;
        if let Err(failure) = library.settle() {
            eprintln!("{failure}");
        }
        Ok(library)
    }

    /// Reads the document at `path`, if it exists.
    pub(super) fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = &mutant::decode(path);
        // During a change, the document may be ahead of HEAD; while git writes it, it may be incomplete. Wait and read
        // again.
        let since = Instant::now();
        for _ in 0..1000 {
            self.settle()?;
            let index = self.index_at_rest();
            let found = self.folder.read(path)?;
            // A longer wait means that a person is writing a commit message.
            let is_git_writing = || {
                let rested = index.is_some() && self.index_at_rest() == index;
                !rested && since.elapsed() < READ_TIMEOUT
            };
            let takes_it = is(Mutant::TakesWhatIsThere);
            let Some(found) = found else {
                if takes_it || !is_git_writing() {
                    return Ok(None);
                }
                thread::sleep(POLL_INTERVAL);
                continue;
            };
            let (commit, committed) = self.last(path)?;
            let blob = id_of(&found.bytes);
            let dirty = committed.as_ref() != Some(&blob);
            let is_passing = || -> Result<bool, Failure> {
                Ok(self.journal().exists() || self.last(path)?.0 != commit || is_git_writing())
            };
            if dirty && !takes_it && is_passing()? {
                thread::sleep(POLL_INTERVAL);
                continue;
            }
            return Ok(Some(Document { found, blob, commit, dirty }));
        }
        Err(Failure::new(FailureKind::Busy, "the library is changed too often; try again later"))
    }

    /// Returns the identity of git's index, unless a git process holds its lock.
    fn index_at_rest(&self) -> Option<[i64; 3]> {
        let index = self.index();
        if index.with_extension("lock").exists() {
            return None;
        }
        let found = index.metadata();
        Some(found.map_or([0; 3], |found| [found.ino() as i64, found.ctime(), found.ctime_nsec()]))
    }

    /// Lists the documents and folders in `folder` that git does not ignore.
    pub(super) fn list(&self, folder: &str, recursive: bool) -> Result<Listing, Failure> {
        let listed = self.folder.list(folder, recursive)?;
        let (mut files, mut folders) = listed.ok_or_else(|| {
            let message = format!("there is no folder `{folder}`");
            Failure::new(FailureKind::NotFound, message)
        })?;
        let ignored = self.ignored(files.iter().chain(&folders))?;
        files.retain(|path| !ignored.contains(path));
        folders.retain(|path| !ignored.contains(path));
        Ok((files, folders))
    }

    /// Returns the lines that contain `query`; ignores case if `query` has no upper-case letter.
    pub(super) fn search(&self, folder: &str, query: &str) -> Result<Vec<Value>, Failure> {
        let exact = query.chars().any(char::is_uppercase);
        let has = |line: &str| line.contains(query) || !exact && line.to_lowercase().contains(query);
        let mut results = Vec::new();
        for path in self.list(folder, true)?.0 {
            let Ok(Some(found)) = self.folder.read(&path) else {
                continue;
            };
            let text = String::from_utf8_lossy(&found.bytes).into_owned();
            let lines = text.split('\n').zip(1..).filter(|(line, _)| has(line));
            let matches: Vec<_> = lines
                .map(|(line, number)| json!({ "line": number, "snippet": cut(line.trim_end_matches('\r')) }))
                .collect();
            if !matches.is_empty() {
                results.push(json!({ "path": path, "matches": matches }));
            }
        }
        Ok(results)
    }

    /// Returns the last `limit` entries of the log, the oldest first.
    pub(super) fn log(&self, limit: usize) -> Result<Vec<Value>, Failure> {
        if self.head().is_none() {
            return Ok(Vec::new());
        }
        let commits = self.git.text(&[
            "log",
            "-z",
            "--topo-order",
            "--format=%H%n%B",
            &mutant::logged_range(),
            "--",
        ])?;
        let entry = |commit: &str| {
            let (id, message) = commit.split_once('\n')?;
            let json = message.trim_end().lines().last()?.strip_prefix(TRAILER)?;
            let mut entry: Value = serde_json::from_str(json).ok()?;
            entry["git_commit_sha"] = id.into();
            Some(entry)
        };
        let mut entries: Vec<_> = commits.split('\0').filter_map(entry).take(limit).collect();
        if !is(Mutant::LogNewestFirst) {
            entries.reverse();
        }
        Ok(entries)
    }

    /// Returns HEAD, or zeros if there is none, and HEAD's blob at `path`.
    fn last(&self, path: &str) -> Result<(String, Option<String>), Failure> {
        let input = format!("HEAD^{{commit}}\nHEAD:{}{path}\n", self.git.prefix);
        let output = match self.git.feed(&["cat-file", "--batch-check"], input.as_bytes(), &[]) {
            Err(_) if is(Mutant::DecodesPaths) => String::new(),
            output => output?,
        };
        let mut ids = output.lines().map(|line| match line.split_once(' ') {
            Some((id, _)) if !line.ends_with(" missing") => Some(id.to_owned()),
            _ => None,
        });
        let commit = ids.next().flatten().unwrap_or_else(|| "0".repeat(40));
        Ok((commit, ids.next().flatten()))
    }

    /// Returns HEAD, if there is one.
    pub(super) fn head(&self) -> Option<String> {
        self.git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    }

    /// Refuses a document that git ignores.
    pub(super) fn check_ignored(&self, path: &String) -> Result<(), Failure> {
        if self.ignored([path].into_iter())?.contains(path) {
            let message = format!("git ignores `{path}`, so it cannot be committed");
            return Err(Failure::new(FailureKind::Refused, message));
        }
        Ok(())
    }

    /// Returns those of `paths` that git ignores.
    pub(super) fn ignored<'a>(
        &self,
        paths: impl Iterator<Item = &'a String>,
    ) -> Result<HashSet<String>, Failure> {
        let input: String = paths.map(|path| format!("{path}\0")).collect();
        let output = self.git.bytes(&["check-ignore", "-z", "--stdin"], input.as_bytes(), &[])?;
        let output = String::from_utf8_lossy(&output).into_owned();
        Ok(output.split_terminator('\0').map(str::to_owned).collect())
    }
}

/// Returns a line, cut if very long.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(500)]
}

/// Returns `time` in RFC 3339, to the millisecond.
pub(super) fn rfc3339(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}
