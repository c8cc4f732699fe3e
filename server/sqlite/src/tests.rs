//! Every kind of file in every state.

use std::{fs, io, path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, StatementStatus, config::DbConfig, ffi};

use crate::{
    Authoritative, CALLS, CODE, Content, Damage, Derived, FileError, Format, Kind, LOG, NOTES, Pool, ROWS,
    VECTORS, WORDS, beside, check, is_busy, is_damage, open::open, temporary, unwritable,
};

const AUTHORITATIVE: [&Authoritative; 2] = [&ROWS, &CALLS];
const DERIVED: [&Derived; 5] = [&LOG, &WORDS, &VECTORS, &CODE, &NOTES];

struct Blobs;

impl Content for Blobs {
    fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch("CREATE TABLE x (y BLOB NOT NULL) STRICT; CREATE INDEX x_y ON x (y)")
    }

    fn is_current(&self, connection: &Connection) -> rusqlite::Result<bool> {
        connection.query_row("SELECT count(*) = 0 FROM x WHERE y = x'00'", [], |row| row.get(0))
    }
}

/// The result of opening a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All rows are there.
    Whole(Format),
    /// The file is empty, and has tables and version.
    Emptied,
    Damaged,
    Busy,
    /// The system refuses.
    Unusable,
}

impl From<rusqlite::Error> for Outcome {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) {
            Self::Damaged
        } else if is_busy(&error) {
            Self::Busy
        } else {
            assert_eq!(Damage::in_derived(&error), None, "{error}");
            Self::Unusable
        }
    }
}

impl From<FileError> for Outcome {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sqlite(error) => error.into(),
            FileError::Io { .. } => Self::Unusable,
        }
    }
}

use Outcome::{Busy, Damaged, Emptied, Unusable, Whole};

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// A state, and the outcomes of opening an authoritative and a derived file in it.
type State = (&'static str, Outcome, Outcome);

const STATES: &[State] = &[
    ("healthy", Whole(Format::Current), Whole(Format::Current)),
    ("missing", Unusable, Emptied),
    ("empty", Whole(Format::Empty), Emptied),
    ("truncated", Damaged, Emptied),
    ("truncated in its first page", Damaged, Emptied),
    ("garbage header", Damaged, Emptied),
    ("no header", Damaged, Emptied),
    // Opening does not read the whole file: see `damage_within_a_file_is_repaired_if_it_is_derived`.
    ("flipped page", Whole(Format::Current), Whole(Format::Current)),
    ("newer version", Whole(Format::Newer(NEWER)), Emptied),
    ("older version", Whole(Format::Older(OLDER)), Emptied),
    ("different program", Whole(Format::Foreign), Emptied),
    ("no version, but tables", Whole(Format::Foreign), Emptied),
    ("an index is missing", Whole(Format::Current), Emptied),
    ("a table is missing", Whole(Format::Current), Emptied),
    ("different content", Whole(Format::Current), Emptied),
    ("locked by another process", Busy, Busy),
    ("a directory", Unusable, Unusable),
    #[cfg(unix)]
    ("unreadable", Unusable, Unusable),
    ("below a file", Unusable, Unusable),
];

const NEWER: i32 = 1_000;
const OLDER: i32 = -1;

/// Changes a healthy file at `path`. The state lasts as long as the returned connection.
fn put_in(state: &str, path: &Path) -> Option<Connection> {
    match state {
        "healthy" => {}
        "missing" => fs::remove_file(path).unwrap(),
        "empty" => fs::write(path, "").unwrap(),
        "truncated" => rewrite(path, |bytes| bytes.truncate(bytes.len() / 2)),
        "truncated in its first page" => rewrite(path, |bytes| bytes.truncate(777)),
        "garbage header" => rewrite(path, |bytes| bytes[..100].fill(b'x')),
        "no header" => rewrite(path, |bytes| bytes[..100].fill(0)),
        "flipped page" => flip_last_page(path),
        "newer version" => execute(path, &format!("PRAGMA user_version = {NEWER}")),
        "older version" => execute(path, &format!("PRAGMA user_version = {OLDER}")),
        "different program" => execute(path, "PRAGMA application_id = 7"),
        "no version, but tables" => execute(path, "PRAGMA application_id = 0; PRAGMA user_version = 0"),
        "an index is missing" => execute(path, "DROP INDEX x_y"),
        "a table is missing" => execute(path, "DROP TABLE x"),
        "different content" => execute(path, "UPDATE x SET y = x'00' WHERE rowid = 1"),
        "locked by another process" => {
            // Locks of other connections act as those of other processes.
            let other = Connection::open(path).unwrap();
            let sql = "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; DELETE FROM x; ROLLBACK";
            other.execute_batch(sql).unwrap();
            return Some(other);
        }
        "a directory" => {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }
        #[cfg(unix)]
        "unreadable" => {
            // Root reads a file of any mode; this link leads nowhere for root too.
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink(path, path).unwrap();
        }
        "below a file" => {
            let folder = path.parent().unwrap();
            fs::remove_dir_all(folder).unwrap();
            fs::write(folder, "").unwrap();
        }
        state => unreachable!("{state}"),
    }
    None
}

const ROW_COUNT: i64 = 200;

fn flip_last_page(path: &Path) {
    rewrite(path, |bytes| {
        let start = bytes.len() - 4096;
        bytes[start..].iter_mut().for_each(|byte| *byte ^= 0x5a);
    });
}

/// Makes a file with rows. Its write-ahead log is empty.
fn healthy(path: &Path, kind: &Kind) {
    let connection = Connection::open(path).unwrap();
    let sql = format!("PRAGMA page_size = {}; PRAGMA journal_mode = WAL", kind.page_size);
    connection.execute_batch(&sql).unwrap();
    Blobs.create(&connection).unwrap();
    kind.set_format(&connection).unwrap();
    let rows = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROW_COUNT})
         INSERT INTO x SELECT randomblob(300) FROM n"
    );
    connection.execute_batch(&rows).unwrap();
}

