//! The SQLite file: its tables. A change of them, or of how notes are read and cut, is a new format of [`NOTES`](tabellion_sqlite::NOTES).

use rusqlite::Connection;
use tabellion_sqlite::{Content, new_generation};

const CREATE: &str = "
    CREATE TABLE state (generation INTEGER NOT NULL, sequence INTEGER NOT NULL, head TEXT NOT NULL) STRICT;
    CREATE TABLE batch (last INTEGER PRIMARY KEY, mark INTEGER NOT NULL) STRICT;
    CREATE TABLE file (
        number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stat BLOB, hash BLOB NOT NULL, modified INTEGER NOT NULL,
        claimed BLOB, derived BLOB NOT NULL, id BLOB UNIQUE, is_alternate INTEGER NOT NULL DEFAULT 0,
        title TEXT NOT NULL, type TEXT, members TEXT NOT NULL, created INTEGER NOT NULL,
        chunks INTEGER NOT NULL, sequence INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX file_claimed ON file (claimed) WHERE claimed IS NOT NULL;
    CREATE INDEX file_derived ON file (derived);
    CREATE INDEX file_alternate ON file (number) WHERE is_alternate = 1;
    CREATE INDEX file_type ON file (type, created, id);
    CREATE INDEX file_created ON file (created, id);
    CREATE INDEX file_sequence ON file (sequence);
    CREATE TABLE content (file INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
    CREATE TABLE tag (
        tag TEXT NOT NULL, file INTEGER NOT NULL, PRIMARY KEY (tag, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tag_file ON tag (file);
    CREATE TABLE tagged (
        key TEXT NOT NULL, file INTEGER NOT NULL, PRIMARY KEY (key, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tagged_file ON tagged (file);
    CREATE TABLE link (
        target BLOB NOT NULL, file INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (target, file, place)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX link_file ON link (file);
    CREATE TABLE gone (key TEXT PRIMARY KEY, sequence INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX gone_sequence ON gone (sequence);
    CREATE TABLE instance (
        path TEXT PRIMARY KEY, stat BLOB, content BLOB NOT NULL,
        id TEXT, workflow TEXT, state TEXT, is_open INTEGER, started TEXT, note BLOB, agent TEXT, fields TEXT
    ) STRICT;
    CREATE INDEX instance_started ON instance (is_open, started, id);
    CREATE INDEX instance_id ON instance (id);
    CREATE INDEX instance_note ON instance (note);
    CREATE TABLE value (path TEXT PRIMARY KEY, content BLOB NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID;";

/// The tables of a catalogue.
pub(crate) struct Tables;

impl Content for Tables {
    fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(CREATE)?;
        connection.execute("INSERT INTO state VALUES (?, 0, '')", [new_generation()]).map(drop)
    }

    fn is_current(&self, connection: &Connection) -> rusqlite::Result<bool> {
        generation(connection).map(|_| true)
    }
}

pub(crate) fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT generation FROM state", [], |row| row.get(0))
}
