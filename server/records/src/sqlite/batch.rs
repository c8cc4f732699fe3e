//! Group commit: turns that follow each other share one transaction, and one wait for the disk.
//!
//! ```text
//! BEGIN IMMEDIATE   turn 1, released   SAVEPOINT   turn 2, released   SAVEPOINT   turn 3   COMMIT   all three are answered
//! ```
//!
//! A turn that has made its change releases it, and passes the transaction on if another caller waits; else it commits for all. No
//! turn waits for company. A refused, failed or dropped turn leaves no trace in the transaction; if it is the last, it commits for
//! those before it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::Connection;
use tabellion_platform::blocking;
use tabellion_runtime::Failure;
use tabellion_sqlite::{ROWS, is_busy};
use tokio::sync::oneshot;

use super::{log, mark::Mark};
use crate::{
    entry::LogEntry,
    failures::{Doing, refused},
};

/// Maximum number of changes of a transaction.
const MAX_CHANGES: usize = 64;
/// Time from its beginning after which a transaction takes no further turn.
const MAX_TIME: Duration = Duration::from_millis(5);

/// The connection that changes the data. Other threads of this process wait for it here, other processes in `BEGIN IMMEDIATE`.
pub(crate) type Writer = tokio::sync::Mutex<Mutex<Writing>>;

/// The outcome of a commit, for one caller.
pub(crate) type Outcome = oneshot::Receiver<Result<(), Failure>>;

/// The means of a change: a connection, the file's mark, and the transaction that turns share.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) connection: Connection,
    /// The file's mark, if the process may change the file.
    mark: Option<Mark>,
    /// Beginning of the transaction; `None` if there is none.
    begun: Option<Instant>,
    /// True while a turn is in the transaction.
    in_turn: bool,
    /// Place and id of the log's entries of released changes.
    released: Vec<(i64, String)>,
    /// The callers of released changes.
    callers: Vec<oneshot::Sender<Result<(), Failure>>>,
    /// See [`MAX_TIME`].
    pub(crate) max_time: Duration,
}

impl Writing {
    pub(crate) fn new(connection: Connection, mark: Option<Mark>) -> Self {
        Self {
            connection,
            mark,
            begun: None,
            in_turn: false,
            released: vec![],
            callers: vec![],
            max_time: MAX_TIME,
        }
    }

    /// Enters the transaction, or begins one.
    pub(crate) fn enter(&mut self) -> Result<(), Failure> {
        if self.begun.is_none() {
            begin(&self.connection)?;
            self.begun = Some(Instant::now());
        } else {
            self.execute("SAVEPOINT turn")?;
        }
        self.in_turn = true;
        Ok(())
    }

    /// Checks that the turn's transaction is still open: without it, each statement would commit separately.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.in_turn && self.connection.is_autocommit() {
            // SQLite itself ends a transaction if the disk is full or fails.
            return Err(refused(
                "a change failed, and with it those beside it; nothing has changed, try again",
            ));
        }
        Ok(())
    }

    /// Adds the entry of the turn's change to the log. The turn has ended: its change is part of the transaction.
    pub(crate) fn release(&mut self, entry: &LogEntry) -> Result<(), Failure> {
        log::insert(&self.connection, entry)?;
        if !self.released.is_empty() {
            self.execute("RELEASE turn")?;
        }
        self.in_turn = false;
        self.released.push((entry.seq, entry.id.clone()));
        Ok(())
    }

    /// Returns true if a turn is in the transaction.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.in_turn
    }

    /// Leaves the transaction as it was before the turn.
    pub(crate) fn leave(&mut self) {
        let checked = self.check();
        self.in_turn = false;
        if self.released.is_empty() {
            self.begun = None;
            // Fails only if the transaction has ended already.
            let _ = self.connection.execute_batch("ROLLBACK");
            return;
        }
        let left = checked
            .and_then(|()| self.execute("ROLLBACK TO turn"))
            .and_then(|()| self.execute("RELEASE turn"));
        match left {
            Err(failure) => self.undo(&failure),
            // The callers get the outcome. Turns without a change must not keep them waiting.
            Ok(()) if !self.has_room() => drop(self.commit()),
            Ok(()) => {}
        }
    }

    /// Returns true if another turn may enter the transaction.
    pub(crate) fn has_room(&self) -> bool {
        self.released.len() < MAX_CHANGES && self.begun.is_some_and(|begun| begun.elapsed() < self.max_time)
    }

    /// Returns the outcome of the last released change; another turn commits it.
    pub(crate) fn outcome(&mut self) -> Outcome {
        let (caller, outcome) = oneshot::channel();
        self.callers.push(caller);
        outcome
    }

    /// Returns true if there are released changes that are not committed.
    pub(crate) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Returns true if the entry at this place is not committed yet.
    pub(crate) fn is_released(&self, seq: i64) -> bool {
        self.released.iter().any(|(released, _)| *released == seq)
    }

    /// Commits all released changes. They are durable when it returns `Ok`; after an error, none of them was made. Their callers
    /// get the outcome.
    pub(crate) fn commit(&mut self) -> Result<(), Failure> {
        if let Err(failure) = self.execute("COMMIT") {
            self.undo(&failure);
            return Err(failure);
        }
        let last = self.released.pop();
        if let (Some(mark), Some((seq, id))) = (&mut self.mark, last) {
            mark.note(&self.connection, seq, &id);
        }
        self.end(&Ok(()));
        Ok(())
    }

    /// Undoes changes whose commit failed, including parts that may have reached the disk, which a restart would otherwise take for
    /// committed.
    fn undo(&mut self, failure: &Failure) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        // A new transaction overwrites the frames of the failed one.
        let sql = "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'undone'";
        let _ = self.connection.execute_batch(sql);
        self.end(&Err(failure.clone()));
    }

    /// Sends the outcome of the transaction to its callers.
    fn end(&mut self, outcome: &Result<(), Failure>) {
        (self.begun, self.in_turn) = (None, false);
        self.released.clear();
        for caller in self.callers.drain(..) {
            // A caller that is gone needs no answer.
            let _ = caller.send(outcome.clone());
        }
    }

    fn execute(&self, sql: &str) -> Result<(), Failure> {
        let mut statement = self.connection.prepare_cached(sql).doing("write a change")?;
        statement.execute([]).doing("write a change").map(drop)
    }
}

/// Begins a transaction. Stays on this thread unless another process has one.
fn begin(connection: &Connection) -> Result<(), Failure> {
    let begin = || connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]);
    connection.busy_timeout(Duration::ZERO).doing("begin a change")?;
    let begun = begin();
    connection.busy_timeout(ROWS.busy_timeout).doing("begin a change")?;
    match begun {
        Err(error) if is_busy(&error) => blocking(begin),
        begun => begun,
    }
    .doing("begin a change")?;
    Ok(())
}

/// Waits for the outcome of a commit by another turn.
pub(crate) async fn told(outcome: Outcome) -> Result<(), Failure> {
    let told = outcome.await;
    told.unwrap_or_else(|_| Err(refused("the commit of a change was given up")))
}
