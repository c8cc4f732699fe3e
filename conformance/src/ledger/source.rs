//! Location of a server's rows, and the way to read them.

use std::{path::Path, process::Command};

use tabellion_runtime::spec::RowsSpec;

use super::{
    database, export,
    rows::RowLedger,
    sqlite::{self, Queries},
    wal::Transactions,
};

/// Placeholder for the folder of a server's data.
const DATA: &str = "{data}";

/// Location of a server's rows. By default it is an SQLite file, `CONTRACT.db` in its data folder, whose tables are the
/// contract's, with the log in the table `change`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The SQLite file; `{data}` stands for the data folder.
    pub file: Option<String>,
    /// The PostgreSQL server on which each case has a database, `postgres://USER@HOST:PORT`, if rows are kept there.
    pub database: Option<String>,
    /// Queries for a file or a database whose tables are not the contract's.
    pub queries: Queries,
    /// A program and its arguments that print rows and log as lines of JSON; `{data}` stands for the data folder.
    pub command: Vec<String>,
}

impl Source {
    /// Returns the rows and the log of the data folder; `None` if the server has none yet.
    pub fn read(&self, data: &Path, spec: &RowsSpec) -> Result<Option<RowLedger>, String> {
        let read = if let Some(server) = &self.database {
            database::read(server, data, spec, &self.queries)?
        } else if self.is_command_alone() {
            self.exported(data, spec)?
        } else {
            sqlite::read(Path::new(&self.file(data, spec)), spec, &self.queries)?
        };
        // A store that lacks the rows that it begins with is still being created.
        let is_begun = |ledger: &RowLedger| spec.seeds.is_empty() || !ledger.tables.is_empty();
        Ok(read.filter(is_begun))
    }

    /// Returns the transactions in the write-ahead log of the SQLite file; `None` if there is none.
    pub fn transactions(&self, data: &Path, spec: &RowsSpec) -> Option<Transactions> {
        let is_in_file = self.database.is_none() && !self.is_command_alone();
        Transactions::beside(Path::new(&self.file(data, spec))).filter(|_| is_in_file)
    }

    /// Returns true if only a command reads the rows.
    pub fn is_command_alone(&self) -> bool {
        !self.command.is_empty() && self.file.is_none()
    }

    /// Returns the command's output; `None` if there is no command, or the data folder is empty.
    ///
    /// # Errors
    /// If the command fails, or its output is not lines of JSON.
    pub fn exported(&self, data: &Path, spec: &RowsSpec) -> Result<Option<RowLedger>, String> {
        let is_empty = data.read_dir().map_or(true, |mut entries| entries.next().is_none());
        let mut words = self.command.iter().map(|word| filled(word, data));
        let Some(program) = words.next().filter(|_| !is_empty) else {
            return Ok(None);
        };
        let mut command = Command::new(program);
        command.args(words);
        export::read(command, spec).map(Some)
    }

    /// Returns the path of the SQLite file.
    fn file(&self, data: &Path, spec: &RowsSpec) -> String {
        match &self.file {
            Some(file) => filled(file, data),
            None => filled(&format!("{DATA}/{}.db", spec.contract), data),
        }
    }
}

fn filled(text: &str, data: &Path) -> String {
    text.replace(DATA, &data.to_string_lossy())
}
