//! The library: Markdown files in a git repository, read by anybody, changed by one at a time.
//!
//! Every change is atomic, durable, exactly one commit, and its own log entry. A change goes through a [`Session`]:
//! prepared (`plan.rs`: every check and every object, nothing written), put together with those of callers that wait at
//! the same time (`pending.rs`), then published (`transaction.rs`: all or nothing, whatever dies; `recovery.rs` completes
//! or undoes what was cut off). Only these two write below the library's root, and only `branch.rs` moves a branch.
//!
//! | module | is for |
//! |---|---|
//! | [`root`], [`walk`], [`ignore`], [`search`] | reading: files, which of them the library shows, text in them |
//! | `repository`, `init` | the git repository: opening it, its state; making one |
//! | `plan`, `pending`, `transaction`, `recovery` | changes: worked out, put together, made, completed or undone |
//! | `document`, `intent` | what a transaction exchanges on the disk, and its record of what it is about to do |
//! | `objects`, `tree`, `commit`, `index_file`, `branch`, `lock` | git's files, one each |
//! | `racy` | files that changed without looking it to git |
//! | `attributes`, `conversion`, `sparse`, `sharing` | what of git's configuration bears on files: bytes, presence, modes |
//! | `commit_message`, `history` | the log |
//! | `versions` | what one document has been |
//! | `maintenance` | git's own housekeeping |
//! | `counts` | what was done, in numbers |

mod attributes;
mod branch;
mod commit;
mod commit_message;
mod conversion;
mod counts;
mod document;
mod durable;
mod history;
pub mod ignore;
mod index_file;
mod init;
mod intent;
mod lock;
mod maintenance;
mod objects;
mod pending;
mod plan;
mod racy;
mod recovery;
mod repository;
pub mod root;
pub mod search;
mod session;
mod sharing;
mod sparse;
mod transaction;
mod tree;
mod trouble;
mod versions;
pub mod walk;

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool, mpsc},
    thread,
    time::Duration,
};

use chrono::{DateTime, Utc};
use gix::ObjectId;
use tabellion_runtime::{
    BoxFuture, ContentId, Document, DocumentHistory, Failure, FailureKind, Session, Snapshot, Store,
};
use tokio::runtime::{Handle, RuntimeFlavor};

pub use self::{counts::Counts, history::LogEntry, repository::OpenError};
use self::{
    history::History,
    ignore::IgnoreRules,
    maintenance::Maintenance,
    objects::blob_id,
    pending::IndexStat,
    repository::Repository,
    root::{FileBytes, Root},
    search::{Limits, SearchError, SearchResult},
    session::{Batch, Turn},
    transaction::Watch,
    trouble::{At, InRepository, invalid_path, refused, unreadable},
    walk::{FolderError, Listing},
};
use crate::{
    markdown::diff,
    path::{LibraryDir, LibraryPath},
    platform::{FileLock, Lease, Leased, lock_file, try_lock_file},
};

/// How long a change waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long opening waits for them. Whoever has the lock then has recovered already.
const PATIENCE_AT_START: Duration = Duration::from_millis(200);
/// The longest that a repeated attempt waits first, times how often it was tried.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
/// How long a reader waits for a change that it sees half of, of ours or of git's, and a change for somebody's save.
const LONGEST_GLANCE: Duration = Duration::from_secs(1);
/// How long it waits each time.
const PAUSE: Duration = Duration::from_millis(2);

/// What becomes of bytes that a person left uncommitted, when a change comes to the same file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExternalPolicy {
    /// They are recorded as a commit of their own first.
    #[default]
    Adopt,
    /// The change is refused.
    Refuse,
}

/// How a library behaves.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What becomes of uncommitted bytes.
    pub external: ExternalPolicy,
}

/// A library. Cheap to share; all changes of one process take turns in the order they came.
pub struct Library {
    root: Root,
    repository: Repository,
    rules: IgnoreRules,
    options: Options,
    history: History,
    turn: tokio::sync::Mutex<Batch>,
    maintenance: Maintenance,
    /// Whether the intent's name is known to be on the disk.
    intent_is_named: AtomicBool,
    watch: Watch,
    counts: Arc<Counts>,
}

/// A document's file, and how it stands to the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// The id of the content: that of the blob that git makes of these bytes.
    pub blob: String,
    /// When the file was last changed.
    pub modified: DateTime<Utc>,
    /// The commit that HEAD is at; `None` before the first one.
    pub commit: Option<String>,
    /// Whether that commit does not have exactly this content at this path.
    pub dirty: bool,
    /// The id of the content as git keeps it, which differs from `blob` where line endings are kept otherwise.
    pub kept: String,
}

/// The last entries of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The entries, oldest first.
    pub entries: Vec<LogEntry>,
}

