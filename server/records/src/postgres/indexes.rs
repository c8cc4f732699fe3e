//! Indexes that a newer program adds to tables that have rows: built while all servers write.
//!
//! A migration adds columns and tables in one transaction, which excludes all changes for a moment. Its indexes are built afterwards
//! with `CREATE INDEX CONCURRENTLY`, by one server at a time. Each start compares the schema's indexes with the contract's, so a build
//! that was interrupted is done again.
//!
//! Until an entity's unique indexes are built, its changes have the lock of their org alone: then the search of the table engine for a
//! taken value is enough.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
    time::Duration,
};

use tabellion_runtime::{Failure, FailureKind};
use tokio::time::sleep;

use super::{
    connection::{Link, Mode, Pool},
    failures::Fault,
    shared::Shared,
};
use crate::{
    engine::Start,
    layout::{AddedIndex, Index, indexes},
    sql::{Dialect::Postgres, quoted},
};

/// Time between two looks at the indexes, while another server builds one.
const PAUSE: Duration = Duration::from_secs(1);
/// Time between a failure and the next attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Time between two looks at the indexes that this server has given up.
const WATCH_PAUSE: Duration = Duration::from_secs(60);
/// Number of failed builds of an index after which it is left to others and to the next start.
const MAX_FAILURES: u32 = 3;

/// An index of the contract that can't be used yet.
struct Unbuilt {
    entity: &'static str,
    index: Index,
    /// True if there is an invalid index of this name, of a build that was interrupted or goes on.
    is_begun: bool,
    /// True if a connection builds an index of this table.
    is_being_built: bool,
}

/// Result of a step of the builder.
enum Step {
    /// All indexes are built.
    Done,
    /// All others failed too often.
    GaveUp,
    /// An index was built.
    Built,
    /// Another server is building.
    Waits,
    /// An index could not be built.
    Failed { name: String, failure: Failure },
}

/// Notes which entities lack a unique index. Unless the data must not be changed, builds their indexes: a migration waits for them, a
/// server does not.
pub(crate) async fn complete(shared: &Arc<Shared>, start: Start) -> Result<(), Failure> {
    if unbuilt(shared).await?.is_empty() {
        return Ok(());
    }
    match start {
        Start::Existing => Ok(()),
        Start::Serve => shared.pool.spawn(build(Arc::downgrade(shared))),
        Start::Migrate => build_all(shared).await,
    }
}

/// Builds the contract's indexes, or waits until other servers have.
///
/// # Errors
/// If one of them can't be built.
async fn build_all(shared: &Shared) -> Result<(), Failure> {
    loop {
        match step(shared, &BTreeSet::new()).await? {
            Step::Done => return Ok(()),
            Step::Built => {}
            Step::Waits | Step::GaveUp => sleep(PAUSE).await,
            Step::Failed { failure, .. } => return Err(failure),
        }
    }
}

/// Checks that the rows permit the unique indexes that a migration adds, before anything is changed.
///
/// # Errors
/// If rows have the same values.
pub(crate) async fn check_rows(
    pool: &Arc<Pool>,
    schema: &str,
    version: &str,
    added: &[AddedIndex],
) -> Result<(), Failure> {
    if !added.iter().any(|added| added.index.unique.is_some()) {
        return Ok(());
    }
    let (lease, _) = pool.begin(Mode::Follows, "SELECT set_config('statement_timeout', '0', true)").await?;
    lease.link()?.be_patient();
    let old = added.iter().filter(|added| !added.reads_new_fields);
    let checked = check_each(lease.link()?, schema, version, old).await;
    lease.end("ROLLBACK").await;
    checked
}

/// As [`check_rows`], in the transaction of the migration: for indexes that read the fields that it adds.
pub(crate) async fn check_new_fields(
    link: &Link,
    schema: &str,
    version: &str,
    added: &[AddedIndex],
) -> Result<(), Failure> {
    let new = added.iter().filter(|added| added.reads_new_fields);
    check_each(link, schema, version, new).await
}

async fn check_each(
    link: &Link,
    schema: &str,
    version: &str,
    added: impl Iterator<Item = &AddedIndex>,
) -> Result<(), Failure> {
    for AddedIndex { index, .. } in added {
        if let Some(repeated) = repeated(link, schema, index).await? {
            let message = format!(
                "{repeated}, which must be unique in version {version}; nothing has changed. Change these rows with the program that \
                 made them, then start this one"
            );
            return Err(Failure::new(FailureKind::Conflict, message));
        }
    }
    Ok(())
}

/// Returns the beginning of a message if the table has rows that a unique index can't hold together.
async fn repeated(link: &Link, schema: &str, index: &Index) -> Result<Option<String>, Fault> {
    let Some(fields) = index.unique else {
        return Ok(None);
    };
    let found = link.select(&index.select_repeated(schema)).await?;
    let (table, fields) = (index.table, fields.join("`, `"));
    let message = || format!("rows of the table `{table}` have the same `{fields}`");
    Ok((!found.is_empty()).then(message))
}

