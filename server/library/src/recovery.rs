//! Completes or undoes a transaction: after an error, and at the next lock after a crash.
//!
//! The branch decides: if it has the transaction's last commit, the transaction is completed, otherwise undone. Only bytes that
//! equal one side of a document are replaced; any others are a person's and stay. Every step can be repeated.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    path::PathBuf,
};

use gix::ObjectId;
use tabellion_runtime::Failure;

use super::{
    attempts::Attempts,
    branch,
    document::{self, ExchangeFiles, FileContent},
    durable::{self, SyncTarget, remove_if_there},
    failures::{InRepository, IoContext, refused},
    gathering, history,
    index::{Index, index_failure},
    index_file::{self, Folders, IndexError},
    intent::{ASIDE, Exchange, INTENT, Intent, OLD_INDEX, is_under_way},
    lock::index_lock,
    objects, racy,
    repository::Repository,
    working_tree::WorkingTree,
};
use tabellion_platform::{Dir, FileStat, names, open_to_write, read_text};

/// Name of the file in our own folder that counts the runs of recovery.
const ATTEMPTS: &str = "recovery-attempts";
/// Suffix of the file that a crash leaves during an exchange in several steps.
const EXCHANGED: &str = ".swap";

/// Completes or undoes an interrupted transaction. Requires the lock: then its process is dead or this one.
pub(super) fn recover(working_tree: &WorkingTree) -> Result<(), Failure> {
    let _attempt = if is_under_way(&working_tree.repository) {
        Some(attempts(&working_tree.repository).begin().ok_or_else(failed)?)
    } else {
        None
    };
    if let Some(intent) = read(working_tree)? {
        tracing::debug!(commit = %intent.next(), "recovering a change");
        for exchange in &intent.documents {
            finish_exchange(working_tree, exchange)?;
        }
        objects::release_packs(working_tree.repository.objects())?;
        if would_complete(working_tree, &intent)? {
            for exchange in &intent.documents {
                bring_over(working_tree, exchange, exchange.old, exchange.new)?;
            }
            publish_index(working_tree, &intent)?;
            let objects = objects::folders(working_tree.repository.objects(), &intent.objects);
            complete(
                working_tree,
                &intent,
                objects.iter().map(|folder| SyncTarget::Names(folder)).collect(),
            )?;
        } else {
            undo(working_tree, &intent)?;
        }
        working_tree.counts.recovered();
    }
    tidy(working_tree)
}

/// Counts the runs of recovery.
pub(super) fn attempts(repository: &Repository) -> Attempts {
    Attempts::in_file(repository.own(ATTEMPTS))
}

fn failed() -> Failure {
    refused(
        "completing or undoing an interrupted change has ended the server twice and is not tried again; `tabellion doctor --fix` \
         tries once more",
    )
}

/// Returns true if recovery would complete the transaction, and not undo it.
pub(super) fn would_complete(working_tree: &WorkingTree, intent: &Intent) -> Result<bool, Failure> {
    Ok(is_committed(working_tree, intent)? && is_whole(working_tree, intent))
}

/// Returns true if the branch has the transaction's last commit.
pub(super) fn is_committed(working_tree: &WorkingTree, intent: &Intent) -> Result<bool, Failure> {
    let git = working_tree.repository.git();
    let branch = git.try_find_reference(intent.branch.as_str()).reading("the branch")?;
    let Some(commit) = branch.and_then(|branch| branch.target().try_id().map(ObjectId::from)) else {
        return Ok(false);
    };
    history::reaches(&git, commit, intent.next(), intent.base)
}

/// Returns true if all objects of the transaction exist. Only a power failure can keep the branch's move and lose an object,
/// on a file system that does not write names in the order of their creation.
fn is_whole(working_tree: &WorkingTree, intent: &Intent) -> bool {
    let git = working_tree.repository.git();
    intent.objects.iter().all(|id| git.find_object(*id).is_ok())
}

/// Ends a transaction whose commits, documents and index are in place: makes them and `things` durable, and removes temporary
/// files.
pub(super) fn complete(
    working_tree: &WorkingTree,
    intent: &Intent,
    things: Vec<SyncTarget<'_>>,
) -> Result<(), Failure> {
    let repository = &working_tree.repository;
    let logged = branch::log(repository, &intent.branch, intent.base, &intent.commits);
    repository.share(&repository.index());
    branch::share(repository, &intent.branch);
    release_locks(working_tree, intent)?;
    let mut documents = BTreeMap::new();
    for exchange in &intent.documents {
        ExchangeFiles::new(working_tree, exchange).add_new_names(exchange.folders, &mut documents)?;
    }
    let branch = branch::folder(repository, &intent.branch);
    let names = documents.iter().map(|(path, folder)| SyncTarget::NamesIn(folder, path));
    let things = things
        .into_iter()
        .chain(names)
        .chain([SyncTarget::Names(&branch), SyncTarget::Names(repository.git_dir())]);
    let (intent_file, intent_path) = open_intent(working_tree)?;
    durable::sync_with((&intent_file, &intent_path), things.collect(), repository.journal())?;
    for exchange in &intent.documents {
        let emptied = if exchange.old.is_some() && exchange.new.is_none() { usize::MAX } else { 0 };
        end(working_tree, exchange, emptied)?;
    }
    remove_if_there(&repository.own(OLD_INDEX))?;
    clear(working_tree)?;
    logged
}

