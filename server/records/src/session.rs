//! The exclusive right to change the data: a turn in a transaction of SQLite.

use std::sync::atomic::{AtomicI64, Ordering};

use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use rusqlite::Connection;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tabellion_runtime::{
    BoxFuture, CallContext, CommitId, ContentId, Entry, Failure, FailureKind, IdempotencyKey, Prepared,
    Replay, Row, RowEdit, RowView, Rows, RowsChange, Session, StoreError,
    rows::{Fresh, Select, content_id},
    spec::EntitySpec,
};
use tokio::sync::MutexGuard;

use crate::{
    batch::{Writing, told},
    blocking::{blocking, is_few},
    failures::refused,
    fresh::{self, Clock},
    log::{self, End, LogEntry},
    query,
    records::Records,
    write::{Written, write},
};

/// A turn at changing the data.
pub(crate) struct Turn<'a> {
    records: &'a Records,
    /// `None` once the turn has passed it on.
    writer: Option<MutexGuard<'a, Mutex<Writing>>>,
    clock: Clock,
    /// The end of the log, when the turn began.
    end: End,
    /// The largest `seq` of a row that was handed out.
    last: AtomicI64,
    /// The secrets that were made.
    secrets: Mutex<Vec<String>>,
    entry: Option<LogEntry>,
}

impl<'a> Turn<'a> {
    /// Waits for a turn.
    pub(crate) async fn begin(records: &'a Records) -> Result<Self, Failure> {
        let mut turn = Self {
            records,
            writer: Some(records.write().await),
            clock: Clock::now(),
            end: End::default(),
            last: AtomicI64::default(),
            secrets: Mutex::default(),
            entry: None,
        };
        turn.writing(Writing::enter)?;
        turn.end = turn.with_few(log::end)?;
        turn.last = AtomicI64::new(turn.end.last);
        Ok(turn)
    }

    fn writing<T>(&self, work: impl FnOnce(&mut Writing) -> Result<T, Failure>) -> Result<T, Failure> {
        let writer = self
            .writer
            .as_ref()
            .ok_or_else(|| refused("the turn has ended"))?;
        let writing = &mut *writer.lock();
        writing.check()?;
        work(writing)
    }

    /// Does what may take long, as waiting for the disk does.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        blocking(|| self.with_few(work))
    }

    /// Does what takes less time than moving this thread's other tasks away: it is about few rows, found by a key or an index.
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
        if entry.request.as_deref() != Some(&*digest(request)) {
            let message = format!(
                "the idempotency key `{}` was used for another request; use a new key for a new request",
                key.escape_debug()
            );
            let failure = Failure::new(FailureKind::Conflict, message);
            return Err(failure.with("rule", "key_reused").with("change", entry.id));
        }
        // The answer holds: it is not told before its change is durable.
        self.writing(|writing| {
            if writing.is_released(entry.seq) {
                blocking(|| writing.commit())?;
            }
            Ok(())
        })?;
        Ok(Some(Replay::Answered {
            commit: CommitId::new(entry.id),
            response: entry.response.unwrap_or_default(),
        }))
    }

    /// Makes the change in the transaction, and the entry that [`Session::publish`] adds to the log.
    pub(crate) fn make(&mut self, change: &RowsChange, entry: &Entry<'_>) -> Result<Prepared, Failure> {
        if self.entry.is_some() {
            return Err(refused("a change was prepared already"));
        }
        if change.rows().iter().any(|row| self.has_secret(&row.edit)) {
            return Err(refused("a secret must not be kept in a row"));
        }
        let make = |connection: &Connection| write(connection, change);
        let written = if is_few(change.rows().len() as u64) {
            self.with_few(make)
        } else {
            self.with(make)
        }?;
        let id = fresh::id();
        let content = |row: Option<&Row>| {
            let entity = change.rows().first()?.entity;
            row.map(|row| content_id(entity, row))
        };
        let first = written.first();
        let (base, content) = (
            content(first.and_then(|row| row.before.as_ref())),
            content(first.and_then(|row| row.after.as_ref())),
        );
        self.entry = Some(self.entry_of(id.clone(), change, entry, written));
        Ok(Prepared {
            commit: CommitId::new(id),
            base,
            content: content as Option<ContentId>,
        })
    }

    fn entry_of(
        &self,
        id: String,
        change: &RowsChange,
        entry: &Entry<'_>,
        written: Vec<Written>,
    ) -> LogEntry {
        let call = entry.call;
        let author = call.author.as_ref();
        let author = author.map(|author| format!("{} <{}>", author.name, author.email));
        let identity = call.identity.as_ref().map(ToString::to_string);
        let key = call.kept_key().filter(|_| entry.request.is_some());
        LogEntry {
            seq: self.end.seq + 1,
            id,
            at: self.clock.now(),
            tool: entry.tool.into(),
            operation: change.operation.into(),
            rows: written.into_iter().map(|row| row.logged).collect(),
            last: self.last.load(Ordering::SeqCst),
            org: call.org.as_deref().unwrap_or_default().into(),
            caller: match (author, identity) {
                (Some(author), Some(identity)) => Some(format!("{author} {identity}")),
                (author, identity) => author.or(identity),
            },
            client: call.client.clone(),
            key,
            request: entry.request.map(digest),
            response: None,
            details: match self.without_secrets(&Value::Object(entry.details.clone())) {
                Value::Object(details) => details,
                _ => Map::new(),
            },
        }
    }

    /// Adds the entry to the log, and ends the turn. Durable when it returns `Ok`.
    pub(crate) async fn commit(mut self) -> Result<(), Failure> {
        let entry = self.entry.take();
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

    fn has_secret(&self, edit: &RowEdit) -> bool {
        match edit {
            RowEdit::Insert(row) | RowEdit::Patch(row) => {
                let row = Value::Object(row.clone());
                self.without_secrets(&row) != row
            }
            RowEdit::Remove => false,
        }
    }

    /// Returns the value without the secrets that were made.
    fn without_secrets(&self, value: &Value) -> Value {
        let secrets = self.secrets.lock();
        redacted(value, &secrets)
    }
}