/// Runs `test` on each state of a file of this kind.
fn in_each_state(kind: &Kind, test: impl Fn(&str, &Path, State)) {
    for &state in STATES {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join(if cfg!(windows) { "folder %41#" } else { "folder %41?#" });
        fs::create_dir(&folder).unwrap();
        let path = folder.join("x.db");
        healthy(&path, kind);
        let _other = put_in(state.0, &path);
        test(&format!("{}: {}", kind.name, state.0), &path, state);
    }
}

#[test]
fn an_authoritative_file_keeps_its_bytes_in_every_state() {
    for file in AUTHORITATIVE {
        let kind = Kind { busy_timeout: Duration::ZERO, ..file.0 };
        in_each_state(&kind, |what, path, state| {
            let bytes = || fs::read(path).ok();
            let before = bytes();
            let connected = kind.connect(path);
            let format = connected.and_then(|connection| kind.format(&connection));
            let outcome = format.map_or_else(Outcome::from, Whole);
            assert_eq!(outcome, state.1, "{what}");
            assert_eq!(bytes(), before, "{what}");
            if outcome == Busy {
                return;
            }
            if matches!(outcome, Whole(_)) {
                let found = kind.connect_unchanging(path).and_then(|read| kind.format(&read));
                assert_eq!(found.map_or_else(Outcome::from, Whole), outcome, "{what}");
            }
            let aside = path.with_extension("aside");
            fs::write(beside(path, "-wal"), "log").unwrap_or_default();
            let was_there = file.put_aside(path, &aside).unwrap();
            assert_eq!(was_there, aside.exists(), "{what}");
            assert_eq!(fs::read(&aside).ok(), before, "{what}");
            assert_eq!(
                fs::read(beside(&aside, "-wal")).ok(),
                path.parent().unwrap().is_dir().then(|| b"log".to_vec())
            );
            assert!(!path.exists() && !beside(path, "-wal").exists(), "{what}");
        });
    }
}

#[test]
fn a_derived_file_is_emptied_only_if_it_is_damaged_or_different() {
    for file in DERIVED {
        let quick = Derived(Kind { busy_timeout: Duration::ZERO, ..file.0 });
        in_each_state(&quick, |what, path, state| {
            for open in [Derived::open, Derived::open_shared] {
                let outcome = open(&quick, path, &Blobs).map(|connection| {
                    let count: i64 = connection
                        .query_row("SELECT count(*) FROM x NOT INDEXED", [], |row| row.get(0))
                        .unwrap_or(ROW_COUNT);
                    let format = quick.format(&connection).unwrap();
                    if count == 0 {
                        let text = |sql| connection.query_row(sql, [], |row| row.get::<_, String>(0));
                        assert_eq!(check(&connection).unwrap(), None, "{what}");
                        assert_eq!(text("PRAGMA journal_mode").unwrap(), "wal", "{what}");
                        let size: u32 =
                            connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
                        assert_eq!(size, quick.page_size, "{what}");
                        assert_eq!(format, Format::Current, "{what}");
                        Emptied
                    } else {
                        assert_eq!(count, ROW_COUNT, "{what}");
                        Whole(format)
                    }
                });
                // The second time, the file is in order.
                assert_eq!(outcome.unwrap_or_else(Outcome::from), state.2, "{what}");
            }
        });
    }
}

