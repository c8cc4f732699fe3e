//! The exclusive right to change the data: a turn in a transaction of SQLite.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use rusqlite::Connection;
use serde_json::Value;
use tabellion_platform::blocking;
use tabellion_runtime::{
    BoxFuture, CallContext, Entry, Failure, IdempotencyKey, Prepared, Replay, Row, RowView, Rows, RowsChange,
    Session, StoreError,
    rows::{Fresh, Select},
    spec::EntitySpec,
};
use tokio::sync::MutexGuard;

use super::{
    batch::{Writing, told},
    data_file::DataFile,
    log::{self, End},
    query,
    write::write,
};
use crate::{
    engine::Answer,
    entry::Making,
    failures::refused,
    fresh::{self, Clock},
};

/// Returns true if so many rows, found by a key or an index, take less time than [`blocking`] needs to move the thread's other
/// tasks away.
fn is_few(rows: u64) -> bool {
    rows <= 4
}

/// A turn at changing the data.
pub(crate) struct Turn<'a> {
    records: &'a DataFile,
    /// `None` once the turn has passed it on.
    writer: Option<MutexGuard<'a, Mutex<Writing>>>,
    /// The end of the log, when the turn began.
    end: End,
    /// The largest `seq` of a row that was handed out.
    last: AtomicI64,
    making: Making,
}

impl<'a> Turn<'a> {
    /// Waits for a turn.
    pub(crate) async fn begin(records: &'a DataFile) -> Result<Self, Failure> {
        let mut turn = Self {
            records,
            writer: Some(records.write().await),
            end: End::default(),
            last: AtomicI64::default(),
            making: Making::new(Clock::now()),
        };
        records.check_there()?;
        turn.writing(Writing::enter)?;
        turn.end = turn.with_few(log::end)?;
        turn.last = AtomicI64::new(turn.end.last);
        Ok(turn)
    }

    fn writing<T>(&self, work: impl FnOnce(&mut Writing) -> Result<T, Failure>) -> Result<T, Failure> {
        let writer = self.writer.as_ref().ok_or_else(|| refused("the turn has ended"))?;
        let writing = &mut *writer.lock();
        writing.check()?;
        work(writing)
    }

    /// Runs work that may take long, such as waiting for the disk.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        blocking(|| self.with_few(work))
    }

    /// Runs work that takes less time than moving this thread's other tasks away: it concerns few rows, found by a key or an index.
    pub(crate) fn with_few<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.writing(|writing| work(&writing.connection))
    }

    fn earlier(
        &self,
        call: &CallContext,
        key: &IdempotencyKey,
        request: &str,
    ) -> Result<Option<Replay<Rows>>, Failure> {
        let org = call.org.as_deref().unwrap_or_default();
        let kept = call.kept_key().unwrap_or_default();
        let Some(entry) = self.with_few(|connection| log::with_key(connection, org, &kept))? else {
            return Ok(None);
        };
        let seq = entry.seq;
        let replay = entry.replayed(key, request)?;
        // The answer is final only once its change is durable.
        self.writing(|writing| {
            if writing.is_released(seq) {
                blocking(|| writing.commit())?;
            }
            Ok(())
        })?;
        Ok(Some(replay))
    }

    /// Makes the change in the transaction, and the entry that [`Session::publish`] adds to the log.
    pub(crate) fn make(&mut self, change: &RowsChange, entry: &Entry<'_>) -> Result<Prepared, Failure> {
        self.making.check(change)?;
        let make = |connection: &Connection| write(connection, change);
        let written = if is_few(change.rows().len() as u64) { self.with_few(make) } else { self.with(make) }?;
        let prepared = self.making.prepare(change, entry, written);
        if let Some(entry) = &mut self.making.entry {
            entry.seq = self.end.seq + 1;
            entry.last = self.last.load(Ordering::SeqCst);
        }
        Ok(prepared)
    }

    /// Adds the entry to the log, and ends the turn. The change is durable when it returns `Ok`.
    pub(crate) async fn commit(mut self) -> Result<(), Failure> {
        let entry = self.making.entry.take();
        let entry = entry.ok_or_else(|| refused("nothing was prepared"))?;
        let records = self.records;
        let outcome = self.writing(|writing| {
            writing.release(&entry)?;
            if records.is_awaited() && writing.has_room() {
                return Ok(Some(writing.outcome()));
            }
            blocking(|| writing.commit())?;
            Ok(None)
        })?;
        drop(self);
        match outcome {
            Some(outcome) => told(outcome).await,
            None => Ok(()),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            {
                let writing = &mut *writer.lock();
                if writing.is_in_turn() {
                    blocking(|| writing.leave());
                }
            }
            drop(writer);
            self.records.commit_if_left();
        }
    }
}

impl Session<Rows> for Turn<'_> {
    fn replay<'a>(
        &'a self,
        call: &'a CallContext,
        key: &'a IdempotencyKey,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<Replay<Rows>>, StoreError>> {
        Box::pin(async move { Ok(self.earlier(call, key, request)?) })
    }

    fn prepare<'a>(
        &'a mut self,
        change: &'a RowsChange,
        entry: &'a Entry<'a>,
    ) -> BoxFuture<'a, Result<Prepared, StoreError>> {
        Box::pin(async move { Ok(self.make(change, entry)?) })
    }

    fn keep<'a>(&'a mut self, response: &'a Value) -> BoxFuture<'a, Result<(), StoreError>> {
        self.making.keep(response);
        Box::pin(async { Ok(()) })
    }

    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), StoreError>>
    where
        Self: 'a,
    {
        Box::pin(async move { Ok(self.commit().await?) })
    }
}

impl RowView for Turn<'_> {
    fn get<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, Option<Row>> {
        Box::pin(async move { self.with_few(|connection| query::get(connection, entity, key)) })
    }

    fn was_removed<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, bool> {
        Box::pin(async move { self.with_few(|connection| query::was_removed(connection, entity, key)) })
    }

    fn select<'a>(&'a self, select: &'a Select) -> Answer<'a, Vec<Row>> {
        let read = |connection: &Connection| query::select_rows(connection, select);
        Box::pin(async move {
            if select.limit.is_some_and(is_few) { self.with_few(read) } else { self.with(read) }
        })
    }

    fn count<'a>(&'a self, select: &'a Select) -> Answer<'a, u64> {
        Box::pin(async move { self.with(|connection| query::count(connection, select)) })
    }

    fn fresh(&self) -> &dyn Fresh {
        self
    }
}

impl Fresh for Turn<'_> {
    fn now(&self) -> i64 {
        self.making.clock.now()
    }

    fn id(&self) -> String {
        fresh::id()
    }

    fn secret(&self, prefix: &str) -> Result<String, Failure> {
        self.making.secret(prefix)
    }

    fn seq(&self) -> Result<i64, Failure> {
        Ok(self.last.fetch_add(1, Ordering::SeqCst) + 1)
    }
}
