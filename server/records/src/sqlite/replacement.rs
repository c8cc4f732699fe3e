//! Replacement of a data file by a new one.
//!
//! The new file is made under another name, and renamed to `CONTRACT.ready` when it is complete and durable: from then on, a
//! process that opens the data file first moves it into place. The old file is kept, with its write-ahead log, as
//! `CONTRACT.damaged`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use tabellion_platform::{remove_file, rename};
use tabellion_runtime::{Failure, spec::RowsSpec};
use tabellion_sqlite::{BESIDE, ROWS, beside};

use super::{connection, tables, usage::Usage};
use crate::failures::{Doing, io_failure};

/// Makes a data file with `fill`, and puts it in the place of the one at `path`, if there is one. Returns the path under which the
/// old one is kept. `usage` is the whole lock on the file.
pub(crate) fn replace<T>(
    path: &Path,
    spec: &'static RowsSpec,
    _usage: &Usage,
    fill: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<(Option<PathBuf>, T), Failure> {
    let new = path.with_extension("new");
    remove(&new)?;
    let made = make(&new, spec, fill);
    let made = made.and_then(|made| {
        connection::sync(&new)?;
        let ready = ready(path);
        rename(&new, &ready).map_err(io_failure("create", &ready))?;
        Ok(made)
    });
    match made {
        Ok(made) => Ok((finish(path)?, made)),
        Err(failure) => {
            // This failure is more informative than one of the clean-up.
            let _ = remove(&new);
            Err(failure)
        }
    }
}

fn make<T>(
    new: &Path,
    spec: &'static RowsSpec,
    fill: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    tabellion_platform::create_own(new).map_err(io_failure("create", new))?;
    let connection = connection::connect_unchecked(new)?;
    connection::moves_log_when_closed(&connection, true)?;
    tables::create(&connection, spec)?;
    let made = connection::in_transaction(&connection, || fill(&connection))?;
    // The file is opened in this mode from now on; closing it leaves no files next to it.
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).doing("write the data file")?;
    connection.close().map_err(|(_, error)| error).doing("write the data file")?;
    Ok(made)
}

/// Removes a partial file left by a process that ended.
fn remove(new: &Path) -> Result<(), Failure> {
    for path in BESIDE.into_iter().chain([""]).map(|ending| beside(new, ending)) {
        if path.exists() {
            remove_file(&path).map_err(io_failure("remove", &path))?;
        }
    }
    Ok(())
}

fn ready(path: &Path) -> PathBuf {
    path.with_extension("ready")
}

/// Returns true if a new file is ready to replace the one at `path`.
pub(crate) fn is_pending(path: &Path) -> bool {
    ready(path).exists()
}

/// Puts a file that is ready in its place, unless that is done. Returns the path under which the old file is kept.
pub(crate) fn finish(path: &Path) -> Result<Option<PathBuf>, Failure> {
    let ready = ready(path);
    if !ready.exists() {
        return Ok(None);
    }
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let kept = free(path);
    let is_kept = ROWS.put_aside(path, &kept).map_err(io_failure("move", path))?;
    connection::sync(folder)?;
    rename(&ready, path).map_err(io_failure("move", &ready))?;
    connection::sync(folder)?;
    Ok(is_kept.then_some(kept))
}

/// Returns an unused name for the old file.
fn free(path: &Path) -> PathBuf {
    let first = path.with_extension("damaged");
    let more = (2..).map(|number| path.with_extension(format!("damaged-{number}")));
    let mut names = [first.clone()].into_iter().chain(more);
    names.find(|name| !fs::exists(name).unwrap_or(true)).unwrap_or(first)
}
