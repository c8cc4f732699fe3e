//! `tabellion data`: checks, exports, imports, backs up and repairs the rows of a contract.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::Utc;
use serde_json::{Map, Value, json};
use tabellion_library::CreateFolders;
use tabellion_pack::Packs;
use tabellion_records::{self as records, Checked, Location, Records, SchemaDifference, Start};
use tabellion_runtime::{Failure, spec::RowsSpec};

use super::Data;
use crate::{
    console::say,
    error::TerminalError,
    page::{self, Output, Page},
};

/// Path that means standard input.
const STDIN: &str = "-";

/// Time between two lines about progress.
const PROGRESS: Duration = Duration::from_secs(1);

/// The rows to look after, and the form of the results.
#[derive(Debug)]
pub struct Upkeep {
    /// The data folder, if it is named.
    pub folder: Option<PathBuf>,
    /// The rows of the contract.
    pub rows: &'static RowsSpec,
    /// The contracts, one of which has an index of words over the rows.
    pub packs: Packs,
    /// Form of the result.
    pub output: Output,
}

impl Upkeep {
    /// Checks that the file is whole, and that replaying the log gives the tables.
    ///
    /// # Errors
    /// If the rows can't be found, opened, read or written, or standard input or output fails.
    pub fn check(&self) -> Result<(), TerminalError> {
        let file = self.file(CreateFolders::Nothing)?;
        let checked = Records::open(file.place.clone(), self.rows, Start::Existing)?.check()?;
        let done = "the data is whole, and replaying its log gives the tables, row for row";
        self.tell(&file, done, &checked)
    }

    /// Writes the log and the rows to standard output, as lines of JSON.
    ///
    /// # Errors
    /// If the rows can't be found, opened, read or written, or standard input or output fails.
    pub fn export(&self) -> Result<(), TerminalError> {
        let file = self.file(CreateFolders::Nothing)?;
        let records = Records::open(file.place.clone(), self.rows, Start::Existing)?;
        let mut out = Reader::new(io::BufWriter::new(io::stdout().lock()));
        let written = records.export(&mut out).map_err(TerminalError::from);
        let flushed = written.and_then(|()| Ok(out.flush()?));
        if out.has_left { Ok(()) } else { flushed }
    }

