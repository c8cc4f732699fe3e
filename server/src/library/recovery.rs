//! Completing or undoing a mutation: after an error, and at the next lock after a crash.
//!
//! The branch decides: if it has our commit, the mutation is completed, else undone. Only bytes that are one of the
//! mutation's two sides are touched; anything else is a person's and stays. Everything here may be done twice.

use std::{fs, io};

use gix::ObjectId;
use tabellion_schemas::Failure;

use super::{
    Library, branch,
    document::{self, Found, Place},
    durable::{self, Thing},
    history,
    index_file::{self, Entry},
    intent::Intent,
    lock::remove_if_there,
    transaction::{self, INTENT, index_lock},
    trouble::{At, InRepository},
};
use crate::platform::{Dir, FileStat};

/// What a crash between the steps of an exchange leaves, where the file system has no exchange in one step.
const EXCHANGED: &str = ".swap";

/// Completes or undoes what is under way. The library must be locked, so that whoever began it is dead or is us.
pub(super) fn recover(library: &Library) -> Result<(), Failure> {
    if let Some(intent) = read(library)? {
        tracing::debug!(path = %intent.path, commit = %intent.next, "recovering a change");
        finish_exchange(library, &intent)?;
        if is_committed(library, &intent)? {
            bring_over(library, &intent, intent.old, intent.new)?;
            publish_index(library, &intent)?;
            complete(library, &intent)?;
        } else {
            undo(library, &intent)?;
        }
    }
    tidy(library)
}

/// Whether the branch has the mutation's commit.
pub(super) fn is_committed(library: &Library, intent: &Intent) -> Result<bool, Failure> {
    let git = library.repository.git();
    let branch = git
        .try_find_reference(intent.branch.as_str())
        .reading("the branch")?;
    let Some(commit) = branch.and_then(|branch| branch.target().try_id().map(ObjectId::from)) else {
        return Ok(false);
    };
    history::reaches(&git, commit, intent.next, intent.base)
}

/// Ends a mutation whose commit, document and index are there: makes that durable, and removes all that is left of it.
pub(super) fn complete(library: &Library, intent: &Intent) -> Result<(), Failure> {
    let repository = &library.repository;
    let logged = branch::log(
        repository,
        &intent.branch,
        intent.base,
        intent.next,
        &intent.log_line,
    );
    let folder = branch::folder(repository, &intent.branch);
    durable::sync_all(&[Thing::Names(&folder), Thing::Names(repository.git_dir())])?;
    release_locks(library, intent)?;
    end(library, intent, if intent.new.is_none() { usize::MAX } else { 0 })?;
    logged
}

/// Takes back all that can be seen of a mutation without a commit.
fn undo(library: &Library, intent: &Intent) -> Result<(), Failure> {
    bring_over(library, intent, intent.new, intent.old)?;
    release_locks(library, intent)?;
    end(library, intent, intent.folders)
}

/// If the document has the bytes `from`, exchanges it with the file aside, which should have the bytes `to`.
fn bring_over(
    library: &Library,
    intent: &Intent,
    from: Option<ObjectId>,
    to: Option<ObjectId>,
) -> Result<(), Failure> {
    let place = Place::of(library, intent);
    let (folder, aside) = (place.folder()?, place.aside_folder()?);
    let (name, aside_name) = (place.name(), place.aside());
    let found = document::look(folder.as_ref(), name)?;
    if from == to || found != Found::from(from) {
        return Ok(());
    }
    let (Some(folder), Some(aside)) = (folder, aside) else {
        return Ok(());
    };
    let there = document::look(Some(&aside), aside_name)?;
    let moved = match (from, to, there) {
        (Some(_), None, Found::Nothing) => folder.rename_noreplace(name, &aside, aside_name),
        (_, None, _) | (_, _, Found::Nothing) => return Ok(()),
        // Whatever came out of an exchange goes back, be it a person's link or folder.
        (Some(_), Some(_), _) => folder.exchange(name, &aside, aside_name).map(drop),
        (None, Some(_), _) => aside.rename_noreplace(aside_name, &folder, name),
    };
    moved.at("restore", intent.path.as_path())?;
    keep_newest(&folder, name, &aside, aside_name, from)?;
    folder.sync().at("bring to the disk", intent.path.as_path())
}

/// Exchanges once more if a person saved over the document since we looked: what came out is then the newest.
fn keep_newest(
    folder: &Dir,
    name: &str,
    aside: &Dir,
    aside_name: &str,
    ours: Option<ObjectId>,
) -> Result<(), Failure> {
    let came_out = document::look(Some(aside), aside_name)?;
    if came_out == Found::from(ours) || came_out == Found::Nothing {
        return Ok(());
    }
    folder
        .exchange(name, aside, aside_name)
        .map(drop)
        .at("restore", name)
}

