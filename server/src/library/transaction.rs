//! Making a planned mutation visible and durable: all of it or nothing, whatever dies.
//!
//! 1. Everything that is new is written aside, and synced together.
//! 2. The intent gets its name: from here on, [`recovery`] knows both sides.
//! 3. Git's index, HEAD and the branch are locked; somebody was faster → undone.
//! 4. The document is exchanged with the new one, and what came out is looked at: a person saved → undone.
//! 5. The new index is written into its lock.
//! 6. The branch moves: **the commit point**. Before it everything is undone, after it everything is completed.
//!
//! Undoing and completing are [`recovery`]'s, the same after an error and after a crash; nothing here cleans up.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tabellion_schemas::{Failure, FailureKind, Setback};

use super::{
    Library,
    branch::{self, BranchMove},
    document::{self, Found, Place},
    durable::{self, Thing},
    index_file::{self, Entry, IndexError},
    intent::Intent,
    lock::{GitLock, LockFiles},
    objects::StagedObjects,
    plan::Plan,
    recovery,
    trouble::{At, refused},
};
use crate::platform::{self, FileStat};

/// Name of the intent in our own folder.
pub(super) const INTENT: &str = "intent";
/// Name of an intent that is not one yet.
const NEW_INTENT: &str = "intent.new";

/// What has just been done. Tests stop the transaction after each of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The new objects, content and intent are durable, and nothing shows.
    Written,
    /// The intent is in place.
    Announced,
    /// Index, HEAD and branch are locked.
    Locked,
    /// The document is the new one.
    Swapped,
    /// The new index is durable, in its lock.
    Indexed,
    /// The branch has moved.
    Committed,
    /// The index is the new one.
    Published,
}

/// Why a transaction did not come to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// It was not possible.
    Setback(Setback),
    /// The process died, as tests have it: nobody undoes anything.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests play death"))]
    Death,
}

/// Told of each step; may stop the transaction there.
pub(super) type Watch = Box<dyn Fn(Step) -> Result<(), Stop> + Send + Sync>;

impl<T: Into<Setback>> From<T> for Stop {
    fn from(setback: T) -> Self {
        Self::Setback(setback.into())
    }
}

/// Makes the mutation.
///
/// # Errors
/// After an error, nothing has changed; or it could not even be undone, which the next transaction does.
pub(super) fn publish(library: &Library, mut plan: Plan) -> Result<(), Setback> {
    let stop = match run(library, &mut plan) {
        Ok(()) => return Ok(()),
        Err(Stop::Death) => return Err(refused("the process is dead").into()),
        Err(Stop::Setback(setback)) => setback,
    };
    let recovered = recovery::recover(library);
    if recovery::is_committed(library, &plan.intent)? {
        if let (Err(failure), _) | (_, Setback::Failure(failure)) = (&recovered, &stop) {
            tracing::warn!(%failure, "a change was made and could not be tidied up; the next one does it");
        }
        return Ok(());
    }
    recovered.map_err(|failure| not_undone(failure, &stop))?;
    Err(stop)
}

fn run(library: &Library, plan: &mut Plan) -> Result<(), Stop> {
    let reached = &library.watch;
    let mut transaction = Transaction::new(library, plan)?;
    transaction.write_aside()?;
    reached(Step::Written)?;
    transaction.announce()?;
    reached(Step::Announced)?;
    transaction.make_folders()?;
    transaction.lock()?;
    reached(Step::Locked)?;
    transaction.swap()?;
    reached(Step::Swapped)?;
    transaction.write_index()?;
    reached(Step::Indexed)?;
    branch::commit(&library.repository, &plan.intent.branch)?;
    reached(Step::Committed)?;
    index_lock(library).publish()?;
    reached(Step::Published)?;
    recovery::complete(library, &plan.intent)?;
    Ok(())
}

/// The lock of git's index.
pub(super) fn index_lock(library: &Library) -> LockFiles {
    LockFiles {
        target: library.repository.index(),
        marker: library.repository.own("index.new"),
    }
}

/// A transaction under way.
struct Transaction<'a> {
    library: &'a Library,
    plan: &'a Plan,
    place: Place<'a>,
    objects: Option<StagedObjects>,
    content: Option<WrittenContent>,
    locks: Option<(GitLock, BranchMove)>,
}

/// The new content, aside.
struct WrittenContent {
    file: File,
    path: PathBuf,
    /// What the system said of it before anybody could see it.
    stat: FileStat,
}

impl<'a> Transaction<'a> {
    /// Decides what the plan leaves open, since it depends on the disk.
    fn new(library: &'a Library, plan: &'a mut Plan) -> Result<Self, Failure> {
        plan.intent.beside = document::choose_aside(library, &plan.intent.path)?;
        plan.intent.folders = document::missing_folders(library, &plan.intent.path)?;
        let plan = &*plan;
        Ok(Self {
            library,
            plan,
            place: Place::of(library, &plan.intent),
            objects: None,
            content: None,
            locks: None,
        })
    }

    /// Writes objects, intent and content, brings them to the disk together, and names the objects.
    fn write_aside(&mut self) -> Result<(), Failure> {
        let repository = &self.library.repository;
        let objects = self
            .plan
            .objects
            .stage(repository.objects(), &repository.own(""))?;
        let intent_path = repository.own(NEW_INTENT);
        let intent = durable::write(&intent_path, self.plan.intent.render().as_bytes())?;
        if !self.place.is_beside() {
            self.write_content()?;
        }
        let mut things: Vec<_> = objects.contents().collect();
        things.push(Thing::File(&intent, &intent_path));
        things.extend(
            self.content
                .iter()
                .map(|content| Thing::File(&content.file, &content.path)),
        );
        durable::sync_all(&things)?;
        objects.place()?;
        self.objects = Some(objects);
        Ok(())
    }

