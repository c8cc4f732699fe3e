//! Makes several files and folders durable at once; removes files.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::SystemTime,
};

use tabellion_runtime::Failure;

use super::failures::IoContext;
use tabellion_platform::{self as platform, Dir, Journal};

/// A file or folder to sync.
pub(super) enum SyncTarget<'a> {
    /// Content of a file.
    File(&'a File, &'a Path),
    /// Names in a folder.
    Names(&'a Path),
    /// Names in an open folder.
    NamesIn(&'a Dir, &'a Path),
}

/// Number of parallel syncs; more were not faster.
const MAX_PARALLEL_SYNCS: usize = 4;

const DOING: &str = "bring to the disk";

impl SyncTarget<'_> {
    fn sync(&self) -> Result<(), Failure> {
        match self {
            Self::File(file, path) => file.sync_all().context(DOING, path),
            Self::Names(path) => Dir::open(path).and_then(|dir| dir.sync()).context(DOING, path),
            Self::NamesIn(dir, path) => dir.sync().context(DOING, path),
        }
    }

    /// Returns true if `journal` is known to write this in order.
    fn is_in(&self, journal: Journal) -> bool {
        let device = match self {
            Self::File(file, _) => {
                let metadata = file.metadata().ok();
                metadata.and_then(|found| Some(platform::file_id(file, &found)?.device))
            }
            Self::Names(path) => platform::file_id_at(path).map(|id| id.device),
            Self::NamesIn(dir, _) => dir.device().ok(),
        };
        device.is_some_and(|device| journal.is_of(device))
    }
}

/// Returns once all `targets` are durable.
///
/// Syncs in parallel, so the disk flushes its cache once for several of them.
///
/// # Errors
/// If one of them may not be durable; the error names it.
pub(super) fn sync_all(targets: &[SyncTarget<'_>]) -> Result<(), Failure> {
    start_writing(targets);
    let next = AtomicUsize::new(0);
    let some = || {
        let mut outcome = Ok(());
        while let Some(thing) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            outcome = outcome.and(thing.sync());
        }
        outcome
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..targets.len().min(MAX_PARALLEL_SYNCS)).map(|_| scope.spawn(some)).collect();
        let own = some();
        others.into_iter().map(|thread| thread.join().expect("syncing does not panic")).fold(own, Result::and)
    })
}

/// Returns once all `targets` and `last`, a file of the library's own, are durable.
///
/// If the journal keeps the order, waits only for the content of files, and then once for `last`.
pub(super) fn sync_with<'a>(
    last: (&'a File, &'a Path),
    mut targets: Vec<SyncTarget<'a>>,
    journal: Option<Journal>,
) -> Result<(), Failure> {
    let (file, path) = last;
    let last = SyncTarget::File(file, path);
    let Some(journal) = journal.filter(|journal| last.is_in(*journal)) else {
        targets.push(last);
        return sync_all(&targets);
    };
    start_writing(&targets);
    let (in_order, others): (Vec<_>, Vec<_>) = targets.into_iter().partition(|thing| thing.is_in(journal));
    for thing in in_order {
        if let SyncTarget::File(file, path) = thing {
            platform::write_out(file).context(DOING, path)?;
        }
    }
    sync_all(&others)?;
    // Modified after everything else, which puts its journal record behind the others.
    file.set_modified(SystemTime::now()).context(DOING, path)?;
    file.sync_all().context(DOING, path)
}

/// Starts writing back the files among `targets`. Best effort.
pub(super) fn start_writing(targets: &[SyncTarget<'_>]) {
    for thing in targets {
        if let SyncTarget::File(file, _) = thing {
            platform::start_writing(file);
        }
    }
}

/// Writes a file without syncing it.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<File, Failure> {
    let mut file = platform::create(path).context("create", path)?;
    file.write_all(bytes).context("write", path)?;
    Ok(file)
}

/// Removes a file if it exists.
pub(super) fn remove_if_there(path: &Path) -> Result<(), Failure> {
    match platform::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}
