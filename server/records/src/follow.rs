//! Following the log: what became of rows after a place in it, for what is derived from the rows.

use std::collections::BTreeSet;

use serde_json::Value;
use tabellion_runtime::{Failure, Row, rows::identity, spec::EntitySpec};

use crate::{Records, log, query::get, reading::Reader};

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
