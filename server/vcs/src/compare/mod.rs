//! Comparison of two commits: the changes on the target since its history and that of the base diverged.

mod attributes;
pub(crate) mod content;
pub(crate) mod lines;
mod myers;
mod renames;
mod similarity;
pub(crate) mod tree;

use gix::{ObjectId, bstr::BString};

use self::{
    content::{Content, Contents},
    tree::{Difference, TreeFile, differences},
};
use crate::{
    error::{VcsError, check, text},
    repository::GitRepository,
    revision::Revision,
};

pub use self::lines::{LineRange, line_ranges};

/// Kind of a file's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileStatus {
    /// It is new.
    Added,
    /// Its content, mode or type has changed.
    Modified,
    /// It was removed.
    Deleted,
    /// It was renamed, perhaps with changes of its content.
    Renamed,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path; for a deleted file, the former path.
    pub path: String,
    /// The former path, if it was renamed.
    pub old_path: Option<String>,
    /// Kind of the change.
    pub status: FileStatus,
    /// Number of new lines; 0 for a binary file.
    pub additions: u64,
    /// Number of removed lines; 0 for a binary file.
    pub deletions: u64,
    /// True if it has no lines: by its content, its attributes or its size.
    pub binary: bool,
    pub(crate) change: ChangedFile,
}

/// The two sides of a changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) old: Option<(BString, TreeFile)>,
    pub(crate) new: Option<(BString, TreeFile)>,
}

/// The comparison of two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeComparison {
    /// The revision to compare with.
    pub base: Revision,
    /// The revision that is compared.
    pub target: Revision,
    /// The common ancestor of both, whose tree is compared with the target's.
    pub merge_base: ObjectId,
    /// All files that differ, by path.
    pub files: Vec<FileChange>,
    /// Number of new lines in all files.
    pub additions: u64,
    /// Number of removed lines in all files.
    pub deletions: u64,
    /// True if there were too many files to find all renames: only those without other changes, or with the same base name, were found.
    pub renames_limited: bool,
}

impl GitRepository {
    /// Compares `target` with the common ancestor of it and `base`. The numbers are those of
    /// `git diff --numstat -M base...target`.
    ///
    /// # Errors
    /// If there is no common ancestor, or an object can't be read.
    pub fn compare(
        &self,
        base: &Revision,
        target: &Revision,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<TreeComparison, VcsError> {
        let merge_base = self.merge_base(base, target)?;
        let (old, new) = (self.tree_of(merge_base)?, self.tree_of(target.commit)?);
        let contents = Contents::new(self, new);
        let differences = differences(self, old, new, cancelled)?;
        let renames = renames::find(&differences, &contents, cancelled)?;
        let mut comparison = TreeComparison {
            base: base.clone(),
            target: target.clone(),
            merge_base,
            files: Vec::new(),
            additions: 0,
            deletions: 0,
            renames_limited: renames.limited,
        };
        let sources: std::collections::HashSet<usize> = renames.pairs.values().copied().collect();
        for (index, difference) in differences.iter().enumerate() {
            check(cancelled)?;
            if sources.contains(&index) {
                continue;
            }
            let source = renames.pairs.get(&index).map(|old| &differences[*old]);
            let change = file_change(&contents, difference, source)?;
            comparison.additions += change.additions;
            comparison.deletions += change.deletions;
            comparison.files.push(change);
        }
        Ok(comparison)
    }

    /// Returns the tree of a commit.
    pub(crate) fn tree_of(&self, commit: ObjectId) -> Result<ObjectId, VcsError> {
        let unreadable = |error: gix::Error| self.damaged("a commit", &error);
        let commit = self.git.find_commit(commit).map_err(unreadable)?;
        Ok(commit.tree_id().map_err(unreadable)?.detach())
    }
}

/// Returns the change at `difference`, whose old file is that of `source` if it was renamed.
fn file_change(
    contents: &Contents<'_>,
    difference: &Difference,
    source: Option<&Difference>,
) -> Result<FileChange, VcsError> {
    let source = source.unwrap_or(difference);
    let old = source.old.map(|file| (source.path.clone(), file));
    let new = difference.new.map(|file| (difference.path.clone(), file));
    let status = match (&old, &new) {
        (None, _) => FileStatus::Added,
        (_, None) => FileStatus::Deleted,
        (Some((old, _)), Some((new, _))) if old != new => FileStatus::Renamed,
        _ => FileStatus::Modified,
    };
    let read = |side: &Option<(BString, TreeFile)>| match side {
        Some((path, file)) => contents.read(path.as_ref(), file),
        None => Ok(Content::Text(Vec::new())),
    };
    let (before, after) = (read(&old)?, read(&new)?);
    let (additions, deletions, binary) = match (&before, &after) {
        (Content::Text(before), Content::Text(after)) => {
            let (additions, deletions) = lines::count(before, after);
            (additions, deletions, false)
        }
        _ => (0, 0, true),
    };
    Ok(FileChange {
        path: text(difference.path.clone()),
        old_path: (status == FileStatus::Renamed).then(|| text(source.path.clone())),
        status,
        additions,
        deletions,
        binary,
        change: ChangedFile { old, new },
    })
}

#[cfg(test)]
mod tests;
