//! Files that are missing, damaged or of a different version, and sources that were replaced: the index is built anew.

use std::{
    fs::{self, OpenOptions},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use rusqlite::Connection;

use super::source::{Bench, Log, document, ids, open};
use crate::{Change, Index, IndexError, Search};

/// A damage to the file.
type Damage = (&'static str, fn(&Path));

fn log() -> Log {
    Log::with_documents((0..400).map(|at| document(&format!("d{at}"), &format!("text number {at} of many"))))
}

/// Opens the index, searches, and expects the answer of an undamaged index.
fn answers(folder: &Path, log: &Log, what: &str) {
    let index = open(folder).unwrap_or_else(|error| panic!("{what}: {error}"));
    still_answers(&index, log, what);
}

fn still_answers(index: &Index, log: &Log, what: &str) {
    let hits = index.search(log, log.end(), &Search::new("number 77", 1));
    let hits = hits.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!((ids(&hits), hits.total), (vec!["d77".into()], 400), "{what}");
    let status = index.status().unwrap();
    assert_eq!((status.at, status.documents), (400, 400), "{what}");
}

#[test]
fn a_damaged_file_is_built_anew() {
    let damage: [Damage; 8] = [
        ("empty", |file| fs::write(file, "").unwrap()),
        ("not a database", |file| fs::write(file, "no database\n".repeat(1000)).unwrap()),
        ("cut off", |file| OpenOptions::new().write(true).open(file).unwrap().set_len(20_000).unwrap()),
        ("cut within a page", |file| {
            OpenOptions::new().write(true).open(file).unwrap().set_len(5000).unwrap()
        }),
        ("overwritten in the middle", |file| overwrite(file, 8192, 60_000)),
        ("overwritten at the beginning", |file| overwrite(file, 0, 4096)),
        ("of a different program", |file| {
            Connection::open(file).unwrap().execute_batch("PRAGMA application_id = 7").unwrap();
        }),
        ("without a table", |file| {
            Connection::open(file).unwrap().execute_batch("DROP TABLE posting").unwrap();
        }),
    ];
    for (what, damage) in damage {
        let (folder, log) = (tempfile::tempdir().unwrap(), log());
        answers(folder.path(), &log, what);
        damage(&folder.path().join("index.db"));
        answers(folder.path(), &log, what);
        answers(folder.path(), &log, what);
    }
}

fn overwrite(file: &Path, from: u64, count: usize) {
    let mut file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut old = vec![];
    file.read_to_end(&mut old).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    let end = old.len().min(count);
    file.write_all(&vec![0xA5; end]).unwrap();
}

#[test]
fn damage_of_an_open_index_is_found_and_repaired() {
    for (what, sql) in [
        ("a list cut off", "UPDATE posting SET entries = x'80'"),
        ("lists of documents that are not there", "UPDATE posting SET entries = x'FFFFFFFF01'"),
        ("a block of records cut off", "UPDATE record SET entries = x'00', generation = generation + 1"),
        ("places that don't fit", "UPDATE record SET entries = randomblob(4000)"),
        ("no lists", "DROP TABLE posting"),
        ("no documents", "DELETE FROM document"),
        ("no state", "DELETE FROM state"),
    ] {
        let (bench, log) = (Bench::new(), log());
        still_answers(&bench.index, &log, what);
        let other = open(bench.folder.path()).unwrap();
        let connection = Connection::open(bench.folder.path().join("index.db")).unwrap();
        connection.execute_batch(sql).unwrap();
        // Read by an index without data in memory.
        let fresh = open(bench.folder.path()).unwrap();
        still_answers(&fresh, &log, what);
        still_answers(&bench.index, &log, what);
        still_answers(&other, &log, what);
    }
}

#[test]
fn a_file_that_was_removed_while_open_is_built_anew() {
    let (folder, log) = (tempfile::tempdir().unwrap(), log());
    answers(folder.path(), &log, "first");
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(folder.path().join(format!("index.db{suffix}")));
    }
    answers(folder.path(), &log, "removed");
}

#[test]
fn a_changed_recipe_makes_a_new_index() {
    let (folder, log) = (tempfile::tempdir().unwrap(), log());
    answers(folder.path(), &log, "first");
    let index = Index::open(&folder.path().join("index.db"), "changed").unwrap();
    assert_eq!(index.status().unwrap().at, 0);
    still_answers(&index, &log, "changed");
}

#[test]
fn a_replaced_source_makes_a_new_index() {
    let bench = Bench::new();
    still_answers(&bench.index, &log(), "first");
    // A backup was put in place of the source: shorter, and then changed in its own way.
    let backup = Log::with_documents([document("x", "number one"), document("y", "number two")]);
    let reopened = open(bench.folder.path()).unwrap();
    let hits = reopened.search(&backup, 2, &Search::new("number", 10)).unwrap();
    assert_eq!((hits.total, reopened.status().unwrap().documents), (2, 2));
    let other = Log { name: "other", ..log() };
    let reopened = open(bench.folder.path()).unwrap();
    reopened.search(&other, 1, &Search::new("number", 10)).unwrap();
    assert_eq!(reopened.status().unwrap().mark.as_deref(), Some("other400"));
}

#[test]
fn an_index_never_answers_from_less_than_is_needed() {
    let bench = Bench::new();
    let log = log();
    let search = Search::new("number", 1);
    assert_eq!(bench.index.status().unwrap().at, 0);
    assert!(!bench.index.status().unwrap().is_current(1));
    let behind = bench.index.search_as_is(1, &search).unwrap_err();
    assert!(matches!(behind, IndexError::Behind { at: 0, needed: 1 }), "{behind}");
    let ends = bench.index.search(&log, 401, &search).unwrap_err();
    assert!(matches!(ends, IndexError::SourceEnds { end: 400, needed: 401 }), "{ends}");
    let unreadable = Log { fails: true, ..Log::default() };
    let error = bench.index.search(&unreadable, 500, &search).unwrap_err();
    assert!(matches!(error, IndexError::Source(_)), "{error}");
    // The failed changes had no effect, and a removed document disappears at once.
    still_answers(&bench.index, &log, "after errors");
    log.add(Change::Remove("d77".into()));
    let hits = bench.index.search(&log, 401, &Search::new("77", 10)).unwrap();
    assert_eq!(hits.total, 0);
}

#[test]
fn a_rebuild_that_fails_leaves_the_index_as_it_was() {
    let (bench, log) = (Bench::new(), log());
    still_answers(&bench.index, &log, "first");
    let documents = (0..10).map(|at| Ok(document(&format!("new {at}"), "number")));
    let error = bench.index.rebuild(documents.chain([Err("unreadable".into())]), 999, None).unwrap_err();
    assert!(matches!(error, IndexError::Source(_)), "{error}");
    still_answers(&bench.index, &log, "after the failure");
    let changes = [Change::Put(document("x", "later"))];
    assert!(matches!(bench.index.apply(&changes, 500, 501, None), Err(IndexError::Behind { .. })));
    still_answers(&bench.index, &log, "after changes from too far on");
}
