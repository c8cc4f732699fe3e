//! The way back from the log: the tables of a damaged data file, made anew.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tabellion_runtime::{Failure, spec::RowsSpec};

use super::{
    connection, log, mark, replacement,
    replica::{check, replay},
    usage,
};
use crate::{entry::LogEntry, failures::Doing, whole::Checked};

/// What a recovery has done.
#[derive(Debug)]
pub struct Recovered {
    /// Where the damaged file is kept.
    pub kept: PathBuf,
    /// What the new file has.
    pub checked: Checked,
    /// Why the log could not be read to its end: what came later is lost.
    pub cut_off: Option<Failure>,
}

/// Makes the tables of a damaged data file anew from its log, as far as the log can be read. The damaged file is kept beside it.
///
/// # Errors
/// If the file is in use, the log can't be read from its beginning, or the new file can't be made. Then the damaged file stays in
/// its place.
pub fn recover(folder: &Path, spec: &'static RowsSpec) -> Result<Recovered, Failure> {
    let path = connection::path(folder, spec);
    if !path.exists() && !replacement::is_pending(&path) {
        return Err(connection::missing(&path));
    }
    let usage = usage::alone(&path)?;
    // An earlier recovery was interrupted when its file was whole.
    if let Some(kept) = replacement::finish(&path)? {
        let connection = connection::connect(&path)?;
        let (checked, cut_off) = (check(&connection, spec)?, None);
        return Ok(Recovered {
            kept,
            checked,
            cut_off,
        });
    }
    // Closing it leaves its log of writes, which is kept with it.
    let (damaged, of) = (connection::connect_unchecked(&path)?, path.clone());
    let (kept, (checked, cut_off)) = replacement::replace(&path, spec, &usage, move |connection| {
        let mut read = 0;
        let cut_off = log::for_each(&damaged, |entry| {
            take(connection, spec, &entry)?;
            read += 1;
            Ok(())
        });
        let cut_off = match cut_off {
            Err(failure) if read == 0 => return Err(failure),
            Err(failure) => Some(failure),
            Ok(_) => mark::check(&damaged, &of).err(),
        };
        Ok((check(connection, spec)?, cut_off))
    })?;
    Ok(Recovered {
        kept: kept.unwrap_or(path),
        checked,
        cut_off,
    })
}

/// Adds one entry and its rows, or nothing of it.
fn take(connection: &Connection, spec: &'static RowsSpec, entry: &LogEntry) -> Result<(), Failure> {
    let run = |sql: &str| connection.execute_batch(sql).doing("replay the log");
    run("SAVEPOINT entry")?;
    let taken = log::insert(connection, entry).and_then(|()| replay(connection, spec, entry));
    if taken.is_err() {
        run("ROLLBACK TO entry")?;
    }
    run("RELEASE entry")?;
    taken
}
