//! The table of all SQLite files.

use std::{ops::Deref, time::Duration};

/// Format and settings of a file.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The file, for people.
    pub name: &'static str,
    /// SQLite application id.
    pub application: i32,
    /// Version of the tables and of the meaning of their rows: `user_version`.
    pub format: i32,
    /// Time limit of a connection's wait for another.
    pub busy_timeout: Duration,
    /// Number of prepared statements that a connection keeps.
    pub(crate) statements: usize,
    /// True if the last connection moves the write-ahead log into the file when it is closed.
    pub(crate) moves_log_when_closed: bool,
    pub(crate) page_size: u32,
    /// `FULL` if committed transactions survive a power failure; with `NORMAL`, the last may be lost.
    pub(crate) synchronous: &'static str,
    pub(crate) pragmas: &'static str,
}

/// A file whose content exists nowhere else. It can be opened, created and put aside, never emptied or removed.
#[derive(Debug)]
pub struct Authoritative(pub(crate) Kind);

/// A file made of other files. One that is damaged or of a different version is emptied, and filled by its crate.
#[derive(Debug)]
pub struct Derived(pub(crate) Kind);

impl Deref for Authoritative {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.0
    }
}

impl Deref for Derived {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.0
    }
}

const AUTHORITATIVE: Kind = Kind {
    name: "",
    application: 0,
    format: 0,
    busy_timeout: Duration::from_secs(30),
    statements: 64,
    moves_log_when_closed: true,
    page_size: 4096,
    synchronous: "FULL",
    pragmas: "PRAGMA fullfsync = ON",
};

// Transactions lost from the end of the write-ahead log in a power failure are derived again.
const DERIVED: Kind = Kind {
    synchronous: "NORMAL",
    pragmas: "PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 16777216",
    ..AUTHORITATIVE
};

/// The rows of a contract, with their log. If it is damaged, `tabellion data recover` makes its tables from its log.
pub static ROWS: Authoritative = Authoritative(Kind {
    name: "CONTRACT.db",
    application: i32::from_be_bytes(*b"Tblr"),
    format: 2,
    statements: 256,
    // If the log of writes could not be read, closing would take it for empty and remove it.
    moves_log_when_closed: false,
    pragmas: "PRAGMA fullfsync = ON; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA schema_version",
    ..AUTHORITATIVE
});

/// Executions of calls, sessions and limits. If it is damaged, it is put aside.
pub static CALLS: Authoritative = Authoritative(Kind {
    name: "calls.db",
    application: i32::from_be_bytes(*b"Tble"),
    format: 2,
    busy_timeout: Duration::from_secs(10),
    pragmas: "PRAGMA fullfsync = ON; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -2048",
    ..AUTHORITATIVE
});

/// The cache of a library's log, made of git's history.
pub static LOG: Derived = Derived(Kind {
    name: "log.sqlite",
    application: i32::from_be_bytes(*b"Tbll"),
    format: 5,
    // Readers never wait: they continue without it.
    busy_timeout: Duration::ZERO,
    // Its builder does that.
    moves_log_when_closed: false,
    pragmas: "PRAGMA journal_size_limit = 1048576",
    ..DERIVED
});

/// An index of words, made of the texts of its source.
pub static WORDS: Derived =
    Derived(Kind { name: "index of words", application: i32::from_be_bytes(*b"Tbli"), format: 4, ..DERIVED });

/// Vectors, made of texts by a model.
pub static VECTORS: Derived =
    Derived(Kind { name: "vectors", application: i32::from_be_bytes(*b"Tblv"), format: 2, ..DERIVED });

/// An index of code, made of source files.
pub static CODE: Derived = Derived(Kind {
    name: "index of code",
    application: i32::from_be_bytes(*b"Tblc"),
    format: 19,
    // After that, a writer checks if there is still work to do.
    busy_timeout: Duration::from_secs(1),
    page_size: 8192,
    // A search of many segments reads thousands of pages. One that is mapped takes little more of the cache's memory than its header.
    pragmas: "PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -32768; PRAGMA mmap_size = 1073741824",
    ..DERIVED
});

/// A catalogue of notes, made of their files.
pub static NOTES: Derived = Derived(Kind {
    name: "catalogue of notes",
    application: i32::from_be_bytes(*b"Tbln"),
    format: 7,
    ..DERIVED
});
