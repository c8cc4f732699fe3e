//! Making worked-out mutations visible and durable: all of them or nothing, whatever dies.
//!
//! 1. Everything that is new is written aside, with the intent, and synced together: [`recovery`] knows both sides.
//! 2. Git's index, HEAD and the branch are locked; somebody was faster → undone.
//! 3. Each document is leased, so that nobody writes to it, compared, and exchanged with the new one; somebody was faster
//!    → undone.
//! 4. The new index, which was written while the disk was waited for, gets in its lock what the system says of the files.
//! 5. The branch moves: **the commit point**. Before it everything is undone, after it everything is completed.
//! 6. The index gets its name, and all names are synced together.
//!
//! So a transaction waits for the disk twice. Undoing and completing are [`recovery`]'s, the same after an error and after a
//! crash; nothing here cleans up.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    thread,
};

use tabellion_runtime::{Failure, FailureKind, StoreError};

use super::{
    branch::{self, BranchMove},
    checkpoint::{Checkpoint, Interruption},
    document::{self, Found, Place},
    durable::{self, Thing},
    index_file::Begun,
    intent::{Exchange, INTENT, Intent, OLD_INDEX},
    lock::{GitLock, index_lock},
    pending::Work,
    recovery,
    trouble::{At, refused},
    working_tree::WorkingTree,
};
use tabellion_platform::{self as platform, Dir, FileId, FileStat, Lease, Leased, OpenError};

/// Does the work.
///
/// # Errors
/// After an error, nothing has changed; or it could not even be undone, which the next transaction does.
pub(super) fn publish(working_tree: &WorkingTree, work: &Work) -> Result<(), StoreError> {
    let stop = match run(working_tree, work) {
        Ok(()) => return Ok(()),
        Err(Interruption::Killed) => return Err(refused("the process is dead").into()),
        Err(Interruption::Failed(setback)) => setback,
    };
    let recovered = recovery::recover(working_tree);
    if recovery::is_committed(working_tree, &work.intent)? {
        if let (Err(failure), _) | (_, StoreError::Failure(failure)) = (&recovered, &stop) {
            tracing::warn!(%failure, "a change was made and could not be tidied up; the next one does it");
        }
        return Ok(());
    }
    recovered.map_err(|failure| not_undone(failure, &stop))?;
    Err(stop)
}

fn run(working_tree: &WorkingTree, work: &Work) -> Result<(), Interruption> {
    let reached = &working_tree.watch;
    let mut transaction = Transaction::begin(working_tree, work)?;
    reached(Checkpoint::Written)?;
    transaction.make_folders()?;
    transaction.lock()?;
    reached(Checkpoint::Locked)?;
    transaction.swap()?;
    reached(Checkpoint::Swapped)?;
    transaction.write_index()?;
    reached(Checkpoint::Indexed)?;
    transaction.check_leases()?;
    branch::commit(&working_tree.repository, &work.intent.branch)?;
    reached(Checkpoint::Committed)?;
    index_lock(&working_tree.repository).publish()?;
    reached(Checkpoint::Published)?;
    transaction.end()?;
    Ok(())
}

/// A transaction under way.
struct Transaction<'a> {
    working_tree: &'a WorkingTree,
    work: &'a Work,
    branch: BranchMove,
    index: GitLock,
    /// The checksum of the new index, as far as it is known.
    checksum: Begun,
    documents: Vec<DocumentSwap<'a>>,
}

/// One document of a transaction under way.
struct DocumentSwap<'a> {
    place: Place<'a>,
    exchange: &'a Exchange,
    bytes: Option<&'a [u8]>,
    content: Option<WrittenContent>,
    /// The document that was looked at.
    looked_at: Option<LookedAt>,
}

/// A document, and the folders of the exchange, held open.
struct LookedAt {
    folder: Dir,
    aside: Dir,
    /// Which file it is; `None` where there is none.
    id: Option<FileId>,
    /// Keeps others from writing to it, wherever it is.
    lease: Option<Lease>,
}

/// The new content, aside.
struct WrittenContent {
    file: File,
    path: PathBuf,
    /// What the system said of it before anybody could see it.
    stat: FileStat,
}

