//! Following the log: what became of rows after a place in it, for what is derived from the rows.

use std::collections::BTreeSet;

use serde_json::Value;
use tabellion_runtime::{
    Failure, Row,
    rows::{Order, Select, identity},
    spec::EntitySpec,
};

use crate::{
    log,
    query::{self, get},
    reading::Reader,
    records::Records,
};

/// What happened after a place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The rows that changed, each once.
    pub rows: Vec<FollowedRow>,
    /// Place of the last entry that was read; that which was asked for, if there is none after it.
    pub to: i64,
}

/// A row that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowedRow {
    /// Its entity.
    pub entity: &'static EntitySpec,
    /// The values that identify it, in the order of [`EntitySpec::identity`].
    pub key: Vec<Value>,
    /// The row as it is now; `None` if it was removed.
    pub row: Option<Row>,
}

impl Records {
    /// Returns the place of the log's last entry; 0 if it has none.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn end(&self) -> Result<i64, Failure> {
        Ok(Reader::begin(self)?.with(log::end)?.seq)
    }

    /// Returns the id of the log's entry at a place, if there is one.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn entry_id(&self, at: i64) -> Result<Option<String>, Failure> {
        Reader::begin(self)?.with(|connection| log::id_at(connection, at))
    }

    /// Returns at most `max` rows of an entity after the row `after`, in the order of what identifies them; the first ones, if there is
    /// none. Rows that change between two pages may be in either state, or in none: what changed after the [`end`](Self::end) that was
    /// read before the first page, [`follow`](Self::follow) has.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn page(
        &self,
        entity: &'static EntitySpec,
        after: Option<Row>,
        max: u64,
    ) -> Result<Vec<Row>, Failure> {
        let mut select = Select::new(entity, vec![]);
        select.limit = Some(max);
        select.order = entity.identity().map(|name| (name, Order::Up)).collect();
        select.after = after;
        Reader::begin(self)?.with(|connection| query::select_rows(connection, &select))
    }

    /// Returns the row of an entity that these values identify, if there is one.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn row(&self, entity: &'static EntitySpec, key: &[Value]) -> Result<Option<Row>, Failure> {
        Reader::begin(self)?.with(|connection| get(connection, entity, key))
    }

    /// Returns the number of rows of each of these entities, and the place of the log's last entry then.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn counts(&self, entities: &[&'static EntitySpec]) -> Result<(Vec<u64>, i64), Failure> {
        Reader::begin(self)?.with(|connection| {
            let count = |entity: &&'static EntitySpec| query::count(connection, &Select::new(entity, vec![]));
            let counts = entities.iter().map(count).collect::<Result<_, _>>()?;
            Ok((counts, log::end(connection)?.seq))
        })
    }

    /// Returns what at most `max` entries after the place `after` changed in rows of these entities.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn follow(&self, after: i64, max: u32, entities: &[&str]) -> Result<Followed, Failure> {
        Reader::begin(self)?.with(|connection| {
            let (mut rows, mut seen, mut to) = (vec![], BTreeSet::new(), after);
            log::for_each_after(connection, after, max, |entry| {
                to = entry.seq;
                for logged in entry.rows.iter().rev() {
                    let Some(entity) = self.spec().entity(&logged.entity) else {
                        continue;
                    };
                    let key = identity(entity, &logged.key);
                    let is_asked = entities.contains(&entity.name);
                    if is_asked && seen.insert((entity.name, Value::from(key.clone()).to_string())) {
                        let row = get(connection, entity, &key)?;
                        rows.push(FollowedRow { entity, key, row });
                    }
                }
                Ok(())
            })?;
            Ok(Followed { rows, to })
        })
    }
}
