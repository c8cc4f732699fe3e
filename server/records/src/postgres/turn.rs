//! The right to change rows: a transaction, with the locks of the orgs whose rows it reads or changes.
//!
//! A turn has its orgs' locks either shared or alone. A shared lock suffices if unique indexes, foreign keys and the lock of the
//! changed row protect the change; see [`RowsChange::fits_beside_others`]. A change that turns out to need more is planned again,
//! alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use futures_util::future::{join, join_all};
use parking_lot::Mutex;
use rusqlite::types::Value as Sql;
use serde_json::Value;
use tabellion_runtime::{
    BoxFuture, CallContext, Claim, Entry, Failure, FailureKind, IdempotencyKey, Prepared, Replay, Row,
    RowChange, RowEdit, RowView, Rows, RowsChange, Session, StoreError,
    rows::{Filter, Fresh, Select, Test},
    spec::{Action, EntitySpec, RowsSpec, Scope},
};

use super::{
    codec::read_row,
    connection::{Lease, Link, Mode},
    failures::Fault,
    log, outcome,
    shared::Shared,
};
use crate::{
    engine::Answer,
    entry::{LogEntry, Making, Written, changed_one},
    failures::refused,
    fresh::{self, Clock},
    sql::{Dialect::Postgres, Statement, of_identity},
};

/// Step of the sequence of row numbers: the number of rows that one turn can create in a defined order.
pub(crate) const BLOCK: i64 = 1_000;

/// A turn at changing the rows.
pub(crate) struct Turn<'a> {
    shared: &'a Arc<Shared>,
    /// `None` once it has ended.
    lease: Option<Lease>,
    is_alone: bool,
    /// The orgs whose locks it holds.
    locked: tokio::sync::Mutex<BTreeSet<Part>>,
    /// The rows that it read, by entity and identity.
    read: Mutex<BTreeMap<(&'static str, String), Option<Row>>>,
    /// Entities whose rows were searched other than by a unique index.
    searched: Mutex<BTreeSet<&'static str>>,
    /// See [`Session::is_overtaken`].
    is_overtaken: AtomicBool,
    /// The next number of a row, and the last number that was handed out.
    next: AtomicI64,
    last: AtomicI64,
    making: Making,
    /// Number of the transaction, once it has changed rows.
    transaction: OnceLock<String>,
}

/// A part of the rows, with a separate lock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The rows of an org. Rows without an org belong to the org with the empty name.
    Org(String),
    All,
}

impl Part {
    /// Returns the part that contains a row.
    fn of_row(entity: &EntitySpec, key: &[Value]) -> Self {
        let first = key.first().and_then(Value::as_str).unwrap_or_default();
        match entity.scope {
            Scope::Global => Self::Org(String::new()),
            Scope::Org(_) | Scope::Root => Self::Org(first.into()),
        }
    }

    /// Returns the key of the part's lock.
    fn key(&self, shared: &Shared) -> i64 {
        match self {
            Self::All => shared.lock,
            Self::Org(org) => shared.lock_of(&format!("org {org}")),
        }
    }

    /// Returns the part that contains the selected rows.
    fn of_selection(select: &Select) -> Self {
        let (entity, named) = (select.entity, |name: &str| {
            let is_named = |filter: &&Filter| filter.field == name && filter.test == Test::Is;
            select.all.iter().find(is_named)?.value.as_str().map(String::from)
        });
        match entity.scope {
            Scope::Global => Self::Org(String::new()),
            Scope::Org(field) => named(field).map_or(Self::All, Self::Org),
            Scope::Root => Self::Org(entity.key.first().and_then(|key| named(key)).unwrap_or_default()),
        }
    }
}

