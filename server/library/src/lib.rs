//! A library: Markdown files in a git repository, read concurrently, changed by one transaction at a time.
//!
//! Every change is atomic, durable, exactly one commit, and its own log entry. A change goes through a [session](tabellion_runtime::Session): it is
//! *prepared* (`plan.rs`: every check and every object, nothing written), batched with those of callers that wait at the
//! same time (`pending.rs`), and *published* (`transaction.rs`: all or nothing, even if the process dies; `recovery.rs`
//! completes or undoes an interrupted one). Below the library's root, `transaction` and `recovery` write documents and
//! `document` creates and removes folders; `init` creates the repository. Only `branch` moves a branch.
//!
//! From the ground up:
//!
//! | module | is for |
//! |---|---|
//! | [`path`] | names of documents and folders, parsed once |
//! | [`root`], [`walk`], [`ignore`], [`search`] | reading: files, the selection that the library shows, text in them |
//! | [`folder`] | the library's own folder: creating it, or refusing a mistyped path |
//! | `repository`, `open_error`, `git`, `init` | the git repository: opening it, its state; creating one |
//! | `working_tree` | folder and repository together, and the inter-process lock |
//! | `reading` | a document that others may be changing |
//! | `objects`, `pack`, `tree`, `tree_diff`, `commit`, `index`, `index_file`, `branch`, `lock` | git's files, one each |
//! | `racy` | files whose change git could miss |
//! | `attributes`, `conversion`, `sparse`, `sharing` | git's configuration, as far as it affects files: bytes, presence, modes |
//! | `document`, `intent`, `durable`, `checkpoint` | a transaction's files on the disk, its record, syncing, and interruption by tests |
//! | `plan`, `planned`, `pending`, `transaction`, `recovery` | changes: prepared, batched, published, completed or undone |
//! | `commit_message`, `history` | the log |
//! | `aside` | short texts in the server's own folder |
//! | `attempts` | background runs that end the process |
//! | `versions` | the history of one document |
//! | `entries` | queries by people at a terminal: an entry's change, uncommitted documents |
//! | `inspection` | possible defects of a library, as facts |
//! | `maintenance`, `gathering` | housekeeping |
//! | `remote` | other machines: pulls from the remote's branch, pushes to it, merges |
//! | `counts` | counters of the work done |
//! | `batch`, `session` | changes that are published together; the exclusive right to change the library |
//! | `failures` | errors of the system and of git, as failures |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod aside;
mod attempts;
mod attributes;
mod batch;
mod branch;
mod checkpoint;
mod commit;
mod commit_message;
mod conversion;
mod counts;
mod document;
mod durable;
mod entries;
mod failures;
pub mod folder;
mod gathering;
mod git;
mod history;
pub mod ignore;
mod index;
mod index_file;
mod init;
mod inspection;
mod intent;
mod lock;
mod maintenance;
mod objects;
mod open_error;
mod pack;
pub mod path;
mod pending;
mod plan;
mod planned;
mod racy;
mod reading;
mod recovery;
mod remote;
mod repository;
pub mod root;
pub mod search;
mod session;
mod sharing;
mod sparse;
mod transaction;
mod tree;
mod tree_diff;
mod versions;
pub mod walk;
mod working_tree;

