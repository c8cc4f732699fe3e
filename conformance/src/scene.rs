//! Temporary libraries with their surroundings, and the servers over them.
//!
//! The library is a git repository with committed documents. Next to it are a file with a secret and a folder whose name
//! begins with the library's name, which no server may touch.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    Ledger, Own, Subject, Target,
    client::Client,
    era::Era,
    judgement::{Cause, Judgement, Stop, ensure, fail},
    launch::{Launch, OperatorFolder, not_ours},
    layout::{AROUND, DATA, INNER_ROOT, SECRET, WORKSPACE},
    ledger::{self, git, rows::RowLedger},
    person::Person,
    promises,
    stepper::{Counting, Stepper},
    subject::Commits,
    trace::Trace,
    watcher,
};

/// Time without a move of HEAD after which a server's late commits count as complete.
const QUIET: Duration = Duration::from_millis(500);
/// Maximum time to wait for that.
const MAX_SETTLING: Duration = Duration::from_secs(5);

/// A library, its surroundings, and the trace of actions so far.
#[derive(Debug)]
pub struct Scene<'a> {
    subject: &'a Subject,
    folder: Folder,
    own: Own,
    /// True if an external server has been reset.
    is_reset: AtomicBool,
    /// Seconds by which the clock of servers that are started is ahead.
    ahead: AtomicU64,
    trace: Trace,
}

/// Location of a library.
#[derive(Debug)]
enum Folder {
    /// A temporary folder.
    Own(TempDir),
    /// The folder of an external server.
    Given(OperatorFolder),
}

/// Content of a library and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The library.
    pub library: Ledger,
    /// Mode and bytes of the files around the library, by path relative to the library's parent folder. Folders have
    /// neither mode nor bytes.
    pub around: ledger::Files,
    /// The rows and their log, if the contract's store has rows and the server has created it.
    pub rows: Option<RowLedger>,
}

impl View {
    /// Fails unless `later` is equal; `what` names the event that should have changed nothing.
    pub fn same(&self, later: &Self, what: &str) -> Judgement {
        if let Some(path) = later.library.changed_since(&self.library).first() {
            let bytes = |view: &Self| view.library.files.get(path).map(|(_, bytes)| bytes.clone());
            let (old, new) = (bytes(self), bytes(later));
            let did = match (&old, &new) {
                (None, _) => "created",
                (_, None) => "removed",
                _ => "changed",
            };
            let name = path.to_string_lossy();
            let failure = fail(format!("{what} {did} `{name}`")).because(Cause::of_file(path));
            return Err(failure.showing(&name, old.as_deref(), new.as_deref()));
        }
        self.same_rows(later, what)?;
        self.same_folders(later)?;
        ensure(self.around == later.around, || format!("{what} changed files outside the library"))?;
        let (old, new) = (&self.library, &later.library);
        ensure(old.commits == new.commits, || format!("{what} changed the history"))?;
        ensure((&old.status, &old.index) == (&new.status, &new.index), || format!("{what} changed the index"))
    }

    /// Fails unless rows and log are equal in `later`. A store that was not there yet may be created.
    pub fn same_rows(&self, later: &Self, what: &str) -> Judgement {
        let (Some(old), Some(new)) = (&self.rows, &later.rows) else {
            return ensure(self.rows.is_none(), || format!("{what} removed the rows"));
        };
        match old.tables.difference(&new.tables) {
            Some(difference) => Err(fail(format!("{what} changed rows: {difference}"))),
            None => ensure(old.log == new.log, || format!("{what} changed the log of rows")),
        }
    }

    /// Fails unless the library has equal folders in `later`.
    pub fn same_folders(&self, later: &Self) -> Judgement {
        match later.library.folders_since(&self.library).first() {
            None => Ok(()),
            Some(folder) => {
                let what = format!("the folder `{}` was created or removed", folder.display());
                Err(fail(what).because(Cause::of_file(&folder.join(""))))
            }
        }
    }
}

impl<'a> Scene<'a> {
    /// Creates a library of `documents`, committed by a person.
    pub fn new(
        subject: &'a Subject,
        trace: &Trace,
        documents: &[(&str, impl AsRef<[u8]>)],
    ) -> Result<Self, Stop> {
        Self::new_in(&tempfile::env::temp_dir(), subject, trace, documents)
    }

