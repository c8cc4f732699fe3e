//! Entries of the log: their fields, and their construction from a call and its change.

use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use rusqlite::types::Value as Sql;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tabellion_runtime::{
    CommitId, ContentId, Entry, Failure, FailureKind, IdempotencyKey, Prepared, Replay, Row, RowChange,
    RowEdit, Rows, RowsChange, meta,
    rows::{Fresh as _, content_id},
};

use crate::{
    failures::{damaged, refused},
    fresh::{self, Clock},
};

/// The columns of the log.
pub(crate) const COLUMNS: &str =
    "seq, id, at, tool, operation, rows, last, org, caller, client, key, request, response, details";

/// One entry of the log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogEntry {
    /// Its place, from 1.
    pub(crate) seq: i64,
    /// Its id (UUIDv7), which the caller received.
    pub(crate) id: String,
    /// Its time, in seconds of Unix time.
    pub(crate) at: i64,
    /// Label of the tool or operation that was called.
    pub(crate) tool: String,
    /// The operation, in one word.
    pub(crate) operation: String,
    /// The changed rows.
    pub(crate) rows: Vec<LoggedRow>,
    /// The largest `seq` of a row so far.
    pub(crate) last: i64,
    /// The org that the caller is bound to; empty if none.
    pub(crate) org: String,
    /// The caller: name and e-mail address, then the identity, as far as they are known.
    pub(crate) caller: Option<String>,
    /// The client's name and version.
    pub(crate) client: Option<String>,
    /// The idempotency key, in its stored form.
    pub(crate) key: Option<String>,
    /// Digest of the request, if there is a key.
    pub(crate) request: Option<String>,
    /// The answer without its secrets, with its `tabellion/base`, if there is a key.
    pub(crate) response: Option<Value>,
    /// Details that the tool added.
    pub(crate) details: Map<String, Value>,
}

impl LogEntry {
    /// Returns the values of the [`COLUMNS`].
    pub(crate) fn values(&self) -> Result<Vec<Sql>, Failure> {
        let text = |text: &String| Sql::Text(text.clone());
        let optional = |text: Option<String>| text.map_or(Sql::Null, Sql::Text);
        let details = (!self.details.is_empty()).then(|| Value::from(self.details.clone()).to_string());
        Ok(vec![
            Sql::Integer(self.seq),
            text(&self.id),
            Sql::Integer(self.at),
            text(&self.tool),
            text(&self.operation),
            Sql::Text(serde_json::to_string(&self.rows).map_err(damaged)?),
            Sql::Integer(self.last),
            text(&self.org),
            optional(self.caller.clone()),
            optional(self.client.clone()),
            optional(self.key.clone()),
            optional(self.request.clone()),
            optional(self.response.as_ref().map(Value::to_string)),
            optional(details),
        ])
    }

    /// Sets the fields that are kept as JSON.
    pub(crate) fn take(
        &mut self,
        rows: &str,
        response: Option<&str>,
        details: Option<&str>,
    ) -> Result<(), Failure> {
        let wrong = |error: serde_json::Error| damaged(format!("entry {} of the log: {error}", self.seq));
        self.rows = serde_json::from_str(rows).map_err(wrong)?;
        self.response = response.map(serde_json::from_str).transpose().map_err(wrong)?;
        let details = details.map(serde_json::from_str).transpose().map_err(wrong)?;
        self.details = details.unwrap_or_default();
        Ok(())
    }

    /// Returns the replay for a call with this entry's idempotency key.
    ///
    /// # Errors
    /// If the key belongs to a different request.
    pub(crate) fn replayed(self, key: &IdempotencyKey, request: &str) -> Result<Replay<Rows>, Failure> {
        if self.request.as_deref() != Some(&*digest(request)) {
            let message = format!(
                "the idempotency key `{}` was used for another request; use a new key for a new request",
                key.escape_debug()
            );
            let failure = Failure::new(FailureKind::Conflict, message);
            return Err(failure.with("rule", "key_reused").with("change", self.id));
        }
        let mut response = self.response.unwrap_or_default();
        let base = response.as_object_mut().and_then(|response| response.remove(meta::BASE));
        Ok(Replay::Answered { commit: CommitId::new(self.id), response, base })
    }
}

/// The log's record of one changed row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoggedRow {
    /// Name of the entity.
    pub(crate) entity: String,
    /// The identifying fields.
    pub(crate) key: Row,
    /// The changed fields with their old values; all fields if the row was removed, none if it was added.
    pub(crate) before: Option<Row>,
    /// The changed fields with their new values; all fields if the row was added, none if it was removed.
    pub(crate) after: Option<Row>,
}

/// A changed row, before and after.
pub(crate) struct Written {
    pub(crate) before: Option<Row>,
    pub(crate) after: Option<Row>,
    pub(crate) logged: LoggedRow,
}

