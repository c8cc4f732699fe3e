//! Impact of a comparison: the symbols that contain the changed lines, and their uses in the target.
//!
//! A use is a name in a program of the same language that equals the symbol's, and is neither a local variable nor refers to a definition
//! of the file itself. Names are not resolved any further, so one that many files define is not followed: its uses could refer to any of them.

mod dependent;
mod mentions;
mod touched;
mod uses;

pub use self::dependent::{Dependent, MAX_DEPENDENTS};

use crate::{
    compare::{FileChange, TreeComparison},
    error::VcsError,
    repository::GitRepository,
};

use self::{touched::Touched, uses::Uses};

/// Impact of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Impact {
    /// Score from 0 to 100, which grows with the number of files and of lines that differ.
    pub score: f64,
    /// The files with the most changed lines, up to the requested number, most first.
    pub files: Vec<FileImpact>,
    /// Names of changed symbols that are used, but not followed, since many files define them, in order.
    pub ambiguous: Vec<String>,
    /// Number of source files of the target that were skipped, because they are too large or there are too many.
    pub skipped: u64,
}

/// Impact of the change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileImpact {
    /// The change.
    pub change: FileChange,
    /// The symbols that contain the changed lines, each with its parents, such as `impl Foo > fn bar`, in order of the names. Empty for a
    /// file that is in no known language, or too large.
    pub symbols: Vec<String>,
    /// The places that use them, by path and line, at most [`MAX_DEPENDENTS`].
    pub dependents: Vec<Dependent>,
    /// Number of all dependents.
    pub total_dependents: u64,
}

impl GitRepository {
    /// Returns the impact of a comparison, with the symbols of the `limit` files that have the most changed lines.
    ///
    /// # Errors
    /// If a file can't be read.
    pub fn impact(
        &self,
        comparison: &TreeComparison,
        limit: usize,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Impact, VcsError> {
        let mut changes: Vec<&FileChange> = comparison.files.iter().collect();
        // Files with equally many lines stay in the order of paths.
        changes.sort_by_key(|change| std::cmp::Reverse(change.additions + change.deletions));
        changes.truncate(limit);
        let mut touched = Vec::new();
        for change in &changes {
            touched.push(Touched::find(self, change, cancelled)?);
        }
        let mut uses = Uses::new(&changes, &touched);
        uses.find(self, &comparison.target, cancelled)?;
        let (skipped, ambiguous) = (uses.skipped, uses.ambiguous());
        let mut dependents = uses.into_dependents();
        let files = changes.into_iter().zip(touched).zip(&mut dependents);
        let files = files.map(|((change, touched), dependents)| FileImpact {
            change: change.clone(),
            symbols: touched.into_paths(),
            dependents: std::mem::take(&mut dependents.first),
            total_dependents: dependents.total,
        });
        let files = files.collect();
        Ok(Impact {
            score: score(comparison.files.len() as u64, comparison.additions + comparison.deletions),
            files,
            ambiguous,
            skipped,
        })
    }
}

/// Returns the score of a comparison with these numbers of files and lines.
fn score(files: u64, lines: u64) -> f64 {
    let logarithm = |number: u64| (number as f64).ln_1p();
    (10.0 * logarithm(files) + 5.0 * logarithm(lines)).min(100.0)
}

#[cfg(test)]
mod tests;
