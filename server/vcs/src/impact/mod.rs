//! What a comparison affects: which symbols the changed lines are in, and who uses them in the target.
//!
//! A use is a name in a program of the same language that equals the symbol's, and is no local variable, nor what the file itself defines.
//! Names are not resolved any further, so one that many files define is not followed: its uses could be of any of them.

mod mentions;
mod touched;
mod uses;

use crate::{
    compare::{FileChange, TreeComparison},
    error::VcsError,
    repository::GitRepository,
};

use self::{touched::Touched, uses::Uses};

/// Upper bound of the dependents that a file is given with.
pub const MAX_DEPENDENTS: usize = 100;

/// What a comparison affects.
#[derive(Debug, Clone, PartialEq)]
pub struct Impact {
    /// From 0 to 100, which grows with the number of files and of lines that differ.
    pub score: f64,
    /// The files with the most changed lines, as many as were asked for, most first.
    pub files: Vec<FileImpact>,
    /// Number of source files of the target that were not looked at, because they are too large or there are too many.
    pub skipped: u64,
}

/// What the change of a file affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileImpact {
    /// The change.
    pub change: FileChange,
    /// The symbols that the changed lines are in, each with what it is in, such as `impl Foo > fn bar`, in order of the names. None of a
    /// file that is in no known language, or too large.
    pub symbols: Vec<String>,
    /// The places that use them, by path and line, at most [`MAX_DEPENDENTS`].
    pub dependents: Vec<Dependent>,
    /// Number of all dependents.
    pub total_dependents: u64,
}

/// A place that uses a symbol. Of the uses in one symbol, the first one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependent {
    /// Path of the file.
    pub path: String,
    /// Line of the use, from 1.
    pub line: usize,
    /// The symbol that the use is in; empty outside of all symbols.
    pub symbol: String,
}

impl GitRepository {
    /// Returns what a comparison affects, with the symbols of the `limit` files that have the most changed lines.
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
        // The order of paths stays among those with as many lines.
        changes.sort_by_key(|change| std::cmp::Reverse(change.additions + change.deletions));
        changes.truncate(limit);
        let mut touched = Vec::new();
        for change in &changes {
            touched.push(Touched::of(self, change, cancelled)?);
        }
        let mut uses = Uses::of(&changes, &touched);
        uses.find(self, &comparison.target, cancelled)?;
        let skipped = uses.skipped;
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
            score: score(
                comparison.files.len() as u64,
                comparison.additions + comparison.deletions,
            ),
            files,
            skipped,
        })
    }
}

/// Returns the score of so many files and lines.
fn score(files: u64, lines: u64) -> f64 {
    let logarithm = |number: u64| (number as f64).ln_1p();
    (10.0 * logarithm(files) + 5.0 * logarithm(lines)).min(100.0)
}

#[cfg(test)]
mod tests;