impl Written {
    /// Computes the effect of a change on a row whose current state is `before`.
    ///
    /// # Errors
    /// If the row is missing, or exists already.
    pub(crate) fn new(change: &RowChange, before: Option<Row>) -> Result<Self, Failure> {
        let is_there = before.is_some();
        if is_there == matches!(change.edit, RowEdit::Insert(_)) {
            let state = if is_there { "is there already" } else { "is not there" };
            return Err(Failure::new(FailureKind::Conflict, format!("`{}` {state}", change.name())));
        }
        let (logged_before, logged_after, after) = match &change.edit {
            RowEdit::Insert(row) => (None, Some(row.clone()), Some(row.clone())),
            RowEdit::Patch(set) => {
                let mut after = before.clone().unwrap_or_default();
                let old = |name: &String| after.get(name).cloned().unwrap_or_default();
                let replaced = set.keys().map(|name| (name.clone(), old(name))).collect();
                for (name, value) in set {
                    after.insert(name.clone(), value.clone());
                }
                (Some(replaced), Some(set.clone()), Some(after))
            }
            RowEdit::Remove => (before.clone(), None, None),
        };
        let names = change.entity.identity().map(String::from);
        Ok(Self {
            before,
            after,
            logged: LoggedRow {
                entity: change.entity.name.into(),
                key: names.zip(change.key.iter().cloned()).collect(),
                before: logged_before,
                after: logged_after,
            },
        })
    }
}

/// Checks that a statement changed exactly one row.
pub(crate) fn changed_one(changed: u64) -> Result<(), Failure> {
    if changed == 1 {
        return Ok(());
    }
    Err(damaged(format!("a change of one row changed {changed}")))
}

/// A turn's results: the secrets it made, and the entry of its change.
#[derive(Debug)]
pub(crate) struct Making {
    pub(crate) clock: Clock,
    /// The secrets made so far.
    secrets: Mutex<Vec<String>>,
    /// The entry of the prepared change.
    pub(crate) entry: Option<LogEntry>,
    /// The content id that it leaves, if it leaves the row.
    content: Option<ContentId>,
}

impl Making {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, secrets: Mutex::default(), entry: None, content: None }
    }

    pub(crate) fn secret(&self, prefix: &str) -> Result<String, Failure> {
        let secret = fresh::secret(prefix)?;
        self.secrets.lock().push(secret.clone());
        Ok(secret)
    }

    /// Checks that a change can be prepared.
    pub(crate) fn check(&self, change: &RowsChange) -> Result<(), Failure> {
        if self.entry.is_some() {
            return Err(refused("a change was prepared already"));
        }
        if change.rows().iter().any(|row| self.has_secret(&row.edit)) {
            return Err(refused("a secret must not be kept in a row"));
        }
        Ok(())
    }

    /// Makes the entry of a written change. The entry's places are not known yet.
    pub(crate) fn prepare(
        &mut self,
        change: &RowsChange,
        entry: &Entry<'_>,
        written: Vec<Written>,
    ) -> Prepared {
        let id = fresh::id();
        let content = |row: Option<&Row>| {
            let entity = change.rows().first()?.entity;
            row.map(|row| content_id(entity, row))
        };
        let first = written.first();
        let prepared = Prepared {
            commit: CommitId::new(id.clone()),
            base: content(first.and_then(|row| row.before.as_ref())),
            content: content(first.and_then(|row| row.after.as_ref())),
        };
        self.content.clone_from(&prepared.content);
        self.entry = Some(self.entry_of(id, change, entry, written));
        prepared
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
            id,
            at: self.clock.now(),
            tool: entry.tool.into(),
            operation: change.operation.into(),
            rows: written.into_iter().map(|row| row.logged).collect(),
            org: call.org.as_deref().unwrap_or_default().into(),
            caller: match (author, identity) {
                (Some(author), Some(identity)) => Some(format!("{author} {identity}")),
                (author, identity) => author.or(identity),
            },
            client: call.client.clone(),
            key,
            request: entry.request.map(digest),
            details: match self.without_secrets(&Value::Object(entry.details.clone())) {
                Value::Object(details) => details,
                _ => Map::new(),
            },
            ..LogEntry::default()
        }
    }

    /// Keeps the answer of a call that may be repeated.
    pub(crate) fn keep(&mut self, response: &Value) {
        let mut response = self.without_secrets(response);
        if let Some(response) = response.as_object_mut() {
            response.insert(meta::BASE.into(), self.content.clone().into());
        }
        if let Some(entry) = &mut self.entry {
            entry.response = Some(response);
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

    /// Returns the value without the secrets made in this turn.
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
            kept.map(|(name, value)| (name.clone(), redacted(value, secrets))).collect()
        }
        other => other.clone(),
    }
}

/// Returns the digest by which requests are compared.
fn digest(request: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(request))
}
