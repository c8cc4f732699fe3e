//! Which files and folders the library shows: Markdown files and folders that are neither hidden, nor ignored by git, nor
//! behind a symbolic link, nor in another repository, and whose names [`crate::path`] takes.
//!
//! One walk serves listing and searching, and one set of rules serves the walk and [`exclusion`], which a writer asks.
//! Unlike with `git status`, git's rules also hold for files that it already tracks: what is shown does not depend on the
//! index.

use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::ignore::{IgnoreRules, Scope};
use super::root::Root;
use crate::path::{LibraryDir, LibraryPath, is_markdown};
use tabellion_platform::{Dir, Kind, OpenError};

/// The most files and folders that one listing has.
pub const MAX_ENTRIES: usize = 100_000;

/// Files handed to a thread at once: some half a millisecond of searching.
const BATCH: usize = 128;

/// More threads than this only wait for each other in the kernel's folders.
const MAX_THREADS: usize = 8;

/// The files and folders below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The Markdown files, sorted by the bytes of their paths.
    pub files: Vec<LibraryPath>,
    /// The folders, also those without Markdown files, sorted likewise.
    pub folders: Vec<LibraryDir>,
    /// How many files and folders there are.
    pub total: usize,
    /// Whether there are more than [`MAX_ENTRIES`]; the first ones by path are then listed.
    pub truncated: bool,
    /// How many folders could not be read, so that what is in them is missing here.
    pub skipped: usize,
}

/// Why a folder can't be listed or searched.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is none.
    #[error("folder `{path}` not found")]
    NotFound {
        /// The folder asked for.
        path: String,
    },
    /// It, or one above it, is a file.
    #[error("`{path}` is not a folder")]
    NotAFolder {
        /// The folder asked for.
        path: String,
    },
    /// It, or one above it, is a symbolic link.
    #[error("folder `{path}` leads through a symbolic link, which the library does not follow")]
    Symlink {
        /// The folder asked for.
        path: String,
    },
    /// The library does not show it.
    #[error("folder `{path}` {why}")]
    Excluded {
        /// The folder asked for.
        path: String,
        /// Why not.
        why: Exclusion,
    },
    /// The system does not let this process read it.
    #[error("folder `{path}` may not be read; give the server's user permission to")]
    Denied {
        /// The folder asked for.
        path: String,
    },
    /// The system failed.
    #[error("folder `{path}` can't be read: {source}")]
    Io {
        /// The folder asked for.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderError {
    /// The stable name of the error, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "folder_not_found",
            Self::NotAFolder { .. } => "folder_is_file",
            Self::Symlink { .. } => "folder_symlink",
            Self::Excluded {
                why: Exclusion::Ignored,
                ..
            } => "folder_ignored",
            Self::Excluded {
                why: Exclusion::OtherRepository,
                ..
            } => "folder_other_repository",
            Self::Denied { .. } => "folder_denied",
            Self::Io { .. } => "folder_io",
        }
    }

    fn new(dir: &LibraryDir, error: OpenError) -> Self {
        let path = dir.to_string();
        match error {
            OpenError::Symlink => Self::Symlink { path },
            OpenError::Special => Self::NotAFolder { path },
            OpenError::Io(source) => match source.kind() {
                io::ErrorKind::NotFound => Self::NotFound { path },
                io::ErrorKind::NotADirectory => Self::NotAFolder { path },
                io::ErrorKind::PermissionDenied => Self::Denied { path },
                _ => Self::Io { path, source },
            },
        }
    }
}

/// Why the library does not show a file or folder although its name is a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exclusion {
    /// A rule of git's ignores it or a folder above it.
    #[error("is ignored by git; change `.gitignore` to make it part of the library")]
    Ignored,
    /// A folder above it has a `.git` of its own: a submodule, or a repository that happens to lie there.
    #[error("belongs to another git repository inside the library")]
    OtherRepository,
}