/// Reverts everything visible of a transaction that was not committed.
fn undo(working_tree: &WorkingTree, intent: &Intent) -> Result<(), Failure> {
    for exchange in &intent.documents {
        bring_over(working_tree, exchange, exchange.new, exchange.old)?;
    }
    release_locks(working_tree, intent)?;
    branch::move_back(&working_tree.repository, &intent.branch, intent.base, intent.next())?;
    for exchange in &intent.documents {
        end(working_tree, exchange, exchange.folders)?;
    }
    clear(working_tree)
}

/// If the document has the bytes `from`, exchanges it with the exchange file, which should have the bytes `to`.
fn bring_over(
    working_tree: &WorkingTree,
    exchange: &Exchange,
    from: Option<ObjectId>,
    to: Option<ObjectId>,
) -> Result<(), Failure> {
    let place = ExchangeFiles::new(working_tree, exchange);
    let (folder, aside) = (place.folder()?, place.aside_folder()?);
    let (name, aside_name) = (place.name(), place.aside());
    let found = document::look(folder.as_ref(), name)?;
    if from == to || found != FileContent::from(from) {
        return Ok(());
    }
    let (Some(folder), Some(aside)) = (folder, aside) else {
        return Ok(());
    };
    let there = document::look(Some(&aside), aside_name)?;
    let moved = match (from, to, there) {
        (Some(_), None, FileContent::Nothing) => folder.rename_noreplace(name, &aside, aside_name),
        (_, None, _) | (_, _, FileContent::Nothing) => return Ok(()),
        // Anything else is put back, including a person's link or folder.
        (Some(_), Some(_), _) => folder.exchange(name, &aside, aside_name).map(drop),
        (None, Some(_), _) => aside.rename_noreplace(aside_name, &folder, name),
    };
    moved.context("restore", exchange.path.as_path())?;
    keep_newest(&folder, name, &aside, aside_name, from)?;
    folder.sync().context("bring to the disk", exchange.path.as_path())
}

/// Exchanges again if a person saved over the document meanwhile: their version is then the newest.
fn keep_newest(
    folder: &Dir,
    name: &str,
    aside: &Dir,
    aside_name: &str,
    ours: Option<ObjectId>,
) -> Result<(), Failure> {
    let came_out = document::look(Some(aside), aside_name)?;
    if came_out == FileContent::from(ours) || came_out == FileContent::Nothing {
        return Ok(());
    }
    folder.exchange(name, aside, aside_name).map(drop).context("restore", name)
}

/// Writes a committed transaction's entries to the index, unless it has them.
fn publish_index(working_tree: &WorkingTree, intent: &Intent) -> Result<(), Failure> {
    let lock = index_lock(&working_tree.repository);
    lock.release()?;
    let mut held = lock.clone().acquire()?;
    let mut index = Index::read(&lock.target)?;
    let old = working_tree.repository.own(OLD_INDEX);
    if let Err(IndexError::Damaged(_)) = index_file::look_up(&index.bytes, "") {
        // A power failure can lose the bytes of a file that was just renamed.
        index = Index::read(&old)?;
    }
    let mut paths = Vec::new();
    for exchange in &intent.documents {
        let path = working_tree.repository.git_path(&exchange.path);
        if index_file::look_up(&index.bytes, &path).map_err(index_failure)? != exchange.kept_after {
            paths.push((path, exchange.kept_after));
        }
    }
    if paths.is_empty() {
        return lock.release();
    }
    let changes: Vec<_> = paths.iter().map(|(path, kept)| (&**path, *kept)).collect();
    let draft = index_file::draft(index.bytes, &changes, &Folders::new());
    let mut draft = draft.map_err(index_failure)?;
    let settled = racy::settle(working_tree, &mut draft, &index.stat).map_err(index_failure)?;
    // Without stat fields, git reads the file once and fills them in.
    held.write(&draft.finish(&vec![FileStat::default(); changes.len()]))?;
    held.date(settled)?;
    durable::sync_all(&[held.content()])?;
    lock.publish()
}

fn release_locks(working_tree: &WorkingTree, intent: &Intent) -> Result<(), Failure> {
    index_lock(&working_tree.repository).release()?;
    branch::locks(&working_tree.repository, &intent.branch).iter().try_for_each(|lock| lock.release())
}

/// Removes the exchange file, and up to `folders` empty folders above the document.
fn end(working_tree: &WorkingTree, exchange: &Exchange, folders: usize) -> Result<(), Failure> {
    drop_aside(working_tree, exchange)?;
    document::remove_empty_folders(working_tree, &exchange.path, folders)
}