    /// Makes the data file from an export.
    ///
    /// # Errors
    /// If the rows can't be found, opened, read or written, or standard input or output fails.
    pub fn import(&self, from: &Path) -> Result<(), TerminalError> {
        let file = self.file(CreateFolders::Last)?;
        let mut lines: Box<dyn BufRead> = if from == Path::new(STDIN) {
            Box::new(io::stdin().lock())
        } else {
            #[expect(
                clippy::disallowed_methods,
                reason = "the person at the terminal names it, and may mean a pipe"
            )]
            let opened = File::open(from);
            Box::new(BufReader::new(opened.map_err(|error| {
                TerminalError::new(format_args!("can't read `{}`: {error}", from.display()))
            })?))
        };
        let checked = records::import(file.place.clone(), self.rows, &mut *lines)?;
        self.tell(&file, "imported", &checked)
    }

    /// Copies the data file, or an export of the database, to a new file, while it may be served.
    ///
    /// # Errors
    /// If the rows can't be found, opened, read or written, or standard input or output fails.
    pub fn backup(&self, to: &Path) -> Result<(), TerminalError> {
        let kept = self.file(CreateFolders::Nothing)?;
        let way_back = if let Some(file) = &kept.file {
            records::backup(&file.folder, self.rows, to)?;
            format!(
                "to go back to it, stop the servers and put it in the place of `{}`, without files of that name that end in `-wal` \
                 or `-shm`",
                file.path.display()
            )
        } else {
            Records::open(kept.place.clone(), self.rows, Start::Existing)?.export_to(to)?;
            format!(
                "to go back to it, `tabellion data import {}` into a database or folder without rows",
                to.display()
            )
        };
        self.show(
            &[format!("`{}` is a copy of `{}`", to.display(), kept.name.display()), way_back],
            json!({ "file": kept.name, "backup": to }),
        )
    }

    /// Makes tables and indexes that a database lacks. The servers may run meanwhile.
    #[cfg(feature = "postgres")]
    fn add(&self, kept: &Kept, found: Option<&records::Inspection>) -> Result<(), TerminalError> {
        drop(Records::open(kept.place.clone(), self.rows, Start::Migrate)?);
        let (name, contract, version) = (kept.name.display(), self.rows.contract, self.rows.version);
        let said = match found {
            None => format!("made the tables of version {version} of `{contract}` in `{name}`"),
            Some(found) if found.standing == SchemaDifference::Current => {
                format!("nothing to migrate: {}", found.describe(self.rows))
            }
            Some(found) => format!(
                "added to the tables of `{contract}` in `{name}`, from version {} to {version}; servers go on, and need no restart",
                found.version
            ),
        };
        let from = found.map(|found| &found.version);
        let json = json!({ "file": kept.name, "from": from, "to": version, "backup": null });
        self.show(&[said], json)
    }

    /// Migrates the data file to the version of this program, after a backup.
    ///
    /// # Errors
    /// If the rows can't be found, opened, read or written, or standard input or output fails.
    pub fn migrate(&self, backup: Option<&Path>) -> Result<(), TerminalError> {
        let kept = self.file(CreateFolders::Nothing)?;
        let inspected = records::inspect(kept.place.clone(), self.rows);
        #[cfg(feature = "postgres")]
        if matches!(kept.place, Location::Postgres { .. }) && backup.is_none() {
            match &inspected {
                Err(failure) if failure.kind == tabellion_runtime::FailureKind::NotFound => {
                    return self.add(&kept, None);
                }
                Ok(found) if matches!(found.standing, SchemaDifference::Current | SchemaDifference::Adds) => {
                    return self.add(&kept, Some(found));
                }
                _ => {}
            }
        }
        let found = inspected?;
        let dropped = match &found.standing {
            SchemaDifference::Current => {
                let done = format!("nothing to migrate: {}", found.describe(self.rows));
                let json = json!({ "file": kept.name, "from": found.version, "to": self.rows.version, "backup": null });
                return self.show(&[done], json);
            }
            SchemaDifference::Adds => vec![],
            SchemaDifference::Loses(what) => what.clone(),
            SchemaDifference::Impossible(_) => {
                return Err(TerminalError::new(found.describe(self.rows)).hint(
                    "`tabellion data export`, with the program that wrote the data, writes it as lines of JSON",
                ));
            }
            SchemaDifference::Newer | SchemaDifference::Foreign(_) => {
                return Err(TerminalError::new(found.describe(self.rows)));
            }
        };
        #[cfg(feature = "postgres")]
        if let Location::Postgres { address, .. } = &kept.place {
            if backup.is_some() {
                let message = "`--backup` is for data in a folder; a database keeps the schema as it was";
                return Err(TerminalError::new(message).hint("leave it out; nothing has changed"));
            }
            return self.remake(&kept, address, &dropped);
        }
        let file = kept.in_folder()?;
        let backup = backup.map_or_else(|| self.backup_name(file, &found.version), Path::to_owned);
        records::backup(&file.folder, self.rows, &backup)?;
        let migrated = Records::open(kept.place.clone(), self.rows, Start::Migrate).map_err(|failure| {
            let kept = format!("nothing has changed; the backup is `{}`", backup.display());
            TerminalError::from(failure).hint(kept)
        })?;
        drop(migrated);
        let mut said = vec![
            format!(
                "migrated `{}` from version {} to {}",
                file.path.display(),
                found.version,
                self.rows.version
            ),
            format!("the data as it was is in `{}`", backup.display()),
        ];
        said.extend(dropped.iter().map(|what| format!("gone: {what}")));
        self.show(
            &said,
            json!({
                "file": file.path, "from": found.version, "to": self.rows.version, "backup": backup, "lost": dropped,
            }),
        )
    }

    /// Rebuilds the tables of a damaged data file from its log.
    ///
    /// # Errors
    /// If the rows can't be found, opened, read or written, or standard input or output fails.
    pub fn recover(&self) -> Result<(), TerminalError> {
        let kept = self.file(CreateFolders::Nothing)?;
        #[cfg(feature = "postgres")]
        if let Location::Postgres { address, .. } = &kept.place {
            return self.remake(&kept, address, &[]);
        }
        let file = kept.in_folder()?;
        let recovered = records::recover(&file.folder, self.rows).map_err(|failure| {
            let error = TerminalError::new(reason(&failure));
            if !file.path.exists() {
                return error
                    .hint("name the folder of the data with `--data DIR`, or put a backup in its place");
            }
            error.hint(format!("the file is as it was. If its log can't be read, {}", restore(&file.path)))
        })?;
        let mut said = vec![
            format!(
                "made `{}` anew from its log: {}, {}",
                file.path.display(),
                counted(recovered.checked.changes, "change"),
                counted(recovered.checked.rows, "row")
            ),
            format!("the file as it was is `{}`", recovered.kept.display()),
        ];
        let cut_off = recovered.cut_off.as_ref().map(reason);
        said.extend(cut_off.iter().map(|reason| format!("later entries are lost: {reason}")));
        self.show(
            &said,
            json!({
                "file": file.path, "kept": recovered.kept, "changes": recovered.checked.changes,
                "rows": recovered.checked.rows,
                "cutOff": cut_off,
            }),
        )
    }

    /// Rebuilds the index of words.
    ///
    /// # Errors
    /// If the rows can't be found, opened, read or written, or standard input or output fails.
    pub fn reindex(&self) -> Result<(), TerminalError> {
        let file = self.file(CreateFolders::Nothing)?;
        let records = Arc::new(Records::open(file.place.clone(), self.rows, Start::Existing)?);
        let words = self.packs.words(self.rows.contract, records).ok_or_else(|| {
            TerminalError::new(format_args!("`{}` has no index of words", self.rows.contract))
        })?;
        let mut told: Option<(Instant, u64)> = None;
        let counts = words.rebuild(&mut |taken, all| {
            let is_last = taken == all;
            if told.is_none_or(|(at, before)| before < taken && (is_last || at.elapsed() >= PROGRESS)) {
                say(format_args!("{taken} of {} are in the index", counted(all, "row")));
                told = Some((Instant::now(), taken));
            }
        })?;
        let rows: u64 = counts.iter().map(|count| count.rows).sum();
        let of = counts.iter().map(|count| format!("{} of `{}`", count.rows, count.entity));
        let entities: Map<String, Value> =
            counts.iter().map(|count| (count.entity.to_owned(), count.rows.into())).collect();
        let said = [
            format!("`{}`: made anew from {}", words.path().display(), counted(rows, "row")),
            of.collect::<Vec<_>>().join(", "),
        ];
        self.show(&said, json!({ "file": words.path(), "rows": rows, "entities": entities }))
    }

    /// Rebuilds the tables in a database from its log, in the form of this version of the contract.
    #[cfg(feature = "postgres")]
    fn remake(
        &self,
        kept: &Kept,
        address: &records::Address,
        dropped: &[String],
    ) -> Result<(), TerminalError> {
        let remade = records::remake(address, self.rows)
            .map_err(|failure| TerminalError::from(failure).hint("the database is as it was"))?;
        let mut said = vec![
            format!(
                "made the tables of `{}` in `{}` anew from their log, in version {}: {}, {}",
                self.rows.contract,
                kept.name.display(),
                self.rows.version,
                counted(remade.checked.changes, "change"),
                counted(remade.checked.rows, "row")
            ),
            format!(
                "the schema as it was is `{}`; drop it when you miss nothing. Start the servers again",
                remade.kept
            ),
        ];
        said.extend(dropped.iter().map(|what| format!("gone: {what}")));
        if let Some(failure) = &remade.cut_off {
            said.push(format!("later entries are lost, because {failure}"));
        }
        let json = json!({
            "file": kept.name, "kept": remade.kept, "changes": remade.checked.changes, "rows": remade.checked.rows, "lost": dropped,
            "cut_off": remade.cut_off.map(|failure| failure.to_string()),
        });
        self.show(&said, json)
    }

    fn file(&self, create: CreateFolders) -> Result<Kept, TerminalError> {
        let data = Data::choose(self.folder.as_deref()).map_err(TerminalError::new)?;
        data.check(create).map_err(TerminalError::new)?;
        let file = data
            .folder()
            .map(|_| DataFile { path: records::path(&data.name(), self.rows), folder: data.name() });
        Ok(Kept {
            name: file.as_ref().map_or_else(|| data.name(), |file| file.path.clone()),
            place: data.place(),
            file,
        })
    }

    /// Returns the path of the backup before a migration.
    fn backup_name(&self, file: &DataFile, version: &str) -> PathBuf {
        let now = Utc::now().format("%Y%m%dT%H%M%SZ");
        let name = format!("{}-{version}-{now}", self.rows.contract);
        let first = format!("{name}.backup");
        let more = (2..).map(|number| format!("{name}-{number}.backup"));
        let mut paths = [first.clone()].into_iter().chain(more).map(|name| file.folder.join(name));
        paths.find(|path| !path.exists()).unwrap_or_else(|| file.folder.join(first))
    }

    fn tell(&self, kept: &Kept, done: &str, checked: &Checked) -> Result<(), TerminalError> {
        let (changes, rows) = (checked.changes, checked.rows);
        let said = [
            format!("`{}`: {done}", kept.name.display()),
            format!("{}, {}", counted(changes, "change"), counted(rows, "row")),
            format!("SHA-256 of all entries and rows: {}", checked.digest),
        ];
        self.show(
            &said,
            json!({ "file": kept.name, "changes": changes, "rows": rows, "digest": checked.digest }),
        )
    }

    fn show(&self, lines: &[String], json: Value) -> Result<(), TerminalError> {
        let unreported = TerminalError::unreported(&lines[0]);
        if self.output.json {
            return page::json(&json).map_err(unreported);
        }
        let mut shown = Page::new(self.output);
        for line in lines {
            shown.line(line);
        }
        shown.show().map_err(unreported)
    }
}

