//! Making things durable together.

use std::{
    fs::{File, Metadata},
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::SystemTime,
};

use tabellion_runtime::Failure;

use super::trouble::At;
use tabellion_platform::{self as platform, Dir, Journal};

/// One thing that must be on the disk.
pub(super) enum Thing<'a> {
    /// A file's content.
    File(&'a File, &'a Path),
    /// The names in a folder.
    Names(&'a Path),
    /// The names in a folder held open.
    NamesIn(&'a Dir, &'a Path),
}

/// How many things are waited for at once; more gained nothing.
const AT_ONCE: usize = 4;

const DOING: &str = "bring to the disk";

impl Thing<'_> {
    fn sync(&self) -> Result<(), Failure> {
        match self {
            Self::File(file, path) => file.sync_all().at(DOING, path),
            Self::Names(path) => Dir::open(path).and_then(|dir| dir.sync()).at(DOING, path),
            Self::NamesIn(dir, path) => dir.sync().at(DOING, path),
        }
    }

    /// Whether `journal` is known to bring this to the disk in its turn.
    fn is_in(&self, journal: Journal) -> bool {
        let of = |found: io::Result<Metadata>| platform::file_id(&found.ok()?).map(|id| id.device);
        let device = match self {
            Self::File(file, _) => of(file.metadata()),
            Self::Names(path) => of(path.metadata()),
            Self::NamesIn(dir, _) => dir.device().ok(),
        };
        device.is_some_and(|device| journal.is_of(device))
    }
}

/// Returns when all `things` are on the disk.
///
/// They are waited for at once, so that the disk empties its own memory once for several of them.
///
/// # Errors
/// When one of them may not be; then it says which.
pub(super) fn sync_all(things: &[Thing<'_>]) -> Result<(), Failure> {
    start_writing(things);
    let next = AtomicUsize::new(0);
    let some = || {
        let mut outcome = Ok(());
        while let Some(thing) = things.get(next.fetch_add(1, Ordering::Relaxed)) {
            outcome = outcome.and(thing.sync());
        }
        outcome
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..things.len().min(AT_ONCE))
            .map(|_| scope.spawn(some))
            .collect();
        let own = some();
        others
            .into_iter()
            .map(|thread| thread.join().expect("syncing does not panic"))
            .fold(own, Result::and)
    })
}

/// Returns when all `things` and `last`, a file of ours, are on the disk.
///
/// With a journal that keeps the order it is enough to wait for the bytes of files, and then once for `last`.
///
/// # Errors
/// As for [`sync_all`].
pub(super) fn sync_with<'a>(
    last: (&'a File, &'a Path),
    mut things: Vec<Thing<'a>>,
    journal: Option<Journal>,
) -> Result<(), Failure> {
    let (file, path) = last;
    let last = Thing::File(file, path);
    let Some(journal) = journal.filter(|journal| last.is_in(*journal)) else {
        things.push(last);
        return sync_all(&things);
    };
    start_writing(&things);
    let (in_order, others): (Vec<_>, Vec<_>) = things.into_iter().partition(|thing| thing.is_in(journal));
    for thing in in_order {
        if let Thing::File(file, path) = thing {
            platform::write_out(file).at(DOING, path)?;
        }
    }
    sync_all(&others)?;
    // Touched after all of it, so that its place in the journal is behind theirs.
    file.set_modified(SystemTime::now()).at(DOING, path)?;
    file.sync_all().at(DOING, path)
}

/// Has the system begin to write the files among `things`. Best effort.
pub(super) fn start_writing(things: &[Thing<'_>]) {
    for thing in things {
        if let Thing::File(file, _) = thing {
            platform::start_writing(file);
        }
    }
}

/// Writes a file anew; it is not on the disk yet.
///
/// # Errors
/// When it can't be written.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<File, Failure> {
    let mut file = File::create(path).at("create", path)?;
    file.write_all(bytes).at("write", path)?;
    Ok(file)
}
