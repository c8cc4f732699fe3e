//! The rows of a contract, and the connections to their file.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use parking_lot::Mutex;
use rusqlite::Connection;
use tabellion_runtime::{Failure, spec::RowsSpec};
use tabellion_sqlite::Pool;

use crate::{connection, failures::Doing, mark::Mark, usage::Usage};

/// Time limit, at the end of a process, for others that use the file.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The rows of a contract in a data folder.
#[derive(Debug)]
pub struct Records {
    pub(crate) spec: &'static RowsSpec,
    pub(crate) path: PathBuf,
    pub(crate) pool: Pool,
    pub(crate) writer: Writer,
    /// Keeps the file from being replaced.
    pub(crate) _usage: Option<Usage>,
}

/// The connection that changes the data. Other threads of this process wait for it here, other processes in `BEGIN IMMEDIATE`.
pub(crate) type Writer = tokio::sync::Mutex<Mutex<Writing>>;

/// The means of a change: a connection, and the file's mark.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) connection: Connection,
    /// The file's mark, if the process may change the file.
    pub(crate) mark: Option<Mark>,
}

impl Records {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the contract's rows.
    pub fn spec(&self) -> &'static RowsSpec {
        self.spec
    }

    /// Moves SQLite's write-ahead log into the file, so that this file alone has all changes: for the end of a process, whose
    /// connections may be in use until then. If another process reads, that one moves the rest when it ends.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn settle(&self) -> Result<(), Failure> {
        let connection = self.connect()?;
        connection
            .busy_timeout(SETTLE_TIMEOUT)
            .doing("write the data file")?;
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .doing("write the data file")
    }

    /// Opens another connection.
    pub(crate) fn connect(&self) -> Result<Connection, Failure> {
        connection::connect(&self.path)
    }
}