/// Records that no transaction is under way.
fn clear(working_tree: &WorkingTree) -> Result<(), Failure> {
    let (file, path) = open_intent(working_tree)?;
    file.set_len(0).context("clear", &path)
}

fn open_intent(working_tree: &WorkingTree) -> Result<(File, PathBuf), Failure> {
    let path = working_tree.repository.own(INTENT);
    let file = open_to_write(&path, OpenOptions::new().write(true)).context("open", &path)?;
    Ok((file, path))
}

/// Removes the exchange file. If its bytes equal neither side, they are a person's late save and are kept.
fn drop_aside(working_tree: &WorkingTree, exchange: &Exchange) -> Result<(), Failure> {
    let place = ExchangeFiles::new(working_tree, exchange);
    let Some(folder) = place.aside_folder()? else {
        return Ok(());
    };
    let unfinished = place.unfinished();
    if document::look(Some(&folder), &unfinished)? != FileContent::Nothing {
        folder.remove_file(&unfinished).context("remove", place.aside_path())?;
    }
    match document::look(Some(&folder), place.aside())? {
        FileContent::Nothing => Ok(()),
        FileContent::Bytes(id) if [exchange.old, exchange.new].contains(&Some(id)) => {
            folder.remove_file(place.aside()).context("remove", place.aside_path())
        }
        FileContent::Bytes(id) => keep(working_tree, exchange, &format!("late-{id}.md")),
        FileContent::Other => keep(working_tree, exchange, &format!("late-{}", exchange.aside)),
    }
}

/// Keeps the exchange file, to which a person has saved, under the first free name from `name` on: in our own folder, or hidden
/// next to a document on another device. Bytes already kept are not kept twice.
pub(super) fn keep(working_tree: &WorkingTree, exchange: &Exchange, name: &str) -> Result<(), Failure> {
    let place = ExchangeFiles::new(working_tree, exchange);
    let own = working_tree.repository.own("");
    let to = if exchange.beside { place.folder()? } else { Some(Dir::open(&own).context("open", &own)?) };
    let (Some(folder), Some(to)) = (place.aside_folder()?, to) else {
        return Ok(());
    };
    let hidden = if exchange.beside { ".tabellion-" } else { "" };
    let mut late = format!("{hidden}{name}");
    for number in 1.. {
        match folder.rename_noreplace(place.aside(), &to, &late) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = document::look(Some(&folder), place.aside())?;
                if found != FileContent::Other && document::look(Some(&to), &late)? == found {
                    return folder.remove_file(place.aside()).context("remove", place.aside_path());
                }
                late = format!("{hidden}{number}-{name}");
            }
            done => {
                done.context("keep", place.aside_path())?;
                break;
            }
        }
    }
    let kept = place.aside_path().with_file_name(&late);
    tracing::warn!(path = %exchange.path, kept = %kept.display(),
        "a save came while the file was being replaced; it was kept");
    Ok(())
}

/// Finishes a half-done exchange on file systems that exchange in several steps.
fn finish_exchange(working_tree: &WorkingTree, exchange: &Exchange) -> Result<(), Failure> {
    let place = ExchangeFiles::new(working_tree, exchange);
    let Some(aside) = place.aside_folder()? else {
        return Ok(());
    };
    let between = format!("{}{EXCHANGED}", place.aside());
    match document::look(Some(&aside), &between)? {
        FileContent::Nothing => Ok(()),
        _ if document::look(Some(&aside), place.aside())? == FileContent::Nothing => {
            aside.rename_noreplace(&between, &aside, place.aside()).context("restore", place.aside_path())
        }
        _ => aside.remove_file(&between).context("remove", place.aside_path()),
    }
}

/// Removes files of a transaction that died before its intent was written.
fn tidy(working_tree: &WorkingTree) -> Result<(), Failure> {
    let own = working_tree.repository.own("");
    for name in names(&own).context("look into", &own)? {
        if name.to_str().is_some_and(is_temporary) {
            remove_if_there(&own.join(name))?;
        } else if name.to_str().is_some_and(gathering::is_unfinished) {
            gathering::remove_unfinished(&working_tree.repository).context("remove", &own)?;
        }
    }
    Ok(())
}

/// Returns true if a file of this name in our own folder is left from a transaction.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with("object-")
        || name.starts_with(ASIDE)
        || name.ends_with(document::UNFINISHED)
        || name == OLD_INDEX
        || name == ATTEMPTS
}

/// Reads the intent, if there is one. A torn intent was never durable, so the change had not begun: it is cleared.
fn read(working_tree: &WorkingTree) -> Result<Option<Intent>, Failure> {
    let path = working_tree.repository.own(INTENT);
    let text = match read_text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => String::new(),
        text => text.context("read", &path)?,
    };
    let intent = Intent::parse(&text);
    if intent.is_none() && is_under_way(&working_tree.repository) {
        clear(working_tree)?;
    }
    Ok(intent)
}