impl<'a> Transaction<'a> {
    /// Writes objects, intent, contents and where the branch is to go, brings them to the disk together, and gives the
    /// objects and contents their names. While it waits, the new index is written and hashed as far as it is known.
    fn begin(working_tree: &'a WorkingTree, work: &'a Work) -> Result<Self, Failure> {
        let repository = &working_tree.repository;
        let intent = &work.intent;
        let own = repository.own("");
        let objects = work.objects.stage(repository.objects(), &own)?;
        let branch = BranchMove::prepare(repository, &intent.branch, intent.next())?;
        let mut documents: Vec<_> = intent
            .documents
            .iter()
            .zip(&work.contents)
            .map(|(exchange, bytes)| DocumentSwap {
                place: Place::of(working_tree, exchange),
                exchange,
                bytes: bytes.as_deref(),
                content: None,
                looked_at: None,
            })
            .collect();
        for document in documents.iter_mut().filter(|document| !document.exchange.beside) {
            document.write()?;
        }
        let intent_path = repository.own(INTENT);
        let is_named = working_tree.intent_is_named.load(Ordering::Relaxed);
        let intent_file = durable::write(&intent_path, intent.render().as_bytes())?;
        repository.share(&intent_path);

        let mut things: Vec<_> = objects.contents().collect();
        things.push(branch.content());
        things.extend(documents.iter().filter_map(DocumentSwap::written));
        things.extend((!is_named).then_some(Thing::Names(&own)));
        let mut index = index_lock(&working_tree.repository).prepare()?;
        let checksum = thread::scope(|scope| {
            let writing = thread::Builder::new().spawn_scoped(scope, || {
                index.write(work.draft.bytes())?;
                durable::start_writing(&[index.content()]);
                Ok(())
            });
            let writing = writing.at("write", repository.index())?;
            let synced = durable::sync_with((&intent_file, &intent_path), things, repository.journal());
            let checksum = work.draft.begin();
            let written: Result<(), Failure> = writing.join().expect("writing does not panic");
            synced.and(written).map(|()| checksum)
        })?;
        working_tree.intent_is_named.store(true, Ordering::Relaxed);
        objects.place()?;
        objects.paths().for_each(|path| repository.share(path));
        for document in documents.iter().filter(|document| !document.exchange.beside) {
            document.name_content()?;
        }
        Ok(Self {
            working_tree,
            work,
            branch,
            index,
            checksum,
            documents,
        })
    }

    /// Makes the folders on the way to the documents, and the contents that could not be made before.
    fn make_folders(&mut self) -> Result<(), Failure> {
        for document in &mut self.documents {
            if document.bytes.is_some() {
                document::make_folders(
                    self.working_tree,
                    &document.exchange.path,
                    document.exchange.folders,
                )?;
            }
            if document.exchange.beside {
                document.write()?;
                durable::sync_all(&document.written().into_iter().collect::<Vec<_>>())?;
                document.name_content()?;
            }
        }
        Ok(())
    }

