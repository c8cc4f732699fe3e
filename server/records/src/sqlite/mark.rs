//! The mark: up to which change the log was acknowledged, in a file of its own beside the data file.
//!
//! SQLite takes a write-ahead log that is missing or damaged for one that ends earlier, and the changes in it are gone without a word.
//! The mark tells. It is written after a change's commit and before its answer, so it is never ahead of the data. It is synced
//! only when the write-ahead log is moved into the file: a power failure may leave one that is some seconds older, never the end of a
//! process. Several processes may overtake each other; then it is a few changes behind.
//!
//! The mark names the data file that it belongs to, since a backup or a recovered file in the same place ends where it ends. A data file
//! that is copied alone has no mark. That it lacks its write-ahead log, it says itself: see [`Mark::move_log`].

use std::{
    fs::{File, OpenOptions},
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
};

use rusqlite::Connection;
use tabellion_platform::{self as platform, create_own};
use tabellion_runtime::Failure;

use super::{
    log,
    meta::{meta, set_meta},
};
use crate::{
    failures::{Doing, at, refused},
    fresh,
};

/// How a mark begins, before the number of its format.
const MAGIC: &str = "tabellion mark ";
const FORMAT: &str = "1";
/// Upper bound of the bytes of a mark.
const MAX_BYTES: u64 = 256;
/// Number of pages of the write-ahead log after which it is moved into the file.
const LOG_PAGES: i32 = 1000;

/// Name in `meta` of the id of a data file.
const INSTANCE: &str = "instance";
/// Name in `meta` of where the newest changes are.
const NEWEST: &str = "newest";
const IN_FILE: &str = "in_file";
const IN_LOG: &str = "in_log";

/// The mark of a data file that this process changes.
#[derive(Debug)]
pub(crate) struct Mark {
    file: File,
    instance: String,
    /// Number of pages of the write-ahead log after the last commit.
    pages: Arc<AtomicI32>,
    /// The number after the commit before that: with less, the log has begun anew.
    before: i32,
    /// The number from which on the log is moved into the file.
    most: i32,
}

/// What a mark says.
struct Acknowledged {
    instance: String,
    seq: i64,
    id: String,
}

impl Mark {
    /// Opens the mark of the file at `path`, which `connection` is open to and [`check`] has passed.
    pub(crate) fn open(connection: &mut Connection, path: &Path) -> Result<Self, Failure> {
        let instance = match meta(connection, INSTANCE)? {
            Some(instance) => instance,
            // Made by an older program.
            None => renew(connection)?,
        };
        if meta(connection, NEWEST)?.as_deref() == Some(IN_LOG) {
            // A process was killed while it moved the log.
            set_meta(connection, NEWEST, IN_FILE)?;
        }
        let path = file(path);
        create_own(&path).map_err(at("create", &path))?;
        let file = platform::open_to_write(&path, OpenOptions::new().write(true));
        let pages = Arc::new(AtomicI32::new(0));
        let count = Arc::clone(&pages);
        connection
            .wal_hook(Some(move |_: &mut _, pages| {
                count.store(pages, Ordering::Relaxed);
                Ok(())
            }))
            .doing("open the data file")?;
        Ok(Self {
            file: file.map_err(at("write", &path))?,
            instance,
            pages,
            before: i32::MAX,
            most: LOG_PAGES,
        })
    }

    /// Writes the last committed change, before it is acknowledged. Errors are ignored: the change is durable, and the next one writes
    /// the mark again.
    pub(crate) fn note(&mut self, connection: &Connection, seq: i64, id: &str) {
        let line = format!("{MAGIC}{FORMAT} {} {seq:020} {id}\n", self.instance);
        let _ = self.file.rewind();
        let _ = self.file.write_all(line.as_bytes());
        // After that: a process that ends while it moves the log leaves a mark that the log has reached.
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.before || pages >= self.most {
            let _ = self.move_log(connection);
            self.most = self.pages.load(Ordering::Relaxed) + LOG_PAGES;
        }
        self.before = self.pages.load(Ordering::Relaxed);
    }