/// Returns the indexes that can't be used yet, and notes the entities whose unique values they leave unprotected.
async fn unbuilt(shared: &Shared) -> Result<Vec<Unbuilt>, Failure> {
    // A role sees the progress of its own builds, whichever server began them.
    let sql = format!(
        "SELECT relname || ' ' || indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = {schema} \
         UNION ALL SELECT relname || ' busy' FROM pg_class \
         WHERE relnamespace = {schema} AND pg_class.oid IN (SELECT relid FROM pg_stat_progress_create_index)",
        schema = format_args!("to_regnamespace('{}')", quoted(&shared.schema()))
    );
    let (lease, lines) = shared.pool.begin(Mode::Follows, &sql).await?;
    lease.end("ROLLBACK").await;
    let states: BTreeMap<_, _> = lines.iter().filter_map(|line| line.split_once(' ')).collect();
    let mut unbuilt = vec![];
    for entity in shared.spec.entities {
        for index in indexes(entity, Postgres) {
            let found = states.get(&*index.name);
            if found != Some(&"true") {
                unbuilt.push(Unbuilt {
                    entity: entity.name,
                    is_begun: found.is_some(),
                    is_being_built: states.contains_key(index.table),
                    index,
                });
            }
        }
    }
    let unique = unbuilt.iter().filter(|unbuilt| unbuilt.index.unique.is_some());
    shared.set_unprotected(unique.map(|unbuilt| unbuilt.entity).collect());
    Ok(unbuilt)
}

/// As [`build_all`], with several attempts. Ends early once the schema is closed in this process.
async fn build(shared: Weak<Shared>) {
    let mut failures: BTreeMap<String, u32> = BTreeMap::new();
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let given_up = failures.iter().filter(|(_, count)| **count >= MAX_FAILURES);
        let given_up = given_up.map(|(name, _)| name.clone()).collect();
        let pause = match step(&shared, &given_up).await {
            Ok(Step::Done) => return,
            Ok(Step::Built) => Duration::ZERO,
            Ok(Step::Waits) => PAUSE,
            // Another server or the tables' owner may build them.
            Ok(Step::GaveUp) => WATCH_PAUSE,
            Ok(Step::Failed { name, failure }) => {
                tracing::error!("{}: can't build the index `{name}`: {failure}", shared.pool.address());
                *failures.entry(name).or_default() += 1;
                RETRY_PAUSE
            }
            // Calls are refused with the same message.
            Err(failure) => {
                tracing::warn!("{}: can't build indexes: {failure}", shared.pool.address());
                RETRY_PAUSE
            }
        };
        drop(shared);
        sleep(pause).await;
    }
}

/// Builds an index, unless another server is building.
async fn step(shared: &Shared, given_up: &BTreeSet<String>) -> Result<Step, Failure> {
    let is_open = |unbuilt: &Unbuilt| !given_up.contains(&unbuilt.index.name);
    let unbuilt = unbuilt(shared).await?;
    if !unbuilt.iter().any(is_open) {
        return Ok(if unbuilt.is_empty() { Step::Done } else { Step::GaveUp });
    }
    // Held by a transaction of its own, which has no snapshot meanwhile. A server that waited for the lock in a statement would have
    // one, and the build waits for old snapshots.
    let lock = shared.lock_of("indexes");
    let first = format!(
        "SELECT set_config('idle_in_transaction_session_timeout', '0', true); SELECT pg_try_advisory_xact_lock({lock})::text"
    );
    let (lease, found) = shared.pool.begin(Mode::Follows, &first).await?;
    let is_locked = found.last().is_some_and(|found| found == "true");
    let step = if is_locked { step_alone(shared, is_open).await } else { Ok(Step::Waits) };
    lease.end("ROLLBACK").await;
    step
}

async fn step_alone(shared: &Shared, is_open: impl Fn(&Unbuilt) -> bool) -> Result<Step, Failure> {
    // Another server may have built some meanwhile.
    let unbuilt = unbuilt(shared).await?;
    let Some(unbuilt) = unbuilt.into_iter().find(is_open) else {
        return Ok(Step::Built);
    };
    if unbuilt.is_being_built {
        // The database finishes the build of a server that has died.
        return Ok(Step::Waits);
    }
    let (schema, index) = (shared.schema(), unbuilt.index);
    let (link, _permits) = shared.pool.patient(&schema).await?;
    let built = async {
        if unbuilt.is_begun {
            let name = format!("{}.{}", quoted(&schema), quoted(&index.name));
            link.select(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}")).await?;
        }
        link.select(&index.build(&schema)).await
    };
    let failure = match built.await {
        Ok(_) => {
            tracing::info!("built the index `{}` of the table `{}`", index.name, index.table);
            return Ok(Step::Built);
        }
        Err(Fault::Lost(_)) => return Ok(Step::Waits),
        Err(fault) => match repeated(&link, &schema, &index).await? {
            Some(repeated) => {
                let entity = unbuilt.entity;
                let message = format!(
                    "{repeated}; change these rows and restart the server. Until then, changes of `{entity}` wait for each other"
                );
                Failure::new(FailureKind::Conflict, message)
            }
            None => fault.failure(),
        },
    };
    Ok(Step::Failed { name: index.name, failure })
}
