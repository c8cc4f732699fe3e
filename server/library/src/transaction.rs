//! Makes planned mutations visible and durable: all of them or none, even if the process dies.
//!
//! 1. All new content and the intent are written to separate files and synced together: [`recovery`] knows both sides.
//!    With `acknowledge remote`, the commits are pushed then, before anything is visible: **the remote's commit point**.
//! 2. Git's index, HEAD and the branch are locked; if another program was faster, the transaction is undone.
//! 3. Each document is leased, which prevents writes to it, compared, and exchanged with the new one; if another program
//!    was faster, the transaction is undone.
//! 4. The new index, written during the first sync, gets its stat fields in its lock file.
//! 5. The branch moves: **the commit point**. Before it everything is undone, after it everything is completed.
//! 6. The index is renamed into place, and all names are synced together.
//!
//! A transaction therefore waits for the disk twice. [`recovery`] undoes and completes, in the same way after an error and
//! after a crash; nothing here cleans up.

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
    document::{self, ExchangeFiles, FileContent},
    durable::{self, SyncTarget},
    failures::{IoContext, refused},
    index_file::PartialChecksum,
    intent::{Exchange, INTENT, Intent, OLD_INDEX},
    lock::{GitLock, index_lock},
    objects::StagedObjects,
    pending::Work,
    recovery,
    working_tree::WorkingTree,
};
use tabellion_platform::{self as platform, Dir, FileId, FileStat, Lease, Leased, OpenError};

/// Location of a published change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Published {
    /// In the library.
    Here,
    /// In the remote's branch, and not in the library, where another program was faster. It arrives like other machines' commits.
    Elsewhere,
}

/// Publishes `work`. With `push`, the push precedes all visible effects here, and is the commit point: commits that it accepts are
/// published.
///
/// # Errors
/// After an error, nothing has changed, or the next transaction will undo it.
pub(super) fn publish(
    working_tree: &WorkingTree,
    work: &Work,
    push: Option<&dyn Fn() -> Result<(), StoreError>>,
) -> Result<Published, StoreError> {
    let mut is_pushed = false;
    let stop = match run(working_tree, work, push, &mut is_pushed) {
        Ok(()) => return Ok(Published::Here),
        Err(Interruption::Killed) => return Err(refused("the process is dead").into()),
        Err(Interruption::Failed(setback)) => setback,
    };
    let recovered = recovery::recover(working_tree);
    if recovery::is_committed(working_tree, &work.intent)? {
        if let (Err(failure), _) | (_, StoreError::Failure(failure)) = (&recovered, &stop) {
            tracing::warn!(%failure, "a change was made and left temporary files, which the next change removes");
        }
        return Ok(Published::Here);
    }
    match recovered {
        Ok(()) if is_pushed => Ok(Published::Elsewhere),
        Ok(()) => Err(stop),
        Err(failure) if is_pushed => {
            tracing::warn!(%failure, "a change is in the remote's branch, and what was begun here is undone only at the next change");
            Ok(Published::Elsewhere)
        }
        Err(failure) => Err(not_undone(failure, &stop).into()),
    }
}

fn run(
    working_tree: &WorkingTree,
    work: &Work,
    push: Option<&dyn Fn() -> Result<(), StoreError>>,
    is_pushed: &mut bool,
) -> Result<(), Interruption> {
    let reached = &working_tree.watch;
    let mut transaction = Transaction::begin(working_tree, work)?;
    reached(Checkpoint::Written)?;
    if let Some(push) = push {
        push()?;
        *is_pushed = true;
        reached(Checkpoint::Pushed)?;
    }
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
    objects: StagedObjects,
    index: GitLock,
    /// The checksum of the new index, as far as it is known.
    checksum: PartialChecksum,
    documents: Vec<DocumentSwap<'a>>,
}

/// A document of a transaction under way.
struct DocumentSwap<'a> {
    working_tree: &'a WorkingTree,
    place: ExchangeFiles<'a>,
    exchange: &'a Exchange,
    bytes: Option<&'a [u8]>,
    content: Option<WrittenContent>,
    /// The document before the exchange, once it was checked.
    checked: Option<CheckedDocument>,
}

/// A checked document, and the open folders of the exchange.
struct CheckedDocument {
    folder: Dir,
    aside: Dir,
    /// The file's identity; `None` if there is none.
    id: Option<FileId>,
    /// Prevents writes by other programs, even after a rename.
    lease: Option<Lease>,
}

