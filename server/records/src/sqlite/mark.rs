//! The mark: the last acknowledged change, in a separate file next to the data file.
//!
//! SQLite silently ignores a missing write-ahead log, and the damaged end of one: the changes in it are lost. The mark reveals the
//! loss. It is written after a change's commit and before its answer, so it is never ahead of the data. It is synced only when the
//! write-ahead log is moved into the file: after a power failure it may be some seconds old, after a crash of the process it is
//! current. Processes may overtake each other; then it is a few changes behind.
//!
//! The mark names its data file, since a backup or a recovered file in the same place has a different end. A data file that is
//! copied alone has no mark; such a file itself records that its write-ahead log is missing: see [`Mark::move_log`].

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
    failures::{Doing, io_failure, refused},
    fresh,
};

/// Start of a mark, before the number of its format.
const MAGIC: &str = "tabellion mark ";
const FORMAT: &str = "1";
/// Upper bound of the bytes of a mark.
const MAX_BYTES: u64 = 256;
/// Number of pages of the write-ahead log after which it is moved into the file.
const LOG_PAGES: i32 = 1000;

/// Name in `meta` of the id of a data file.
const INSTANCE: &str = "instance";
/// Name in `meta` of the location of the newest changes.
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
    /// Number of pages after the previous commit: a smaller one means that the log was restarted.
    before: i32,
    /// The number of pages from which on the log is moved into the file.
    most: i32,
}

/// Content of a mark.
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
        create_own(&path).map_err(io_failure("create", &path))?;
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
            file: file.map_err(io_failure("write", &path))?,
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
        // Only now: a process that ends while it moves the log leaves a mark that the log has reached.
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.before || pages >= self.most {
            let _ = self.move_log(connection);
            self.most = self.pages.load(Ordering::Relaxed) + LOG_PAGES;
        }
        self.before = self.pages.load(Ordering::Relaxed);
    }

    /// Moves the write-ahead log into the file. From then on, the file alone records that its newest changes are in the log; the
    /// log revokes that.
    fn move_log(&self, connection: &Connection) -> Result<(), Failure> {
        set_meta(connection, NEWEST, IN_LOG)?;
        connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .doing("write the data file")?;
        set_meta(connection, NEWEST, IN_FILE)?;
        self.file.sync_data().map_err(|error| Failure::internal(format!("can't write the mark: {error}")))
    }
}

/// Gives the data file of `connection`, which has all of its changes, a new id, so it matches no mark of another file.
pub(crate) fn renew(connection: &Connection) -> Result<String, Failure> {
    let instance = fresh::id();
    set_meta(connection, INSTANCE, &instance)?;
    set_meta(connection, NEWEST, IN_FILE)?;
    Ok(instance)
}

/// Checks the file at `path` for acknowledged changes that are missing, as far as the mark allows.
///
/// # Errors
/// If changes are missing, or the mark is of a newer version.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), Failure> {
    // Read first: the log may grow meanwhile.
    let mark = read(path)?;
    let has = |filter: &str| -> Result<bool, Failure> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE {filter})");
        connection.query_row(&sql, [], |row| row.get(0)).doing("read the data file")
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
        // An empty mark is left by a process that could not write it.
        None if !file(path).exists() && meta(connection, NEWEST)?.as_deref() == Some(IN_LOG) => {
            Err(refused(format!(
                "`{name}` was copied while it was in use, without `{name}-wal`, which has the newest changes: copy both, or copy with \
             `tabellion data backup`; `tabellion data recover --data DIR` goes on with the changes that are there",
                name = name(path),
            )))
        }
        None => Ok(()),
    }
}

/// Checks that there is no mark for a missing file at `path`.
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
         or replaced, or a backup; `tabellion data recover --data DIR` goes on with the changes that are there",
        seq = mark.seq,
        name = name(path),
    ))
}

/// Returns the content of the mark of the file at `path`; `None` if there is no mark, or a power failure cut it off.
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
        [FORMAT, instance, seq, id] => {
            Ok(seq.parse().ok().map(|seq| Acknowledged { instance: instance.into(), seq, id: id.into() }))
        }
        [FORMAT, ..] | [] => Ok(None),
        [..] => Err(refused(format!("`{}` is of a newer version; update the program", path.display()))),
    }
}

/// Returns the name of a file, which clients may see.
fn name(path: &Path) -> std::path::Display<'_> {
    Path::new(path.file_name().unwrap_or_default()).display()
}

fn file(path: &Path) -> PathBuf {
    path.with_extension("mark")
}
