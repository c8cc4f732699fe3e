//! `report`: shows saved reports.

use std::path::PathBuf;

use super::{outputs::Outputs, run::print, trouble::Trouble};
use tabellion_conformance::{
    exit,
    report::{Report, terminal, terminal::Extras},
};

/// Reports and formats.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Files written by `run --json`, one for each server
    #[arg(required = true, value_name = "FILE")]
    reports: Vec<PathBuf>,
    /// Print only failures and the summaries
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    outputs: Outputs,
}

pub(super) fn report(arguments: &Arguments) -> Result<u8, Trouble> {
    let mut reports = Vec::new();
    for file in &arguments.reports {
        let report = Report::parse(&super::trouble::read(file)?);
        reports.push(report.map_err(|error| format!("`{}`: {error}", file.display()))?);
    }
    arguments.outputs.write(&reports, "README.md")?;
    if arguments.outputs.is_empty() {
        for report in &reports {
            let with = Extras { quiet: arguments.quiet, ..Extras::default() };
            print(&terminal::whole(report, with))?;
        }
    }
    Ok(exit::PASSED)
}
