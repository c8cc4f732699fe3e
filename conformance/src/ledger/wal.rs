//! The write-ahead log of an SQLite file, as far as it separates transactions.
//!
//! The form is that of <https://www.sqlite.org/fileformat2.html#walformat>: a header of 32 bytes, then frames, each a header of 24 bytes
//! and a page. The last frame of a transaction has the number of the database's pages; in others, it is 0.

use std::{ffi::OsString, fs, path::Path};

/// Size of the log's header, in bytes.
const HEADER: usize = 32;
/// Size of a frame's header, in bytes.
const FRAME_HEADER: usize = 24;

/// The transactions in a write-ahead log since it was begun anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transactions {
    /// Changes when the log is begun anew.
    salts: [u8; 8],
    count: usize,
}

impl Transactions {
    /// Reads the log of the database at `path`; `None` if there is none.
    pub(super) fn beside(path: &Path) -> Option<Self> {
        let mut name = OsString::from(path);
        name.push("-wal");
        Self::parse(&fs::read(name).ok()?)
    }

    fn parse(log: &[u8]) -> Option<Self> {
        let (header, frames) = log.split_at_checked(HEADER)?;
        let number =
            |bytes: &[u8], at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let page = usize::try_from(number(header, 8)?).ok()?;
        let salts: [u8; 8] = header.get(16..24)?.try_into().ok()?;
        // Frames after the last one of this log are left from an earlier one, with other salts.
        let frames = frames.chunks_exact(FRAME_HEADER + page);
        let own = frames.take_while(|frame| frame[8..16] == salts);
        let count = own.filter(|frame| number(frame, 4) != Some(0)).count();
        Some(Self { salts, count })
    }

    /// Returns the number of transactions since `earlier`; `None` if the log was begun anew in between.
    pub fn since(&self, earlier: &Self) -> Option<usize> {
        let is_same = self.salts == earlier.salts;
        is_same.then(|| self.count.saturating_sub(earlier.count))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn transactions_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).expect("a database");
        let run = |sql: &str| connection.execute_batch(sql).expect(sql);
        run("PRAGMA journal_mode = WAL; CREATE TABLE t (x);");
        let count = || Transactions::beside(&path).expect("a log");
        for (sql, expected) in [
            ("INSERT INTO t VALUES (1)", 1),
            ("BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (zeroblob(20000)); COMMIT", 1),
            ("INSERT INTO t VALUES (3); DELETE FROM t WHERE x = 3", 2),
            ("SELECT * FROM t", 0),
        ] {
            let before = count();
            run(sql);
            assert_eq!(count().since(&before), Some(expected), "{sql}");
        }
        let before = count();
        run("PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (4)");
        assert_eq!(count().since(&before), None);
    }
}