impl<'a> Turn<'a> {
    pub(crate) async fn begin(shared: &'a Arc<Shared>, claim: Claim<'_>) -> Result<Self, Failure> {
        if claim.attempt > 0 {
            shared.pool.back_off(claim.attempt).await;
        }
        let is_simple = claim.operation.is_some_and(|operation| operation.action.begins_beside_others());
        let is_alone = claim.attempt > 0 || !is_simple;
        // The lock of all rows: shared with other turns, not with a migration.
        let mut first = vec![lock(Part::All.key(shared), false)];
        let org = org_row(shared.spec, &claim);
        if let Some((entity, key)) = &org {
            first.push(lock(Part::of_row(entity, key).key(shared), is_alone));
            first.push(Postgres.select(&of_identity(entity, key))?);
        }
        // Drawn after the locks, so rows whose creators waited for each other are numbered in that order.
        first.push(Statement {
            sql: "SELECT value, nextval('row_seq') FROM meta WHERE name = 'generation'".into(),
            values: vec![],
        });
        let (lease, _, mut rows) = shared.pool.begin_and_query(Mode::Changes, "", &first).await?;
        let found = rows.pop().unwrap_or_default().pop();
        let Some((generation, next)) = found.map(|found| (found.get::<_, String>(0), found.get(1))) else {
            return Err(refused("the database has no tables of this program any more"));
        };
        if generation != shared.generation {
            return Err(refused(
                "the database's tables were made anew or by a newer program; restart the server",
            ));
        }
        let (mut locked, mut read) = (BTreeSet::new(), BTreeMap::new());
        if let Some((entity, key)) = org {
            let row = rows.pop().unwrap_or_default().pop();
            let row = row.map(|columns| read_row(entity, &columns));
            locked.insert(Part::of_row(entity, &key));
            read.insert(place(entity, &key), row.transpose()?);
        }
        Ok(Self {
            shared,
            lease: Some(lease),
            is_alone,
            locked: tokio::sync::Mutex::new(locked),
            read: Mutex::new(read),
            searched: Mutex::default(),
            is_overtaken: AtomicBool::new(false),
            next: AtomicI64::new(next),
            last: AtomicI64::new(0),
            making: Making::new(Clock::now()),
            transaction: OnceLock::new(),
        })
    }

    fn link(&self) -> Result<&Link, Fault> {
        let lease = self.lease.as_ref();
        lease.ok_or_else(|| Fault::Failure(refused("the turn has ended")))?.link()
    }

    /// Notes a conflict: the rows read may differ from those that the change applies to.
    fn noted(&self, fault: Fault) -> Failure {
        if matches!(fault, Fault::Conflict) {
            self.is_overtaken.store(true, Ordering::Relaxed);
        }
        fault.failure()
    }

    /// Gives up this attempt: it needs the lock alone.
    fn too_much(&self) -> Failure {
        self.is_overtaken.store(true, Ordering::Relaxed);
        Failure::busy("others change the same data; try again")
    }