    /// Takes git's locks, the index's first, as git does.
    fn lock(&self) -> Result<(), StoreError> {
        let Intent { branch, base, .. } = &self.work.intent;
        self.index.take()?;
        self.branch.lock(&self.working_tree.repository, branch, *base)?;
        if !self.work.index.is_at(&self.working_tree.repository.index())? {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    /// Exchanges the documents with the files aside. All are looked at before the first is touched.
    fn swap(&mut self) -> Result<(), StoreError> {
        for document in &mut self.documents {
            document.check()?;
        }
        self.documents.iter().try_for_each(DocumentSwap::swap)
    }

    /// Writes what was still to come of the new index into its lock.
    fn write_index(&mut self) -> Result<(), Failure> {
        let repository = &self.working_tree.repository;
        let stats: Vec<_> = self.documents.iter().map(DocumentSwap::settled_stat).collect();
        for (at, bytes) in self.work.draft.rest(&self.checksum, &stats) {
            self.index.write_over(at, &bytes)?;
        }
        self.index.date(self.work.settled)?;
        let (index, old) = (repository.index(), repository.own(OLD_INDEX));
        match fs::hard_link(&index, &old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            linked => linked.at("keep", &old),
        }
    }

    /// Nobody may be waiting to write to a document that is no longer there.
    fn check_leases(&self) -> Result<(), StoreError> {
        if self.documents.iter().any(DocumentSwap::is_wanted) {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    /// Makes all of it durable, and removes what is left.
    fn end(self) -> Result<(), Failure> {
        for document in self.documents.iter().filter(|document| document.is_wanted()) {
            // They had it open before it was exchanged, and will write to it as soon as we let them.
            let name = format!("late-{}-{}.md", self.work.intent.next(), document.exchange.aside);
            recovery::keep(self.working_tree, document.exchange, &name)?;
        }
        recovery::complete(self.working_tree, &self.work.intent, Some(self.index.content()))
    }
}

impl DocumentSwap<'_> {
    /// Writes the content aside, where there is one.
    fn write(&mut self) -> Result<(), Failure> {
        let Some(bytes) = self.bytes else { return Ok(()) };
        let (name, path) = (self.place.unfinished(), self.place.aside_path());
        let folder = self.place.aside_folder()?.ok_or_else(|| gone(&path))?;
        let mut file = folder.create_file(&name).at("create", &path)?;
        file.write_all(bytes).at("write", &path)?;
        if let Some(old) = self.place.metadata()? {
            platform::make_like(&file, &old).at("protect", &path)?;
        }
        let stat = platform::file_stat(&file.metadata().at("look at", &path)?);
        self.content = Some(WrittenContent { file, path, stat });
        Ok(())
    }

    /// The written content, as what must become durable.
    fn written(&self) -> Option<Thing<'_>> {
        let content = self.content.as_ref()?;
        Some(Thing::File(&content.file, &content.path))
    }

    /// Gives the durable content the name that recovery knows it by.
    fn name_content(&self) -> Result<(), Failure> {
        let Some(WrittenContent { path, .. }) = &self.content else {
            return Ok(());
        };
        let folder = self.place.aside_folder()?.ok_or_else(|| gone(path))?;
        folder
            .rename_noreplace(&self.place.unfinished(), &folder, self.place.aside())
            .at("rename", path)
    }

    /// Looks at the document, which nobody can write to from then on.
    fn check(&mut self) -> Result<(), StoreError> {
        let name = self.place.name();
        let (Some(folder), Some(aside)) = (self.place.folder()?, self.place.aside_folder()?) else {
            return Err(StoreError::Conflict);
        };
        let id = folder.file_id(name).at("look at", name)?;
        let (found, lease) = match folder.open_entry(name) {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => (Found::Nothing, None),
            Err(OpenError::Io(error)) => Err(error).at("read", name)?,
            Err(_) => (Found::Other, None),
            Ok(file) => match Lease::take(file.try_clone().at("read", name)?) {
                Leased::BeingWritten => return Err(StoreError::Conflict),
                Leased::Yes(lease) => (document::look_at(&file, name)?, Some(lease)),
                Leased::Unsupported => (document::look_at(&file, name)?, None),
            },
        };
        if found != Found::from(self.exchange.old) {
            return Err(StoreError::Conflict);
        }
        self.looked_at = Some(LookedAt {
            folder,
            aside,
            id,
            lease,
        });
        Ok(())
    }

    /// Exchanges the document with the file aside. That it is the one we looked at is seen just before and just after; what
    /// came out by mistake goes back at once, so that hardly anybody can have read what was never committed.
    fn swap(&self) -> Result<(), StoreError> {
        let Exchange { path, old, new, .. } = self.exchange;
        let (name, aside_name) = (self.place.name(), self.place.aside());
        let Some(LookedAt {
            folder, aside, id, ..
        }) = &self.looked_at
        else {
            return Err(StoreError::Conflict);
        };
        if folder.file_id(name).at("look at", name)? != *id {
            return Err(StoreError::Conflict);
        }
        let swapped = match (old, new) {
            (Some(_), Some(_)) => folder.exchange(name, aside, aside_name).map(drop),
            (None, Some(_)) => aside.rename_noreplace(aside_name, folder, name),
            (Some(_), None) => folder.rename_noreplace(name, aside, aside_name),
            (None, None) => Ok(()),
        };
        match swapped {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
                ) =>
            {
                return Err(StoreError::Conflict);
            }
            other => other.at("replace", path.as_path())?,
        }
        if self.is_what_came_out()? && !self.is_wanted() {
            return Ok(());
        }
        let back = match (old, new) {
            (Some(_), Some(_)) => folder.exchange(name, aside, aside_name).map(drop),
            (Some(_), None) => aside.rename_noreplace(aside_name, folder, name),
            (None, _) => Ok(()),
        };
        back.at("restore", path.as_path())?;
        Err(StoreError::Conflict)
    }

    /// Whether the file aside is the document that we looked at.
    fn is_what_came_out(&self) -> Result<bool, Failure> {
        let name = self.place.aside();
        match (&self.looked_at, self.exchange.old) {
            (_, None) => Ok(true),
            (None, Some(_)) => Ok(false),
            (Some(looked_at), old) => {
                let same = looked_at.aside.file_id(name).at("look at", name)? == looked_at.id;
                // A leased file has the bytes that we looked at; any other may have been written to since.
                Ok(same
                    && (looked_at.lease.is_some()
                        || document::look(Some(&looked_at.aside), name)? == Found::from(old)))
            }
        }
    }

    /// Whether somebody waits to write to the old document.
    fn is_wanted(&self) -> bool {
        let lease = self
            .looked_at
            .as_ref()
            .and_then(|looked_at| looked_at.lease.as_ref());
        lease.is_some_and(Lease::is_wanted)
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
        let same = now.mtime == content.stat.mtime && now.size == content.stat.size;
        if same { now } else { FileStat::default() }
    }
}

fn gone(path: &Path) -> Failure {
    refused(format!("the folder of `{}` went away; try again", path.display()))
}

fn not_undone(failure: Failure, stop: &StoreError) -> Failure {
    let why = match stop {
        StoreError::Conflict => "somebody else was faster".to_owned(),
        StoreError::Failure(failure) => failure.message.clone(),
    };
    let message = format!("{why}; and what was begun is undone only at the next change: {failure}");
    Failure::new(FailureKind::Io, message)
}