/// The visible files and folders in `dir`, and with `recursive` also those in every folder below it.
///
/// # Errors
///
/// [`FolderError`] when `dir` is not a folder that the library shows.
pub fn list(
    root: &Root,
    dir: &LibraryDir,
    recursive: bool,
    rules: &IgnoreRules,
) -> Result<Listing, FolderError> {
    if !recursive {
        return Ok(list_folder(root, dir, rules)?.into_listing());
    }
    let parts = walk(root, dir, rules, Found::default, |found, step| {
        match step {
            Step::Files(_, files) => found.add(files.into_iter().map(Entry::File)),
            Step::Folder(folder) => found.add([Entry::Folder(folder)]),
            Step::Unreadable => found.skipped += 1,
        }
        ControlFlow::Continue(())
    })?;
    Ok(parts
        .into_iter()
        .fold(Found::default(), Found::merge)
        .into_listing())
}

fn list_folder(root: &Root, dir: &LibraryDir, rules: &IgnoreRules) -> Result<Found, FolderError> {
    let (handle, folder) = open_folder(root, dir, rules)?;
    let mut found = Found::default();
    found.add(folder.files.into_iter().map(Entry::File));
    for child in folder.folders {
        match handle
            .open_dir(child.file_name())
            .and_then(|child| Ok(is_repository(&child)?))
        {
            Ok(false) => found.add([Entry::Folder(child)]),
            Ok(true) => {}
            Err(error) if is_gone(&error) => {}
            // Whoever may not enter it can't see whether it is a repository; the folder itself is no secret.
            Err(_) => {
                found.add([Entry::Folder(child)]);
                found.skipped += 1;
            }
        }
    }
    Ok(found)
}