impl Library {
    /// The library in the folder `dir`. A missing folder is made, and so is a repository where there is none; a folder
    /// inside a larger repository is a library of its own there. What a crash cut off is completed or undone; where that
    /// can't be done yet, each change tries again first.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_watched(dir, options, Box::new(|_| Ok(())))
    }

    /// What it has done since it was opened.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    fn open_watched(dir: &Path, options: Options, watch: Watch) -> Result<Self, OpenError> {
        let folder = |source| OpenError::Folder {
            path: dir.to_owned(),
            source,
        };
        fs::create_dir_all(dir).map_err(folder)?;
        let root = Root::open(dir).map_err(folder)?;
        let repository = Repository::open(root.path())?;
        let rules = IgnoreRules::of_repository(&root, &repository.git()).map_err(folder)?;
        let history = History::new(&repository);
        let turn = tokio::sync::Mutex::default();
        let library = Self {
            root,
            repository,
            rules,
            options,
            history,
            turn,
            maintenance: Maintenance::default(),
            intent_is_named: AtomicBool::new(false),
            watch,
            counts: Arc::default(),
        };
        library.check_carried()?;
        if let Err(failure) = library.recover_if_free() {
            // Reading goes on; each change tries again first.
            tracing::warn!(%failure, "an interrupted change could not be completed");
        }
        Ok(library)
    }

    /// The document at `path`, or `None` where there is none.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(&self, path: &LibraryPath) -> Result<Option<FileState>, Failure> {
        self.settled(path)
    }

    /// A text that is another one once the document at `path` has other bytes. Nothing of it is read.
    ///
    /// # Errors
    /// When it can't be looked at.
    pub fn stamp(&self, path: &LibraryPath) -> Result<String, Failure> {
        let file = self
            .root
            .open_document(path)
            .map_err(|error| unreadable(&error))?;
        let Some(file) = file else {
            return Ok(String::new());
        };
        let metadata = file.metadata().at("look at", path.as_path())?;
        Ok(format!(
            "{:?} {:?}",
            crate::platform::file_stat(&metadata),
            crate::platform::file_id(&metadata)
        ))
    }

    /// Id of the commit that HEAD is at; `None` before the first one.
    ///
    /// # Errors
    /// When the repository can't be read.
    pub fn head(&self) -> Result<Option<String>, Failure> {
        Ok(self.head_now()?.map(|id| id.to_string()))
    }

    /// What the file at `path` holds. What is another repository's is not looked at.
    fn file(&self, path: &LibraryPath) -> Result<Option<FileBytes>, Failure> {
        self.check_ours(path)?;
        self.root.read(path).map_err(|error| unreadable(&error))
    }

    fn check_ours(&self, path: &LibraryPath) -> Result<(), Failure> {
        match walk::other_repository(&self.root, path) {
            Some(why) => Err(refused(format!("`{path}` {why}"))),
            None => Ok(()),
        }
    }

    /// Fails where a change of the document at `path` to one of `size` bytes would be refused whatever it is.
    ///
    /// # Errors
    /// The refusal, or when the document can't be looked at.
    pub fn check_change(&self, path: &LibraryPath, size: usize) -> Result<(), Failure> {
        let file = self
            .root
            .open_document(path)
            .map_err(|error| unreadable(&error))?;
        let mode = file.map(|file| file.metadata().at("look at", path.as_path()));
        let mode = mode.transpose()?.map(|metadata| crate::platform::mode(&metadata));
        blocking(|| {
            let git = self.repository.git();
            let kept = match self.repository.head_commit(&git)? {
                Some(head) => {
                    let tree = git.find_commit(head).reading("the last commit")?;
                    let tree = tree.tree_id().reading("the last commit")?.detach();
                    tree::look_up(&git, tree, &self.repository.git_path(path))?
                }
                None => None,
            };
            plan::check_change(self, &git, path, mode, size, kept)
        })
    }

    /// The Markdown files and folders in `dir`, or in all folders below it too.
    ///
    /// # Errors
    /// When the folder can't be listed.
    pub fn list(&self, dir: &LibraryDir, recursive: bool) -> Result<Listing, FolderError> {
        blocking(|| walk::list(&self.root, dir, recursive, &self.rules))
    }

    /// The lines that hold `query` in the files below `dir`. `searched` is told the number of files so far, and may end
    /// the search.
    ///
    /// # Errors
    /// When the query or the folder is not one to search.
    pub fn search(
        &self,
        dir: &LibraryDir,
        query: &str,
        limits: Limits,
        searched: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
    ) -> Result<SearchResult, SearchError> {
        blocking(|| search::search(&self.root, dir, &self.rules, query, limits, searched))
    }

    /// The last `limit` entries of the log.
    ///
    /// # Errors
    /// When the repository can't be read.
    pub fn activity(&self, limit: usize) -> Result<Activity, Failure> {
        blocking(|| {
            let git = self.repository.git();
            let head = self.repository.head_commit(&git)?;
            Ok(Activity {
                entries: self.history.last(&git, head, limit)?,
            })
        })
    }

    /// The newest commit that HEAD has and that changed the document at `path`, also the one that deleted it; `None`
    /// when none did.
    ///
    /// A commit changed a document if it has something else there than each of its parents. So without merges it is what
    /// `git log -1 -- PATH` says; a merge counts only where it took neither side's bytes, and the commits of both sides
    /// count, whichever was taken.
    ///
    /// # Errors
    /// When the repository can't be read.
    pub fn last_commit(&self, path: &LibraryPath) -> Result<Option<String>, Failure> {
        blocking(|| {
            let git = self.repository.git();
            let head = self.repository.head_commit(&git)?;
            let commit = self
                .history
                .last_commit(&git, head, &self.repository.git_path(path))?;
            Ok(commit.map(|commit| commit.to_string()))
        })
    }

    fn entry_with_key(&self, key: &str) -> Result<Option<Arc<LogEntry>>, Failure> {
        let git = self.repository.git();
        let head = self.repository.head_commit(&git)?;
        self.history.with_key(&git, head, key)
    }

    /// The document when no change to it is half done.
    fn settled(&self, path: &LibraryPath) -> Result<Option<FileState>, Failure> {
        let mut waited = Duration::ZERO;
        let mut beside_git = false;
        loop {
            let index = self.index_at_rest();
            let head = self.head_now()?;
            let file = match beside_git {
                true => self.read_unwritten(path).or_else(|_| self.file(path)),
                false => self.file(path),
            }?;
            let state = file.map(|file| self.state(path, file, head)).transpose()?;
            let as_committed = state.as_ref().is_some_and(|state| !state.dirty);
            let unsure = !as_committed && !beside_git && !self.has_rested(&index);
            // In this order: what was under way and no longer is has moved HEAD.
            let passing = !as_committed && recovery::is_under_way(self);
            let moved = self.head_now()? != head;
            if !moved && !passing && !unsure || waited > LONGEST_GLANCE {
                return Ok(state);
            }
            beside_git |= unsure;
            blocking(|| thread::sleep(PAUSE));
            waited += PAUSE;
        }
    }

    /// The document while nobody has it open for writing, so that no half of a save is taken for the whole.
    fn read_unwritten(&self, path: &LibraryPath) -> Result<Option<FileBytes>, Failure> {
        self.check_ours(path)?;
        let mut waited = Duration::ZERO;
        loop {
            let index = self.index_at_rest();
            let file = self
                .root
                .open_document(path)
                .map_err(|error| unreadable(&error))?;
            let Some(file) = file else {
                if !self.has_rested(&index) && waited < LONGEST_GLANCE {
                    blocking(|| thread::sleep(PAUSE));
                    waited += PAUSE;
                    continue;
                }
                return Ok(None);
            };
            let leased = Lease::take(file.try_clone().at("read", path.as_path())?);
            if !matches!(leased, Leased::BeingWritten) {
                return Root::read_open(path, file)
                    .map(Some)
                    .map_err(|error| unreadable(&error));
            }
            if waited > LONGEST_GLANCE {
                let message =
                    format!("another program has `{path}` open for writing; try again when it has closed it");
                return Err(Failure::new(FailureKind::Busy, message).with("path", path.to_string()));
            }
            blocking(|| thread::sleep(PAUSE));
            waited += PAUSE;
        }
    }

    /// Git's index, unless some git program is at it.
    fn index_at_rest(&self) -> Option<IndexStat> {
        let lock = transaction::index_lock(self);
        if lock.is_taken() {
            return None;
        }
        IndexStat::of(&lock.target).ok()
    }

    /// Whether no git program can have changed the working tree since the index was `earlier`. One that does takes files away
    /// and writes them anew; it holds the index for as long, and then there is a new one.
    fn has_rested(&self, earlier: &Option<IndexStat>) -> bool {
        earlier.is_some() && self.index_at_rest() == *earlier
    }

    fn head_now(&self) -> Result<Option<ObjectId>, Failure> {
        self.repository.head_commit(&self.repository.git())
    }

    fn state(
        &self,
        path: &LibraryPath,
        file: FileBytes,
        head: Option<ObjectId>,
    ) -> Result<FileState, Failure> {
        let git = self.repository.git();
        let git_path = self.repository.git_path(path);
        let kept = match head {
            Some(head) => {
                let tree = git.find_commit(head).reading("the last commit")?;
                let tree = tree.tree_id().reading("the last commit")?.detach();
                tree::look_up(&git, tree, &git_path)?
            }
            None => None,
        };
        let blob = blob_id(&file.bytes)?;
        let as_kept = conversion::kept_id(self, &git_path, &file.bytes, blob)?;
        Ok(FileState {
            blob: blob.to_string(),
            modified: file.modified.into(),
            commit: head.map(|id| id.to_string()),
            dirty: kept.is_none_or(|kept| kept.blob != as_kept),
            kept: as_kept.to_string(),
            bytes: file.bytes,
        })
    }

    /// At start: an ignored folder is no library, unless a person has put something of it in all the same.
    fn check_carried(&self) -> Result<(), OpenError> {
        if self.rules.scope().is_some() || self.repository.tracks_library() {
            return Ok(());
        }
        Err(OpenError::Ignored {
            path: self.root.path().to_owned(),
            top: self.repository.top().to_owned(),
        })
    }

    /// At start: what is under way in another process is none of our business.
    fn recover_if_free(&self) -> Result<(), Failure> {
        match self.lock_within(PATIENCE_AT_START) {
            Err(failure) if failure.kind == FailureKind::Busy => Ok(()),
            lock => lock.map(drop),
        }
    }

    /// The lock among processes, with nothing left of what died.
    fn lock_within(&self, patience: Duration) -> Result<FileLock, Failure> {
        let path = self.lock_path()?;
        let lock = match try_lock_file(&path).at("lock", &path)? {
            Some(lock) => lock,
            None => blocking(|| wait_for_lock(path, patience))?,
        };
        self.repository.share(&self.repository.own(""));
        self.repository.share(&self.repository.own("lock"));
        recovery::recover(self)?;
        Ok(lock)
    }

    fn lock_path(&self) -> Result<PathBuf, Failure> {
        let own = self.repository.own("");
        fs::create_dir_all(&own).at("create", &own)?;
        Ok(self.repository.own("lock"))
    }
}

