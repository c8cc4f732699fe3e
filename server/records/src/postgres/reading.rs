//! One state of the rows: for a call, or for all of them.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tabellion_runtime::{
    BoxFuture, Failure, Row, RowView,
    rows::{Fresh, Select},
    spec::EntitySpec,
};

use super::{
    connection::{Lease, Mode, Pool},
    failures::Fault,
    log,
    shared::Shared,
};
use crate::{
    engine::Answer,
    entry::LogEntry,
    failures::refused,
    fresh::Clock,
    sql::{Dialect::Postgres, of_identity},
    whole::Whole,
};

/// One consistent state of the tables, as of its beginning.
pub(crate) struct Reader {
    lease: Lease,
    clock: Clock,
}

impl Reader {
    pub(crate) async fn begin(shared: &Arc<Shared>) -> Result<Self, Failure> {
        // The first statement takes the snapshot.
        let (lease, _) = shared.pool.begin(Mode::Reads, "").await?;
        Ok(Self { lease, clock: Clock::now() })
    }

    pub(crate) async fn rows(&self, select: &Select) -> Result<Vec<Row>, Failure> {
        Ok(self.lease.link()?.rows(select).await?)
    }

    pub(crate) async fn counted(&self, select: &Select) -> Result<u64, Failure> {
        Ok(self.lease.link()?.count(select).await?)
    }

    async fn removed(&self, entity: &'static EntitySpec, key: &[Value]) -> Result<bool, Failure> {
        let found = self.lease.link()?.query(&Postgres.was_removed(entity, key)).await?;
        Ok(found.first().is_some_and(|columns| columns.get(0)))
    }
}

impl RowView for Reader {
    fn get<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, Option<Row>> {
        Box::pin(async move { Ok(self.rows(&of_identity(entity, key)).await?.pop()) })
    }

    fn was_removed<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, bool> {
        Box::pin(self.removed(entity, key))
    }

    fn select<'a>(&'a self, select: &'a Select) -> Answer<'a, Vec<Row>> {
        Box::pin(self.rows(select))
    }

    fn count<'a>(&'a self, select: &'a Select) -> Answer<'a, u64> {
        Box::pin(self.counted(select))
    }

    fn fresh(&self) -> &dyn Fresh {
        &self.clock
    }
}

/// One state of all tables, read without an asynchronous runtime.
pub(crate) struct All {
    pool: Arc<Pool>,
    /// `None` after an error.
    lease: Mutex<Option<Lease>>,
}

impl All {
    pub(crate) fn begin(shared: &Arc<Shared>) -> Result<Self, Failure> {
        let of = Arc::clone(shared);
        let reader = shared.pool.wait(async move { Reader::begin(&of).await })?;
        Ok(Self::new(&shared.pool, reader.lease))
    }

    /// Returns the state that a transaction sees.
    pub(crate) fn new(pool: &Arc<Pool>, lease: Lease) -> Self {
        Self { pool: Arc::clone(pool), lease: Mutex::new(Some(lease)) }
    }

    /// Returns the transaction.
    pub(crate) fn into_lease(self) -> Result<Lease, Failure> {
        let lease = self.lease.into_inner();
        lease.ok_or_else(|| refused("the transaction has failed"))
    }

    fn with<T: Send + 'static>(
        &self,
        work: impl for<'l> FnOnce(&'l Lease) -> BoxFuture<'l, Result<T, Fault>> + Send + 'static,
    ) -> Result<T, Failure> {
        let lease = self.lease.lock().take();
        let lease = lease.ok_or_else(|| refused("the transaction has failed"))?;
        let (done, lease) = self.pool.wait(async move {
            let done = work(&lease).await?;
            Ok((done, lease))
        })?;
        *self.lease.lock() = Some(lease);
        Ok(done)
    }
}

impl Whole for All {
    fn for_each_entry(&self, each: &mut dyn FnMut(LogEntry) -> Result<(), Failure>) -> Result<(), Failure> {
        let (mut after, mut last) = (0, 0);
        loop {
            let entries = self.with(move |lease| {
                Box::pin(async move { log::after(lease.link()?, after, log::PAGE).await })
            })?;
            let Some(end) = entries.last() else { return Ok(()) };
            after = end.seq;
            for mut entry in entries {
                last = entry.last.max(last);
                entry.last = last;
                each(entry)?;
            }
        }
    }

    fn rows(&self, select: &Select) -> Result<Vec<Row>, Failure> {
        let select = select.clone();
        self.with(move |lease| Box::pin(async move { lease.link()?.rows(&select).await }))
    }
}
