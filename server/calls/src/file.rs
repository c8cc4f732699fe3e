//! The SQLite file: creates and upgrades its tables. A change of the tables is a new format of [`CALLS`].

use std::{io, path::Path};

use rusqlite::Connection;
use tabellion_platform::{create_folders, create_own};
use tabellion_runtime::{Failure, FailureKind};
use tabellion_sqlite::{CALLS, FileError, Format, is_busy, is_damage, is_full, lock};

use crate::clock;

/// Migrates the tables of the first version.
const UPGRADE: &str = "ALTER TABLE execution ADD COLUMN caller_name TEXT";

const CREATE: &str = "
    -- Since when calls are kept here.
    CREATE TABLE beginning (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER NOT NULL) STRICT;
    CREATE TABLE execution (
        id TEXT PRIMARY KEY, contract TEXT NOT NULL, tool TEXT NOT NULL, mutating INTEGER NOT NULL, keeps INTEGER NOT NULL, session TEXT,
        caller TEXT, client TEXT, input TEXT NOT NULL, input_digest TEXT NOT NULL, server TEXT NOT NULL, status TEXT NOT NULL,
        created_at INTEGER NOT NULL, completed_at INTEGER, result TEXT, meta TEXT, error TEXT, commit_id TEXT,
        replay INTEGER NOT NULL DEFAULT 0, cancel INTEGER NOT NULL DEFAULT 0, keep_until INTEGER NOT NULL, result_until INTEGER NOT NULL,
        caller_name TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX execution_open ON execution (server) WHERE completed_at IS NULL;
    CREATE INDEX execution_session ON execution (session) WHERE completed_at IS NULL;
    CREATE INDEX execution_created ON execution (created_at);
    CREATE TABLE session (
        id TEXT PRIMARY KEY, holder TEXT NOT NULL, connection TEXT, named INTEGER NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL,
        created_at INTEGER NOT NULL, last_at INTEGER NOT NULL, terminated_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX session_holder ON session (holder) WHERE terminated_at IS NULL;
    CREATE INDEX session_connection ON session (connection) WHERE connection IS NOT NULL;
    -- The time at which a limit is full again.
    CREATE TABLE bucket (name TEXT PRIMARY KEY, full_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

/// Durability of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Survives a power failure.
    Full,
    /// Survives a crash of the process.
    Process,
}

/// Creates the file if it is missing. A damaged file is put aside.
pub(crate) fn set_up(path: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| {
        let message = format!("can't create `{}`: {error}", path.display());
        Failure::new(FailureKind::Io, message).with_source(error)
    };
    let unusable = |error: FileError| match error {
        FileError::Sqlite(error) => failed(&error),
        FileError::Io { source, .. } => at(source),
    };
    if let Some(folder) = path.parent() {
        create_folders(folder, 2).map_err(at)?;
    }
    let _held = lock(path).map_err(unusable)?;
    create_own(path).map_err(at)?;
    let made = match tables(path) {
        Err(error) if is_damage(&error) => {
            let aside = path.with_extension(format!("damaged-{}", clock::now()));
            tracing::error!(
                file = %aside.display(),
                "what was kept of calls is damaged and was put aside; it is begun anew"
            );
            CALLS.put_aside(path, &aside).map_err(at)?;
            create_own(path).map_err(at)?;
            tables(path)
        }
        made => made,
    };
    if made.map_err(|error| failed(&error))? {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Refused,
        format!(
            "`{}` is another version's or another program's; use that, or move the file away",
            path.display()
        ),
    ))
}

/// Creates the tables in an empty file; returns false if the file is of a different version or program. A file that has tables gets
/// only quick checks: it can be large.
fn tables(path: &Path) -> rusqlite::Result<bool> {
    let mut connection = CALLS.connect(path)?;
    match CALLS.format(&connection)? {
        Format::Current => connection.query_row("SELECT at FROM beginning", [], |_| Ok(()))?,
        Format::Older(1) => {
            let transaction = connection.transaction()?;
            transaction.execute_batch(UPGRADE)?;
            CALLS.set_format(&transaction)?;
            transaction.commit()?;
        }
        Format::Empty => {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            let transaction = connection.transaction()?;
            transaction.execute_batch(CREATE)?;
            transaction.execute("INSERT INTO beginning VALUES (1, ?1)", [clock::now()])?;
            CALLS.set_format(&transaction)?;
            transaction.commit()?;
        }
        Format::Older(_) | Format::Newer(_) | Format::Foreign => return Ok(false),
    }
    Ok(true)
}

/// Opens a connection to the file.
pub(crate) fn connect(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let connection = CALLS.connect(path)?;
    if durability == Durability::Process {
        connection.pragma_update(None, "synchronous", "NORMAL")?;
    }
    Ok(connection)
}

/// Returns the failure for an error of SQLite.
pub(crate) fn failed(error: &rusqlite::Error) -> Failure {
    if is_busy(error) {
        let message = "another server is writing what is kept of calls; nothing was done, try again";
        return Failure::new(FailureKind::Busy, message);
    }
    if is_full(error) {
        let message =
            "the disk is full, so that the call can't be recorded: free some space; nothing was done";
        return Failure::new(FailureKind::Io, message);
    }
    let advice = if is_damage(error) {
        "; stop the library's servers and move its folder `.git/tabellion/calls` away"
    } else {
        ""
    };
    tracing::error!(%error, "what is kept of calls can't be read or written{advice}");
    let message = "what is kept of calls can't be read or written; nothing was done";
    Failure::new(FailureKind::Io, message)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Error, ffi};

    use super::*;

    #[test]
    fn a_failure_says_what_helps() {
        for (code, kind, advice) in [
            (ffi::SQLITE_FULL, FailureKind::Io, "free some space"),
            (ffi::SQLITE_BUSY, FailureKind::Busy, "try again"),
            (ffi::SQLITE_IOERR, FailureKind::Io, "nothing was done"),
        ] {
            let failure = failed(&Error::SqliteFailure(ffi::Error::new(code), None));
            assert_eq!(failure.kind, kind);
            assert!(failure.message.contains(advice), "{}", failure.message);
        }
    }
}
