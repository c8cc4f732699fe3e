//! The rows of a contract in a database: opened, seeded, its turns and its snapshots.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Map;
use tabellion_runtime::{
    CallContext, Claim, Failure, Row, Rows, RowsChange, Session, StoreError,
    ground::State,
    rows::Select,
    spec::{EntitySpec, RowsSpec},
};

use super::{
    address::Address,
    follow,
    reading::{All, Reader},
    shared::Shared,
    shares, tables,
    turn::Turn,
};
use crate::{
    Pieces,
    engine::{Answer, Engine, Start, seeded, seeds},
    failures::{io_failure, refused},
    follow::Followed,
    sqlite,
    whole::{Checked, Whole},
};

/// The rows of a contract in a database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(super) shared: Arc<Shared>,
    beside: PathBuf,
}

impl Database {
    /// Opens the rows of a contract. See [`Start`] for the permitted effects on the database; derived files get a folder below `derived`.
    pub(crate) fn open(
        address: &Address,
        derived: &Path,
        spec: &'static RowsSpec,
        start: Start,
    ) -> Result<Self, Failure> {
        let (shared, identity) = tables::open(address, spec, start)?;
        let beside = derived.join("postgres").join(identity);
        if start != Start::Existing {
            sqlite::create_folder(&beside).map_err(io_failure("create", &beside))?;
        }
        let database = Self { shared, beside };
        if start != Start::Existing {
            database.seed()?;
        }
        Ok(database)
    }

    /// Adds the seed rows to a new store, if its log is empty.
    fn seed(&self) -> Result<(), Failure> {
        if self.shared.spec.seeds.is_empty() || self.end()? > 0 {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        self.shared.pool.wait(async move {
            for attempt in 1..10 {
                match seed(&shared, attempt).await {
                    Err(StoreError::Conflict | StoreError::Behind) => {}
                    Err(StoreError::Failure(failure)) => return Err(failure),
                    Ok(()) => return Ok(()),
                }
            }
            Err(refused("others change the database while it is opened"))
        })
    }

    fn all(&self) -> Result<All, Failure> {
        All::begin(&self.shared)
    }
}

async fn seed(shared: &Arc<Shared>, attempt: u32) -> Result<(), StoreError> {
    let claim = Claim { attempt, operation: None, ..Claim::default() };
    let mut turn = Turn::begin(shared, claim).await?;
    if turn.is_begun().await? {
        // Another server was first.
        return Ok(());
    }
    let change: RowsChange = seeds(shared.spec, &turn).await?;
    let (call, details) = (CallContext::default(), Map::new());
    turn.make(&change, &seeded(&call, &details)).await?;
    turn.commit().await
}

impl Engine for Database {
    fn beside(&self) -> &Path {
        &self.beside
    }

    fn is_reachable(&self) -> bool {
        let pool = Arc::clone(&self.shared.pool);
        self.shared.pool.wait(async move { Ok(pool.answers().await) }).unwrap_or(false)
    }

    fn end(&self) -> Result<i64, Failure> {
        let shared = Arc::clone(&self.shared);
        self.shared.pool.wait(async move { follow::end(&shared).await })
    }

    fn entry_id(&self, at: i64) -> Result<Option<String>, Failure> {
        let shared = Arc::clone(&self.shared);
        self.shared.pool.wait(async move { Ok(follow::id_at(&shared, at).await?) })
    }

    fn rows(&self, select: &Select) -> Result<Vec<Row>, Failure> {
        let (shared, select) = (Arc::clone(&self.shared), select.clone());
        self.shared.pool.wait(async move { Reader::begin(&shared).await?.rows(&select).await })
    }

    fn counts(&self, entities: &[&'static EntitySpec]) -> Result<(Vec<u64>, i64), Failure> {
        let (shared, entities) = (Arc::clone(&self.shared), entities.to_vec());
        self.shared.pool.wait(async move {
            let end = follow::end(&shared).await?;
            let reader = Reader::begin(&shared).await?;
            let mut counts = vec![];
            for entity in entities {
                counts.push(reader.counted(&Select::new(entity, vec![])).await?);
            }
            Ok((counts, end))
        })
    }

    fn follow(&self, after: i64, max: u32, entities: &[&str]) -> Result<Followed, Failure> {
        let shared = Arc::clone(&self.shared);
        let entities: Vec<_> = entities.iter().map(|name| (*name).to_owned()).collect();
        let work = async move { follow::after(&shared, after, max, &entities).await };
        self.shared.pool.wait(work)
    }

    fn check(&self) -> Result<Checked, Failure> {
        sqlite::check(&self.all()?, self.shared.spec)
    }

    fn export(&self, to: &mut dyn Write) -> Result<(), Failure> {
        (&self.all()? as &dyn Whole).export(self.shared.spec, to)
    }

    fn shared_copy(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let (shared, name) = (Arc::clone(&self.shared), name.to_owned());
        self.shared.pool.wait(async move { shares::copy(&shared, &name).await })
    }

    fn since_shared(&self, name: &str) -> Result<Option<i64>, Failure> {
        let (shared, name) = (Arc::clone(&self.shared), name.to_owned());
        let since = self.shared.pool.wait(async move { shares::since(&shared, &name).await });
        since.map(Some)
    }

    fn share(&self, name: &str, at: i64, bytes: Vec<u8>) -> Result<(), Failure> {
        let (shared, name) = (Arc::clone(&self.shared), name.to_owned());
        self.shared.pool.wait(async move { shares::put(&shared, &name, at, bytes).await })
    }

    fn pieces(&self) -> Option<&dyn Pieces> {
        Some(self)
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn begin<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Box<dyn Session<Rows> + 'a>> {
        Box::pin(async move {
            let turn = Turn::begin(&self.shared, claim).await?;
            Ok(Box::new(turn) as Box<dyn Session<Rows>>)
        })
    }

    fn snapshot(&self) -> Answer<'_, State<'_, Rows>> {
        Box::pin(async move { Ok(Box::new(Reader::begin(&self.shared).await?) as State<'_, Rows>) })
    }
}
