//! The interface of the rows in a file to the crate's other modules: opening, seeding, turns and snapshots.

use std::{future::Future, io::Write, path::Path, sync::atomic::AtomicUsize, time::Duration};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tabellion_platform::file_id_at;
use tabellion_runtime::{
    CallContext, Claim, Failure, Row, Rows, Session,
    ground::State,
    rows::Select,
    spec::{EntitySpec, RowsSpec},
};
use tabellion_sqlite::Pool;

use super::{
    batch::Writing,
    data_file::DataFile,
    file, log, query,
    reading::{MAX_IDLE, Reader},
    replica,
    session::Turn,
};
use crate::{
    engine::{Answer, Engine, Start, seeded, seeds},
    failures::{Doing, damaged, refused},
    follow::{Changed, Followed, FollowedRow},
    whole::{Checked, Whole},
};

/// Time limit, at the end of a process, for other users of the file.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

impl DataFile {
    /// Opens the rows of a contract in `folder`. See [`Start`] for the permitted effects on the folder.
    ///
    /// # Errors
    /// If the folder can't be used, the file is damaged, newer than the program, or needs a migration that loses data.
    pub(crate) fn open(folder: &Path, spec: &'static RowsSpec, start: Start) -> Result<Self, Failure> {
        let opened = file::open(folder, spec, start)?;
        let file = Self {
            spec,
            id: file_id_at(&opened.path),
            path: opened.path,
            pool: Pool::new(MAX_IDLE),
            writer: tokio::sync::Mutex::new(Mutex::new(Writing::new(opened.connection, opened.mark))),
            queued: AtomicUsize::new(0),
            _usage: opened.usage,
        };
        if start != Start::Existing {
            file.seed()?;
        }
        Ok(file)
    }

    /// Adds the seed rows to a new store, if its log is empty.
    fn seed(&self) -> Result<(), Failure> {
        if self.spec.seeds.is_empty() || Reader::begin(self)?.with(log::end)?.seq > 0 {
            return Ok(());
        }
        let mut turn = finished(Turn::begin(self))??;
        if turn.with(log::end)?.seq > 0 {
            // Another process was first.
            return Ok(());
        }
        let change = finished(seeds(self.spec, &turn))??;
        let (call, details) = (CallContext::default(), Map::new());
        turn.make(&change, &seeded(&call, &details))?;
        finished(turn.commit())?
    }
}

impl Engine for DataFile {
    fn beside(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    fn is_reachable(&self) -> bool {
        self.is_there()
    }

    fn end(&self) -> Result<i64, Failure> {
        Ok(Reader::begin(self)?.with(log::end)?.seq)
    }

    fn entry_id(&self, at: i64) -> Result<Option<String>, Failure> {
        Reader::begin(self)?.with(|connection| log::id_at(connection, at))
    }

    fn rows(&self, select: &Select) -> Result<Vec<Row>, Failure> {
        Reader::begin(self)?.with(|connection| query::select_rows(connection, select))
    }

    fn counts(&self, entities: &[&'static EntitySpec]) -> Result<(Vec<u64>, i64), Failure> {
        Reader::begin(self)?.with(|connection| {
            let count = |entity: &&'static EntitySpec| query::count(connection, &Select::new(entity, vec![]));
            let counts = entities.iter().map(count).collect::<Result<_, _>>()?;
            Ok((counts, log::end(connection)?.seq))
        })
    }

    fn follow(&self, after: i64, max: u32, entities: &[&str]) -> Result<Followed, Failure> {
        Reader::begin(self)?.with(|connection| {
            let mut changed = Changed::after(self.spec, after, entities);
            log::for_each_after(connection, after, max, |entry| {
                changed.add(&entry);
                Ok(())
            })?;
            let now = |(entity, key): (&'static EntitySpec, Vec<Value>)| {
                let row = query::get(connection, entity, &key)?;
                Ok(FollowedRow { entity, key, row })
            };
            Ok(Followed {
                rows: changed.rows.into_iter().map(now).collect::<Result<_, Failure>>()?,
                to: changed.to,
            })
        })
    }

    fn check(&self) -> Result<Checked, Failure> {
        Reader::begin(self)?.with(|connection| {
            if let Some(problem) = tabellion_sqlite::check(connection).doing("check the data file")? {
                return Err(damaged(problem));
            }
            replica::check(connection, self.spec)
        })
    }

    fn export(&self, to: &mut dyn Write) -> Result<(), Failure> {
        Reader::begin(self)?.with(|connection| (connection as &dyn Whole).export(self.spec, to))
    }

    fn settle(&self) -> Result<(), Failure> {
        let connection = self.connect()?;
        connection.busy_timeout(SETTLE_TIMEOUT).doing("write the data file")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).doing("write the data file")
    }

    fn begin<'a>(&'a self, _: Claim<'a>) -> Answer<'a, Box<dyn Session<Rows> + 'a>> {
        Box::pin(async move { Ok(Box::new(Turn::begin(self).await?) as Box<dyn Session<Rows>>) })
    }

    fn snapshot(&self) -> Answer<'_, State<'_, Rows>> {
        Box::pin(async move { Ok(Box::new(Reader::begin(self)?) as State<'_, Rows>) })
    }
}

/// Returns the output of a future that never waits, as those of this store while it is opened.
fn finished<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    future.now_or_never().ok_or_else(|| refused("the data is in use while it is opened"))
}
