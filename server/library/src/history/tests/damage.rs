//! An invalid cache is ignored, and the next one is correct.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::support::{Plan, Told};
use crate::history::Slot;

/// Time limit for a new cache to appear.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

fn straight(length: usize) -> Told {
    let plans: Vec<_> = (0..length)
        .map(|at| Plan { parents: vec![1], later: 10, path: at % 4, delete: false, kind: at % 6 })
        .collect();
    Told::new(&plans)
}

/// The log is right with the damaged cache, while the file is open and when it is opened anew, and again after the keeper has
/// repaired it.
#[track_caller]
fn survives(what: &str, damage: impl Fn(&Told)) {
    let told = straight(400);
    let before = told.history("");
    before.catch_up(true);
    assert_eq!(before.answers(5), before.expected(5), "{what}: before");
    assert!(before.is_all_cached());
    damage(&told);
    let after = told.history("a/");
    for library in [&before, &after] {
        assert_eq!(library.answers(5), library.expected(5), "{what}");
    }
    for library in [&after, &before] {
        // The keepers of both are at it as well, and may put another file there meanwhile.
        let since = Instant::now();
        loop {
            library.catch_up(true);
            assert_eq!(library.answers(5), library.expected(5), "{what}: built anew");
            if library.is_all_cached() {
                break;
            }
            assert!(since.elapsed() < WAIT_TIMEOUT, "{what}: nothing is cached");
            thread::sleep(Duration::from_millis(20));
        }
    }
    let check: String = Connection::open(told.cache())
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok", "{what}");
}

#[test]
fn a_cache_that_is_deleted() {
    survives("only the database", |told| fs::remove_file(told.cache()).unwrap());
    survives("the folder", |told| {
        fs::remove_dir_all(told.path().join(".git/tabellion")).unwrap();
    });
}

#[test]
fn a_cache_of_another_version() {
    survives("another version", |told| {
        let other = Connection::open(told.cache()).unwrap();
        other.execute_batch("PRAGMA user_version = 77; DELETE FROM entry").unwrap();
    });
    survives("another program's", |told| {
        let other = Connection::open(told.cache()).unwrap();
        other
            .execute_batch(
                "DROP TABLE walk; DROP TABLE entry; CREATE TABLE walk (a); PRAGMA application_id = 1",
            )
            .unwrap();
    });
    survives("no rows", |told| {
        Connection::open(told.cache()).unwrap().execute_batch("DELETE FROM state").unwrap();
    });
}

#[test]
fn a_cache_of_a_lost_history() {
    let told = straight(50);
    let library = told.history("");
    library.catch_up(true);
    let other = straight(80);
    for name in ["log.sqlite", "log.sqlite-wal"] {
        let from = told.cache().with_file_name(name);
        let to = other.cache().with_file_name(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    // The first fifty are the same commits.
    let library = other.history("");
    assert_eq!(library.answers(5), library.expected(5));
    other.put_head(20);
    assert_eq!(library.answers(5), library.expected(5));
}

/// Damage to a file that no process has open.
#[test]
fn a_cache_that_is_damaged() {
    type Damage = (&'static str, fn(&mut Vec<u8>));
    let damages: [Damage; 6] = [
        ("empty", |bytes| bytes.clear()),
        ("cut", |bytes| bytes.truncate(bytes.len() / 2)),
        ("cut in a page", |bytes| bytes.truncate(bytes.len() / 2 + 777)),
        ("no database", |bytes| bytes.fill(b'x')),
        ("its head gone", |bytes| bytes[..100].fill(0)),
        ("a page of noise", |bytes| bytes[8192..12288].fill(0xa5)),
    ];
    for (what, damage) in damages {
        let told = straight(400);
        let before = told.history("");
        before.catch_up(true);
        drop(before);
        // Into the file itself with everything.
        let database = Connection::open(told.cache()).unwrap();
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        drop(database);
        let mut bytes = fs::read(told.cache()).unwrap();
        damage(&mut bytes);
        fs::write(told.cache(), bytes).unwrap();
        let library = told.history("");
        library.history.known.lock().cache = Slot::Wanted { check: true };
        let git = gix::open(told.path()).unwrap();
        let head = git.head_id().unwrap().detach();
        let entries = library.history.last(&git, Some(head), usize::MAX).unwrap();
        assert_eq!(entries, library.expected(0).entries, "{what}");
        library.catch_up(true);
        assert_eq!(library.answers(5), library.expected(5), "{what}: built anew");
    }
}

#[test]
fn a_cache_that_cannot_be_written() {
    let told = straight(300);
    // Regardless of the user's permissions, a folder is not a database.
    fs::create_dir_all(told.cache()).unwrap();
    let library = told.history("");
    assert!(library.history.keeper.catch_up_now(true).is_err());
    assert_eq!(library.answers(5), library.expected(5));
    assert_eq!(library.answers(5), library.expected(5));
}

/// A library that was moved away is not made again, not even a part of it: its place must be free when it comes back.
#[test]
fn a_library_that_is_gone() {
    let told = straight(3);
    let library = told.history("");
    library.catch_up(true);
    let gone = told.path().with_extension("gone");
    fs::rename(told.path(), &gone).unwrap();
    assert!(library.history.keeper.catch_up_now(true).is_err());
    assert!(!told.path().exists());
    fs::rename(&gone, told.path()).unwrap();
    assert_eq!(library.answers(5), library.expected(5));
}

/// Another process holds the locks: readers and the keeper do not wait for it.
#[test]
fn a_cache_that_is_locked() {
    let told = straight(300);
    let library = told.history("");
    library.catch_up(true);
    let _ = library.answers(5);
    let other = Connection::open(told.cache()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM entry").unwrap();
    assert_eq!(library.answers(5), library.expected(5));
    other.execute_batch("ROLLBACK").unwrap();
    told.put_head(100);
    drop(other);
    let exclusive = Connection::open(told.cache()).unwrap();
    exclusive.execute_batch("PRAGMA locking_mode = EXCLUSIVE").unwrap();
    let _ = exclusive.execute_batch("BEGIN IMMEDIATE");
    let since = Instant::now();
    assert_eq!(told.history("").answers(5), library.expected(5));
    // So long it would have waited for the lock.
    assert!(since.elapsed() < Duration::from_secs(5));
}