/// Gives the index of a committed mutation its name, or works it out anew where somebody removed our lock.
fn publish_index(library: &Library, intent: &Intent) -> Result<(), Failure> {
    let lock = index_lock(library);
    if lock.is_ours() {
        return lock.publish();
    }
    let path = library.repository.git_path(&intent.path);
    let old = transaction::read_index(library)?;
    let entry = index_file::look_up(&old, &path).map_err(transaction::index_failure)?;
    if entry != intent.kept_before || entry == intent.kept_after {
        return Ok(());
    }
    let mut held = lock.clone().acquire()?;
    let old = transaction::read_index(library)?;
    // Without what the system says of the file, git looks at its content once and fills that in.
    let entry = intent.kept_after.map(|kept| Entry {
        kept,
        stat: FileStat::default(),
    });
    let new = index_file::with(&old, &path, entry.as_ref(), &[]).map_err(transaction::index_failure)?;
    held.write(&new)?;
    durable::sync_all(&[held.content()])?;
    lock.publish()
}

fn release_locks(library: &Library, intent: &Intent) -> Result<(), Failure> {
    index_lock(library).release()?;
    branch::locks(&library.repository, &intent.branch)
        .iter()
        .try_for_each(|lock| lock.release())
}

/// Removes the file aside, up to `folders` folders on the way to the document that are empty, and the intent.
fn end(library: &Library, intent: &Intent, folders: usize) -> Result<(), Failure> {
    drop_aside(library, intent)?;
    document::remove_empty_folders(library, &intent.path, folders)?;
    remove_if_there(&library.repository.own(INTENT))
}

/// Removes the file aside. Bytes that are neither side's are a person's that came too late for anything else: they are
/// kept.
fn drop_aside(library: &Library, intent: &Intent) -> Result<(), Failure> {
    let place = Place::of(library, intent);
    let Some(folder) = place.aside_folder()? else {
        return Ok(());
    };
    if place.is_beside() && document::look(Some(&folder), place.unfinished())? != Found::Nothing {
        folder
            .remove_file(place.unfinished())
            .at("remove", place.aside_path())?;
    }
    let late = match document::look(Some(&folder), place.aside())? {
        Found::Nothing => return Ok(()),
        Found::Bytes(id) if [intent.old, intent.new].contains(&Some(id)) => {
            return folder.remove_file(place.aside()).at("remove", place.aside_path());
        }
        Found::Bytes(id) => format!("late-{id}.md"),
        Found::Other => format!("late-{}", intent.next),
    };
    let own = library.repository.own("");
    let to = Dir::open(&own).at("open", &own)?;
    let kept = own.join(&late);
    folder
        .rename_noreplace(place.aside(), &to, &late)
        .at("keep", &kept)?;
    tracing::warn!(path = %intent.path, kept = %kept.display(),
        "a save came while the file was being replaced; it was kept");
    Ok(())
}

/// Where the file system exchanges in steps, brings a half done one to its end.
fn finish_exchange(library: &Library, intent: &Intent) -> Result<(), Failure> {
    let place = Place::of(library, intent);
    let Some(aside) = place.aside_folder()? else {
        return Ok(());
    };
    let between = format!("{}{EXCHANGED}", place.aside());
    match document::look(Some(&aside), &between)? {
        Found::Nothing => Ok(()),
        _ if document::look(Some(&aside), place.aside())? == Found::Nothing => aside
            .rename_noreplace(&between, &aside, place.aside())
            .at("restore", place.aside_path()),
        _ => aside.remove_file(&between).at("remove", place.aside_path()),
    }
}

/// Removes what a mutation leaves that died before its intent had a name.
fn tidy(library: &Library) -> Result<(), Failure> {
    let own = library.repository.own("");
    for entry in fs::read_dir(&own).at("look into", &own)? {
        let entry = entry.at("look into", &own)?;
        let name = entry.file_name();
        let is_left =
            |name: &str| name.starts_with("object-") || name == document::ASIDE || name.ends_with(".new");
        if name.to_str().is_some_and(is_left) {
            remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

/// The intent that is in place, if one is.
fn read(library: &Library) -> Result<Option<Intent>, Failure> {
    let path = library.repository.own(INTENT);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.at("read", &path)?,
    };
    if let Some(intent) = Intent::parse(&text) {
        return Ok(Some(intent));
    }
    // It had been durable before it got its name: this is a damaged disk, or not ours.
    let damaged = library.repository.own("intent.damaged");
    fs::rename(&path, &damaged).at("rename", &path)?;
    index_lock(library).release()?;
    tracing::error!(file = %damaged.display(), "the record of an interrupted change is damaged; look at it by hand");
    Ok(None)
}
