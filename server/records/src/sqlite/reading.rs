//! Reading: a pool of connections, and one snapshot for each call.

use parking_lot::Mutex;
use rusqlite::Connection;
use serde_json::Value;
use tabellion_platform::blocking;
use tabellion_runtime::{
    Failure, Row, RowView,
    rows::{Fresh, Select},
    spec::EntitySpec,
};
use tabellion_sqlite::Pooled;

use super::{data_file::DataFile, query};
use crate::{engine::Answer, failures::Doing, fresh::Clock};

/// Number of connections that are kept for later calls.
pub(crate) const MAX_IDLE: usize = 8;

/// One consistent state of the tables, as of the first read.
pub(crate) struct Reader<'a> {
    records: &'a DataFile,
    connection: Mutex<Option<Pooled>>,
    clock: Clock,
}

impl<'a> Reader<'a> {
    pub(crate) fn begin(records: &'a DataFile) -> Result<Self, Failure> {
        records.check_there()?;
        let connection = records.pool.take(|| records.connect())?;
        connection.execute_batch("BEGIN").doing("read the data")?;
        Ok(Self { records, connection: Mutex::new(Some(connection)), clock: Clock::now() })
    }

    pub(crate) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        blocking(|| self.with_few(read))
    }

    /// As [`Turn::with_few`](super::session::Turn::with_few).
    fn with_few<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        match &*self.connection.lock() {
            Some(connection) => read(connection),
            None => read(&self.records.connect()?),
        }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.get_mut().take()
            && connection.execute_batch("ROLLBACK").is_ok()
        {
            self.records.pool.put(connection);
        }
    }
}

impl RowView for Reader<'_> {
    fn get<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, Option<Row>> {
        Box::pin(async move { self.with_few(|connection| query::get(connection, entity, key)) })
    }

    fn was_removed<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, bool> {
        Box::pin(async move { self.with_few(|connection| query::was_removed(connection, entity, key)) })
    }

    fn select<'a>(&'a self, select: &'a Select) -> Answer<'a, Vec<Row>> {
        Box::pin(async move { self.with(|connection| query::select_rows(connection, select)) })
    }

    fn count<'a>(&'a self, select: &'a Select) -> Answer<'a, u64> {
        Box::pin(async move { self.with(|connection| query::count(connection, select)) })
    }

    fn fresh(&self) -> &dyn Fresh {
        &self.clock
    }
}