    /// Gives the intent its name.
    fn announce(&mut self) -> Result<(), Failure> {
        let repository = &self.library.repository;
        let (new, own) = (repository.own(NEW_INTENT), repository.own(""));
        fs::rename(&new, repository.own(INTENT)).at("rename", &new)?;
        let mut things = vec![Thing::Names(&own)];
        things.extend(self.objects.iter().flat_map(StagedObjects::names));
        durable::sync_all(&things)
    }

    /// Makes the folders on the way to the document, and the content where it could not be made before.
    fn make_folders(&mut self) -> Result<(), Failure> {
        if self.plan.content.is_some() {
            document::make_folders(self.library, &self.plan.intent.path, self.plan.intent.folders)?;
        }
        if self.place.is_beside() {
            self.write_beside()?;
        }
        Ok(())
    }

    /// Writes the content beside the document, durably before it is called finished.
    fn write_beside(&mut self) -> Result<(), Failure> {
        self.write_content()?;
        let Some(WrittenContent { file, path, .. }) = &self.content else {
            return Ok(());
        };
        durable::sync_all(&[Thing::File(file, path)])?;
        let folder = self.place.aside_folder()?.ok_or_else(|| gone(path))?;
        folder
            .rename_noreplace(self.place.unfinished(), &folder, self.place.aside())
            .at("rename", path)
    }

    fn write_content(&mut self) -> Result<(), Failure> {
        let Some(bytes) = &self.plan.content else {
            return Ok(());
        };
        let (name, path) = (self.place.unfinished(), self.place.aside_path());
        let folder = self.place.aside_folder()?.ok_or_else(|| gone(&path))?;
        let mut file = folder.create_file(name).at("create", &path)?;
        file.write_all(bytes).at("write", &path)?;
        if let Some(old) = self.place.metadata()? {
            platform::make_like(&file, &old).at("protect", &path)?;
        }
        let stat = platform::file_stat(&file.metadata().at("look at", &path)?);
        self.content = Some(WrittenContent { file, path, stat });
        Ok(())
    }

    /// Takes git's locks, the index's first, as git does.
    fn lock(&mut self) -> Result<(), Setback> {
        let Intent {
            branch, base, next, ..
        } = &self.plan.intent;
        let index = index_lock(self.library).acquire()?;
        let branch = BranchMove::prepare(&self.library.repository, branch, *base, *next)?;
        self.locks = Some((index, branch));
        Ok(())
    }

    /// Exchanges the document with the file aside, and looks at what came out.
    fn swap(&self) -> Result<(), Setback> {
        let Intent { path, old, new, .. } = &self.plan.intent;
        let (name, aside_name) = (self.place.name(), self.place.aside());
        let (Some(folder), Some(aside)) = (self.place.folder()?, self.place.aside_folder()?) else {
            return Err(Setback::Moved);
        };
        let swapped = match (old, new) {
            (Some(_), Some(_)) => folder.exchange(name, &aside, aside_name).map(drop),
            (None, Some(_)) => aside.rename_noreplace(aside_name, &folder, name),
            (Some(_), None) => folder.rename_noreplace(name, &aside, aside_name),
            (None, None) => Ok(()),
        };
        match swapped {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
                ) =>
            {
                return Err(Setback::Moved);
            }
            other => other.at("replace", path.as_path())?,
        }
        if document::look(Some(&aside), aside_name)? != Found::from(*old) {
            return Err(Setback::Moved);
        }
        Ok(())
    }

    /// Writes the new index into its lock, and brings to the disk all that the commit point stands on.
    fn write_index(&mut self) -> Result<(), Failure> {
        let entry = self.plan.intent.kept_after.map(|kept| Entry {
            kept,
            stat: self.settled_stat(),
        });
        let Some((index, branch)) = &mut self.locks else {
            return Ok(());
        };
        let old = read_index(self.library)?;
        let path = self.library.repository.git_path(&self.plan.intent.path);
        let new = index_file::with(&old, &path, entry.as_ref(), &self.plan.trees).map_err(index_failure)?;
        index.write(&new)?;
        let folders = self.place.new_names(self.plan.intent.folders)?;
        let mut things: Vec<_> = folders
            .iter()
            .map(|(folder, path)| Thing::NamesIn(folder, path))
            .collect();
        things.extend([index.content(), branch.content()]);
        durable::sync_all(&things)
    }

    /// What the index may say of the document: nothing, if it was written to since we did.
    fn settled_stat(&self) -> FileStat {
        let Some(content) = &self.content else {
            return FileStat::default();
        };
        let now = content
            .file
            .metadata()
            .map_or_else(|_| FileStat::default(), |now| platform::file_stat(&now));
        let same = now.times[2..] == content.stat.times[2..] && now.size == content.stat.size;
        if same { now } else { FileStat::default() }
    }
}

/// The index's bytes; an empty one where there is none.
pub(super) fn read_index(library: &Library) -> Result<Vec<u8>, Failure> {
    let path = library.repository.index();
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(index_file::empty()),
        read => read.at("read", &path),
    }
}

/// An index that can't be changed is a state to refuse.
pub(super) fn index_failure(error: IndexError) -> Failure {
    refused(error.to_string())
}

fn gone(path: &Path) -> Failure {
    refused(format!("the folder of `{}` went away; try again", path.display()))
}

fn not_undone(failure: Failure, stop: &Setback) -> Failure {
    let why = match stop {
        Setback::Moved => "somebody else was faster".to_owned(),
        Setback::Failure(failure) => failure.message.clone(),
    };
    let message = format!("{why}; and what was begun is undone only at the next change: {failure}");
    Failure::new(FailureKind::Io, message)
}
