//! Possible defects of a library, reported as facts, without changes.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use tabellion_platform::{blocking, each_below, names, read_regular, read_text};
use tabellion_runtime::Failure;

use super::{
    Library,
    attempts::Attempts,
    commit::COMMITTER,
    durable::remove_if_there,
    history::{self, Agreement},
    index_file,
    intent::{self, INTENT, Intent},
    lock::index_lock,
    recovery,
};

/// Paths and configuration of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// Top of the working tree.
    pub top: PathBuf,
    /// Folder of HEAD and the index.
    pub git_dir: PathBuf,
    /// Folder of the branches and the configuration.
    pub common_dir: PathBuf,
    /// Folder of the objects.
    pub objects: PathBuf,
    /// The server's own folder; missing until its first change.
    pub own: PathBuf,
    /// The author of changes, as `Name <email>`; `None` if git's configuration names none.
    pub author: Option<String>,
}

/// Effect of the next change on an interrupted one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupted {
    /// No change was interrupted.
    Nothing,
    /// The record of a change was interrupted before the change began; it is cleared.
    Record,
    /// The change of these documents was made, and is completed.
    Completes(Vec<String>),
    /// The change of these documents was not made, and is undone.
    Undoes(Vec<String>),
}

/// Background work of a library, abandoned if its process dies in it twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundRun {
    /// Writing the log's cache.
    LogCache,
    /// Completing or undoing an interrupted change.
    Recovery,
}

/// A lock file of git's kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLock {
    /// The lock file.
    pub path: PathBuf,
    /// True if it is this program's, which removes it itself.
    pub is_ours: bool,
}

/// Files left by transactions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Temporary files, which the next change removes.
    pub temporary: Vec<PathBuf>,
    /// Saves that arrived while a document was being replaced, kept for a person.
    pub late: Vec<PathBuf>,
}

impl Library {
    /// Returns the repository's paths and configuration.
    pub fn repository_facts(&self) -> RepositoryFacts {
        let repository = &self.working_tree.repository;
        let (name, email) = repository.author(&repository.git());
        RepositoryFacts {
            top: repository.top().to_owned(),
            git_dir: repository.git_dir().to_owned(),
            common_dir: repository.common_dir().to_owned(),
            objects: repository.objects().to_owned(),
            own: repository.own(""),
            author: (email != COMMITTER.1).then(|| format!("{name} <{email}>")),
        }
    }

    /// Returns the value of a key of git's configuration, as in `core.hooksPath`.
    pub fn git_setting(&self, key: &str) -> Option<String> {
        let git = self.working_tree.repository.git();
        git.config_snapshot().string(key).map(|value| value.to_string())
    }

