//! `tabellion doctor`: its arguments.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, builder::OsStringValueParser};

use tabellion_upkeep::{TerminalError, doctor};

use super::arguments::{Library, Show};
use crate::PACKS;

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    library: Library,

    /// Look at a data folder instead, and at the rows in it; without DIR, at that of the environment variable TABELLION_DATA, else
    /// at the system's place for the data of programs
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = OsStringValueParser::new(),
        conflicts_with_all = ["folder", "fix"]
    )]
    data: Option<OsString>,

    /// Mend what can be mended, after a question each
    #[arg(long)]
    fix: bool,

    /// With --fix: mend without asking
    #[arg(long, requires = "fix")]
    yes: bool,

    #[command(flatten)]
    show: Show,
}

/// Runs the checks. Returns true if no finding is red.
pub(super) fn run(arguments: &Arguments) -> Result<bool, TerminalError> {
    let options = doctor::Options {
        place: match &arguments.data {
            Some(folder) => doctor::Target::Data(
                Some(PathBuf::from(folder)).filter(|folder| !folder.as_os_str().is_empty()),
            ),
            None => doctor::Target::Library(arguments.library.folder.clone()),
        },
        fix: arguments.fix,
        yes: arguments.yes,
        output: (&arguments.show).into(),
    };
    doctor::run(&options, PACKS)
}