impl Snapshot for Library {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let state = Library::read(self, &path)?;
        Ok(state.map(|state| Document {
            bytes: state.bytes,
            id: ContentId::new(state.blob),
        }))
    }

    fn history(&self, path: &str, known: &dyn Fn(&str) -> bool) -> Result<DocumentHistory, Failure> {
        let path = LibraryPath::of_any_file(path).map_err(|error| invalid_path(&error))?;
        let state = Library::read(self, &path)?;
        let head = match state.as_ref().and_then(|state| state.commit.as_ref()) {
            Some(commit) => Some(versions::content_id(commit)?),
            None => self.head_now()?,
        };
        let now = state
            .as_ref()
            .map(|state| versions::content_id(&state.kept))
            .transpose()?;
        let mut line = versions::Line::default();
        let (git, git_path) = (self.repository.git(), self.repository.git_path(&path));
        blocking(|| line.go_back(&git, head, &git_path, known))?;
        let document = state.map(|state| Document {
            bytes: state.bytes,
            id: ContentId::new(state.blob),
        });
        Ok(line.past(document, now, head))
    }

    fn past_content(&self, _: &str, id: &str) -> Result<Vec<u8>, Failure> {
        versions::content(&self.repository.git(), versions::content_id(id)?)
    }
}

impl Store for Library {
    fn begin<'a>(&'a self, attempt: u32) -> BoxFuture<'a, Result<Box<dyn Session + 'a>, Failure>> {
        Box::pin(async move {
            if attempt > 0 {
                blocking(|| thread::sleep(LONGEST_PAUSE.mul_f64(f64::from(attempt) * chance())));
            }
            let turn = Turn::begin(self, attempt > 0).await?;
            Ok(Box::new(turn) as Box<dyn Session>)
        })
    }

    fn difference(&self, path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
        let [old, new] = [old, new].map(|side| String::from_utf8_lossy(side.unwrap_or_default()));
        diff::unified(path, &old, &new)
    }
}

/// Waits in a thread of its own, so that we can stop waiting: it then gives the lock back as soon as it has it.
fn wait_for_lock(path: PathBuf, patience: Duration) -> Result<FileLock, Failure> {
    let (sender, receiver) = mpsc::channel();
    let waiting_for = path.clone();
    thread::spawn(move || sender.send(lock_file(&waiting_for)));
    match receiver.recv_timeout(patience) {
        Ok(lock) => lock.at("lock", &path),
        Err(_) => {
            let message =
                "another Tabellion process has been changing this library for too long; try again later";
            Err(Failure::new(FailureKind::Busy, message).with("lock", path.display().to_string()))
        }
    }
}

/// Runs what waits without holding up other tasks. It hands this thread's other work to another one, which costs more than
/// a short look at the disk.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}

/// A number from 0 to 1 that differs between processes and threads.
fn chance() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests;