    /// Takes the lock of a part, unless the turn holds it, and then reads. Both are sent together, in this order: the read is
    /// already prepared.
    async fn locked<T>(
        &self,
        part: Part,
        read: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Failure> {
        let mut locked = self.locked.lock().await;
        if locked.contains(&part) || locked.contains(&Part::All) {
            drop(locked);
            return read.await.map_err(|fault| self.noted(fault));
        }
        if part == Part::All && !self.is_alone {
            return Err(self.too_much());
        }
        // Drawn after the lock, as at the beginning.
        let mut lock = lock(part.key(self.shared), self.is_alone);
        lock.sql += ", nextval('row_seq')";
        let link = self.link()?;
        link.prepared(&lock.sql).await.map_err(|fault| self.noted(fault))?;
        let (taken, read) = join(link.query(&lock), read).await;
        let taken = taken.map_err(|fault| self.noted(fault))?;
        let next = taken.first().map_or(0, |next| next.get(1));
        self.next.store(next, Ordering::Relaxed);
        locked.insert(part);
        read.map_err(|fault| self.noted(fault))
    }

    async fn lock(&self, part: Part) -> Result<(), Failure> {
        self.locked(part, async { Ok(()) }).await
    }

    /// Reads the selected rows of a part.
    async fn rows(&self, part: Part, select: &Select) -> Result<Vec<Row>, Failure> {
        let (link, statement) = (self.link()?, Postgres.select(select)?);
        link.prepared(&statement.sql).await.map_err(|fault| self.noted(fault))?;
        self.locked(part, link.rows_of(select, &statement)).await
    }

    /// Returns true if the log has entries, once other turns are locked out.
    pub(crate) async fn is_begun(&self) -> Result<bool, Failure> {
        self.lock(Part::All).await?;
        Ok(log::end(self.link()?).await? > 0)
    }

    async fn earlier(
        &self,
        call: &CallContext,
        key: &IdempotencyKey,
        request: &str,
    ) -> Result<Option<Replay<Rows>>, StoreError> {
        let org = call.org.as_deref().unwrap_or_default();
        let kept = call.kept_key().unwrap_or_default();
        // A concurrent call with this key ends first.
        let lock = lock(self.shared.lock_of(&format!("key {org} {kept}")), true);
        let answers = self.link()?.query_all(&[lock, log::with_key(org, &kept)]).await?;
        let found = answers.last().and_then(|rows| rows.first());
        match found.map(log::read).transpose()? {
            Some(entry) => Ok(Some(entry.replayed(key, request)?)),
            None => Ok(None),
        }
    }

    /// Makes the change in the transaction, and the entry that [`Session::publish`] adds to the log.
    pub(crate) async fn make(
        &mut self,
        change: &RowsChange,
        entry: &Entry<'_>,
    ) -> Result<Prepared, StoreError> {
        self.making.check(change)?;
        if !self.is_alone && !self.fits_beside_others(change) {
            return Err(StoreError::Conflict);
        }
        for row in change.rows() {
            self.lock(Part::of_row(row.entity, &row.key)).await?;
        }
        let before = join_all(change.rows().iter().map(|row| self.before(row))).await;
        let mut written = vec![];
        for (row, before) in change.rows().iter().zip(before) {
            written.push(Written::new(row, before?)?);
        }
        self.write(change.rows()).await?;
        let prepared = self.making.prepare(change, entry, written);
        if let Some(entry) = &mut self.making.entry {
            entry.last = self.last.load(Ordering::Relaxed);
        }
        Ok(prepared)
    }

    /// Returns true if the change can be made alongside others, judged by its edits and the rows read for it.
    fn fits_beside_others(&self, change: &RowsChange) -> bool {
        let searched = self.searched.lock();
        let needs_more = |name: &'static str| searched.contains(name) || self.shared.is_unprotected(name);
        change.fits_beside_others(self.shared.spec)
            && !change.rows().iter().any(|row| needs_more(row.entity.name))
    }

    /// Returns the row as it is before its change, and locks it against other changes; `None` if it is new.
    async fn before(&self, change: &RowChange) -> Result<Option<Row>, StoreError> {
        if matches!(change.edit, RowEdit::Insert(_)) {
            return Ok(None);
        }
        let (entity, key) = (change.entity, &change.key);
        let read = self.read.lock().get(&place(entity, key)).cloned();
        if let Some(row) = &read
            && self.is_alone
        {
            return Ok(row.clone());
        }
        let select = of_identity(entity, key);
        let mut statement = Postgres.select(&select)?;
        statement.sql += " FOR NO KEY UPDATE";
        let row = self.link()?.rows_of(&select, &statement).await?.pop();
        match read {
            Some(read) if read != row => Err(StoreError::Conflict),
            _ => Ok(row),
        }
    }

    /// Makes the changes of rows. Their statements are sent together, in their order.
    async fn write(&self, changes: &[RowChange]) -> Result<(), StoreError> {
        let link = self.link()?;
        let (mut rows, mut ids) = (vec![], vec![]);
        for RowChange { entity, key, edit, .. } in changes {
            self.read.lock().remove(&place(entity, key));
            let mut statement = match edit {
                RowEdit::Insert(row) => Postgres.insert(entity, row),
                RowEdit::Patch(set) if set.is_empty() => {
                    let sql = "SELECT pg_current_xact_id()::text".into();
                    rows.push(Statement { sql, values: vec![] });
                    continue;
                }
                RowEdit::Patch(set) => Postgres.patch(entity, key, set)?,
                RowEdit::Remove => Postgres.remove(entity, key)?,
            };
            // The transaction's number must be known before its commit is sent.
            statement.sql += " RETURNING pg_current_xact_id()::text";
            rows.push(statement);
            if matches!(edit, RowEdit::Remove) && entity.has_id() {
                ids.push(Postgres.keep_id(entity.name, key));
            }
        }
        let count = rows.len();
        rows.extend(ids);
        for changed in &link.query_all(&rows).await?[..count] {
            changed_one(changed.len() as u64)?;
            self.transaction.get_or_init(|| changed[0].get(0));
        }
        Ok(())
    }

    /// Adds the entry to the log, and ends the turn. The change is durable when it returns `Ok`.
    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        let (entry, lease) = (self.making.entry.take(), self.lease.take());
        let transaction = self.transaction.take();
        let (Some(entry), Some(lease), Some(transaction)) = (entry, lease, transaction) else {
            return Err(refused("nothing was prepared").into());
        };
        let shared = Arc::clone(self.shared);
        self.shared.pool.run(commit(shared, lease, entry, transaction)).await?
    }
}

/// Commits a transaction with its log entry, and determines the outcome if the answer is lost.
async fn commit(
    shared: Arc<Shared>,
    lease: Lease,
    entry: LogEntry,
    transaction: String,
) -> Result<(), StoreError> {
    let (logged, committed) = {
        let link = lease.link()?;
        let statement = log::insert(&entry)?;
        // Prepared now, so both are sent together and in their order.
        link.prepared(&statement.sql).await?;
        join(link.execute(&statement), link.select("COMMIT")).await
    };
    // The commit of a failed transaction rolls it back, and succeeds.
    match logged.map(drop).and(committed.map(drop)) {
        Ok(()) if !lease.link()?.is_cut_short() => {
            lease.ended();
            Ok(())
        }
        Ok(()) | Err(Fault::Lost(_)) => {
            lease.close();
            outcome::confirm(&shared, &entry.id, &transaction).await.map_err(StoreError::Failure)
        }
        Err(fault) => {
            lease.end("ROLLBACK").await;
            Err(fault.into())
        }
    }
}

