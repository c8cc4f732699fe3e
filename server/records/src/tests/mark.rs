//! Files that lack changes: the files of a killed process, incomplete.

use std::{fs, path::PathBuf};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::tracker::{Bench, TRACKER};
use crate::{Checked, Records, Start, backup, recover};

/// Number of changes of the killed process: the seed, a project and the issues.
const CHANGES: u64 = 2 + ISSUES;
const ISSUES: u64 = 9;

/// The folder that a killed process left.
struct Left(TempDir);

impl Left {
    /// Copies the files of a process that makes no more changes, and has not ended.
    fn by(bench: &Bench) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tracker.db", "tracker.db-wal", "tracker.mark"] {
            fs::copy(bench.folder.path().join("data").join(name), folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("tracker.{name}"))
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    fn rewrite(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.path(name)).unwrap();
        change(&mut bytes);
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Returns the number of changes, or the error message. An unusable file is left unchanged.
    fn open(&self) -> Result<u64, String> {
        // SQLite makes an empty log where there is none.
        let contents = || ["db", "db-wal", "mark"].map(|name| fs::read(self.path(name)).unwrap_or_default());
        let before = contents();
        let open = |start| Records::open(self.0.path(), &TRACKER, start).and_then(|records| records.check());
        let found =
            [Start::Existing, Start::Serve].map(|start| open(start).map_err(|failure| failure.message));
        if found[1].is_err() {
            assert!(contents() == before, "{found:?}: a file has changed");
        }
        assert_eq!(found[0], found[1]);
        let [_, found] = found;
        found.map(|Checked { changes, .. }| changes)
    }
}

fn add(bench: &Bench, ids: std::ops::Range<u64>) {
    for id in ids {
        let issue = json!({"id": format!("i{id}"), "project_id": "p", "title": "One"});
        bench.create("issue", issue);
    }
}

fn killed() -> Bench {
    let bench = Bench::in_file();
    bench.create("project", json!({"id": "p", "name": "One"}));
    add(&bench, 0..ISSUES);
    bench
}

#[test]
fn missing_changes_are_told_and_whole_files_are_not_accused() {
    const MISSING: Result<u64, &str> = Err("changes are missing: change 11 was acknowledged");
    const ALONE: Result<u64, &str> = Err("was copied while it was in use, without `tracker.db-wal`");
    const WHOLE: Result<u64, &str> = Ok(CHANGES);
    type Case<'a> = (&'a str, Result<u64, &'a str>, &'a dyn Fn(&Left));
    let by_sqlite = |left: &Left, sql: &str| {
        let connection = Connection::open(left.path("db")).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    let cases: &[Case<'_>] = &[
        ("nothing", WHOLE, &|_| {}),
        ("the log removed", MISSING, &|left| left.remove("db-wal")),
        ("the log emptied", MISSING, &|left| left.rewrite("db-wal", Vec::clear)),
        ("the log cut", MISSING, &|left| left.rewrite("db-wal", |bytes| bytes.truncate(bytes.len() / 2))),
        ("the log's last page damaged", MISSING, &|left| {
            left.rewrite("db-wal", |bytes| *bytes.last_mut().unwrap() ^= 1)
        }),
        ("the log zeroed", MISSING, &|left| left.rewrite("db-wal", |bytes| bytes.fill(0))),
        ("the file alone", ALONE, &|left| {
            left.remove("db-wal");
            left.remove("mark");
        }),
        ("the file gone", Err("is gone, and change 11 was acknowledged"), &|left| left.remove("db")),
        ("the file and its log emptied", MISSING, &|left| {
            left.rewrite("db", Vec::clear);
            left.remove("db-wal");
        }),
        ("the mark gone", WHOLE, &|left| left.remove("mark")),
        ("the mark emptied", WHOLE, &|left| left.rewrite("mark", Vec::clear)),
        ("the mark zeroed", WHOLE, &|left| left.rewrite("mark", |bytes| bytes.fill(0))),
        ("the mark of a newer version", Err("newer version; update the program"), &|left| {
            left.rewrite("mark", |bytes| *bytes = b"tabellion mark 2 x".to_vec())
        }),
        ("closed by another program, and copied alone", WHOLE, &|left| {
            by_sqlite(left, "PRAGMA wal_checkpoint");
            left.remove("mark");
        }),
        ("put back from a backup of another program", WHOLE, &|left| {
            let copy = left.path("copy");
            by_sqlite(left, &format!("VACUUM INTO '{}'", copy.display()));
            fs::rename(copy, left.path("db")).unwrap();
        }),
    ];
    let bench = killed();
    for (what, expected, tamper) in cases {
        let left = Left::by(&bench);
        tamper(&left);
        let found = left.open();
        let is_right = match (&found, expected) {
            (Ok(found), Ok(expected)) => found == expected,
            (Err(found), Err(expected)) => found.contains(expected),
            _ => false,
        };
        assert!(is_right, "{what}: {found:?}");
    }
}

