//! Sessions: opened, renewed and ended.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::Value;
use tabellion_runtime::{
    calls::{NotAdmitted, SessionOf, SessionRecord},
    spec::SessionsSpec,
};
use uuid::Uuid;

use crate::{
    clock::{self, seconds, time},
    servers::Server,
};

/// A session's row in the file.
struct SessionRow {
    id: String,
    holder: String,
    client: String,
    /// True if the session ends with its connection.
    is_connection: bool,
    created_at: i64,
    last_at: i64,
    terminated_at: Option<i64>,
}

const COLUMNS: &str = "id, holder, client, connection IS NOT NULL, created_at, last_at, terminated_at";

impl SessionRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            holder: row.get(1)?,
            client: row.get(2)?,
            is_connection: row.get(3)?,
            created_at: row.get(4)?,
            last_at: row.get(5)?,
            terminated_at: row.get(6)?,
        })
    }

    /// Returns the time at which the session expires without a further call.
    fn expires_at(&self, spec: &SessionsSpec) -> i64 {
        let idle = self.last_at + seconds(spec.idle_seconds);
        idle.min(self.created_at + seconds(spec.seconds))
    }

    fn is_active(&self, spec: &SessionsSpec, now: i64) -> bool {
        // A last call in the future was recorded by a clock that was ahead; the session would last until that time.
        let is_past = self.last_at <= now + seconds(spec.idle_seconds);
        self.terminated_at.is_none() && is_past && now < self.expires_at(spec)
    }

    fn record(self, spec: &SessionsSpec) -> SessionRecord {
        SessionRecord {
            expires_at: time(self.expires_at(spec)),
            max_expires_at: time(self.created_at + seconds(spec.seconds)),
            created_at: time(self.created_at),
            last_activity_at: time(self.last_at),
            terminated_at: self.terminated_at.map(time),
            client: serde_json::from_str(&self.client).unwrap_or_default(),
            id: self.id,
            holder: self.holder,
        }
    }
}

/// A change of sessions, in a transaction.
pub(crate) struct Sessions<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) server: &'a Server,
    pub(crate) spec: &'static SessionsSpec,
    pub(crate) holder: &'a str,
    pub(crate) now: i64,
}

/// A refusal, or an error of SQLite.
pub(crate) enum SessionError {
    Refused(NotAdmitted),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for SessionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<NotAdmitted> for SessionError {
    fn from(refusal: NotAdmitted) -> Self {
        Self::Refused(refusal)
    }
}

impl Sessions<'_> {
    /// Returns the id of the call's session, and counts the call as activity in it.
    pub(crate) fn resolve(&self, session: SessionOf<'_>) -> Result<String, SessionError> {
        let connection = match session {
            SessionOf::Named(id) => return Ok(self.renew(id)?.id),
            SessionOf::Connection(connection) => Some(connection),
            SessionOf::Caller => None,
        };
        let mut found = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM session
             WHERE holder = ?1 AND connection IS ?2 AND NOT named AND terminated_at IS NULL ORDER BY created_at DESC LIMIT 1"
        ))?;
        let found = found.query_row(params![self.holder, connection], SessionRow::read).optional()?;
        match found.filter(|found| found.is_active(self.spec, self.now)) {
            Some(found) => {
                self.touch(&found.id)?;
                Ok(found.id)
            }
            None => self.insert(connection, false, &Value::Null),
        }
    }

    /// Opens a session that calls name by its id.
    pub(crate) fn open(&self, client: &Value) -> Result<SessionRecord, SessionError> {
        let id = self.insert(None, true, client)?;
        Ok(self.active(&id)?.record(self.spec))
    }

    /// Counts a request as activity in the session with this id.
    pub(crate) fn renew(&self, id: &str) -> Result<SessionRecord, SessionError> {
        let found = self.active(id)?;
        self.touch(&found.id)?;
        let found = SessionRow { last_at: self.now, ..found };
        Ok(found.record(self.spec))
    }

    pub(crate) fn end(&self, id: &str) -> Result<SessionRecord, SessionError> {
        let found = self.active(id)?;
        terminate(self.connection, &found.id, self.now)?;
        let found = SessionRow { terminated_at: Some(self.now), ..found };
        Ok(found.record(self.spec))
    }

    fn active(&self, id: &str) -> Result<SessionRow, SessionError> {
        let mut found = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM session WHERE id = ?1 AND holder = ?2"))?;
        let found = found.query_row(params![id, self.holder], SessionRow::read).optional()?;
        let active = found.filter(|found| found.is_active(self.spec, self.now));
        Ok(active.ok_or_else(|| NotAdmitted::NoSession(id.to_owned()))?)
    }

    fn touch(&self, id: &str) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("UPDATE session SET last_at = ?2 WHERE id = ?1")?
            .execute(params![id, self.now])?;
        Ok(())
    }

    fn insert(
        &self,
        connection: Option<&str>,
        is_named: bool,
        client: &Value,
    ) -> Result<String, SessionError> {
        self.make_room()?;
        let id = Uuid::new_v4().to_string();
        self.connection
            .prepare_cached("INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, NULL)")?
            .execute(params![
                id,
                self.holder,
                connection,
                is_named,
                client.to_string(),
                self.server.id,
                self.now
            ])?;
        Ok(id)
    }

    /// Checks that the holder may open one more session. Terminates expired ones and, if there is no room, that of the connection which has
    /// been idle longest: clients do not end connections reliably, and one that still lives gets a new session with its next call.
    fn make_room(&self) -> Result<(), SessionError> {
        let mut all = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM session WHERE holder = ?1 AND terminated_at IS NULL"
        ))?;
        let all = all.query_map([self.holder], SessionRow::read)?;
        let mut active = vec![];
        for found in all {
            let found = found?;
            if found.is_active(self.spec, self.now) {
                active.push(found);
            } else {
                terminate(self.connection, &found.id, found.expires_at(self.spec))?;
            }
        }
        if active.len() < self.spec.most as usize {
            return Ok(());
        }
        let connections = active.iter().filter(|found| found.is_connection);
        if let Some(longest_idle) = connections.min_by_key(|found| found.last_at) {
            terminate(self.connection, &longest_idle.id, self.now)?;
            return Ok(());
        }
        let first = active.iter().map(|found| found.expires_at(self.spec)).min();
        let wait = first.unwrap_or(self.now) - self.now;
        let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(0));
        Err(NotAdmitted::TooManySessions { wait }.into())
    }
}

/// Ends the session of a connection.
pub(crate) fn end_connection(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE session SET terminated_at = ?2 WHERE connection = ?1 AND terminated_at IS NULL",
        )?
        .execute(params![id, clock::now()])?;
    Ok(())
}

fn terminate(connection: &Connection, id: &str, at: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE session SET terminated_at = ?2 WHERE id = ?1")?
        .execute(params![id, at])?;
    Ok(())
}

/// Deletes sessions that ended before this time.
pub(crate) fn forget(connection: &Connection, before: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM session WHERE terminated_at < ?1", [before])?;
    Ok(())
}