use std::{
    collections::HashSet,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use self::{
    batch::Batch,
    checkpoint::Watch,
    failures::{InRepository as _, IoContext, case_twin, invalid_path, unreadable},
    history::History,
    maintenance::Maintenance,
    remote::shared::Shared,
    root::{FileBytes, FileError},
    search::{Limits, SearchError, SearchResult},
    walk::{FolderError, Listing},
    working_tree::WorkingTree,
};
pub use tabellion_remotes::{Address, AddressError};

pub use self::{
    counts::Counts,
    entries::{CommitTarget, Difference, DocumentChange, EntryChange, Uncommitted, UncommittedList},
    folder::{CreateFolders, Created},
    history::{Agreement, CacheState, FindEntryError, LogEntry},
    inspection::{BackgroundRun, HeldLock, Interrupted, Leftovers, RepositoryFacts},
    objects::content_id,
    open_error::OpenError,
    reading::FileState,
    remote::{
        Acknowledge, Follower, RemoteSettings, RemoteState, RemoteStatus, SyncError, Synced, Taken,
        is_branch_name, is_conflict,
    },
    working_tree::{ExternalPolicy, Options},
};
use crate::path::{LibraryDir, LibraryPath};
use gix::ObjectId;
use tabellion_platform::{FileLock, FileStat, blocking};
use tabellion_runtime::{ContentId, Document, DocumentHistory, Failure, FailureKind, Snapshot, Until};

/// Time that opening waits for changes of other processes. A process that holds the lock has recovered already.
const OPEN_LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// A library. Cheap to clone; the changes of one process take turns in order of arrival.
pub struct Library {
    working_tree: WorkingTree,
    history: History,
    turn: tokio::sync::Mutex<Batch>,
    maintenance: Maintenance,
    shared: Option<Shared>,
    /// The address of a remote that came with the library and is not used.
    foreign: Option<Address>,
}

impl Library {
    /// Opens the library in the folder `dir`. Creates the folder if only it is missing (or as [`Options::create`] specifies), and a
    /// repository if there is none; a folder inside a larger repository is a separate library there. Completes or undoes an
    /// interrupted change; if that is not possible yet, each change tries again first.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_watched(dir, options, Box::new(|_| Ok(())))
    }

    /// Opens an existing library for inspection only: creates nothing and recovers nothing.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn inspect(dir: &Path) -> Result<Self, OpenError> {
        let options = Options { create: CreateFolders::Nothing, ..Options::default() };
        let working_tree = WorkingTree::open(dir, options, Box::new(|_| Ok(())))?;
        Ok(Self::from_working_tree(working_tree))
    }

    /// Returns the parts that opening created, if any.
    pub fn created(&self) -> Option<&Created> {
        self.working_tree.created.as_ref()
    }

    /// Returns the counters of the work since the library was opened.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.working_tree.counts)
    }

    fn open_watched(dir: &Path, options: Options, watch: Watch) -> Result<Self, OpenError> {
        let working_tree = WorkingTree::open(dir, options, watch)?;
        let library = Self::from_working_tree(working_tree);
        if let Err(failure) = library.recover_if_free() {
            // Reading works; each change tries again first.
            tracing::warn!(%failure, "an interrupted change could not be completed");
        }
        Ok(library)
    }

    fn from_working_tree(working_tree: WorkingTree) -> Self {
        let (shared, foreign) = Shared::load(&working_tree);
        Self {
            history: History::new(&working_tree.repository),
            shared,
            foreign,
            working_tree,
            turn: tokio::sync::Mutex::default(),
            maintenance: Maintenance::default(),
        }
    }

    /// Recovers, unless another process holds the lock: that one has recovered.
    fn recover_if_free(&self) -> Result<(), Failure> {
        match self.lock(OPEN_LOCK_TIMEOUT) {
            Err(failure) if failure.kind == FailureKind::Busy => Ok(()),
            lock => lock.map(drop),
        }
    }

    /// Takes the inter-process lock, then recovers the remains of a crashed process.
    fn lock(&self, timeout: Duration) -> Result<FileLock, Failure> {
        let lock = self.working_tree.lock(timeout)?;
        recovery::recover(&self.working_tree)?;
        Ok(lock)
    }

    /// Returns the document at `path`, or `None` if there is none.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn read(&self, path: &LibraryPath) -> Result<Option<FileState>, Failure> {
        self.working_tree.settled(path)
    }

    /// Returns the path of the document that `path` names: `path` itself, unless only a file exists whose name differs from it in
    /// Unicode composition alone.
    pub fn true_path(&self, path: &LibraryPath) -> LibraryPath {
        blocking(|| self.working_tree.root.true_path(path))
    }

    /// As [`Library::true_path`], for a folder.
    pub fn true_folder(&self, dir: &LibraryDir) -> LibraryDir {
        blocking(|| self.working_tree.root.true_folder(dir))
    }

    /// Fails if `path` is free and no file can be created there, because of its name, that of a missing folder, or a file whose name
    /// differs only in case.
    ///
    /// # Errors
    /// The broken rule, as a sentence.
    pub fn check_name(&self, path: &LibraryPath) -> Result<(), String> {
        let root = &self.working_tree.root;
        blocking(|| match root.open_document(path) {
            Ok(None) => match root.case_twin(path) {
                Ok(Some(twin)) => Err(case_twin(path, &twin).to_string()),
                _ => root.check_new(path).map_err(|error| error.to_string()),
            },
            _ => Ok(()),
        })
    }

    /// Returns the version tag (from file metadata), which changes whenever the document's bytes change. Does not read the
    /// file.
    ///
    /// # Errors
    /// If its metadata can't be read.
    pub fn version_tag(&self, path: &LibraryPath) -> Result<String, Failure> {
        let file = self.working_tree.root.open_document(path).map_err(|error| unreadable(&error))?;
        let Some(file) = file else {
            return Ok(String::new());
        };
        let metadata = file.metadata().context("look at", path.as_path())?;
        Ok(format!(
            "{:?} {:?}",
            tabellion_platform::file_stat(&metadata),
            tabellion_platform::file_id(&file, &metadata)
        ))
    }

    /// Returns true if the folder and its repository are where they were opened. Others are neither read nor changed.
    pub fn is_there(&self) -> bool {
        self.working_tree.check_there().is_ok()
    }

    /// Returns the id of HEAD's commit; `None` before the first one.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn head(&self) -> Result<Option<String>, Failure> {
        Ok(self.working_tree.head_now()?.map(|id| id.to_string()))
    }

    /// Returns the paths of the documents that the commits after `known`, up to `head`, changed or named; `None` if others may have
    /// changed, as after a merge, or a switch to a branch that does not contain `known`.
    ///
    /// # Errors
    /// If an id is invalid, or the repository can't be read.
    pub fn changed_since(&self, known: &str, head: &str) -> Result<Option<HashSet<String>>, Failure> {
        blocking(|| {
            let repository = &self.working_tree.repository;
            let [known, head] = [known, head].map(versions::content_id);
            let changed = self.history.since(&repository.git(), known?, head?)?;
            let ours = |path: String| path.strip_prefix(repository.prefix()).map(String::from);
            Ok(changed.map(|paths| paths.into_iter().filter_map(ours).collect()))
        })
    }

    /// Returns the documents that a commit removed, compared with its first parent, and the ids of their contents.
    ///
    /// # Errors
    /// If the id is invalid, or the repository can't be read.
    pub fn removed_by(&self, commit: &str) -> Result<Vec<(String, String)>, Failure> {
        blocking(|| {
            let repository = &self.working_tree.repository;
            let removed = history::removed_by(&repository.git(), versions::content_id(commit)?)?;
            let ours = |(path, blob): (String, gix::ObjectId)| {
                Some((path.strip_prefix(repository.prefix())?.to_owned(), blob.to_string()))
            };
            Ok(removed.into_iter().filter_map(ours).collect())
        })
    }

    /// Returns the documents of the last commit that are no files any more, and the ids of their contents.
    ///
    /// # Errors
    /// If the folder or the repository can't be read.
    pub fn missing(&self) -> Result<Vec<(String, String)>, Failure> {
        let stats = self.stats(&LibraryDir::ROOT);
        let stats = stats.map_err(|error| Failure::new(FailureKind::Io, error.to_string()))?;
        let shown: HashSet<_> = stats.iter().map(|(path, _)| path.as_str()).collect();
        let mut missing = vec![];
        for path in blocking(|| self.committed())?.paths {
            if shown.contains(path.as_str()) {
                continue;
            }
            let document = LibraryPath::of_any_file(&path).map_err(|error| invalid_path(&error))?;
            if matches!(self.read_now(&document), Ok(None)) && !self.is_sparse(&document) {
                let kept = blocking(|| self.committed_entry(&document))?;
                missing.extend(kept.map(|kept| (path, kept.blob.to_string())));
            }
        }
        Ok(missing)
    }

    /// Returns the folder `name` for files of this library, in the repository but not part of it; it need not exist. Libraries that
    /// are folders of one repository have different ones.
    pub fn derived(&self, name: &str) -> PathBuf {
        let repository = &self.working_tree.repository;
        match repository.prefix() {
            "" => repository.own(name),
            prefix => repository.own(&format!("{name}-{:.16}", intent::digest(prefix))),
        }
    }

    /// Fails if any change of the document at `path` to `size` bytes would be refused.
    ///
    /// # Errors
    /// The refusal, or if the document can't be read.
    pub fn check_change(&self, path: &LibraryPath, size: usize) -> Result<(), Failure> {
        let file = self.working_tree.root.open_document(path).map_err(|error| unreadable(&error))?;
        let mode = file.map(|file| file.metadata().context("look at", path.as_path()));
        let mode = mode.transpose()?.map(|metadata| tabellion_platform::mode(&metadata));
        blocking(|| {
            let repository = &self.working_tree.repository;
            let git = repository.git();
            repository.check_idle(&git)?;
            repository.head(&git)?;
            let head = repository.head_commit(&git)?;
            let kept = tree::look_up_at(&git, head, &repository.git_path(path))?;
            plan::check_change(&self.working_tree, &git, path, mode, size, kept)
        })
    }

    /// Returns the Markdown files and folders in `dir`, or also in all folders below it.
    ///
    /// # Errors
    /// If the folder can't be listed.
    pub fn list(&self, dir: &LibraryDir, recursive: bool) -> Result<Listing, FolderError> {
        blocking(|| walk::list(&self.working_tree.root, dir, recursive, &self.working_tree.rules))
    }

    /// Returns every Markdown file that the library shows in `dir` and the folders below it, with its stat fields, in no order.
    ///
    /// # Errors
    /// If the folder can't be read.
    pub fn stats(&self, dir: &LibraryDir) -> Result<Vec<(LibraryPath, FileStat)>, FolderError> {
        blocking(|| walk::stats(&self.working_tree.root, dir, &self.working_tree.rules))
    }

    /// Returns the file at `path` as it is now, even in the middle of a change; `None` if there is none. For indexes, which read a
    /// file again as soon as its stat fields differ; [`Library::read`] waits for changes.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn read_now(&self, path: &LibraryPath) -> Result<Option<FileBytes>, FileError> {
        blocking(|| self.working_tree.root.read(path))
    }

    /// Returns the lines that contain `query` in the files below `dir`. Calls `searched` with the number of files so far; it
    /// may end the search.
    ///
    /// # Errors
    /// If the query or the folder is invalid.
    pub fn search(
        &self,
        dir: &LibraryDir,
        query: &str,
        limits: Limits,
        searched: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
    ) -> Result<SearchResult, SearchError> {
        blocking(|| {
            search::search(&self.working_tree.root, dir, &self.working_tree.rules, query, limits, searched)
        })
    }

    /// Returns the last `limit` entries of the log, oldest first.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn activity(&self, limit: usize) -> Result<Vec<LogEntry>, Failure> {
        blocking(|| {
            let git = self.working_tree.repository.git();
            let head = self.working_tree.repository.head_commit(&git)?;
            self.history.last(&git, head, limit)
        })
    }

    /// Returns the commits that were made in this clone, as far as git's reflog of HEAD has them: not those that came by a pull, merge, clone
    /// or checkout. `None` if there is no reflog.
    ///
    /// # Errors
    /// If the reflog can't be read.
    pub fn made_here(&self) -> Result<Option<HashSet<String>>, Failure> {
        const FROM_ELSEWHERE: [&[u8]; 4] = [b"pull", b"merge", b"clone", b"checkout"];
        blocking(|| {
            let git = self.working_tree.repository.git();
            let head = git.head().reading("HEAD")?;
            let mut log = head.log_iter();
            let Some(moves) = log.all().reading("the reflog")? else {
                return Ok(None);
            };
            let is_own = |line: &gix::refs::file::log::LineRef<'_>| {
                !FROM_ELSEWHERE.iter().any(|command| line.message.starts_with(command))
            };
            Ok(Some(moves.flatten().filter(is_own).map(|line| line.new_oid().to_string()).collect()))
        })
    }

    /// Returns the last commit of those that left the document at the git path `path` unchanged, as far as the log knows: see
    /// [`History::unchanged_from`].
    fn unchanged_from(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        commit: ObjectId,
        path: &str,
        known: &[&str],
    ) -> Result<ObjectId, Failure> {
        let known = known.iter().filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok());
        let known: Vec<_> = known.collect();
        self.history.unchanged_from(git, head, commit, path, &known)
    }

    fn entry_with_key(&self, key: &str) -> Result<Option<Arc<LogEntry>>, Failure> {
        let git = self.working_tree.repository.git();
        let head = self.working_tree.repository.head_commit(&git)?;
        self.history.with_key(&git, head, key)
    }
}