/// Returns the statement that takes a lock until the end of the transaction, alone or shared with other turns.
fn lock(key: i64, is_alone: bool) -> Statement {
    let how = if is_alone { "" } else { "_shared" };
    Statement { sql: format!("SELECT pg_advisory_xact_lock{how}($1)::text"), values: vec![Sql::Integer(key)] }
}

/// Returns entity and key of the org that new rows will belong to, which their rules read first. `None` if the operation adds none.
fn org_row(spec: &RowsSpec, claim: &Claim<'_>) -> Option<(&'static EntitySpec, [Value; 1])> {
    let is_read = claim.operation.is_none_or(|operation| operation.action == Action::Create);
    let org = spec.org.filter(|_| is_read)?;
    Some((spec.entity(org.entity)?, [claim.org.unwrap_or(org.default).into()]))
}

fn place(entity: &'static EntitySpec, key: &[Value]) -> (&'static str, String) {
    (entity.name, Value::from(key).to_string())
}

/// Returns true if a selection reveals no more than a unique index enforces: that a value is taken.
fn is_by_unique(select: &Select) -> bool {
    let has = |name: &str| {
        select
            .all
            .iter()
            .any(|filter| filter.field == name && matches!(filter.test, Test::Is | Test::IsFolded))
    };
    let mut uniques = select.entity.uniques.iter();
    uniques.any(|unique| unique.fields.iter().all(|name| has(name))) || select.entity.identity().all(has)
}

impl Session<Rows> for Turn<'_> {
    fn is_overtaken(&self) -> bool {
        self.is_overtaken.load(Ordering::Relaxed)
    }

    fn replay<'a>(
        &'a self,
        call: &'a CallContext,
        key: &'a IdempotencyKey,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<Replay<Rows>>, StoreError>> {
        Box::pin(self.earlier(call, key, request))
    }

    fn prepare<'a>(
        &'a mut self,
        change: &'a RowsChange,
        entry: &'a Entry<'a>,
    ) -> BoxFuture<'a, Result<Prepared, StoreError>> {
        Box::pin(self.make(change, entry))
    }

    fn keep<'a>(&'a mut self, response: &'a Value) -> BoxFuture<'a, Result<(), StoreError>> {
        self.making.keep(response);
        Box::pin(async { Ok(()) })
    }

    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), StoreError>>
    where
        Self: 'a,
    {
        Box::pin(self.commit())
    }
}

impl RowView for Turn<'_> {
    fn get<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, Option<Row>> {
        Box::pin(async move {
            // Read once: rules that ask for the same row again must not see another state of it.
            let place = place(entity, key);
            let read = self.read.lock().get(&place).cloned();
            if let Some(row) = read {
                return Ok(row);
            }
            let select = of_identity(entity, key);
            let row = self.rows(Part::of_row(entity, key), &select).await?.pop();
            // Another read of it may have been answered first.
            Ok(self.read.lock().entry(place).or_insert(row).clone())
        })
    }

    fn was_removed<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, bool> {
        Box::pin(async move {
            let found = self.link()?.query(&Postgres.was_removed(entity, key)).await;
            let found = found.map_err(|fault| self.noted(fault))?;
            Ok(found.first().is_some_and(|columns| columns.get(0)))
        })
    }

    fn select<'a>(&'a self, select: &'a Select) -> Answer<'a, Vec<Row>> {
        Box::pin(async move {
            if !is_by_unique(select) {
                self.searched.lock().insert(select.entity.name);
            }
            self.rows(Part::of_selection(select), select).await
        })
    }

    fn count<'a>(&'a self, select: &'a Select) -> Answer<'a, u64> {
        Box::pin(async move {
            self.lock(Part::of_selection(select)).await?;
            self.searched.lock().insert(select.entity.name);
            self.link()?.count(select).await.map_err(|fault| self.noted(fault))
        })
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
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        if next % BLOCK == BLOCK - 1 {
            let message = format!("one change can't add more than {} rows that are in order", BLOCK - 1);
            return Err(Failure::new(FailureKind::TooLarge, message));
        }
        self.last.store(next, Ordering::Relaxed);
        Ok(next)
    }
}