    /// Moves the write-ahead log into the file. From then on, the file alone says that its newest changes are in the log; the log
    /// takes that back.
    fn move_log(&self, connection: &Connection) -> Result<(), Failure> {
        set_meta(connection, NEWEST, IN_LOG)?;
        connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .doing("write the data file")?;
        set_meta(connection, NEWEST, IN_FILE)?;
        self.file
            .sync_data()
            .map_err(|error| Failure::internal(format!("can't write the mark: {error}")))
    }
}

/// Gives the file that `connection` is open to an id of its own, so that no mark of another file is taken for its.
pub(crate) fn renew(connection: &Connection) -> Result<String, Failure> {
    let instance = fresh::id();
    set_meta(connection, INSTANCE, &instance)?;
    Ok(instance)
}

/// Checks that the file at `path` has the changes that were acknowledged, as far as the mark tells.
///
/// # Errors
/// If changes are missing, or the mark is of a newer version.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), Failure> {
    // Read first: the log may grow meanwhile.
    let mark = read(path)?;
    let has = |filter: &str| -> Result<bool, Failure> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE {filter})");
        connection
            .query_row(&sql, [], |row| row.get(0))
            .doing("read the data file")
    };
    if !has("name = 'change'")? {
        return match mark {
            Some(mark) if !has("true")? => Err(missing(path, &mark)),
            // New, or of another program.
            _ => Ok(()),
        };
    }
    let instance = meta(connection, INSTANCE)?;
    match mark.filter(|mark| instance.is_none_or(|instance| instance == mark.instance)) {
        Some(mark) if log::id_at(connection, mark.seq)?.as_ref() == Some(&mark.id) => Ok(()),
        Some(mark) => Err(missing(path, &mark)),
        // An empty mark is that of a process that could not write it.
        None if !file(path).exists() && meta(connection, NEWEST)?.as_deref() == Some(IN_LOG) => {
            Err(refused(format!(
                "`{name}` was copied while it was in use, without `{name}-wal`, which has the newest changes: copy both, or copy with \
             `tabellion data backup`; `tabellion data recover` goes on with the changes that are there",
                name = name(path),
            )))
        }
        None => Ok(()),
    }
}

/// Checks that there is no mark of a file at `path` that is gone.
pub(crate) fn check_gone(path: &Path) -> Result<(), Failure> {
    match read(path)? {
        None => Ok(()),
        Some(mark) => Err(refused(format!(
            "`{}` is gone, and change {} was acknowledged: put it or a backup in its place; to begin anew, delete `{}`",
            path.display(),
            mark.seq,
            file(path).display(),
        ))),
    }
}

fn missing(path: &Path, mark: &Acknowledged) -> Failure {
    refused(format!(
        "changes are missing: change {seq} was acknowledged, and `{name}` does not have it; put back `{name}-wal`, if it was removed \
         or replaced, or a backup; `tabellion data recover` goes on with the changes that are there",
        seq = mark.seq,
        name = name(path),
    ))
}

/// Returns what the mark beside the file at `path` says; `None` if there is none, or it was cut off by a power failure.
fn read(path: &Path) -> Result<Option<Acknowledged>, Failure> {
    let path = file(path);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = platform::read_regular(&path, MAX_BYTES)
        .map_err(|error| Failure::internal(format!("can't read `{}`: {error}", path.display())))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let Some(words) = text.strip_prefix(MAGIC) else {
        return Ok(None);
    };
    let words: Vec<_> = words.split_ascii_whitespace().collect();
    match words[..] {
        [FORMAT, instance, seq, id] => Ok(seq.parse().ok().map(|seq| Acknowledged {
            instance: instance.into(),
            seq,
            id: id.into(),
        })),
        [FORMAT, ..] | [] => Ok(None),
        [..] => Err(refused(format!(
            "`{}` is of a newer version; update the program",
            path.display()
        ))),
    }
}

/// Returns the name of a file, which clients may be told.
fn name(path: &Path) -> std::path::Display<'_> {
    Path::new(path.file_name().unwrap_or_default()).display()
}

fn file(path: &Path) -> PathBuf {
    path.with_extension("mark")
}