    /// Returns the version of git's index, or the reason why changes can't use the index; `None` before the first one.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn index_version(&self) -> io::Result<Option<Result<u32, String>>> {
        let index = self.working_tree.repository.index();
        let bytes = match read_regular(&index, super::index::MAX_BYTES).map_err(io::Error::from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        Ok(Some(match index_file::look_up(&bytes, "") {
            Err(error) => Err(error.to_string()),
            Ok(_) => Ok(bytes
                .get(4..8)
                .map_or(0, |version| version.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))),
        }))
    }

    /// Returns the effect that recovery would have now.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn interrupted(&self) -> Result<Interrupted, Failure> {
        blocking(|| {
            let tree = &self.working_tree;
            if !intent::is_under_way(&tree.repository) {
                return Ok(Interrupted::Nothing);
            }
            let text = read_text(&tree.repository.own(INTENT)).unwrap_or_default();
            let Some(intent) = Intent::parse(&text) else {
                return Ok(Interrupted::Record);
            };
            let paths = intent.documents.iter().map(|document| document.path.to_string()).collect();
            Ok(if recovery::would_complete(tree, &intent)? {
                Interrupted::Completes(paths)
            } else {
                Interrupted::Undoes(paths)
            })
        })
    }

    /// Returns the lock files of the repository: the index's, HEAD's, the branches' and the configuration's.
    pub fn held_locks(&self) -> Vec<HeldLock> {
        let repository = &self.working_tree.repository;
        let mut paths = BTreeSet::new();
        for folder in [repository.git_dir(), repository.common_dir()] {
            for (folder, depth) in [(folder.to_owned(), 0), (folder.join("refs"), MAX_REF_DEPTH)] {
                // Git forbids this ending in names of branches and their folders.
                each_below(&folder, depth, |path, _| {
                    if path.extension().is_some_and(|extension| extension == "lock") {
                        paths.insert(path.to_owned());
                    }
                    true
                });
            }
        }
        let index = index_lock(repository);
        let ours = |path: &Path| path == self.index_lock_path() && index.is_ours();
        paths.into_iter().map(|path| HeldLock { is_ours: ours(&path), path }).collect()
    }

    /// Removes a lock that [`Library::held_locks`] returned, on behalf of a person who knows that its program is dead.
    ///
    /// # Errors
    /// If it can't be removed.
    pub fn remove_lock(&self, lock: &HeldLock) -> Result<(), Failure> {
        remove_if_there(&lock.path)
    }

    /// Completes or undoes an interrupted change, and removes temporary files, as each change does first; even if that ended the
    /// process before.
    ///
    /// # Errors
    /// If another process is changing the library, or files can't be changed.
    pub fn recover(&self) -> Result<(), Failure> {
        self.permit_run(BackgroundRun::Recovery);
        self.lock(super::OPEN_LOCK_TIMEOUT).map(drop)
    }

    /// Returns the runs that are not tried again, because the process died in them.
    pub fn failed_runs(&self) -> Vec<BackgroundRun> {
        let mut runs = vec![BackgroundRun::LogCache, BackgroundRun::Recovery];
        runs.retain(|run| self.attempts(*run).have_failed());
        runs
    }

    /// Permits further runs.
    pub fn permit_run(&self, run: BackgroundRun) {
        self.attempts(run).forget();
    }

    fn attempts(&self, run: BackgroundRun) -> Attempts {
        let repository = &self.working_tree.repository;
        match run {
            BackgroundRun::LogCache => history::attempts(&repository.own(history::CACHE)),
            BackgroundRun::Recovery => recovery::attempts(repository),
        }
    }

    /// Returns the files left by transactions.
    pub fn leftovers(&self) -> Leftovers {
        let mut found = Leftovers::default();
        let own = self.working_tree.repository.own("");
        for (name, path) in names_in(&own) {
            if name.starts_with("late-") || name.contains("-late-") {
                found.late.push(path);
            } else if recovery::is_temporary(&name) {
                found.temporary.push(path);
            }
        }
        // A late save is kept next to a document on another device.
        each_below(self.working_tree.root.path(), MAX_DEPTH, |path, _| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_late = name.starts_with(".tabellion-") && name.contains("late-");
            if is_late {
                found.late.push(path.to_owned());
            }
            name != ".git" && !is_late
        });
        found.late.sort();
        found.temporary.sort();
        found
    }

    /// Compares the log with the newest `limit` commits. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn log_agreement(&self, limit: usize, now: i64) -> Result<Agreement, Failure> {
        blocking(|| {
            let repository = &self.working_tree.repository;
            let git = repository.git();
            let head = repository.head_commit(&git)?;
            let cache = repository.own(history::CACHE);
            history::agreement(&git, head, repository.prefix(), &cache, limit, now)
        })
    }

    fn index_lock_path(&self) -> PathBuf {
        let mut path = self.working_tree.repository.index().into_os_string();
        path.push(".lock");
        path.into()
    }
}

/// Upper bound of folders within folders that are searched.
const MAX_DEPTH: usize = 64;
/// As [`MAX_DEPTH`], for names of branches.
const MAX_REF_DEPTH: usize = 16;
fn names_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let named = |name: OsString| Some((name.clone().into_string().ok()?, folder.join(name)));
    names(folder).unwrap_or_default().into_iter().filter_map(named).collect()
}
