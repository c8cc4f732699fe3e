//! The files and folders that the library shows: Markdown files and folders that are not hidden, not ignored by git, not behind a
//! symbolic link, not in another repository, and whose names [`crate::path`] can express. Others that a caller could mean are
//! counted by reason ([`LeftOut`]).
//!
//! One walk serves listing and searching, and the same rules serve the walk and [`exclusion`], which writers use. Unlike in
//! `git status`, ignore rules also apply to tracked files: visibility does not depend on the index.

use std::io;
use std::num::NonZeroUsize;
use std::ops::{AddAssign, ControlFlow};
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};

use super::ignore::{IgnoreRules, Scope};
use super::root::Root;
use crate::path::{LibraryDir, LibraryPath, PathError, PathFault, is_markdown};
use tabellion_platform::{Dir, FileStat, Kind, OpenError};

/// Upper bound of the files and folders in a listing.
pub const MAX_ENTRIES: usize = 100_000;

/// Number of files handed to a thread at once: about half a millisecond of searching.
const BATCH: usize = 128;

/// Further threads would only contend for the kernel's folder locks.
const MAX_THREADS: usize = 8;

/// The files and folders below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The Markdown files, sorted by the bytes of their paths.
    pub files: Vec<LibraryPath>,
    /// The folders, including those without Markdown files, sorted likewise.
    pub folders: Vec<LibraryDir>,
    /// Number of files and folders.
    pub total: usize,
    /// Set if there are more than [`MAX_ENTRIES`]; the first ones by path are then listed.
    pub truncated: bool,
    /// Numbers of entries left out.
    pub left_out: LeftOut,
}

/// Numbers of Markdown files and folders that a listing or search leaves out, by reason. The content of such a folder is not
/// counted, nor is git's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Ignored by a rule of git.
    pub ignored: usize,
    /// Names that start with a dot.
    pub hidden: usize,
    /// Symbolic links, pipes and the like, whose names are those of Markdown files or have no extension.
    pub not_regular: usize,
    /// Folders with their own repository.
    pub other_repository: usize,
    /// Files and folders that this process is not permitted to read.
    pub unreadable: usize,
    /// Names that no path can express: with a control character or backslash, too long, or like git's own.
    pub name: usize,
    /// Names that are not Unicode.
    pub not_unicode: usize,
}

impl LeftOut {
    /// Returns each reason by its name for programs, with its number.
    pub fn by_reason(&self) -> [(&'static str, usize); 7] {
        [
            ("ignored", self.ignored),
            ("hidden", self.hidden),
            ("notRegular", self.not_regular),
            ("otherRepository", self.other_repository),
            ("unreadable", self.unreadable),
            ("name", self.name),
            ("notUnicode", self.not_unicode),
        ]
    }

    fn count_name(&mut self, error: &PathError) {
        match error.fault {
            PathFault::Hidden => self.hidden += 1,
            _ => self.name += 1,
        }
    }
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, other: Self) {
        self.ignored += other.ignored;
        self.hidden += other.hidden;
        self.not_regular += other.not_regular;
        self.other_repository += other.other_repository;
        self.unreadable += other.unreadable;
        self.name += other.name;
        self.not_unicode += other.not_unicode;
    }
}

/// Error when listing or searching a folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It does not exist.
    #[error("folder `{path}` not found")]
    NotFound {
        /// The folder.
        path: String,
    },
    /// The folder, or one above it, is a file.
    #[error("`{path}` is not a folder")]
    NotAFolder {
        /// The folder.
        path: String,
    },
    /// The folder, or one above it, is a symbolic link.
    #[error("folder `{path}` leads through a symbolic link, which the library does not follow")]
    Symlink {
        /// The folder.
        path: String,
    },
    /// The library does not show it.
    #[error("folder `{path}` {why}")]
    Excluded {
        /// The folder.
        path: String,
        /// The reason.
        why: Exclusion,
    },
    /// The system does not permit this process to read it.
    #[error("folder `{path}` may not be read; give the server's user permission to")]
    Denied {
        /// The folder.
        path: String,
    },
    /// The system failed.
    #[error("folder `{path}` can't be read: {source}")]
    Io {
        /// The folder.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl FolderError {
    /// Returns the stable name of the error, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "folder_not_found",
            Self::NotAFolder { .. } => "folder_is_file",
            Self::Symlink { .. } => "folder_symlink",
            Self::Excluded { why: Exclusion::Ignored, .. } => "folder_ignored",
            Self::Excluded { why: Exclusion::OtherRepository, .. } => "folder_other_repository",
            Self::Denied { .. } => "folder_denied",
            Self::Io { .. } => "folder_io",
        }
    }

    fn new(dir: &LibraryDir, error: OpenError) -> Self {
        let path = dir.to_string();
        match error {
            OpenError::Symlink => Self::Symlink { path },
            OpenError::Special | OpenError::TooLarge { .. } => Self::NotAFolder { path },
            OpenError::Io(source) => match source.kind() {
                io::ErrorKind::NotFound => Self::NotFound { path },
                io::ErrorKind::NotADirectory => Self::NotAFolder { path },
                io::ErrorKind::PermissionDenied => Self::Denied { path },
                _ => Self::Io { path, source },
            },
        }
    }
}

