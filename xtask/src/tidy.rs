//! Refuses words and patterns, circles of imports, and commits without a reason, as `.github/CONTRIBUTING.md` has it.

use xtask::Outcome;

use crate::{circles, history, language, words};

/// Checks the tree and its history.
///
/// # Errors
/// If a rule is broken; the message lists everything that breaks one.
pub(crate) fn check() -> Outcome {
    let problems =
        [words::problems()?, language::problems()?, circles::problems()?, history::problems()?].concat();
    if problems.is_empty() {
        return Ok(());
    }
    let (list, count) = (problems.join("\n"), problems.len());
    Err(format!("{list}\n{count} problems; see `.github/CONTRIBUTING.md`").into())
}