/// The new content in the exchange file.
struct WrittenContent {
    file: File,
    path: PathBuf,
    /// Its stat fields before it became visible.
    stat: FileStat,
}

impl<'a> Transaction<'a> {
    /// Writes objects, intent, contents and the branch's target, syncs them together, and renames objects and contents. Meanwhile
    /// writes the new index, and hashes its known part.
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
                working_tree,
                place: ExchangeFiles::new(working_tree, exchange),
                exchange,
                bytes: bytes.as_deref(),
                content: None,
                checked: None,
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
        things.extend((!is_named).then_some(SyncTarget::Names(&own)));
        let mut index = index_lock(&working_tree.repository).prepare()?;
        let checksum = thread::scope(|scope| {
            let writing = thread::Builder::new().spawn_scoped(scope, || {
                index.write(work.draft.bytes())?;
                durable::start_writing(&[index.content()]);
                Ok(())
            });
            let writing = writing.context("write", repository.index())?;
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
        Ok(Self { working_tree, work, branch, objects, index, checksum, documents })
    }

    /// Creates the folders above the documents, and the contents that needed them.
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

    /// Exchanges the documents with the exchange files. All are checked before the first is exchanged.
    fn swap(&mut self) -> Result<(), StoreError> {
        for document in &mut self.documents {
            document.check()?;
        }
        self.documents.iter().try_for_each(DocumentSwap::swap)
    }

    /// Writes the remaining parts of the new index to its lock file.
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
            linked => linked.context("keep", &old),
        }
    }

    /// Fails if another program waits to write to a replaced document.
    fn check_leases(&self) -> Result<(), StoreError> {
        if self.documents.iter().any(DocumentSwap::is_wanted) {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    /// Makes everything durable, and removes temporary files.
    fn end(self) -> Result<(), Failure> {
        for document in self.documents.iter().filter(|document| document.is_wanted()) {
            // The other program opened it before the exchange, and will write once the lease ends.
            let name = format!("late-{}-{}.md", self.work.intent.next(), document.exchange.aside);
            recovery::keep(self.working_tree, document.exchange, &name)?;
        }
        self.objects.release()?;
        let names = self.objects.folders(self.working_tree.repository.objects());
        let things = names.into_iter().map(SyncTarget::Names).chain([self.index.content()]);
        recovery::complete(self.working_tree, &self.work.intent, things.collect())
    }
}

impl DocumentSwap<'_> {
    /// Writes the content to the exchange file, if there is content.
    fn write(&mut self) -> Result<(), Failure> {
        let Some(bytes) = self.bytes else { return Ok(()) };
        let (name, path) = (self.place.unfinished(), self.place.aside_path());
        let folder = self.place.aside_folder()?.ok_or_else(|| gone(&path))?;
        let mut file = folder.create_file(&name).context("create", &path)?;
        file.write_all(bytes).context("write", &path)?;
        if let Some(old) = self.place.metadata()? {
            platform::make_like(&file, &old).context("protect", &path)?;
        }
        self.make_executable(&file).context("protect", &path)?;
        let stat = platform::file_stat(&file.metadata().context("look at", &path)?);
        self.content = Some(WrittenContent { file, path, stat });
        Ok(())
    }

    /// Sets or clears the written file's executable bit, if the change does. Only changes from other machines do.
    fn make_executable(&self, file: &File) -> io::Result<()> {
        let Exchange { kept_before, kept_after, .. } = self.exchange;
        let [was, is] =
            [kept_before, kept_after].map(|kept| kept.is_some_and(|kept| kept.mode.is_executable()));
        if was == is || !self.working_tree.repository.keeps_modes() {
            return Ok(());
        }
        platform::set_executable(file, is)
    }

    /// Returns the written content, to be synced.
    fn written(&self) -> Option<SyncTarget<'_>> {
        let content = self.content.as_ref()?;
        Some(SyncTarget::File(&content.file, &content.path))
    }

    /// Renames the durable content to the name in the intent.
    fn name_content(&self) -> Result<(), Failure> {
        let Some(WrittenContent { path, .. }) = &self.content else {
            return Ok(());
        };
        let folder = self.place.aside_folder()?.ok_or_else(|| gone(path))?;
        folder.rename_noreplace(&self.place.unfinished(), &folder, self.place.aside()).context("rename", path)
    }

    /// Checks the document. No program can write to it afterwards.
    fn check(&mut self) -> Result<(), StoreError> {
        let name = self.place.name();
        let (Some(folder), Some(aside)) = (self.place.folder()?, self.place.aside_folder()?) else {
            // The folder of a file that a person has moved away may be gone too.
            return if self.exchange.has_file() { Err(StoreError::Conflict) } else { Ok(()) };
        };
        let id = folder.file_id(name).context("look at", name)?;
        let (found, lease) = match folder.open_entry(name) {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                (FileContent::Nothing, None)
            }
            Err(OpenError::Io(error)) => Err(error).context("read", name)?,
            Err(_) => (FileContent::Other, None),
            Ok(file) => match Lease::take(file.try_clone().context("read", name)?) {
                Leased::BeingWritten => return Err(StoreError::Conflict),
                Leased::Yes(lease) => (document::look_at(&file, name)?, Some(lease)),
                Leased::Unsupported => (document::look_at(&file, name)?, None),
            },
        };
        if found != FileContent::from(self.exchange.old) {
            return Err(StoreError::Conflict);
        }
        self.checked = Some(CheckedDocument { folder, aside, id, lease });
        Ok(())
    }

    /// Exchanges the document with the exchange file. The document's identity is compared directly before and directly after; a
    /// wrong one is put back at once, so uncommitted bytes are visible only for an instant.
    fn swap(&self) -> Result<(), StoreError> {
        let Exchange { path, old, new, .. } = self.exchange;
        let (name, aside_name) = (self.place.name(), self.place.aside());
        if !self.exchange.has_file() {
            return Ok(());
        }
        let Some(CheckedDocument { folder, aside, id, .. }) = &self.checked else {
            return Err(StoreError::Conflict);
        };
        if folder.file_id(name).context("look at", name)? != *id {
            return Err(StoreError::Conflict);
        }
        let swapped = match (old, new) {
            (Some(_), Some(_)) => folder.exchange(name, aside, aside_name).map(drop),
            (None, Some(_)) => aside.rename_noreplace(aside_name, folder, name),
            (Some(_), None) => folder.rename_noreplace(name, aside, aside_name),
            (None, None) => Ok(()),
        };
        match swapped {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {
                return Err(StoreError::Conflict);
            }
            other => other.context("replace", path.as_path())?,
        }
        if self.is_what_came_out()? && !self.is_wanted() {
            return Ok(());
        }
        let back = match (old, new) {
            (Some(_), Some(_)) => folder.exchange(name, aside, aside_name).map(drop),
            (Some(_), None) => aside.rename_noreplace(aside_name, folder, name),
            (None, _) => Ok(()),
        };
        back.context("restore", path.as_path())?;
        Err(StoreError::Conflict)
    }

    /// Returns true if the exchange file is now the checked document.
    fn is_what_came_out(&self) -> Result<bool, Failure> {
        let name = self.place.aside();
        match (&self.checked, self.exchange.old) {
            (_, None) => Ok(true),
            (None, Some(_)) => Ok(false),
            (Some(checked), old) => {
                let same = checked.aside.file_id(name).context("look at", name)? == checked.id;
                // A leased file has the checked bytes; any other may have been written to since.
                Ok(same
                    && (checked.lease.is_some()
                        || document::look(Some(&checked.aside), name)? == FileContent::from(old)))
            }
        }
    }

    /// Returns true if another program waits to write to the old document.
    fn is_wanted(&self) -> bool {
        let lease = self.checked.as_ref().and_then(|checked| checked.lease.as_ref());
        lease.is_some_and(Lease::is_wanted)
    }

    /// Returns the stat fields for the index: none, if the file was written to since.
    fn settled_stat(&self) -> FileStat {
        let Some(content) = &self.content else {
            return FileStat::default();
        };
        let now =
            content.file.metadata().map_or_else(|_| FileStat::default(), |now| platform::file_stat(&now));
        let same = now.mtime == content.stat.mtime && now.size == content.stat.size;
        if same { now } else { FileStat::default() }
    }
}

fn gone(path: &Path) -> Failure {
    refused(format!("the folder of `{}` was removed; try again", path.display()))
}

fn not_undone(failure: Failure, stop: &StoreError) -> Failure {
    let why = match stop {
        StoreError::Conflict | StoreError::Behind => "another program was faster".to_owned(),
        StoreError::Failure(failure) => failure.message.clone(),
    };
    let message = format!("{why}; and what was begun is undone only at the next change: {failure}");
    Failure::new(FailureKind::Io, message)
}