/// Returns the message of a failure, without the advice to recover the data.
pub(crate) fn reason(failure: &Failure) -> String {
    let message = failure.to_string();
    match message.split_once("; ") {
        Some((reason, advice)) if advice.contains("data recover") => reason.to_owned(),
        _ => message,
    }
}

/// Returns the advice for a data file whose log can't be read.
pub(crate) fn restore(file: &Path) -> String {
    format!(
        "move `{}` away, with the files of that name that end in `-wal` and `-shm`, and put a backup in its place, or \
         `tabellion data import` an export",
        file.display()
    )
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The rows of a contract, which need not exist.
struct Kept {
    place: Location,
    /// Path of the file, or address of the database.
    name: PathBuf,
    /// The file, if the rows are in one.
    file: Option<DataFile>,
}

impl Kept {
    /// Returns the file.
    ///
    /// # Errors
    /// If the rows are in a database.
    fn in_folder(&self) -> Result<&DataFile, TerminalError> {
        let error =
            || TerminalError::new(format_args!("`{}` is no file", self.name.display())).hint("name a folder");
        self.file.as_ref().ok_or_else(error)
    }
}

/// A data file, which need not exist.
struct DataFile {
    folder: PathBuf,
    path: PathBuf,
}

/// A reader of standard output, which may close it before the end.
struct Reader<W> {
    out: W,
    has_left: bool,
}

impl<W: Write> Reader<W> {
    fn new(out: W) -> Self {
        Self { out, has_left: false }
    }

    fn note<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &written {
            self.has_left |= error.kind() == io::ErrorKind::BrokenPipe;
        }
        written
    }
}

impl<W: Write> Write for Reader<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.note(flushed)
    }
}

/// Prints the SQL by which an administrator makes the roles of a team's database: `owner`, who makes and migrates the tables, and
/// `user`, as whom servers change rows.
///
/// # Errors
/// If a name can't be one of a role, or standard output can't be written.
#[cfg(feature = "postgres")]
pub fn print_roles(owner: &str, user: &str, rows: &RowsSpec) -> Result<(), TerminalError> {
    let sql = records::Roles::new(owner, user)?.sql(rows);
    Ok(crate::console::answer(sql.to_string().as_bytes())?)
}
