//! `tabellion data`: its arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use tabellion_runtime::spec::RowsSpec;
#[cfg(feature = "postgres")]
use tabellion_upkeep::data;
use tabellion_upkeep::{TerminalError, data::Upkeep};

use super::arguments::{Data, Show};
use crate::PACKS;

/// Operations on the rows of a contract.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check that the file is whole, and that replaying its log gives the tables, row for row
    Check {
        #[command(flatten)]
        rows: Rows,
    },
    /// Write the log and the rows to standard output, as lines of JSON
    Export {
        #[command(flatten)]
        rows: Rows,
    },
    /// Make the data file from an export; there must be none yet
    Import {
        /// The export, or `-` for standard input
        #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
        from: PathBuf,
        #[command(flatten)]
        rows: Rows,
    },
    /// Copy the data file, or an export of the database, to a new file, while it may be served
    Backup {
        /// The new file
        #[arg(value_name = "FILE")]
        to: PathBuf,
        #[command(flatten)]
        rows: Rows,
    },
    /// Migrate data of an older version, after a backup
    ///
    /// A server makes changes that only add to the tables by itself when it starts. This also drops entities and fields that the
    /// contract has no more; the servers that use the data must be stopped. In a database without such changes, it makes the
    /// tables and indexes that are missing, without a backup, and the servers may run.
    Migrate {
        /// File for the backup; if omitted, one beside the data file
        #[arg(long, value_name = "FILE")]
        backup: Option<PathBuf>,
        #[command(flatten)]
        rows: Rows,
    },
    /// Make the index of words anew from the rows, while they may be served
    ///
    /// Searches use the index as it was until the new one is complete.
    Reindex {
        #[command(flatten)]
        rows: Rows,
    },
    /// Print SQL that makes the roles of a team's database: an owner of the tables, and a user for servers
    ///
    /// An administrator runs it before the first start, in the database of the rows. No connection is made.
    #[cfg(feature = "postgres")]
    Sql {
        /// Role that makes and migrates the tables
        #[arg(long, value_name = "ROLE", default_value = "tabellion_owner")]
        owner: String,
        /// Role of the servers, which changes rows and can't change tables or rewrite the log
        #[arg(long, value_name = "ROLE", default_value = "tabellion")]
        user: String,
        /// Contract whose rows they are
        #[arg(
            long,
            value_name = "NAME",
            default_value = PACKS.names_over_rows()[0],
            value_parser = PossibleValuesParser::new(PACKS.names_over_rows())
        )]
        contract: String,
    },
    /// Make the tables of a damaged data file anew from its log, and keep the damaged file
    ///
    /// The servers that use the data must be stopped.
    Recover {
        #[command(flatten)]
        rows: Rows,
    },
}

/// Which rows, and how to show the result.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Rows {
    #[command(flatten)]
    data: Data,

    /// Contract whose rows they are
    #[arg(
        long,
        value_name = "NAME",
        default_value = PACKS.names_over_rows()[0],
        value_parser = PossibleValuesParser::new(PACKS.names_over_rows())
    )]
    contract: String,

    #[command(flatten)]
    show: Show,
}

impl Rows {
    fn upkeep(&self) -> Result<Upkeep, TerminalError> {
        Ok(Upkeep {
            folder: self.data.folder.clone(),
            rows: rows_of(&self.contract)?,
            packs: PACKS,
            output: (&self.show).into(),
        })
    }
}

fn rows_of(contract: &str) -> Result<&'static RowsSpec, TerminalError> {
    let rows = PACKS.spec(contract).and_then(|spec| spec.rows);
    rows.ok_or_else(|| TerminalError::new(format_args!("`{contract}` keeps no rows")))
}

pub(super) fn run(command: &Command) -> Result<(), TerminalError> {
    match command {
        Command::Check { rows } => rows.upkeep()?.check(),
        Command::Export { rows } => rows.upkeep()?.export(),
        Command::Import { from, rows } => rows.upkeep()?.import(from),
        Command::Backup { to, rows } => rows.upkeep()?.backup(to),
        Command::Migrate { backup, rows } => rows.upkeep()?.migrate(backup.as_deref()),
        Command::Reindex { rows } => rows.upkeep()?.reindex(),
        #[cfg(feature = "postgres")]
        Command::Sql { owner, user, contract } => data::print_roles(owner, user, rows_of(contract)?),
        Command::Recover { rows } => rows.upkeep()?.recover(),
    }
}
