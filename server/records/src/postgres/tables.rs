//! The schema of a contract: made, compared with the contract, migrated, filled from an export.

use std::{collections::BTreeMap, io::BufRead, pin::Pin, sync::Arc};

use bytes::Bytes;
use futures_util::SinkExt as _;
use rusqlite::{Connection, types::Value as Sql};
use tabellion_runtime::{Failure, FailureKind, spec::RowsSpec};
use tokio_postgres::CopyInSink;

use super::{
    address::Address,
    connection::{Lease, Link, Mode, Pool},
    failures::Fault,
    indexes, log,
    reading::All,
    roles::PROTECT_LOG,
    shared::{Shared, number, schema},
    shares,
    turn::BLOCK,
};
use crate::{
    Inspection, SchemaDifference, Start,
    entry::COLUMNS,
    failures::{damaged, refused},
    fresh,
    inspection::{self, Described},
    layout::{self, Layout},
    sql::{Dialect::Postgres, quoted, values},
    sqlite::{self, Replica},
    whole::{Checked, Whole, lines},
};

/// The format of the store's own tables.
const FORMAT: u32 = 1;
/// Number of bytes that are sent at a time.
const CHUNK: usize = 1 << 20;

/// Content of the table `meta`.
type Meta = BTreeMap<String, String>;

/// Opens the schema of a contract. Also returns its id. Indexes that are not built yet are built meanwhile.
pub(crate) fn open(
    address: &Address,
    spec: &'static RowsSpec,
    start: Start,
) -> Result<(Arc<Shared>, String), Failure> {
    layout::check_names(spec).map_err(refused)?;
    let schema = schema(spec);
    let pool = Pool::new(address, &schema)?;
    let of_pool = Arc::clone(&pool);
    pool.wait(async move {
        of_pool.check_pooler().await?;
        let meta = match meta(&of_pool, &schema).await? {
            None if start == Start::Existing => return Err(missing(&of_pool, spec)),
            None => create(&of_pool, &schema, spec).await?,
            Some(meta) => meta,
        };
        let found = standing(&meta, spec)?;
        // Lossy changes are not made in place: see `remake`.
        let permitted = if start == Start::Migrate { Start::Serve } else { start };
        found.check(spec, permitted)?;
        let meta = match found.standing {
            SchemaDifference::Current => meta,
            _ => migrate(&of_pool, &schema, spec, &meta).await?,
        };
        let fact = |name: &str| meta.get(name).cloned().unwrap_or_default();
        let shared = Arc::new(Shared::new(spec, &of_pool, fact("generation")));
        indexes::complete(&shared, start).await?;
        Ok((shared, fact("identity")))
    })
}

/// Inspects the schema of a contract, without changes.
pub(crate) fn inspect(address: &Address, spec: &'static RowsSpec) -> Result<Inspection, Failure> {
    let schema = schema(spec);
    let pool = Pool::new(address, &schema)?;
    let of_pool = Arc::clone(&pool);
    pool.wait(async move {
        let meta = meta(&of_pool, &schema).await?;
        standing(&meta.ok_or_else(|| missing(&of_pool, spec))?, spec)
    })
}

fn missing(pool: &Pool, spec: &RowsSpec) -> Failure {
    let message = format!("{} has no rows of the contract `{}`", pool.address(), spec.contract);
    Failure::new(FailureKind::NotFound, message)
}

/// Reads the facts about a schema; `None` if there is none.
async fn meta(pool: &Arc<Pool>, schema: &str) -> Result<Option<Meta>, Failure> {
    let exists = format!(
        "SELECT to_regnamespace('\"{schema}\"') IS NOT NULL AND to_regclass('\"{schema}\".meta') IS NOT NULL"
    );
    let (lease, found) = pool.begin(Mode::Follows, &exists).await?;
    let meta = match found.last().map(String::as_str) {
        Some("t") => Some(facts(lease.link()?).await?),
        _ => None,
    };
    lease.end("ROLLBACK").await;
    Ok(meta)
}

