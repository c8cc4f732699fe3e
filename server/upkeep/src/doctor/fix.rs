//! Repairs that `--fix` makes, with one question each.

use std::{path::Path, process::Command};

use tabellion_library::{self as library, BackgroundRun, CreateFolders, Library};

use super::finding::{Finding, Fix};
use crate::{
    console::{ask, say_in_colour},
    error::TerminalError,
};

/// Applies the fix of each finding that has one, if a person, or `yes`, agrees. Returns the number of fixes.
pub(super) fn all(folder: &Path, findings: &[Finding], yes: bool) -> Result<usize, TerminalError> {
    let mut mended = 0;
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let question = question(folder, fix);
        if !yes {
            match ask(format_args!("{question}?")) {
                Some(true) => {}
                Some(false) => continue,
                None => {
                    return Err(TerminalError::new(
                        "`--fix` asks before it changes anything, and there is no terminal",
                    )
                    .hint("run it on a terminal, or agree to all with `--yes`"));
                }
            }
        }
        mend(folder, fix)?;
        say_in_colour(&format!("done: {}", question.to_lowercase()));
        mended += 1;
    }
    Ok(mended)
}

fn question(folder: &Path, fix: &Fix) -> String {
    match fix {
        Fix::Init => format!("Create a git repository in `{}`", folder.display()),
        Fix::Recover => "Complete or undo the interrupted change, and remove temporary files".into(),
        Fix::PermitLogCache => "Permit the server to write the log's cache again".into(),
        Fix::RemoveLock(lock) => format!("Remove the lock `{}`", lock.path.display()),
        Fix::Pack(top) => format!("Pack the objects with `git -C {} gc`", top.display()),
    }
}

fn mend(folder: &Path, fix: &Fix) -> Result<(), TerminalError> {
    match fix {
        Fix::Init => {
            crate::folder::check(folder).map_err(TerminalError::new)?;
            let options = library::Options { create: CreateFolders::Last, ..library::Options::default() };
            Library::open(folder, options)?;
        }
        Fix::Recover => Library::inspect(folder)?.recover()?,
        Fix::PermitLogCache => Library::inspect(folder)?.permit_run(BackgroundRun::LogCache),
        Fix::RemoveLock(lock) => Library::inspect(folder)?.remove_lock(lock)?,
        Fix::Pack(top) => {
            let ended = Command::new("git").arg("-C").arg(top).args(["gc", "--quiet"]).status()?;
            if !ended.success() {
                return Err(TerminalError::new("`git gc` failed"));
            }
        }
    }
    Ok(())
}
