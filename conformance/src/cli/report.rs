//! `report`: shows reports that were written before.

use std::path::PathBuf;

use super::{Trouble, outputs::Outputs, run::print};
use crate::{
    exit,
    report::{Report, terminal, terminal::With},
};

/// Which reports, and in which formats.
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
        let report = Report::parse(&super::read(file)?);
        reports.push(report.map_err(|error| format!("`{}`: {error}", file.display()))?);
    }
    arguments.outputs.write(&reports)?;
    if arguments.outputs.is_empty() {
        for report in &reports {
            let with = With {
                quiet: arguments.quiet,
                ..With::default()
            };
            print(&terminal::whole(report, with))?;
        }
    }
    Ok(exit::PASSED)
}
