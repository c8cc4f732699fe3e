//! Upkeep of a data file: backup, and import of an export.

use std::{fs, io::BufRead, path::Path, time::Duration};

use rusqlite::backup::Backup;
use tabellion_platform::rename;
use tabellion_runtime::{Failure, spec::RowsSpec};
use tabellion_sqlite::ROWS;

use super::{
    connection, file, log, mark, replacement,
    replica::{self, read_export, replay},
    usage,
};
use crate::{
    failures::{Doing, io_failure, refused},
    whole::{Checked, lines},
};

/// Number of pages that a backup copies in a step: all. SQLite begins again if another process commits between two steps.
const BACKUP_PAGES: i32 = i32::MAX;

/// Copies the data file of a contract in `folder`, of any version, to a new file at `path`: to be done before a migration.
///
/// # Errors
/// If there is no data file, or a file at `path` already, or it can't be written.
pub fn backup(folder: &Path, spec: &RowsSpec, path: &Path) -> Result<(), Failure> {
    let from = connection::path(folder, spec);
    if !from.exists() {
        return Err(connection::missing(&from));
    }
    let _usage = usage::shared_if_possible(&from)?;
    new_file(path, |partial| copy(&from, partial))
}

/// Makes a file that gets its name once it is complete; `write` receives the path of an empty file.
///
/// # Errors
/// If there is a file at `path` already, or it can't be written. Then none is left.
pub(crate) fn new_file(path: &Path, write: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    if path.exists() {
        let message = format!("`{}` is there already; name a new file", path.display());
        return Err(refused(message));
    }
    let partial = path.with_extension("partial");
    tabellion_platform::create_own(&partial).map_err(io_failure("create", &partial))?;
    let written = write(&partial).and_then(|()| {
        connection::sync(&partial)?;
        rename(&partial, path).map_err(io_failure("create", path))?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        connection::sync(folder.unwrap_or(Path::new(".")))
    });
    if written.is_err() {
        // This failure is more informative than one of the clean-up.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn copy(from: &Path, path: &Path) -> Result<(), Failure> {
    let from = connection::connect(from)?;
    let mut to = ROWS.connect(path).doing("write the backup")?;
    connection::moves_log_when_closed(&to, true)?;
    let backup = Backup::new(&from, &mut to).doing("write the backup")?;
    backup.run_to_completion(BACKUP_PAGES, Duration::ZERO, None).doing("write the backup")?;
    drop(backup);
    mark::renew(&to)?;
    to.close().map_err(|(_, error)| error).doing("write the backup")
}

/// Makes a data file in `folder` from the lines of an export: replays its log, and compares the result with its rows.
///
/// # Errors
/// If the folder has a data file already, or a line is not one of an export. Then no file is made.
pub(crate) fn import(
    folder: &Path,
    spec: &'static RowsSpec,
    from: &mut dyn BufRead,
) -> Result<Checked, Failure> {
    let path = connection::path(folder, spec);
    let is_free = || {
        if path.exists() || replacement::is_pending(&path) {
            let message = format!("`{}` is there already; name an empty folder", path.display());
            return Err(refused(message));
        }
        Ok(())
    };
    is_free()?;
    let lines = lines(from, spec)?;
    let is_new = !folder.exists();
    file::create_folder(folder).map_err(io_failure("create", folder))?;
    let usage = usage::alone(&path)?;
    is_free()?;
    let imported = replacement::replace(&path, spec, &usage, |connection| {
        read_export(spec, lines, connection, |entry| {
            log::insert(connection, entry)?;
            replay(connection, spec, entry)
        })?;
        replica::check(connection, spec)
    });
    if imported.is_err() && is_new {
        // No other process has a share of the lock. Windows may keep the file, and with it the folder.
        let _ = fs::remove_file(usage::lock_path(&path)).and_then(|()| fs::remove_dir(folder));
    }
    imported.map(|(_, checked)| checked)
}