async fn facts(link: &Link) -> Result<Meta, Fault> {
    let lines = link.select("SELECT name || ' ' || value FROM meta").await?;
    let facts = lines.iter().filter_map(|line| line.split_once(' '));
    Ok(facts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn standing(meta: &Meta, spec: &RowsSpec) -> Result<Inspection, Failure> {
    let fact = |name: &str| meta.get(name).cloned();
    let format = fact("format").and_then(|format| format.parse::<u32>().ok());
    let described = Described {
        contract: fact("contract"),
        version: fact("version").unwrap_or_default(),
        layout: fact("layout").unwrap_or_default(),
        is_newer: format.is_none_or(|format| format > FORMAT),
    };
    inspection::standing(described, spec, Postgres)
}

/// Begins a transaction that excludes all other changes, without time limits.
async fn alone(pool: &Arc<Pool>, schema: &str) -> Result<Lease, Failure> {
    let lock = number(schema);
    let first = format!(
        "SELECT set_config('idle_in_transaction_session_timeout', '0', true), set_config('statement_timeout', '0', true); \
         SELECT pg_advisory_xact_lock({lock})"
    );
    let (lease, _) = pool.begin(Mode::Changes, &first).await?;
    lease.link()?.be_patient();
    Ok(lease)
}

async fn create(pool: &Arc<Pool>, schema: &str, spec: &'static RowsSpec) -> Result<Meta, Failure> {
    let lease = alone(pool, schema).await?;
    // Another server may have been first.
    if let Some(meta) = meta(pool, schema).await? {
        return Ok(meta);
    }
    create_in(lease.link()?, schema, spec).await?;
    lease.link()?.select("COMMIT").await?;
    lease.ended();
    meta(pool, schema).await?.ok_or_else(|| missing(pool, spec))
}

/// Creates the schema and its tables in a transaction.
async fn create_in(link: &Link, schema: &str, spec: &'static RowsSpec) -> Result<(), Failure> {
    let own = [
        &*format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(schema)),
        "CREATE TABLE meta (name text COLLATE \"C\" PRIMARY KEY, value text NOT NULL)",
        "CREATE TABLE removed (entity text COLLATE \"C\", key text COLLATE \"C\", PRIMARY KEY (entity, key))",
        shares::CREATE,
        "CREATE SEQUENCE change_seq",
        &*format!("CREATE SEQUENCE row_seq INCREMENT BY {BLOCK} MINVALUE {BLOCK}"),
    ]
    .map(String::from);
    let entities = Layout::default().to(spec, Postgres).sql;
    let log = log::CREATE.map(String::from);
    for sql in own.iter().chain(&log).chain(&entities) {
        link.select(sql).await?;
    }
    link.select(PROTECT_LOG).await?;
    for (name, value) in [
        ("contract", spec.contract),
        ("format", &*FORMAT.to_string()),
        ("generation", "1"),
        ("identity", &*fresh::id()),
    ] {
        set(link, name, value).await?;
    }
    set_version(link, spec).await
}

async fn set(link: &Link, name: &str, value: &str) -> Result<(), Failure> {
    let statement = crate::sql::Statement {
        sql: "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            .into(),
        values: vec![Sql::Text(name.into()), Sql::Text(value.into())],
    };
    link.execute(&statement).await?;
    Ok(())
}

async fn set_version(link: &Link, spec: &RowsSpec) -> Result<(), Failure> {
    let layout = serde_json::to_string(&Layout::from_spec(spec, Postgres)).map_err(damaged)?;
    set(link, "version", spec.version).await?;
    set(link, "layout", &layout).await
}

/// Returns the layout that a schema describes itself to have.
fn described(meta: &Meta) -> Result<Layout, Failure> {
    let layout = meta.get("layout").map(String::as_str).unwrap_or_default();
    serde_json::from_str(layout).map_err(damaged)
}

/// Applies changes that only add to the tables, except for indexes of tables that exist: see [`indexes`]. Older programs can continue
/// alongside.
async fn migrate(
    pool: &Arc<Pool>,
    schema: &str,
    spec: &'static RowsSpec,
    meta: &Meta,
) -> Result<Meta, Failure> {
    // Reads all rows of some tables, while others write.
    let steps = described(meta)?.to(spec, Postgres);
    indexes::check_rows(pool, schema, spec.version, &steps.indexes).await?;
    let lease = alone(pool, schema).await?;
    let link = lease.link()?;
    // Another server may have migrated meanwhile.
    let steps = described(&facts(link).await?)?.to(spec, Postgres);
    for sql in &steps.sql {
        link.select(sql).await?;
    }
    indexes::check_new_fields(link, schema, spec.version, &steps.indexes).await?;
    set_version(link, spec).await?;
    link.select("COMMIT").await?;
    lease.ended();
    self::meta(pool, schema).await?.ok_or_else(|| missing(pool, spec))
}

/// Fills a new schema from the lines of an export: from its log, compared with its rows.
pub(crate) fn import(
    address: &Address,
    spec: &'static RowsSpec,
    from: &mut dyn BufRead,
) -> Result<Checked, Failure> {
    let schema = schema(spec);
    let pool = Pool::new(address, &schema)?;
    let (of_pool, of_schema) = (Arc::clone(&pool), schema.clone());
    let is_there = pool.wait(async move { Ok(meta(&of_pool, &of_schema).await?.is_some()) })?;
    if is_there {
        let message = format!("{address} has rows of `{}` already; name an empty database", spec.contract);
        return Err(refused(message));
    }
    let replica = Replica::new(spec)?;
    replica.read_export(lines(from, spec)?)?;
    let (of_pool, of_schema) = (Arc::clone(&pool), schema.clone());
    let lease = pool.wait(async move { alone(&of_pool, &of_schema).await })?;
    fill(&pool, lease, schema, 1, &replica)
}

/// Result of remaking the tables from the log.
#[derive(Debug)]
pub struct Remade {
    /// Name of the schema with the old data.
    pub kept: String,
    /// Content of the new schema.
    pub checked: Checked,
    /// Error that cut the log off: later entries are lost.
    pub cut_off: Option<Failure>,
}

/// Makes a contract's tables anew from its log, in this version of the contract, and renames the old schema. Servers that use it
/// refuse all calls from then on, until they are restarted.
///
/// # Errors
/// If there is no schema, or its log can't be read from its beginning. Then nothing has changed.
pub fn remake(address: &Address, spec: &'static RowsSpec) -> Result<Remade, Failure> {
    let schema = schema(spec);
    let pool = Pool::new(address, &schema)?;
    let (of_pool, of_schema) = (Arc::clone(&pool), schema.clone());
    let (lease, generation) = pool.wait(async move {
        let is_there = meta(&of_pool, &of_schema).await?.is_some();
        if !is_there {
            return Err(missing(&of_pool, spec));
        }
        let lease = alone(&of_pool, &of_schema).await?;
        let facts = facts(lease.link()?).await?;
        let generation = facts.get("generation").and_then(|it| it.parse::<u64>().ok());
        Ok((lease, generation.unwrap_or(0) + 1))
    })?;
    let (replica, mut read) = (Replica::new(spec)?, 0);
    let all = All::new(&pool, lease);
    let taken = (&all as &dyn Whole).for_each_entry(&mut |entry| {
        replica.keep(&entry)?;
        read += 1;
        Ok(())
    });
    let cut_off = match taken {
        Err(failure) if read == 0 => return Err(failure),
        taken => taken.err(),
    };
    let kept = format!("{schema}_{generation}");
    let rename = format!("ALTER SCHEMA {} RENAME TO {}", quoted(&schema), quoted(&kept));
    let lease = all.into_lease()?;
    let lease = pool.wait(async move {
        lease.link()?.select(&rename).await?;
        Ok(lease)
    })?;
    let checked = fill(&pool, lease, schema, generation, &replica)?;
    Ok(Remade { kept, checked, cut_off })
}

/// Makes a schema, copies a replica's content into it, and commits.
fn fill(
    pool: &Arc<Pool>,
    lease: Lease,
    schema: String,
    generation: u64,
    replica: &Replica,
) -> Result<Checked, Failure> {
    let spec = replica.spec;
    let lease = pool.wait(async move {
        create_in(lease.link()?, &schema, spec).await?;
        set(lease.link()?, "generation", &generation.to_string()).await?;
        Ok(lease)
    })?;
    let mut copies = Copies { pool, lease };
    let (mut seq, mut last) = (0, 0);
    let whole = &replica.connection as &dyn Whole;
    let mut log = copies.begin("change", COLUMNS)?;
    whole.for_each_entry(&mut |entry| {
        (seq, last) = (entry.seq, entry.last);
        log.add(&entry.values()?)
    })?;
    log.end()?;
    for entity in spec.entities {
        let names = entity.fields.iter().map(|field| quoted(field.name));
        let names = names.collect::<Vec<_>>().join(", ");
        let mut rows = copies.begin(&quoted(entity.table), &names)?;
        whole.for_each_row(entity, |row| rows.add(&values(entity, &row)))?;
        rows.end()?;
    }
    let mut removed = copies.begin("removed", "entity, key")?;
    for (entity, key) in removed_ids(&replica.connection)? {
        removed.add(&[Sql::Text(entity), Sql::Text(key)])?;
    }
    removed.end()?;
    let lease = copies.lease;
    let lease = pool.wait(async move {
        let next = (last / BLOCK + 1) * BLOCK;
        let link = lease.link()?;
        link.select(&format!("SELECT setval('row_seq', {next})")).await?;
        if seq > 0 {
            link.select(&format!("SELECT setval('change_seq', {seq})")).await?;
        }
        Ok(lease)
    })?;
    let all = All::new(pool, lease);
    let checked = sqlite::check(&all, spec)?;
    if checked.digest != sqlite::check(whole, spec)?.digest {
        return Err(damaged("the database gives back something else than was put in"));
    }
    let lease = all.into_lease()?;
    pool.wait(async move {
        lease.link()?.select("COMMIT").await?;
        lease.ended();
        Ok(())
    })?;
    Ok(checked)
}

fn removed_ids(connection: &Connection) -> Result<Vec<(String, String)>, Failure> {
    let read = || -> rusqlite::Result<_> {
        let mut statement = connection.prepare("SELECT entity, key FROM removed")?;
        let ids = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        ids.collect()
    };
    read().map_err(damaged)
}

/// The transaction in which tables are filled.
struct Copies<'p> {
    pool: &'p Arc<Pool>,
    lease: Lease,
}

