//! The SQLite file: made and opened.

use std::{fs, io, path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tabellion_platform::{create_folders, create_own, lock_file};
use tabellion_runtime::{Failure, FailureKind};

use crate::clock;

/// SQLite application id of the file.
const APPLICATION: i32 = i32::from_be_bytes(*b"Tble");
/// Version of the tables.
const FORMAT: i32 = 2;
/// Migrates the tables of the previous version.
const UPGRADE: &str = "ALTER TABLE execution ADD COLUMN caller_name TEXT";
/// How long a change waits for that of another server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

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

/// Whether what is committed must survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It must.
    Full,
    /// It survives the process.
    Process,
}

/// Creates the file if it is missing. One that is damaged is put aside.
pub(crate) fn set_up(path: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| {
        let message = format!("can't create `{}`: {error}", path.display());
        Failure::new(FailureKind::Io, message).with_source(error)
    };
    if let Some(folder) = path.parent() {
        create_folders(folder, 2).map_err(at)?;
    }
    // Processes that start at the same time set the file up one after another.
    let lock = path.with_extension("lock");
    create_own(&lock).map_err(at)?;
    let _held = lock_file(&lock).map_err(at)?;
    create_own(path).map_err(at)?;
    let made = match tables(path) {
        Err(error) if is_damage(&error) => {
            put_aside(path).map_err(at)?;
            tables(path)
        }
        made => made,
    };
    match made {
        Ok(Standing::Ours) => Ok(()),
        Ok(Standing::Foreign) => Err(Failure::new(
            FailureKind::Refused,
            format!(
                "`{}` is another version's or another program's; use that, or move the file away",
                path.display()
            ),
        )),
        Err(error) => Err(failed(&error)),
    }
}

/// Puts a damaged file aside, and makes an empty one.
fn put_aside(path: &Path) -> io::Result<()> {
    let aside = path.with_extension(format!("damaged-{}", clock::now()));
    tracing::error!(
        file = %aside.display(),
        "what was kept of calls is damaged and was put aside; it is begun anew"
    );
    fs::rename(path, aside)?;
    for extension in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(path.with_extension(extension));
    }
    create_own(path)
}

/// The owner of a file.
enum Standing {
    Ours,
    Foreign,
}

/// Makes the tables in an empty file. Of one that has them, only what can be seen at once is checked: it can be large.
fn tables(path: &Path) -> rusqlite::Result<Standing> {
    let mut connection = connect(path, Durability::Full)?;
    let number = |connection: &Connection, pragma: &str| -> rusqlite::Result<i32> {
        connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
    };
    let found = (
        number(&connection, "application_id")?,
        number(&connection, "user_version")?,
    );
    match found {
        (APPLICATION, FORMAT) => {
            connection.query_row("SELECT at FROM beginning", [], |_| Ok(()))?;
            Ok(Standing::Ours)
        }
        (APPLICATION, before) if before == FORMAT - 1 => {
            let transaction = connection.transaction()?;
            transaction.execute_batch(UPGRADE)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
            transaction.commit()?;
            Ok(Standing::Ours)
        }
        (0, 0) => {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            let transaction = connection.transaction()?;
            transaction.execute_batch(CREATE)?;
            transaction.execute("INSERT INTO beginning VALUES (1, ?1)", [clock::now()])?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
            transaction.commit()?;
            Ok(Standing::Ours)
        }
        _ => Ok(Standing::Foreign),
    }
}

/// Opens a connection to the file.
pub(crate) fn connect(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Process => "NORMAL",
    };
    connection.execute_batch(&format!(
        "PRAGMA synchronous = {synchronous}; PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -2048"
    ))?;
    Ok(connection)
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Returns the failure for an error of SQLite.
pub(crate) fn failed(error: &rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let message = "another server is writing what is kept of calls; nothing was done, try again";
            Failure::new(FailureKind::Busy, message)
        }
        _ => {
            let advice = if is_damage(error) {
                "; stop the library's servers and move its folder `.git/tabellion/calls` away"
            } else {
                ""
            };
            tracing::error!(%error, "what is kept of calls can't be read or written{advice}");
            let message = "what is kept of calls can't be read or written; nothing was done";
            Failure::new(FailureKind::Io, message)
        }
    }
}