fn redacted(value: &Value, secrets: &[String]) -> Value {
    let has_secret = |text: &str| secrets.iter().any(|secret| text.contains(secret.as_str()));
    match value {
        Value::String(text) if has_secret(text) => Value::Null,
        Value::Array(items) => items.iter().map(|item| redacted(item, secrets)).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !has_secret(name));
            kept.map(|(name, value)| (name.clone(), redacted(value, secrets)))
                .collect()
        }
        other => other.clone(),
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
        let response = self.without_secrets(response);
        if let Some(entry) = &mut self.entry {
            entry.response = Some(response);
        }
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
    fn get<'a>(
        &'a self,
        entity: &'static EntitySpec,
        key: &'a [Value],
    ) -> BoxFuture<'a, Result<Option<Row>, Failure>> {
        Box::pin(async move { self.with_few(|connection| query::get(connection, entity, key)) })
    }

    fn was_removed<'a>(
        &'a self,
        entity: &'static EntitySpec,
        key: &'a [Value],
    ) -> BoxFuture<'a, Result<bool, Failure>> {
        Box::pin(async move { self.with_few(|connection| query::was_removed(connection, entity, key)) })
    }

    fn select<'a>(&'a self, select: &'a Select) -> BoxFuture<'a, Result<Vec<Row>, Failure>> {
        let read = |connection: &Connection| query::select_rows(connection, select);
        Box::pin(async move {
            if select.limit.is_some_and(is_few) {
                self.with_few(read)
            } else {
                self.with(read)
            }
        })
    }

    fn count<'a>(&'a self, select: &'a Select) -> BoxFuture<'a, Result<u64, Failure>> {
        Box::pin(async move { self.with(|connection| query::count(connection, select)) })
    }

    fn fresh(&self) -> &dyn Fresh {
        self
    }
}

impl Fresh for Turn<'_> {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn id(&self) -> String {
        fresh::id()
    }

    fn secret(&self, prefix: &str) -> Result<String, Failure> {
        let secret = fresh::secret(prefix)?;
        self.secrets.lock().push(secret.clone());
        Ok(secret)
    }

    fn seq(&self) -> Result<i64, Failure> {
        Ok(self.last.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// Returns the digest of a request, by which requests are compared.
fn digest(request: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(request))
}
