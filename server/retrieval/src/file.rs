//! The index file: its tables and its state. A change of the tables, or of the words of texts, is a new format of
//! [`WORDS`](tabellion_sqlite::WORDS).

use rusqlite::{Connection, params};
use tabellion_sqlite::{Content, new_generation};

use crate::IndexError;

const CREATE: &str = "
    CREATE TABLE state (
        generation INTEGER NOT NULL, cleared INTEGER NOT NULL, at INTEGER NOT NULL, mark TEXT, recipe TEXT NOT NULL
    ) STRICT;
    CREATE TABLE document (number INTEGER PRIMARY KEY, id TEXT UNIQUE, seq INTEGER NOT NULL, terms BLOB NOT NULL) STRICT;
    CREATE TABLE grp (number INTEGER PRIMARY KEY, key TEXT UNIQUE) STRICT;
    CREATE TABLE member (
        grp INTEGER NOT NULL, time INTEGER NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (grp, time, seq, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE posting (
        term BLOB NOT NULL, first INTEGER NOT NULL, entries BLOB NOT NULL, PRIMARY KEY (term, first)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE record (block INTEGER PRIMARY KEY, generation INTEGER NOT NULL, entries BLOB NOT NULL) STRICT;
    CREATE INDEX record_generation ON record (generation);";

/// State of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Increases with each transaction, also across replaced files.
    pub(crate) generation: i64,
    /// The generation in which all documents were removed; data read before it is void.
    pub(crate) cleared: i64,
    /// The last change of the source that the index has, with all before it.
    pub(crate) at: i64,
    /// The source's mark of that change.
    pub(crate) mark: Option<String>,
}

impl State {
    pub(crate) fn read(connection: &Connection) -> Result<Self, IndexError> {
        let sql = "SELECT generation, cleared, at, mark FROM state";
        let state = connection.prepare_cached(sql)?.query_row([], |row| {
            Ok(Self { generation: row.get(0)?, cleared: row.get(1)?, at: row.get(2)?, mark: row.get(3)? })
        })?;
        Ok(state)
    }

    pub(crate) fn write(&self, connection: &Connection) -> Result<(), IndexError> {
        let sql = "UPDATE state SET generation = ?, cleared = ?, at = ?, mark = ?";
        let row = params![self.generation, self.cleared, self.at, self.mark];
        connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}

/// The tables of an index whose documents this recipe made.
pub(crate) struct Recipe<'a>(pub(crate) &'a str);

impl Content for Recipe<'_> {
    fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(CREATE)?;
        let sql = "INSERT INTO state (generation, cleared, at, mark, recipe) VALUES (?1, ?1, 0, NULL, ?2)";
        connection.execute(sql, params![new_generation(), self.0]).map(drop)
    }

    fn is_current(&self, connection: &Connection) -> rusqlite::Result<bool> {
        connection.query_row("SELECT recipe = ? FROM state", [self.0], |row| row.get(0))
    }
}

/// Removes all documents, within a transaction.
pub(crate) fn clear(connection: &Connection, state: &mut State) -> Result<(), IndexError> {
    for table in ["document", "grp", "member", "posting", "record"] {
        connection.execute_batch(&format!("DELETE FROM {table}"))?;
    }
    (state.cleared, state.at, state.mark) = (state.generation, 0, None);
    Ok(())
}