/// Reason why the library does not show a file or folder with a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exclusion {
    /// A rule of git ignores it or a folder above it.
    #[error("is ignored by git; change `.gitignore` to make it part of the library")]
    Ignored,
    /// A folder above it has its own `.git`: a submodule, or another repository.
    #[error("belongs to another git repository inside the library")]
    OtherRepository,
}

/// Returns the visible files and folders in `dir`, and with `recursive` also those in all folders below it.
///
/// # Errors
///
/// [`FolderError`] if `dir` is not a folder that the library shows.
pub fn list(
    root: &Root,
    dir: &LibraryDir,
    recursive: bool,
    rules: &IgnoreRules,
) -> Result<Listing, FolderError> {
    if !recursive {
        return Ok(list_folder(root, dir, rules)?.into_listing());
    }
    let walked = walk(root, dir, rules, FoundEntries::default, |found, step| {
        match step {
            WalkItem::Files(_, files) => found.add(files.into_iter().map(Entry::File)),
            WalkItem::Folder(folder) => found.add([Entry::Folder(folder)]),
        }
        ControlFlow::Continue(())
    })?;
    let mut found = walked.states.into_iter().fold(FoundEntries::default(), FoundEntries::merge);
    found.left_out += walked.left_out;
    Ok(found.into_listing())
}

/// Returns every visible Markdown file in `dir` and the folders below it, with its stat fields, unordered and without a limit.
///
/// # Errors
///
/// [`FolderError`] if `dir` is not a folder that the library shows.
pub fn stats(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
) -> Result<Vec<(LibraryPath, FileStat)>, FolderError> {
    let walked = walk(root, dir, rules, Vec::new, |found, step| {
        if let WalkItem::Files(folder, files) = step {
            // A file that vanished meanwhile is left out.
            found.extend(files.into_iter().filter_map(|file| {
                let stat = folder.stat(file.file_name()).ok()??;
                Some((file, stat))
            }));
        }
        ControlFlow::Continue(())
    })?;
    Ok(walked.states.into_iter().flatten().collect())
}

fn list_folder(root: &Root, dir: &LibraryDir, rules: &IgnoreRules) -> Result<FoundEntries, FolderError> {
    let (handle, folder) = open_folder(root, dir, rules)?;
    let mut found = FoundEntries { left_out: folder.left_out, ..FoundEntries::default() };
    found.add(folder.files.into_iter().map(Entry::File));
    for child in folder.folders {
        match handle.open_dir(child.file_name()).and_then(|child| Ok(is_repository(&child)?)) {
            Ok(false) => found.add([Entry::Folder(child)]),
            Ok(true) => found.left_out.other_repository += 1,
            Err(error) if is_gone(&error) => {}
            // A folder that can't be entered may be a repository or not; the folder itself is no secret.
            Err(_) => {
                found.add([Entry::Folder(child)]);
                found.left_out.unreadable += 1;
            }
        }
    }
    Ok(found)
}

/// Returns the reason why the library does not show a file at `path`, even if it does not exist; `None` if it does show it.
///
/// # Errors
///
/// [`FolderError`] if a folder above is a file or a symbolic link, or can't be entered.
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

/// Returns [`Exclusion::OtherRepository`] if a folder above `path` has a `.git`. Reads each of these folders.
pub(super) fn other_repository(root: &Root, path: &LibraryPath) -> Option<Exclusion> {
    let has_git =
        |folder: LibraryDir| Ok::<_, OpenError>(is_repository(&root.dir().open_dir(folder.as_str())?)?);
    path.parent()
        .ancestors()
        // A folder that can't be entered fails later with its own error.
        .any(|folder| matches!(has_git(folder), Ok(true)))
        .then_some(Exclusion::OtherRepository)
}