/// Why the library does not show a file at `path`, whether one is there or not; `None` when it does.
///
/// # Errors
///
/// [`FolderError`] when a folder on the way is a file or a symbolic link, or can't be entered.
pub fn exclusion(
    root: &Root,
    path: &LibraryPath,
    rules: &IgnoreRules,
) -> Result<Option<Exclusion>, FolderError> {
    let parent = path.parent();
    match reach(root, &parent, rules) {
        Ok((above, handle)) => {
            let scope = handle.map_or_else(|| above.clone(), |handle| above.enter(&parent, &handle));
            Ok(scope.ignores(path.as_str(), false).then_some(Exclusion::Ignored))
        }
        Err(FolderError::Excluded { why, .. }) => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

/// [`Exclusion::OtherRepository`] when a folder on the way to `path` has a `.git`, asked at the price of a look per folder.
pub(super) fn other_repository(root: &Root, path: &LibraryPath) -> Option<Exclusion> {
    let has_git = |folder: LibraryDir| root.dir().kind(&format!("{folder}/.git"));
    path.parent()
        .ancestors()
        // What can't be looked at can't be read either, and that then says why.
        .any(|folder| matches!(has_git(folder), Ok(Some(_))))
        .then_some(Exclusion::OtherRepository)
}

/// The scope that holds for the folder `dir` from above, and the folder itself if it is there.
fn reach(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
) -> Result<(Scope, Option<Arc<Dir>>), FolderError> {
    let excluded = |dir: &LibraryDir, why| FolderError::Excluded {
        path: dir.to_string(),
        why,
    };
    let mut scope = rules
        .scope()
        .ok_or_else(|| excluded(&LibraryDir::ROOT, Exclusion::Ignored))?;
    let (mut at, mut handle) = (LibraryDir::ROOT, Some(Arc::clone(root.dir())));
    for folder in dir.ancestors() {
        if let Some(handle) = &handle {
            scope = scope.enter(&at, handle);
        }
        if scope.ignores(folder.as_str(), true) {
            return Err(excluded(&folder, Exclusion::Ignored));
        }
        if let Some(parent) = handle.take() {
            match parent
                .open_dir(folder.file_name())
                .and_then(|child| Ok((is_repository(&child)?, child)))
            {
                Ok((true, _)) => return Err(excluded(&folder, Exclusion::OtherRepository)),
                Ok((false, child)) => handle = Some(Arc::new(child)),
                Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(FolderError::new(&folder, error)),
            }
        }
        at = folder;
    }
    Ok((scope, handle))
}

fn is_repository(dir: &Dir) -> io::Result<bool> {
    Ok(dir.kind(".git")?.is_some())
}

fn is_gone(error: &OpenError) -> bool {
    match error {
        OpenError::Symlink | OpenError::Special => true,
        OpenError::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}

fn open_folder(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
) -> Result<(Arc<Dir>, Folder), FolderError> {
    let (above, handle) = reach(root, dir, rules)?;
    let handle = handle.ok_or_else(|| FolderError::NotFound {
        path: dir.to_string(),
    })?;
    let folder = Folder::read(&handle, dir, &above).map_err(|error| FolderError::new(dir, error.into()))?;
    Ok((handle, folder))
}

/// One folder as read: what it shows, and the rules that hold in it.
struct Folder {
    files: Vec<LibraryPath>,
    folders: Vec<LibraryDir>,
    scope: Scope,
    is_repository: bool,
}

impl Folder {
    fn read(handle: &Dir, dir: &LibraryDir, above: &Scope) -> io::Result<Self> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let (mut is_repository, mut has_rules) = (false, false);
        handle.entries(|name, kind| match kind {
            _ if name == ".git" => is_repository = true,
            Kind::File if name == ".gitignore" => has_rules = true,
            Kind::File if is_markdown(name) => files.extend(dir.file(name)),
            Kind::Folder => folders.extend(dir.folder(name)),
            Kind::File | Kind::Other => {}
        })?;
        let scope = if has_rules {
            above.enter(dir, handle)
        } else {
            above.clone()
        };
        files.retain(|file| !scope.ignores(file.as_str(), false));
        folders.retain(|folder| !scope.ignores(folder.as_str(), true));
        Ok(Self {
            files,
            folders,
            scope,
            is_repository,
        })
    }

    /// What is left to do in this folder, whose handle is `handle`.
    fn into_tasks(self, handle: &Arc<Dir>) -> Vec<Task> {
        let Self {
            mut files,
            folders,
            scope,
            ..
        } = self;
        let mut tasks: Vec<_> = folders
            .into_iter()
            .map(|path| Task::Folder {
                parent: Arc::clone(handle),
                path,
                scope: scope.clone(),
            })
            .collect();
        while !files.is_empty() {
            let batch = files.split_off(files.len().saturating_sub(BATCH));
            tasks.push(Task::Files {
                dir: Arc::clone(handle),
                files: batch,
            });
        }
        tasks
    }
}

/// What a walk comes upon.
pub(super) enum Step<'a> {
    /// A folder that is shown.
    Folder(LibraryDir),
    /// Some of the shown files of one folder, which is held open.
    Files(&'a Dir, Vec<LibraryPath>),
    /// A folder that could not be read.
    Unreadable,
}

/// Takes every visible file and folder below `dir` to one of several threads, in no order. Each thread makes itself a
/// `T` with `start` and has `step` work on it; all of them are returned. [`ControlFlow::Break`] from `step` ends the walk.
///
/// # Errors
///
/// [`FolderError`] when `dir` is not a folder that the library shows.
pub(super) fn walk<T: Send>(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
    start: impl Fn() -> T + Sync,
    step: impl Fn(&mut T, Step<'_>) -> ControlFlow<()> + Sync,
) -> Result<Vec<T>, FolderError> {
    let (handle, folder) = open_folder(root, dir, rules)?;
    let queue = Queue::new(folder.into_tasks(&handle));
    drop(handle);
    let work = || {
        let mut state = start();
        while let Some(turn) = queue.turn() {
            turn.take(|task| task.run(|found| step(&mut state, found)));
        }
        state
    };
    let threads = thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(MAX_THREADS);
    Ok(thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut states = vec![work()];
        for helper in helpers {
            match helper.join() {
                Ok(state) => states.push(state),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        states
    }))
}

/// A part of a walk that one thread does at a time.
enum Task {
    Folder {
        parent: Arc<Dir>,
        path: LibraryDir,
        scope: Scope,
    },
    Files {
        dir: Arc<Dir>,
        files: Vec<LibraryPath>,
    },
}

impl Task {
    /// Does it, and returns what there is to do next.
    fn run(self, mut step: impl FnMut(Step<'_>) -> ControlFlow<()>) -> ControlFlow<(), Vec<Task>> {
        let (parent, path, scope) = match self {
            Task::Folder { parent, path, scope } => (parent, path, scope),
            Task::Files { dir, files } => {
                step(Step::Files(&dir, files))?;
                return ControlFlow::Continue(Vec::new());
            }
        };
        let read = parent
            .open_dir(path.file_name())
            .map(Arc::new)
            .and_then(|handle| {
                let folder = Folder::read(&handle, &path, &scope)?;
                Ok((handle, folder))
            });
        match read {
            Ok((_, folder)) if folder.is_repository => ControlFlow::Continue(Vec::new()),
            Ok((handle, folder)) => {
                step(Step::Folder(path))?;
                ControlFlow::Continue(folder.into_tasks(&handle))
            }
            Err(error) if is_gone(&error) => ControlFlow::Continue(Vec::new()),
            Err(_) => {
                step(Step::Folder(path))?;
                step(Step::Unreadable)?;
                ControlFlow::Continue(Vec::new())
            }
        }
    }
}

/// The tasks of one walk. The newest is done first, so that few folders are held open.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    tasks: Vec<Task>,
    /// Threads that are at a task, from which more may come.
    busy: usize,
}

impl Queue {
    fn new(tasks: Vec<Task>) -> Self {
        Self {
            state: Mutex::new(QueueState { tasks, busy: 0 }),
            changed: Condvar::new(),
        }
    }

    /// The next task; `None` when all are done.
    fn turn(&self) -> Option<Turn<'_>> {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                return Some(Turn {
                    queue: self,
                    task: Some(task),
                });
            }
            if state.busy == 0 {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }
}