#[test]
fn damage_within_a_file_is_repaired_if_it_is_derived() {
    use Damage::{Proven, Suspected};
    // Evidence, state, a flag if another process made the file anew, a flag if it keeps its rows.
    let cases = [
        (Suspected, "healthy", false, true),
        (Suspected, "healthy", true, true),
        (Suspected, "an index is missing", false, false),
        (Proven, "healthy", false, false),
        (Proven, "healthy", true, true),
        (Proven, "flipped page", true, false),
    ];
    for file in DERIVED {
        for (damage, what, is_renewed, is_kept) in cases {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.db");
            healthy(&path, file);
            put_in(what, &path);
            let repaired = file.repair(&path, &Blobs, damage, |_| Ok(is_renewed)).unwrap();
            let is_sound = damage == Damage::Suspected && is_kept && !is_renewed;
            assert_eq!(repaired.is_none(), is_sound, "{}: {what}", file.name);
            let repaired = repaired.unwrap_or_else(|| file.connect(&path).unwrap());
            let count: i64 = repaired.query_row("SELECT count(*) FROM x", [], |row| row.get(0)).unwrap();
            let expected = if is_kept { ROW_COUNT } else { 0 };
            assert_eq!(count, expected, "{}: {what}", file.name);
            assert_eq!(check(&repaired).unwrap(), None, "{}: {what}", file.name);
        }
    }
}

#[test]
fn a_file_is_not_emptied_because_the_disk_fails() {
    struct Failing;

    impl Content for Failing {
        fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
            Blobs.create(connection)
        }

        fn is_current(&self, _: &Connection) -> rusqlite::Result<bool> {
            let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_READ);
            Err(rusqlite::Error::SqliteFailure(error, None))
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    healthy(&path, &WORDS);
    let before = fs::read(&path).unwrap();
    assert!(WORDS.open(&path, &Failing).is_err());
    assert!(WORDS.repair(&path, &Failing, Damage::Proven, |_| Ok(false)).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Other processes that have the file open see that it is empty, unless they could not read it either.
#[test]
fn a_file_in_use_is_emptied_in_place() {
    type Case = (&'static str, fn(&Path, &Connection), bool);
    let cases: &[Case] = &[
        ("its log is empty", |_, _| {}, true),
        ("its log has rows", |_, reader| reader.execute_batch("INSERT INTO x VALUES (x'01')").unwrap(), true),
        ("a flipped page", |path, _| flip_last_page(path), true),
        // Windows removes no file that is open.
        #[cfg(not(windows))]
        ("garbage header", |path, _| rewrite(path, |bytes| bytes[..100].fill(b'x')), false),
    ];
    for file in DERIVED {
        for &(what, change, is_shared) in cases {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.db");
            healthy(&path, file);
            let reader = file.connect(&path).unwrap();
            change(&path, &reader);
            let renewed = file.repair(&path, &Blobs, Damage::Proven, |_| Ok(false));
            let renewed = renewed.unwrap_or_else(|error| panic!("{}: {what}: {error}", file.name)).unwrap();
            renewed.execute_batch("INSERT INTO x VALUES (x'02')").unwrap();
            let count = |connection: &Connection| {
                connection.query_row("SELECT count(*) FROM x", [], |row| row.get::<_, i64>(0)).ok()
            };
            assert_eq!(count(&renewed), Some(1), "{}: {what}", file.name);
            assert_eq!(count(&reader) == Some(1), is_shared, "{}: {what}", file.name);
        }
    }
}

#[test]
fn errors_of_statements_and_disks_are_no_damage() {
    let connection = temporary().unwrap();
    connection
        .execute_batch("CREATE TABLE x (y INTEGER NOT NULL) STRICT; INSERT INTO x VALUES (-1)")
        .unwrap();
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u8>(0));
    let too_many = format!("SELECT {}", vec!["1"; 3000].join(","));
    let failure = |code| Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None));
    use rusqlite::ffi::{
        SQLITE_BUSY, SQLITE_CANTOPEN, SQLITE_CORRUPT, SQLITE_FULL, SQLITE_IOERR_READ,
        SQLITE_IOERR_SHORT_READ, SQLITE_NOTADB, SQLITE_READONLY,
    };
    for (error, everywhere, in_derived) in [
        (number("SELECT z FROM x"), false, Some(Damage::Suspected)),
        (number(&too_many), false, Some(Damage::Suspected)),
        (number("SELECT y FROM x"), false, Some(Damage::Proven)),
        (number("SELECT y FROM x WHERE y = 0"), false, Some(Damage::Proven)),
        (number("SELECT 'a'"), false, Some(Damage::Proven)),
        (number("INSERT INTO x VALUES (NULL)"), false, Some(Damage::Proven)),
        (failure(SQLITE_CORRUPT), true, Some(Damage::Proven)),
        (failure(SQLITE_NOTADB), true, Some(Damage::Proven)),
        (failure(SQLITE_IOERR_SHORT_READ), true, Some(Damage::Proven)),
        (failure(SQLITE_IOERR_READ), false, None),
        (failure(SQLITE_FULL), false, None),
        (failure(SQLITE_BUSY), false, None),
        (failure(SQLITE_CANTOPEN), false, None),
        (failure(SQLITE_READONLY), false, None),
    ] {
        let error = error.unwrap_err();
        assert_eq!(is_damage(&error), everywhere, "{error}");
        assert_eq!(Damage::in_derived(&error), in_derived, "{error}");
    }
}