    /// As [`new`](Self::new), but in memory if the machine has such a folder: for checks that do not test the disk.
    pub fn in_memory(
        subject: &'a Subject,
        trace: &Trace,
        documents: &[(&str, impl AsRef<[u8]>)],
    ) -> Result<Self, Stop> {
        Self::new_in(&memory(), subject, trace, documents)
    }

    /// Creates a folder for rows, in memory if the machine has such a folder. There is no library.
    pub fn of_rows(subject: &'a Subject, trace: &Trace) -> Result<Self, Stop> {
        let scene = Self::empty_in(&memory(), subject, trace, false)?;
        fs::create_dir_all(scene.library())?;
        Ok(scene)
    }

    /// As [`new`](Self::new), in a folder in `parent`.
    pub fn new_in(
        parent: &Path,
        subject: &'a Subject,
        trace: &Trace,
        documents: &[(&str, impl AsRef<[u8]>)],
    ) -> Result<Self, Stop> {
        let has_inner_root = documents.iter().any(|(path, _)| path.starts_with(INNER_ROOT));
        let scene = Self::empty_in(parent, subject, trace, has_inner_root)?;
        scene.fill(documents, has_inner_root)?;
        Ok(scene)
    }

    /// Creates a scene without a library.
    fn empty_in(
        parent: &Path,
        subject: &'a Subject,
        trace: &Trace,
        has_inner_root: bool,
    ) -> Result<Self, Stop> {
        let folder = match subject.launch.running() {
            Some(running) => Folder::Given(running.take()?),
            None => Folder::Own(watcher::folder_in(parent)?),
        };
        let own = subject.own.clone().and(&subject.made_at_start);
        let scene = Self {
            subject,
            folder,
            own: if has_inner_root { own.and_below(INNER_ROOT) } else { own },
            is_reset: AtomicBool::new(false),
            ahead: AtomicU64::new(0),
            trace: trace.clone(),
        };
        if scene.has_data() {
            fs::create_dir_all(scene.data())?;
        }
        if subject.launch.names("{workspace}") {
            fs::create_dir_all(scene.workspace())?;
        }
        Ok(scene)
    }

    /// Makes a library of `documents`, committed by a person, and its surroundings.
    fn fill(&self, documents: &[(&str, impl AsRef<[u8]>)], has_inner_root: bool) -> Result<(), Stop> {
        fs::create_dir_all(self.library())?;
        for outside in AROUND {
            let outside = self.around(outside);
            fs::create_dir(&outside)?;
            fs::write(outside.join("secret.md"), SECRET)?;
        }
        git(&self.library(), &["init", "--quiet", "--initial-branch=main"])?;
        self.set_up(has_inner_root)?;
        for (path, content) in documents {
            self.put(path, content)?;
        }
        let Launch { environment, patience, .. } = &self.subject.launch;
        let run = self.subject.setup.run(&self.library(), environment, *patience);
        run.map_err(Stop::Harness)?;
        self.commit_all("documents")
    }

    /// Creates the server's setup in its root: the library, and in one check a folder of it.
    fn set_up(&self, has_inner_root: bool) -> io::Result<()> {
        let setup = &self.subject.setup;
        setup.put(&self.library())?;
        if has_inner_root {
            setup.put(&self.path(INNER_ROOT))?;
        }
        Ok(())
    }

    /// Returns the path of the library.
    pub fn library(&self) -> PathBuf {
        match &self.folder {
            Folder::Own(dir) => dir.path().join("library"),
            Folder::Given(folder) => folder.library().to_owned(),
        }
    }

    /// Returns the path of the folder for rows.
    pub fn data(&self) -> PathBuf {
        self.around(DATA)
    }

    /// Returns the path of the folder with source code.
    pub fn workspace(&self) -> PathBuf {
        self.around(WORKSPACE)
    }

    /// Reads the rows and their log; `None` if the contract has no rows, or the server has not created its store yet.
    pub fn rows(&self) -> Result<Option<RowLedger>, Stop> {
        let Some(spec) = self.subject.contract.rows else {
            return Ok(None);
        };
        self.subject.ledger.read(&self.data(), spec).map_err(Stop::Harness)
    }

    /// Returns the path of a folder next to the library.
    fn around(&self, name: &str) -> PathBuf {
        self.library().with_file_name(name)
    }

    /// Returns a path in the library, or around it (`../outside/secret.md`).
    pub fn path(&self, name: &str) -> PathBuf {
        self.library().join(name)
    }

