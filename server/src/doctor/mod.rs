//! `tabellion doctor`: what is wrong, or could go wrong, and what to do about it.
//!
//! A check looks at one subject and returns findings; `checks::ALL` lists the checks. They change nothing. With `--fix`, each
//! finding that has a [`Fix`](finding::Fix) is mended after a question.

mod checks;
mod finding;
mod fix;
mod holders;
mod mounts;
mod report;

use std::{
    cell::OnceCell,
    path::{Path, PathBuf, absolute},
};

use tabellion_library::{Agreement, Library, OpenError};
use tabellion_runtime::Failure;

use self::finding::{Finding, Status};
use crate::terminal::{Output, TerminalError};

/// What to look at, and what to do then.
#[derive(Debug)]
pub(crate) struct Options {
    /// Folder of the library.
    pub(crate) folder: PathBuf,
    /// Whether to mend what can be mended.
    pub(crate) fix: bool,
    /// Whether to mend without asking.
    pub(crate) yes: bool,
    /// How to show the findings.
    pub(crate) output: Output,
}

/// What the checks look at.
struct Subject {
    /// Absolute path of the library's folder.
    folder: PathBuf,
    /// The library, or why it can't be opened.
    library: Result<Library, OpenError>,
    /// The log and its commits, once they were compared.
    agreement: OnceCell<Result<Agreement, Failure>>,
}

impl Subject {
    fn at(folder: &Path) -> Self {
        let absolute = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Self {
            library: Library::inspect(folder),
            agreement: OnceCell::new(),
            folder: absolute.canonicalize().unwrap_or(absolute),
        }
    }

    fn library(&self) -> Option<&Library> {
        self.library.as_ref().ok()
    }
}

/// Looks at the library, shows the findings, and mends what is wanted. Returns true if nothing is red.
pub(crate) fn run(options: &Options) -> Result<bool, TerminalError> {
    let subject = Subject::at(&options.folder);
    let findings = examine(&subject);
    report::show(&subject.folder, &findings, options.output)?;
    if !options.fix {
        return Ok(is_well(&findings));
    }
    // The checks look at the library as it was opened, and mending opens it anew.
    drop(subject);
    let mended = fix::all(&options.folder, &findings, options.yes)?;
    if mended == 0 {
        return Ok(is_well(&findings));
    }
    Ok(is_well(&examine(&Subject::at(&options.folder))))
}

fn examine(subject: &Subject) -> Vec<Finding> {
    checks::ALL.iter().flat_map(|check| check(subject)).collect()
}

fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.status != Status::Red)
}