#[test]
fn a_pool_keeps_no_connection_that_was_taken_before_it_was_cleared() {
    let pool = Pool::new(1);
    let take = || pool.take(temporary).unwrap();
    let mark = |pooled: &Connection| pooled.execute_batch("CREATE TABLE x (y)");
    let (first, second) = (take(), take());
    mark(&first).unwrap();
    pool.put(first);
    pool.put(second);
    let first = take();
    assert!(mark(&first).is_err(), "the second was not kept");
    pool.clear();
    pool.put(first);
    assert!(mark(&take()).is_ok());
    assert!(pool.read(temporary, mark).is_ok());
    assert!(mark(&take()).is_ok(), "a snapshot changes nothing");
}

/// A cached statement is not prepared again for other values.
#[test]
fn a_kept_statement_stays_as_it_was_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let connection = WORDS.open(&folder.path().join("index"), &Blobs).unwrap();
    let sql = "SELECT count(*) FROM x WHERE y > ?1 LIMIT ?2";
    for number in 0..5 {
        let mut statement = connection.prepare_cached(sql).unwrap();
        statement.query_row((vec![number], number + 1), |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "for {number}");
    }
}

/// A file can come with a library: a trigger in it ran with each change, without end.
#[test]
fn triggers_and_views_of_a_file_do_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    healthy(&path, &CALLS.0);
    execute(
        &path,
        "CREATE TRIGGER t BEFORE INSERT ON x BEGIN SELECT RAISE(ABORT, 'ran'); END; CREATE VIEW v AS SELECT y FROM x",
    );
    let connection = CALLS.connect(&path).unwrap();
    connection.execute_batch("INSERT INTO x VALUES (x'01')").unwrap();
    connection.execute_batch("SELECT y FROM v").unwrap_err();
}

/// A connection that was opened while the index of the log was read-only makes all others of the process read-only, so it must not
/// be the first.
#[test]
fn a_connection_that_can_write_lets_later_ones_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let first = CODE.open(&path, &Blobs).unwrap();
    first.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    drop(first);
    let read_alone = || {
        let uri = format!("file:{}?readonly_shm=1", path.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
        let connection = open(Path::new(&uri), flags).unwrap();
        connection.query_row("SELECT count(*) FROM x", [], |_| Ok(())).unwrap();
        connection
    };
    let reading = read_alone();
    let refused = CODE.open(&path, &Blobs).unwrap_err();
    assert!(refused.to_string().contains("readonly"), "{refused}");
    drop(reading);
    let _writable = CODE.open(&path, &Blobs).unwrap();
    let _reading = read_alone();
    let later = CODE.connect(&path).unwrap();
    CODE.check_writable(&later).unwrap();
    later.execute("INSERT INTO x VALUES (x'01')", []).unwrap();
    let only_file = CODE.connect_read_only(&path).unwrap();
    let refused = CODE.check_writable(&only_file).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::ReadOnly));
}

#[test]
fn a_place_that_can_not_be_written_is_told_with_its_remedy() {
    #[derive(Debug, thiserror::Error)]
    #[error("can't be used")]
    struct Unusable<E: std::error::Error + 'static>(#[source] E);
    let sqlite = |code| unwritable(&Unusable(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)));
    let system = |kind: io::ErrorKind| unwritable(&Unusable(io::Error::from(kind)));
    for (told, expected) in [
        (sqlite(ffi::SQLITE_FULL), Some("free some space")),
        (sqlite(ffi::SQLITE_READONLY), Some("mount it writable")),
        (sqlite(ffi::SQLITE_CANTOPEN), Some("mount it writable")),
        (sqlite(ffi::SQLITE_CORRUPT), None),
        (system(io::ErrorKind::StorageFull), Some("free some space")),
        (system(io::ErrorKind::ReadOnlyFilesystem), Some("mount it writable")),
        (system(io::ErrorKind::PermissionDenied), Some("mount it writable")),
        (system(io::ErrorKind::NotFound), None),
    ] {
        let is_told = |part| told.is_some_and(|told| told.contains(part));
        assert!(expected.map_or(told.is_none(), is_told), "{told:?}");
    }
}