/// Returns the scope of the folder `dir`, and the folder if it exists.
fn reach(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
) -> Result<(Scope, Option<Arc<Dir>>), FolderError> {
    let excluded = |dir: &LibraryDir, why| FolderError::Excluded { path: dir.to_string(), why };
    let mut scope = rules.scope().ok_or_else(|| excluded(&LibraryDir::ROOT, Exclusion::Ignored))?;
    let (mut at, mut handle) = (LibraryDir::ROOT, Some(Arc::clone(root.dir())));
    for folder in dir.ancestors() {
        if let Some(handle) = &handle {
            scope = scope.enter(&at, handle);
        }
        if scope.ignores(folder.as_str(), true) {
            return Err(excluded(&folder, Exclusion::Ignored));
        }
        if let Some(parent) = handle.take() {
            match parent.open_dir(folder.file_name()).and_then(|child| Ok((is_repository(&child)?, child))) {
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
        OpenError::Symlink | OpenError::Special | OpenError::TooLarge { .. } => true,
        OpenError::Io(error) => {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    }
}

fn open_folder(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
) -> Result<(Arc<Dir>, Folder), FolderError> {
    let (above, handle) = reach(root, dir, rules)?;
    let handle = handle.ok_or_else(|| FolderError::NotFound { path: dir.to_string() })?;
    let folder = Folder::read(&handle, dir, &above).map_err(|error| FolderError::new(dir, error.into()))?;
    Ok((handle, folder))
}

/// A folder that was read: its visible content, and the rules that apply in it.
struct Folder {
    files: Vec<LibraryPath>,
    folders: Vec<LibraryDir>,
    left_out: LeftOut,
    scope: Scope,
    is_repository: bool,
}

impl Folder {
    fn read(handle: &Dir, dir: &LibraryDir, above: &Scope) -> io::Result<Self> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let mut left_out = LeftOut::default();
        let (mut is_repository, mut has_rules) = (false, false);
        handle.entries(|name, kind| {
            let text = name.to_string_lossy();
            match kind {
                _ if text == ".git" => is_repository = true,
                Kind::File if text == ".gitignore" => has_rules = true,
                Kind::File if !is_markdown(&text) => {}
                Kind::Other if !is_markdown(&text) && text.contains('.') => {}
                _ if name.to_str().is_none() => left_out.not_unicode += 1,
                Kind::File => match dir.file(&text) {
                    Ok(file) => files.push(file),
                    Err(error) => left_out.count_name(&error),
                },
                Kind::Folder => match dir.folder(&text) {
                    Ok(folder) => folders.push(folder),
                    Err(error) => left_out.count_name(&error),
                },
                Kind::Other => left_out.not_regular += 1,
            }
        })?;
        let scope = if has_rules { above.enter(dir, handle) } else { above.clone() };
        let found = files.len() + folders.len();
        files.retain(|file| !scope.ignores(file.as_str(), false));
        folders.retain(|folder| !scope.ignores(folder.as_str(), true));
        left_out.ignored = found - files.len() - folders.len();
        Ok(Self { files, folders, left_out, scope, is_repository })
    }

    /// Returns the tasks left in this folder, whose handle is `handle`.
    fn into_tasks(self, handle: &Arc<Dir>) -> Vec<Task> {
        let Self { mut files, folders, scope, .. } = self;
        let mut tasks: Vec<_> = folders
            .into_iter()
            .map(|path| Task::Folder { parent: Arc::clone(handle), path, scope: scope.clone() })
            .collect();
        while !files.is_empty() {
            let batch = files.split_off(files.len().saturating_sub(BATCH));
            tasks.push(Task::Files { dir: Arc::clone(handle), files: batch });
        }
        tasks
    }
}

/// An item that a walk reports.
pub(super) enum WalkItem<'a> {
    /// A visible folder.
    Folder(LibraryDir),
    /// Some of the visible files of one open folder.
    Files(&'a Dir, Vec<LibraryPath>),
}

/// The outcome of a walk.
pub(super) struct Walked<T> {
    /// The state of each thread.
    pub(super) states: Vec<T>,
    /// Numbers of entries not passed to them.
    pub(super) left_out: LeftOut,
}

/// Passes every visible file and folder below `dir` to one of several threads, in no order. Each thread creates a `T` with
/// `start` and passes it to `step`; all of them are returned. [`ControlFlow::Break`] from `step` ends the walk.
///
/// # Errors
///
/// [`FolderError`] if `dir` is not a folder that the library shows.
pub(super) fn walk<T: Send>(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
    start: impl Fn() -> T + Sync,
    step: impl Fn(&mut T, WalkItem<'_>) -> ControlFlow<()> + Sync,
) -> Result<Walked<T>, FolderError> {
    let (handle, folder) = open_folder(root, dir, rules)?;
    let left_out = Mutex::new(folder.left_out);
    let queue = Queue::new(folder.into_tasks(&handle));
    drop(handle);
    let work = || {
        let mut state = start();
        while let Some(turn) = queue.turn() {
            turn.take(|task| task.run(&left_out, |found| step(&mut state, found)));
        }
        state
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    let states = thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut states = vec![work()];
        for helper in helpers {
            match helper.join() {
                Ok(state) => states.push(state),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        states
    });
    Ok(Walked { states, left_out: left_out.into_inner() })
}

/// A part of a walk for one thread.
enum Task {
    Folder { parent: Arc<Dir>, path: LibraryDir, scope: Scope },
    Files { dir: Arc<Dir>, files: Vec<LibraryPath> },
}

impl Task {
    /// Runs the task, and returns its subtasks. Adds the entries it leaves out to `left_out`.
    fn run(
        self,
        left_out: &Mutex<LeftOut>,
        mut step: impl FnMut(WalkItem<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Vec<Task>> {
        let (parent, path, scope) = match self {
            Task::Folder { parent, path, scope } => (parent, path, scope),
            Task::Files { dir, files } => {
                step(WalkItem::Files(&dir, files))?;
                return ControlFlow::Continue(Vec::new());
            }
        };
        let read = parent.open_dir(path.file_name()).map(Arc::new).and_then(|handle| {
            let folder = Folder::read(&handle, &path, &scope)?;
            Ok((handle, folder))
        });
        match read {
            Ok((_, folder)) if folder.is_repository => {
                left_out.lock().other_repository += 1;
                ControlFlow::Continue(Vec::new())
            }
            Ok((handle, folder)) => {
                *left_out.lock() += folder.left_out;
                step(WalkItem::Folder(path))?;
                ControlFlow::Continue(folder.into_tasks(&handle))
            }
            Err(error) if is_gone(&error) => ControlFlow::Continue(Vec::new()),
            Err(_) => {
                left_out.lock().unreadable += 1;
                step(WalkItem::Folder(path))?;
                ControlFlow::Continue(Vec::new())
            }
        }
    }
}

/// The tasks of one walk. The newest is run first, which keeps the number of open folders low.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    tasks: Vec<Task>,
    /// Number of threads that run a task, which may add more.
    busy: usize,
}

impl Queue {
    fn new(tasks: Vec<Task>) -> Self {
        Self { state: Mutex::new(QueueState { tasks, busy: 0 }), changed: Condvar::new() }
    }

    /// Returns the next task; `None` when all are done.
    fn turn(&self) -> Option<Turn<'_>> {
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                return Some(Turn { queue: self, task: Some(task) });
            }
            if state.busy == 0 {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}

/// A thread's turn at a task. Dropping it ends the turn, even after a panic: other threads do not wait for ever.
struct Turn<'a> {
    queue: &'a Queue,
    task: Option<Task>,
}

impl Turn<'_> {
    fn take(mut self, run: impl FnOnce(Task) -> ControlFlow<(), Vec<Task>>) {
        let Some(task) = self.task.take() else { return };
        match run(task) {
            ControlFlow::Continue(more) => self.queue.state.lock().tasks.extend(more),
            ControlFlow::Break(()) => self.queue.state.lock().tasks.clear(),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queue.state.lock().busy -= 1;
        self.queue.changed.notify_all();
    }
}

/// A line of a listing.
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

/// The entries found by one thread. Never holds more than twice [`MAX_ENTRIES`].
#[derive(Default)]
struct FoundEntries {
    entries: Vec<Entry>,
    total: usize,
    left_out: LeftOut,
}

impl FoundEntries {
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
        self.total += other.total;
        self.left_out += other.left_out;
        self
    }

    /// Drops all but the first [`MAX_ENTRIES`] by path.
    fn keep_first(&mut self) {
        if self.entries.len() > MAX_ENTRIES {
            self.entries.select_nth_unstable_by(MAX_ENTRIES, |a, b| a.path().cmp(b.path()));
            self.entries.truncate(MAX_ENTRIES);
        }
    }

    fn into_listing(mut self) -> Listing {
        self.keep_first();
        self.entries.sort_unstable_by(|a, b| a.path().cmp(b.path()));
        let truncated = self.total > self.entries.len();
        let mut listing =
            Listing { total: self.total, truncated, left_out: self.left_out, ..Listing::default() };
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
