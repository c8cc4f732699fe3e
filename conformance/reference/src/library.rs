//! Reading the library: documents, what there is, where a text stands, what was done.

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
    change::Later,
    folder::{DocumentSnapshot, Folder, Listing},
    git::{Git, id_of},
    mutant::{self, Mutant, is},
};

/// The line of a commit's message that has its entry in the log.
pub(super) const TRAILER: &str = "Tabellion-Reference: ";

/// How long a reader waits for a change in progress, and how long each time.
const READ_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A folder of documents in a repository.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) folder: Folder,
    pub(super) git: Git,
    /// The folder in `.git` that is ours.
    pub(super) own: PathBuf,
    /// What a mutant does when it has answered.
    pub(super) later: RefCell<Option<Later>>,
}

/// A document with what git says of it.
pub(super) struct Document {
    pub(super) found: DocumentSnapshot,
    /// The id of its bytes.
    pub(super) blob: String,
    /// The last commit.
    pub(super) commit: String,
    /// Whether the bytes are not that commit's.
    pub(super) dirty: bool,
}

impl Library {
    /// The library at `root`. Changes that were cut off are settled.
    pub(super) fn open(root: &Path) -> Result<Self, Failure> {
        let folder = Folder::open(root)?;
        let git = Git::of(&folder.path)?;
        let own = git.dir.join("tabellion-reference");
        let library = Self {
            folder,
            git,
            own,
            later: RefCell::new(None),
        };
        mutant::opens(root, &library)?;
        if let Err(failure) = library.settle() {
            eprintln!("{failure}");
        }
        Ok(library)
    }

    /// The document at `path`, if it is there.
    pub(super) fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = &mutant::decoded(path);
        // Where a change is under way the document may be ahead of the last commit, and where git writes it anew it may be
        // half there: wait for it, look again.
        let since = Instant::now();
        for _ in 0..1000 {
            self.settle()?;
            let index = self.index_at_rest();
            let found = self.folder.read(path)?;
            // What goes on for longer is a person who writes a commit's message.
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
            let is_passing =
                || Ok(self.journal().exists() || self.last(path)?.0 != commit || is_git_writing());
            if dirty && !takes_it && is_passing()? {
                thread::sleep(POLL_INTERVAL);
                continue;
            }
            return Ok(Some(Document {
                found,
                blob,
                commit,
                dirty,
            }));
        }
        Err(Failure::new(
            FailureKind::Busy,
            "the library changes all the time; try again later",
        ))
    }

    /// Which index git has, unless some git program is at it.
    fn index_at_rest(&self) -> Option<[i64; 3]> {
        let index = self.index();
        if index.with_extension("lock").exists() {
            return None;
        }
        let found = index.metadata();
        Some(found.map_or([0; 3], |found| {
            [found.ino() as i64, found.ctime(), found.ctime_nsec()]
        }))
    }

    /// All documents and folders in `folder` that git does not ignore.
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

    /// The lines that have `query` in them; without regard to case where it has no upper-case letter.
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

    /// The last `limit` entries of the log, the oldest first.
    pub(super) fn log(&self, limit: usize) -> Result<Vec<Value>, Failure> {
        if self.head().is_none() {
            return Ok(Vec::new());
        }
        let commits = self.git.text(&[
            "log",
            "-z",
            "--topo-order",
            "--format=%H%n%B",
            &mutant::logged(),
            "--",
        ])?;
        let entry = |commit: &str| {
            let (id, message) = commit.split_once('\n')?;
            let said = message.trim_end().lines().last()?.strip_prefix(TRAILER)?;
            let mut entry: Value = serde_json::from_str(said).ok()?;
            entry["git_commit_sha"] = id.into();
            Some(entry)
        };
        let mut entries: Vec<_> = commits.split('\0').filter_map(entry).take(limit).collect();
        if !is(Mutant::LogNewestFirst) {
            entries.reverse();
        }
        Ok(entries)
    }

    /// The last commit, zeros if there is none, and the blob that it has at `path`.
    fn last(&self, path: &str) -> Result<(String, Option<String>), Failure> {
        let asked = format!("HEAD^{{commit}}\nHEAD:{}{path}\n", self.git.prefix);
        let said = self
            .git
            .feed(&["cat-file", "--batch-check"], asked.as_bytes(), &[])
            .or_else(mutant::unknown)?;
        let mut ids = said.lines().map(|line| match line.split_once(' ') {
            Some((id, _)) if !line.ends_with(" missing") => Some(id.to_owned()),
            _ => None,
        });
        let commit = ids.next().flatten().unwrap_or_else(|| "0".repeat(40));
        Ok((commit, ids.next().flatten()))
    }

    /// The last commit, if there is one.
    pub(super) fn head(&self) -> Option<String> {
        self.git
            .ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    }

    /// Refuses a document that no commit could carry.
    pub(super) fn check_ignored(&self, path: &String) -> Result<(), Failure> {
        if self.ignored([path].into_iter())?.contains(path) {
            let message = format!("git ignores `{path}`, so no commit could carry it");
            return Err(Failure::new(FailureKind::Refused, message));
        }
        Ok(())
    }

    /// Those of `paths` that git ignores.
    pub(super) fn ignored<'a>(
        &self,
        paths: impl Iterator<Item = &'a String>,
    ) -> Result<HashSet<String>, Failure> {
        let input: String = paths.map(|path| format!("{path}\0")).collect();
        let said = self
            .git
            .bytes(&["check-ignore", "-z", "--stdin"], input.as_bytes(), &[])?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(said.split_terminator('\0').map(str::to_owned).collect())
    }
}

/// A line, without the end of a very long one.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(500)]
}

/// Returns `time` in RFC 3339, to the millisecond.
pub(super) fn rfc3339(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}