#[test]
fn what_an_orderly_end_leaves_is_whole_alone() {
    let bench = killed();
    bench.records.settle().unwrap();
    let left = Left::by(&bench);
    left.remove("db-wal");
    left.remove("mark");
    assert_eq!(left.open(), Ok(CHANGES));
    // Its next changes are in the log again.
    add(&bench, ISSUES..ISSUES + 1);
    let left = Left::by(&bench);
    left.remove("db-wal");
    left.remove("mark");
    left.open().unwrap_err();
}

/// The log is moved while the file is served, too: the file alone never counts as complete.
#[test]
fn the_file_alone_is_not_whole_after_many_changes() {
    let bench = killed();
    for round in 0..6 {
        for at in 0..40 {
            let text = "x".repeat(9_000);
            let issue = json!({"id": format!("r{round}-{at}"), "project_id": "p", "title": text});
            bench.create("issue", issue);
        }
        let left = Left::by(&bench);
        let wal = fs::metadata(left.path("db-wal")).unwrap().len();
        assert!(wal < 6 << 20, "{wal}");
        assert_eq!(left.open(), Ok(CHANGES + (round + 1) * 40));
        let alone = Left::by(&bench);
        alone.remove("db-wal");
        alone.remove("mark");
        alone.open().unwrap_err();
    }
}

#[test]
fn a_backup_that_is_older_than_the_mark_is_accepted() {
    let bench = killed();
    let copy = bench.folder.path().join("copy");
    backup(&bench.folder.path().join("data"), &TRACKER, &copy).unwrap();
    add(&bench, ISSUES..ISSUES + 5);
    let left = Left::by(&bench);
    left.remove("db-wal");
    fs::copy(&copy, left.path("db")).unwrap();
    assert_eq!(left.open(), Ok(CHANGES));
    let records = Records::open(left.0.path(), &TRACKER, Start::Serve).unwrap();
    drop(records);
    // A manual copy can't be distinguished from a file whose log is lost.
    bench.records.settle().unwrap();
    let by_hand = Left::by(&bench);
    add(&bench, ISSUES + 5..ISSUES + 6);
    fs::copy(bench.folder.path().join("data/tracker.mark"), by_hand.path("mark")).unwrap();
    by_hand.open().unwrap_err();
}

#[test]
fn recovery_goes_on_with_what_is_there_and_says_what_is_missing() {
    let bench = killed();
    for is_alone in [false, true] {
        let left = Left::by(&bench);
        left.remove("db-wal");
        if is_alone {
            left.remove("mark");
        }
        let recovered = recover(left.0.path(), &TRACKER).unwrap();
        let said = recovered.cut_off.unwrap().message;
        assert!(said.contains(if is_alone { "copied while" } else { "change 11" }), "{said}");
        assert_eq!(left.open(), Ok(recovered.checked.changes));
    }
    let left = Left::by(&bench);
    let recovered = recover(left.0.path(), &TRACKER).unwrap();
    assert!(recovered.cut_off.is_none());
    assert_eq!(left.open(), Ok(CHANGES));
}
