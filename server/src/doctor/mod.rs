//! `tabellion doctor`: what is wrong, or could go wrong, and what to do about it.
//!
//! A check looks at one subject and returns findings; `checks::ALL` lists the checks. They change nothing. With `--fix`, each
//! finding that has a [`Fix`](finding::Fix) is mended after a question.

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

pub(crate) use self::finding::{Finding, Status};
use self::subject::Subject;
use crate::{
    data::Data,
    terminal::{Output, TerminalError},
};

/// What to look at.
#[derive(Debug)]
pub(crate) enum Place {
    /// The library in this folder.
    Library(PathBuf),
    /// A data folder; if it is not named, the system's place for it.
    Data(Option<PathBuf>),
}

/// What to look at, and what to do then.
#[derive(Debug)]
pub(crate) struct Options {
    /// What to look at.
    pub(crate) place: Place,
    /// Whether to mend what can be mended.
    pub(crate) fix: bool,
    /// Whether to mend without asking.
    pub(crate) yes: bool,
    /// How to show the findings.
    pub(crate) output: Output,
}

/// Looks, shows the findings, and mends what is wanted. Returns true if nothing is red.
pub(crate) fn run(options: &Options) -> Result<bool, TerminalError> {
    match &options.place {
        Place::Library(folder) => library(folder, options),
        Place::Data(folder) => data(folder.as_deref(), options),
    }
}

/// Looks at a data folder. Nothing there is mended by `--fix`: each remedy is a command that says what it does.
fn data(folder: Option<&Path>, options: &Options) -> Result<bool, TerminalError> {
    let data = Data::choose(folder).map_err(TerminalError::new)?;
    let findings = examine_data(&data);
    report::show("data", &data.name(), &findings, options.output)?;
    Ok(is_well(&findings))
}

fn library(folder: &Path, options: &Options) -> Result<bool, TerminalError> {
    let subject = Subject::at(folder);
    let findings = examine(&subject);
    report::show("library", &subject.folder, &findings, options.output)?;
    if !options.fix {
        return Ok(is_well(&findings));
    }
    // The checks look at the library as it was opened, and mending opens it anew.
    drop(subject);
    let mended = fix::all(folder, &findings, options.yes)?;
    if mended == 0 {
        return Ok(is_well(&findings));
    }
    Ok(is_well(&examine(&Subject::at(folder))))
}

/// Returns what the checks find about what is in `place`.
pub(crate) fn findings(place: &Place) -> Result<Vec<Finding>, String> {
    match place {
        Place::Library(folder) => Ok(examine(&Subject::at(folder))),
        Place::Data(folder) => Ok(examine_data(&Data::choose(folder.as_deref())?)),
    }
}

fn examine(subject: &Subject) -> Vec<Finding> {
    checks::ALL.iter().flat_map(|check| check(subject)).collect()
}

fn examine_data(data: &Data) -> Vec<Finding> {
    match data {
        Data::Folder(folder) => checks::OF_DATA.iter().flat_map(|check| check(folder)).collect(),
        #[cfg(feature = "postgres")]
        Data::Database { address, .. } => database::of_database(address, &data.place()),
    }
}

fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.status != Status::Red)
}
