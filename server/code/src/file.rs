//! The SQLite file: its tables. A change of them, of chunks or of terms is a new format of [`CODE`](tabellion_sqlite::CODE).

use rusqlite::Connection;
use tabellion_sqlite::Content;

const CREATE: &str = "
    CREATE TABLE collection (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL, operation TEXT NOT NULL, path TEXT NOT NULL,
        state TEXT NOT NULL, total INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL, left_out INTEGER NOT NULL,
        started_at INTEGER NOT NULL, finished_at INTEGER, error TEXT, deaths INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE failure (
        number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, branch TEXT NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL
    ) STRICT;
    CREATE INDEX failure_collection ON failure (collection);
    CREATE TABLE segment (
        number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, chunks INTEGER NOT NULL, words BLOB NOT NULL,
        buckets INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX segment_collection ON segment (collection);
    CREATE TABLE bucket (number INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT;
    CREATE TABLE file (
        number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, branch TEXT NOT NULL, path TEXT NOT NULL,
        language TEXT NOT NULL, segment INTEGER NOT NULL, first INTEGER NOT NULL, lengths BLOB NOT NULL, texts BLOB NOT NULL, blob BLOB NOT NULL, bytes INTEGER NOT NULL,
        UNIQUE (collection, branch, path)
    ) STRICT;
    CREATE INDEX file_segment ON file (segment);
    CREATE TABLE content (file INTEGER PRIMARY KEY, chunks TEXT NOT NULL, text TEXT NOT NULL) STRICT;";

/// The tables of an index of code.
pub(crate) struct Tables;

impl Content for Tables {
    fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(CREATE)
    }

    fn is_current(&self, connection: &Connection) -> rusqlite::Result<bool> {
        connection.query_row("SELECT count(*) >= 0 FROM collection", [], |row| row.get(0))
    }
}
