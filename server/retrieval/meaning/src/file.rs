//! The SQLite file: its tables.

use rusqlite::{Connection, params};
use tabellion_sqlite::{Content, new_generation};

// Numbers are never reused, so readers up to one number find all later additions. The parts of a text follow one another.
const CREATE: &str = "
    CREATE TABLE state (fingerprint TEXT NOT NULL, generation INTEGER NOT NULL) STRICT;
    CREATE TABLE vector (
        number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL,
        UNIQUE (key, part)
    ) STRICT;";

/// The tables of vectors that the model with this fingerprint made.
pub(crate) struct Fingerprint<'a>(pub(crate) &'a str);

impl Content for Fingerprint<'_> {
    fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(CREATE)?;
        let sql = "INSERT INTO state (fingerprint, generation) VALUES (?, ?)";
        connection.execute(sql, params![self.0, new_generation()]).map(drop)
    }

    fn is_current(&self, connection: &Connection) -> rusqlite::Result<bool> {
        connection.query_row("SELECT fingerprint = ? FROM state", [self.0], |row| row.get(0))
    }
}