impl Snapshot for Library {
    fn true_path(&self, path: &str) -> Result<String, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        Ok(Library::true_path(self, &path).as_str().to_owned())
    }

    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let state = Library::read(self, &path)?;
        Ok(state.map(|state| Document { bytes: state.bytes, id: ContentId::new(state.blob) }))
    }

    fn history(&self, path: &str, until: Until<'_>) -> Result<DocumentHistory, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let state = Library::read(self, &path)?;
        let head = match state.as_ref().and_then(|state| state.commit.as_ref()) {
            Some(commit) => Some(versions::content_id(commit)?),
            None => self.working_tree.head_now()?,
        };
        let now = state.as_ref().map(|state| versions::content_id(&state.kept)).transpose()?;
        let mut line = versions::VersionLine::default();
        let (git, git_path) =
            (self.working_tree.repository.git(), self.working_tree.repository.git_path(&path));
        let unchanged = |commit| self.unchanged_from(&git, head, commit, &git_path, until.known);
        blocking(|| line.go_back(&git, head, &git_path, until, &unchanged))?;
        let document = state.map(|state| Document { bytes: state.bytes, id: ContentId::new(state.blob) });
        Ok(line.past(document, now, head))
    }

    fn past_content(&self, _: &str, id: &str) -> Result<Vec<u8>, Failure> {
        versions::content(&self.working_tree.repository.git(), versions::content_id(id)?)
    }
}

#[cfg(test)]
mod tests;
