//! `tabellion doctor`: reports actual and potential problems, and their remedies.
//!
//! A check examines one subject and returns findings; `checks::ALL` lists the checks. They change nothing. With `--fix`, each
//! finding that has a fix is mended after a question.

mod checks;
#[cfg(feature = "postgres")]
mod database;
mod finding;
mod fix;
mod holders;
mod mounts;
mod report;
mod subject;
mod words;

use std::path::{Path, PathBuf};

pub use self::finding::{Finding, Status};
use self::subject::Subject;
use tabellion_pack::Packs;

use crate::{data::Data, error::TerminalError, page::Output};

/// The place to examine.
#[derive(Debug)]
pub enum Target {
    /// The library in this folder.
    Library(PathBuf),
    /// A data folder; if it is not named, the system's place for it.
    Data(Option<PathBuf>),
}

/// The place to examine, and the options of the command.
#[derive(Debug)]
pub struct Options {
    /// The place to examine.
    pub place: Target,
    /// Set to mend problems that have a fix.
    pub fix: bool,
    /// Set to mend without asking.
    pub yes: bool,
    /// Form of the findings.
    pub output: Output,
}

/// Runs the checks, shows the findings, and mends them if requested. Returns true if no finding is red.
///
/// # Errors
/// If the place of the data can't be chosen, a fix fails or can't be agreed to, or standard output can't be written.
pub fn run(options: &Options, packs: Packs) -> Result<bool, TerminalError> {
    match &options.place {
        Target::Library(folder) => library(folder, options, packs),
        Target::Data(folder) => data(folder.as_deref(), options, packs),
    }
}

/// Examines a data folder. `--fix` mends nothing there: each remedy is a command, with a description of its effect.
fn data(folder: Option<&Path>, options: &Options, packs: Packs) -> Result<bool, TerminalError> {
    let data = Data::choose(folder).map_err(TerminalError::new)?;
    let findings = examine_data(&data, packs);
    report::show("data", &data.name(), &findings, options.output)?;
    Ok(is_well(&findings))
}

fn library(folder: &Path, options: &Options, packs: Packs) -> Result<bool, TerminalError> {
    let subject = Subject::new(folder, packs);
    let findings = examine(&subject);
    report::show("library", &subject.folder, &findings, options.output)?;
    if !options.fix {
        return Ok(is_well(&findings));
    }
    // The checks see the library as it was opened, and mending reopens it.
    drop(subject);
    let mended = fix::all(folder, &findings, options.yes)?;
    if mended == 0 {
        return Ok(is_well(&findings));
    }
    Ok(is_well(&examine(&Subject::new(folder, packs))))
}

/// Returns the findings about `place`, and about the contracts' files in it.
///
/// # Errors
/// If the place of the data can't be chosen.
pub fn findings(place: &Target, packs: Packs) -> Result<Vec<Finding>, String> {
    match place {
        Target::Library(folder) => Ok(examine(&Subject::new(folder, packs))),
        Target::Data(folder) => Ok(examine_data(&Data::choose(folder.as_deref())?, packs)),
    }
}

fn examine(subject: &Subject) -> Vec<Finding> {
    checks::ALL.iter().flat_map(|check| check.run(subject)).collect()
}

fn examine_data(data: &Data, packs: Packs) -> Vec<Finding> {
    match data {
        Data::Folder(folder) => {
            let checks = checks::OF_DATA.iter();
            checks.flat_map(|check| check(folder, packs)).collect()
        }
        #[cfg(feature = "postgres")]
        Data::Database { address, .. } => database::of_database(address, data, packs),
    }
}

fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.status != Status::Red)
}
