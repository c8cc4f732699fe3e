//! The rows of a contract in a file, and the connections to it.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use rusqlite::Connection;
use tabellion_platform::{FileId, blocking, file_id_at};
use tabellion_runtime::{Failure, FailureKind, spec::RowsSpec};
use tabellion_sqlite::Pool;
use tokio::sync::MutexGuard;

use super::{
    batch::{Writer, Writing},
    connection,
    usage::Usage,
};

/// The rows of a contract in a data folder.
#[derive(Debug)]
pub(crate) struct DataFile {
    pub(crate) spec: &'static RowsSpec,
    pub(crate) path: PathBuf,
    /// The file that is open. A path can come to name none, or a different one.
    pub(crate) id: Option<FileId>,
    pub(crate) pool: Pool,
    pub(crate) writer: Writer,
    /// Number of callers that wait for the writer.
    pub(crate) queued: AtomicUsize,
    /// Keeps the file from being replaced.
    pub(crate) _usage: Option<Usage>,
}

impl DataFile {
    /// Returns true if the open file is in its place: neither it nor its folder was moved, removed or replaced.
    pub(crate) fn is_there(&self) -> bool {
        file_id_at(&self.path) == self.id
    }

    /// Checks that the open file is in its place. Changes of a file that has no name would be lost with the process.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn check_there(&self) -> Result<(), Failure> {
        if self.is_there() {
            return Ok(());
        }
        let message = "the data file is no longer in its place, and nothing has changed; move it or its folder back, or put a backup \
                       there and restart the server";
        Err(Failure::new(FailureKind::Refused, message).with("rule", "data_gone"))
    }

    /// Opens another connection.
    pub(crate) fn connect(&self) -> Result<Connection, Failure> {
        connection::connect(&self.path)
    }

    /// Waits for the writer.
    pub(crate) async fn write(&self) -> MutexGuard<'_, Mutex<Writing>> {
        // Dropped after the wait for the lock, also if the caller goes away.
        let _queued = Queued::new(self);
        self.writer.lock().await
    }

    /// Returns true if a caller waits for the writer.
    pub(crate) fn is_awaited(&self) -> bool {
        self.queued.load(Ordering::SeqCst) > 0
    }

    /// Commits released changes if no following turn could. Called by those that leave without having committed, once they have left.
    pub(crate) fn commit_if_left(&self) {
        if self.is_awaited() {
            return;
        }
        // If it is locked, the turn that holds it gets here too.
        if let Ok(writer) = self.writer.try_lock() {
            let writing = &mut *writer.lock();
            if writing.has_released() {
                // The callers get the outcome.
                let _ = blocking(|| writing.commit());
            }
        }
    }
}

/// A caller in the queue for the writer.
struct Queued<'a>(&'a DataFile);

impl<'a> Queued<'a> {
    fn new(records: &'a DataFile) -> Self {
        records.queued.fetch_add(1, Ordering::SeqCst);
        Self(records)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::SeqCst);
        // A turn may have passed the transaction on to this caller, which went away.
        self.0.commit_if_left();
    }
}
