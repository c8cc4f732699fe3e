//! A library's folder and its repository, and the operations that reading and changing share.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool, mpsc},
    thread,
    time::Duration,
};

use gix::ObjectId;
use tabellion_platform::{FileLock, blocking, create_folders, lock_file, try_lock_file};
use tabellion_runtime::{Failure, FailureKind};

use super::{
    checkpoint::Watch,
    counts::Counts,
    failures::{IoContext, refused, unreadable},
    folder::{self, CreateFolders, Created},
    ignore::IgnoreRules,
    open_error::OpenError,
    repository::Repository,
    root::{FileBytes, Root},
    walk,
};
use crate::path::LibraryPath;

/// Treatment of a person's uncommitted bytes when a change affects the same file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExternalPolicy {
    /// Commit them first, in a separate commit.
    #[default]
    Adopt,
    /// Refuse the change.
    Refuse,
}

/// Options of a library.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Treatment of uncommitted bytes.
    pub external: ExternalPolicy,
    /// Missing folders to create.
    pub create: CreateFolders,
    /// The user's folder with the record of remotes set by this user; by default in the system's place for the state of programs.
    pub user: Option<PathBuf>,
}

/// A library's folder and repository, and the options for changes.
pub(super) struct WorkingTree {
    pub(super) root: Root,
    pub(super) repository: Repository,
    pub(super) rules: IgnoreRules,
    pub(super) options: Options,
    /// Set once the intent's file name is known to be durable.
    pub(super) intent_is_named: AtomicBool,
    pub(super) watch: Watch,
    pub(super) counts: Arc<Counts>,
    pub(super) created: Option<Created>,
}

impl WorkingTree {
    /// Opens the folder `dir`. Creates it and its repository if they are missing.
    pub(super) fn open(dir: &Path, options: Options, watch: Watch) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder { path: dir.to_owned(), source };
        let created = folder::create(dir, options.create)?;
        let root = Root::open(dir).map_err(failed)?;
        let (repository, is_new) = Repository::open(root.path(), options.create)?;
        let created = created.or(is_new.then_some(Created::Repository));
        let rules = IgnoreRules::of_repository(&root, &repository.git()).map_err(failed)?;
        let working_tree = Self {
            root,
            repository,
            rules,
            options,
            intent_is_named: AtomicBool::new(false),
            watch,
            counts: Arc::default(),
            created,
        };
        working_tree.check_carried()?;
        Ok(working_tree)
    }

    /// Reads the file at `path`. Refuses files of another repository.
    pub(super) fn file(&self, path: &LibraryPath) -> Result<Option<FileBytes>, Failure> {
        self.check_ours(path)?;
        self.root.read(path).map_err(|error| unreadable(&error))
    }

    pub(super) fn check_ours(&self, path: &LibraryPath) -> Result<(), Failure> {
        match walk::other_repository(&self.root, path) {
            Some(why) => Err(refused(format!("`{path}` {why}"))),
            None => Ok(()),
        }
    }

    pub(super) fn head_now(&self) -> Result<Option<ObjectId>, Failure> {
        self.repository.head_commit(&self.repository.git())
    }

    /// At start: an ignored folder is not a library, unless HEAD or the index has files of it.
    fn check_carried(&self) -> Result<(), OpenError> {
        if self.rules.scope().is_some() || self.repository.tracks_library() {
            return Ok(());
        }
        Err(OpenError::Ignored { path: self.root.path().to_owned(), top: self.repository.top().to_owned() })
    }

    /// Takes the inter-process lock; waits for `timeout` at most.
    pub(super) fn lock(&self, timeout: Duration) -> Result<FileLock, Failure> {
        let path = self.lock_path()?;
        let lock = match try_lock_file(&path).context("lock", &path)? {
            Some(lock) => lock,
            None => blocking(|| wait_for_lock(path, timeout))?,
        };
        self.repository.share(&self.repository.own(""));
        self.repository.share(&self.repository.own("lock"));
        Ok(lock)
    }

    /// Checks that the library and its repository are in their original place: one that was moved away is neither read nor changed.
    pub(super) fn check_there(&self) -> Result<(), Failure> {
        let is_there = self.root.is_there() && self.repository.git_dir().is_dir();
        if is_there { Ok(()) } else { Err(self.gone()) }
    }

    /// Returns the failure of a library whose folder is not in its original place.
    fn gone(&self) -> Failure {
        let folder = self.root.path().display();
        let message = format!(
            "`{folder}` is no longer a library with a repository; move it back, or start the server with its new place"
        );
        Failure::new(FailureKind::Refused, message).with("rule", "library_gone")
    }

    fn lock_path(&self) -> Result<PathBuf, Failure> {
        let own = self.repository.own("");
        create_folders(&own, 1).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.gone(),
            _ => Err::<(), _>(error).context("create", &own).unwrap_err(),
        })?;
        Ok(self.repository.own("lock"))
    }
}

/// Waits in a separate thread, so the wait can end: the thread then releases the lock once it has it.
fn wait_for_lock(path: PathBuf, timeout: Duration) -> Result<FileLock, Failure> {
    let (sender, receiver) = mpsc::channel();
    let waiting_for = path.clone();
    thread::spawn(move || sender.send(lock_file(&waiting_for)));
    match receiver.recv_timeout(timeout) {
        Ok(lock) => lock.context("lock", &path),
        Err(_) => {
            let message =
                "another Tabellion process has been changing this library for too long; try again later";
            Err(Failure::new(FailureKind::Busy, message).with("lock", path.display().to_string()))
        }
    }
}
