//! Recovery: remakes the tables of a damaged data file from its log.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tabellion_runtime::{Failure, spec::RowsSpec};

use super::{
    connection, log, mark, replacement,
    replica::{check, replay},
    usage,
};
use crate::{entry::LogEntry, failures::Doing, whole::Checked};

/// Result of a recovery.
#[derive(Debug)]
pub struct Recovered {
    /// Path of the damaged file.
    pub kept: PathBuf,
    /// Content of the new file.
    pub checked: Checked,
    /// Error that cut the log off: later entries are lost.
    pub cut_off: Option<Failure>,
}

/// Remakes the tables of a damaged data file from its log, as far as the log can be read. Keeps the damaged file next to the new one.
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
    // An earlier recovery was interrupted when its file was complete.
    if let Some(kept) = replacement::finish(&path)? {
        let connection = connection::connect(&path)?;
        let (checked, cut_off) = (check(&connection, spec)?, None);
        return Ok(Recovered { kept, checked, cut_off });
    }
    // Closing it leaves its write-ahead log, which is kept with it.
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
    Ok(Recovered { kept: kept.unwrap_or(path), checked, cut_off })
}

/// Adds one entry and its rows, or neither.
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