    /// Writes a file as a person.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) -> Result<(), Stop> {
        let content = content.as_ref();
        let shown = String::from_utf8_lossy(content);
        self.trace.did(format!("a person writes `{path}`: {shown:?}"));
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        Ok(fs::write(path, content)?)
    }

    /// Commits everything as a person.
    ///
    /// # Errors
    /// If git fails.
    pub fn commit_all(&self, message: &str) -> Result<(), Stop> {
        self.trace.did("a person runs `git add --all`");
        git(&self.library(), &self.own.except(&["add", "--all"]))?;
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message])?;
        Ok(())
    }

    /// Records an action in the trace.
    pub fn trace(&self, what: impl Into<String>) {
        self.trace.did(what);
    }

    /// Runs git in the library as a person; returns its output.
    ///
    /// # Errors
    /// If git fails.
    pub fn git(&self, arguments: &[&str]) -> Result<String, Stop> {
        self.trace.did(format!("a person runs `git {}`", arguments.join(" ")));
        Ok(git(&self.library(), arguments)?)
    }

    /// Returns the bytes of a document, if it exists.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        ledger::bytes(&self.path(path))
    }

    /// Returns every file of the library, except in `.git` and the server's own state.
    pub fn files(&self) -> io::Result<ledger::Files> {
        Ok(ledger::files_and_folders(&self.library(), &self.own)?.0)
    }

    /// Returns true if the server must leave git's files as its commits need them.
    pub fn is_git_judged(&self) -> bool {
        promises::owes(self.subject.contract, promises::COMMITS)
    }

    /// Returns the paths of the library that are the server's own.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// Returns the names next to the library: all of them, or, with an external server, those that the suite created.
    fn neighbours(&self) -> io::Result<Vec<OsString>> {
        let Folder::Own(dir) = &self.folder else {
            return Ok(AROUND.map(OsString::from).into());
        };
        let names = fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name()));
        names
            .filter(|name| !name.as_ref().is_ok_and(|name| name == "library" || self.is_data(name)))
            .collect()
    }

    /// Returns true if a name next to the library is that of the folder for rows, or for other data of the server.
    fn is_data(&self, name: &std::ffi::OsStr) -> bool {
        name == DATA && self.has_data()
    }

    fn has_data(&self) -> bool {
        self.subject.contract.rows.is_some() || self.subject.launch.names("{data}")
    }

    /// Waits until a server that commits [later](Commits::Later) has made its commits; returns at once for others.
    pub fn settle(&self) {
        if self.subject.commits != Commits::Later {
            return;
        }
        let start = Instant::now();
        let (mut last, mut since) = (self.head(), Instant::now());
        while since.elapsed() < QUIET && start.elapsed() < MAX_SETTLING {
            thread::sleep(Duration::from_millis(20));
            let now = self.head();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }

    /// Returns the last commit; `None` on a branch without commits.
    pub fn head(&self) -> Option<String> {
        let head = git(&self.library(), &["rev-parse", "--quiet", "--verify", "HEAD"]).ok()?;
        Some(head.trim().to_owned())
    }

    /// Reads the current state, once it is [settled](Self::settle).
    pub fn view(&self) -> Result<View, Stop> {
        self.settle();
        let mut around = ledger::Files::new();
        for name in self.neighbours()? {
            let path = self.library().with_file_name(&name);
            // A temporary file may be gone by now.
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            if metadata.is_dir() {
                let (files, folders) = ledger::files_and_folders(&path, &Own::default())?;
                let folders = folders.into_iter().chain([PathBuf::new()]);
                let below = folders.map(|path| (path, (0, Vec::new()))).chain(files);
                around.extend(below.map(|(path, it)| (Path::new(&name).join(path), it)));
            } else {
                let bytes = ledger::bytes(&path).unwrap_or_default();
                around.insert(name.into(), (metadata.permissions().mode(), bytes));
            }
        }
        Ok(View { library: Ledger::read_except(&self.library(), &self.own)?, around, rows: self.rows()? })
    }

    /// Sets the clock of servers that are started from now on ahead of this machine's.
    ///
    /// # Errors
    /// "Not applicable", if no variable does that; if the server is external.
    pub fn set_clock_ahead(&self, by: Duration) -> Judgement {
        if self.subject.launch.running().is_some() {
            return Err(not_ours());
        }
        self.subject.launch.clock_variable()?;
        self.trace.did(format!("the clock is {} s ahead", by.as_secs()));
        self.ahead.store(by.as_secs(), Ordering::Relaxed);
        Ok(())
    }

    /// Starts a server over this library, and opens a client of it.
    pub fn start(&self) -> Result<Client<'a>, Stop> {
        self.start_at(&self.library())
    }

    /// As [`start`](Self::start), but with `person` behind the client.
    pub fn start_for(&self, person: Person) -> Result<Client<'a>, Stop> {
        Client::open_for(person, self.subject, self.connect()?, self.library())
    }

    /// As [`start`](Self::start), but over the library at `root`.
    pub fn start_at(&self, root: &Path) -> Result<Client<'a>, Stop> {
        Client::open(self.subject, self.connect_at(root)?, root.to_owned())
    }

    /// As [`start`](Self::start), but `change` can modify the command first.
    pub fn start_by(&self, change: impl FnOnce(&mut Command)) -> Result<Client<'a>, Stop> {
        Client::open(self.subject, self.connect_by(change)?, self.library())
    }

    /// As [`start`](Self::start), but under a stepper.
    ///
    /// # Errors
    /// If stepping is not supported on this machine, or the server does not start or answer.
    pub fn start_stepped(&self, counting: Counting) -> Result<(Client<'a>, Stepper), Stop> {
        self.trace.did("the server starts under the stepper");
        let (launch, era) = (&self.subject.launch, self.subject.era);
        let (mut target, stepper) = launch.start_stepped(&self.library(), era, counting)?;
        target.trace = Some(self.trace.clone());
        Ok((Client::open(self.subject, target, self.library())?, stepper))
    }

    /// Starts a server over this library without sending a message.
    pub fn connect(&self) -> Result<Target, Stop> {
        self.connect_at(&self.library())
    }

    /// As [`connect`](Self::connect), but `change` can modify the command first.
    ///
    /// # Errors
    /// If the server does not start, or is external.
    pub fn connect_by(&self, change: impl FnOnce(&mut Command)) -> Result<Target, Stop> {
        if self.subject.launch.running().is_some() {
            return Err(not_ours());
        }
        self.connect_with(&self.library(), self.subject.era, change)
    }

    /// As [`connect`](Self::connect), but in another era.
    pub fn connect_in(&self, era: Era) -> Result<Target, Stop> {
        self.connect_with(&self.library(), era, |_| ())
    }

    fn connect_at(&self, root: &Path) -> Result<Target, Stop> {
        self.connect_with(root, self.subject.era, |_| ())
    }

    fn connect_with(&self, root: &Path, era: Era, change: impl FnOnce(&mut Command)) -> Result<Target, Stop> {
        let launch = &self.subject.launch;
        if let Some(running) = launch.running() {
            if root != self.library() {
                return Err(not_ours());
            }
            if !self.is_reset.swap(true, Ordering::Relaxed) {
                self.trace.did("the server is reset");
                running.reset(launch.patience)?;
            }
            self.trace.did("a client connects");
        } else {
            self.trace.did(format!("the server starts over `{}`", root.display()));
        }
        let ahead = self.ahead.load(Ordering::Relaxed);
        let mut target = launch.start(root, era, |command| {
            if let Some(variable) = launch.clock_offset.as_ref().filter(|_| ahead > 0) {
                command.env(variable, ahead.to_string());
            }
            change(command);
        })?;
        target.trace = Some(self.trace.clone());
        Ok(target)
    }
}

/// Returns a folder in memory, or else the temporary one.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { tempfile::env::temp_dir() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::CONTRACTS;

    #[test]
    fn changes_around_a_library_are_reported() {
        let subject = Subject::new(CONTRACTS[0], Vec::new());
        let scene = Scene::new(&subject, &Trace::default(), &[("a.md", "a\n")]).unwrap();
        let mut before = scene.view().unwrap();
        for path in [
            "outside/secret.md",
            "library-evil/secret.md",
            "outside/new.md",
            "new.md",
            "outside/folder",
            "folder",
        ] {
            let place = scene.path("..").join(path);
            if path.ends_with(".md") {
                fs::write(place, "written\n").unwrap();
            } else {
                fs::create_dir(place).unwrap();
            }
            let after = scene.view().unwrap();
            assert_eq!(before.library, after.library, "{path}");
            let changed: Vec<_> =
                after.around.keys().filter(|it| before.around.get(*it) != after.around.get(*it)).collect();
            assert_eq!(changed, [Path::new(path)]);
            before = after;
        }
    }
}