/// A table that is being filled.
struct Copying<'p> {
    pool: &'p Arc<Pool>,
    /// `None` after an error.
    sink: Option<Pin<Box<CopyInSink<Bytes>>>>,
    text: String,
}

impl<'p> Copies<'p> {
    fn begin(&mut self, table: &str, columns: &str) -> Result<Copying<'p>, Failure> {
        let sql = format!("COPY {table} ({columns}) FROM STDIN");
        let client = self.lease.link()?.client();
        let sink = self.pool.wait(async move {
            let sink = client.copy_in(&sql).await.map_err(Fault::from)?;
            Ok(Box::pin(sink))
        })?;
        Ok(Copying { pool: self.pool, sink: Some(sink), text: String::new() })
    }
}

impl Copying<'_> {
    /// Adds a row, in PostgreSQL's text format.
    fn add(&mut self, values: &[Sql]) -> Result<(), Failure> {
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.text.push('\t');
            }
            match value {
                Sql::Null | Sql::Blob(_) => self.text.push_str("\\N"),
                Sql::Integer(value) => self.text.push_str(&value.to_string()),
                Sql::Real(value) => self.text.push_str(&value.to_string()),
                Sql::Text(text) => self.text.extend(text.chars().flat_map(escaped)),
            }
        }
        self.text.push('\n');
        if self.text.len() < CHUNK {
            return Ok(());
        }
        self.send()
    }

    fn send(&mut self) -> Result<(), Failure> {
        let chunk = Bytes::from(std::mem::take(&mut self.text));
        let sink = self.sink.take();
        let mut sink = sink.ok_or_else(|| refused("the table can't be filled"))?;
        let sink = self.pool.wait(async move {
            sink.send(chunk).await.map_err(Fault::from)?;
            Ok(sink)
        })?;
        self.sink = Some(sink);
        Ok(())
    }

    fn end(mut self) -> Result<(), Failure> {
        self.send()?;
        let sink = self.sink.take();
        let mut sink = sink.ok_or_else(|| refused("the table can't be filled"))?;
        self.pool.wait(async move {
            sink.as_mut().finish().await.map_err(Fault::from)?;
            Ok(())
        })
    }
}

fn escaped(char: char) -> impl Iterator<Item = char> {
    let (first, second) = match char {
        '\\' => ('\\', Some('\\')),
        '\n' => ('\\', Some('n')),
        '\r' => ('\\', Some('r')),
        '\t' => ('\\', Some('t')),
        char => (char, None),
    };
    [first].into_iter().chain(second)
}