/// One thread's turn at a task. Dropping it ends the turn, also when the task panicked: nobody waits for it forever.
struct Turn<'a> {
    queue: &'a Queue,
    task: Option<Task>,
}

impl Turn<'_> {
    fn take(mut self, run: impl FnOnce(Task) -> ControlFlow<(), Vec<Task>>) {
        let Some(task) = self.task.take() else { return };
        match run(task) {
            ControlFlow::Continue(more) => self.queue.lock().tasks.extend(more),
            ControlFlow::Break(()) => self.queue.lock().tasks.clear(),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queue.lock().busy -= 1;
        self.queue.changed.notify_all();
    }
}

/// One line of a listing.
enum Entry {
    File(LibraryPath),
    Folder(LibraryDir),
}

impl Entry {
    fn path(&self) -> &str {
        match self {
            Entry::File(file) => file.as_str(),
            Entry::Folder(folder) => folder.as_str(),
        }
    }
}

/// What one thread found. Never holds more than twice [`MAX_ENTRIES`], whatever the library's size.
#[derive(Default)]
struct Found {
    entries: Vec<Entry>,
    total: usize,
    skipped: usize,
}

impl Found {
    fn add(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let before = self.entries.len();
        self.entries.extend(entries);
        self.total += self.entries.len() - before;
        if self.entries.len() >= 2 * MAX_ENTRIES {
            self.keep_first();
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.entries.extend(other.entries);
        self.keep_first();
        Self {
            entries: self.entries,
            total: self.total + other.total,
            skipped: self.skipped + other.skipped,
        }
    }

    /// Forgets all but the first [`MAX_ENTRIES`] by path.
    fn keep_first(&mut self) {
        if self.entries.len() > MAX_ENTRIES {
            self.entries
                .select_nth_unstable_by(MAX_ENTRIES, |a, b| a.path().cmp(b.path()));
            self.entries.truncate(MAX_ENTRIES);
        }
    }

    fn into_listing(mut self) -> Listing {
        self.keep_first();
        self.entries.sort_unstable_by(|a, b| a.path().cmp(b.path()));
        let truncated = self.total > self.entries.len();
        let mut listing = Listing {
            total: self.total,
            truncated,
            skipped: self.skipped,
            ..Listing::default()
        };
        for entry in self.entries {
            match entry {
                Entry::File(file) => listing.files.push(file),
                Entry::Folder(folder) => listing.folders.push(folder),
            }
        }
        listing
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
