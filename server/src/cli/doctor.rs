//! `tabellion doctor`: its arguments.

use clap::Args;

use super::people::{Library, Show};
use crate::{doctor, terminal::TerminalError};

/// What to look at.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    library: Library,

    /// Mend what can be mended, after a question each
    #[arg(long)]
    fix: bool,

    /// With --fix: mend without asking
    #[arg(long, requires = "fix")]
    yes: bool,

    #[command(flatten)]
    show: Show,
}

/// Runs the checks. Returns true if nothing is red.
pub(super) fn run(arguments: &Arguments) -> Result<bool, TerminalError> {
    doctor::run(&doctor::Options {
        folder: arguments.library.folder.clone(),
        fix: arguments.fix,
        yes: arguments.yes,
        output: (&arguments.show).into(),
    })
}
