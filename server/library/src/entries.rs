//! Queries by people at a terminal: a log entry with its change, and uncommitted documents.

use std::collections::BTreeSet;

use gix::ObjectId;
use tabellion_platform::blocking;
use tabellion_runtime::{Failure, FailureKind};

use super::{
    Library, LogEntry,
    commit::COMMITTER,
    conversion,
    failures::{InRepository, invalid_path},
    history::{self, FindEntryError},
    repository::Head,
    root::MAX_FILE_BYTES,
    sparse,
    tree::{self, TreeEntry},
    tree_diff::{self, Budget},
    versions,
    walk::MAX_ENTRIES,
};
use crate::path::{LibraryDir, LibraryPath};

/// The change of a log entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryChange {
    /// The documents, in the order of the entry.
    pub documents: Vec<DocumentChange>,
    /// Number of changed documents outside the library.
    pub outside: usize,
    /// True if git has written the commit again: it was amended, rebased, or picked from elsewhere.
    pub rewritten: bool,
}

/// A document before and after a change, as git would check it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    /// Path of the document.
    pub path: String,
    /// Bytes before; `None` if there was no document.
    pub before: Option<Vec<u8>>,
    /// Bytes after; `None` if the document was deleted.
    pub after: Option<Vec<u8>>,
}

/// Kind of a document's difference from the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Its bytes differ.
    Modified,
    /// The commit has it, and the folder does not.
    Deleted,
    /// The folder has it, and the commit does not.
    Untracked,
}

/// A document that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncommitted {
    /// Path of the document.
    pub path: String,
    /// The kind of difference.
    pub difference: Difference,
}

/// The documents that differ from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncommittedList {
    /// By path.
    pub documents: Vec<Uncommitted>,
    /// Set if the folder or the commit has more documents than were compared.
    pub truncated: bool,
}

/// Target of the next commit.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitTarget {
    /// The branch's short name; `None` if no branch is checked out.
    pub branch: Option<String>,
    /// HEAD's commit; `None` before the first one.
    pub commit: Option<String>,
    /// Reason why no change can be made now, regardless of its document; `None` if one can.
    pub refusal: Option<Failure>,
}

impl Library {
    /// Returns the entry of the log whose commit id begins with `id`.
    ///
    /// # Errors
    /// [`FindEntryError`].
    pub fn find_entry(&self, id: &str) -> Result<LogEntry, FindEntryError> {
        blocking(|| {
            let git = self.working_tree.repository.git();
            let head = self.working_tree.repository.head_commit(&git)?;
            history::find(&git, head, self.working_tree.repository.prefix(), id)
        })
    }

    /// Returns the documents of `entry` before and after its commit.
    ///
    /// # Errors
    /// If the repository can't be read, or the documents are too large together.
    pub fn change_of(&self, entry: &LogEntry) -> Result<EntryChange, Failure> {
        blocking(|| {
            let git = self.working_tree.repository.git();
            let id = versions::content_id(&entry.commit)?;
            let commit = git.find_commit(id).reading("a commit")?;
            let before = commit.parent_ids().next().map(gix::Id::detach);
            let rewritten = commit.committer().is_ok_and(|committer| committer.name != COMMITTER.0);
            let mut room = MAX_CHANGE_BYTES;
            let mut content = |at: Option<ObjectId>, path: &str| -> Result<_, Failure> {
                let Some(kept) = tree::look_up_at(&git, at, path)? else {
                    return Ok(None);
                };
                let bytes = versions::content(&git, kept.blob)?;
                room = room.checked_sub(bytes.len()).ok_or_else(too_much_to_show)?;
                conversion::from_git(&git, path, bytes).map(Some)
            };
            let documents = entry.paths.iter().map(|path| {
                let git_path = format!("{}{path}", self.working_tree.repository.prefix());
                Ok(DocumentChange {
                    before: content(before, &git_path)?,
                    after: content(Some(id), &git_path)?,
                    path: path.clone(),
                })
            });
            let documents = documents.collect::<Result<Vec<_>, Failure>>()?;
            Ok(EntryChange { outside: entry.outside, documents, rewritten })
        })
    }

    /// Returns the documents that differ from the last commit: those that the server shows, and those that the commit has.
    ///
    /// # Errors
    /// If the folder or the repository can't be read.
    pub fn uncommitted(&self) -> Result<UncommittedList, Failure> {
        let listing = self
            .list(&LibraryDir::ROOT, true)
            .map_err(|error| Failure::new(FailureKind::Io, error.to_string()))?;
        let committed = blocking(|| self.committed())?;
        let shown = listing.files.iter().map(|path| path.as_str().to_owned());
        let all: BTreeSet<String> = shown.chain(committed.paths.iter().cloned()).collect();
        let mut found =
            UncommittedList { documents: Vec::new(), truncated: listing.truncated || committed.truncated };
        let is_committed = |document: &LibraryPath| -> Result<bool, Failure> {
            let is_listed = committed.paths.contains(document.as_str());
            Ok(is_listed || committed.truncated && blocking(|| self.committed_entry(document))?.is_some())
        };
        for path in all {
            let document = LibraryPath::of_any_file(&path).map_err(|error| invalid_path(&error))?;
            let difference = match self.read(&document) {
                Ok(Some(state)) if !state.dirty => continue,
                Ok(Some(_)) if is_committed(&document)? => Difference::Modified,
                Ok(Some(_)) => Difference::Untracked,
                Ok(None) if is_committed(&document)? && !self.is_sparse(&document) => Difference::Deleted,
                Ok(None) => continue,
                // Its place is taken by another kind of file, or it can't be read; an unlisted file is not ours.
                Err(_) if is_committed(&document)? => Difference::Modified,
                Err(_) => continue,
            };
            found.documents.push(Uncommitted { path, difference });
        }
        Ok(found)
    }

    /// Returns the bytes of the document at `path` in the last commit, as git stores them.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn committed_content(&self, path: &LibraryPath) -> Result<Option<Vec<u8>>, Failure> {
        blocking(|| {
            let kept = self.committed_entry(path)?;
            let git = self.working_tree.repository.git();
            kept.map(|kept| versions::content(&git, kept.blob)).transpose()
        })
    }

    /// Returns true if a sparse checkout excludes the document.
    pub(super) fn is_sparse(&self, path: &LibraryPath) -> bool {
        let repository = &self.working_tree.repository;
        sparse::excludes(repository, &repository.git(), &repository.git_path(path))
    }

    pub(super) fn committed_entry(&self, path: &LibraryPath) -> Result<Option<TreeEntry>, Failure> {
        let git = self.working_tree.repository.git();
        let head = self.working_tree.repository.head_commit(&git)?;
        tree::look_up_at(&git, head, &self.working_tree.repository.git_path(path))
    }

    /// Returns the target of the next commit.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn place(&self) -> Result<CommitTarget, Failure> {
        blocking(|| {
            let repository = &self.working_tree.repository;
            let git = repository.git();
            let (branch, refusal) = match (repository.head(&git), repository.check_idle(&git)) {
                (Ok(Head { branch, .. }), idle) => (Some(branch), idle.err()),
                (Err(detached), idle) => (None, Some(idle.err().unwrap_or(detached))),
            };
            let short = |name: String| name.strip_prefix("refs/heads/").map_or(name.clone(), str::to_owned);
            Ok(CommitTarget {
                branch: branch.map(short),
                commit: repository.head_commit(&git)?.map(|id| id.to_string()),
                refusal,
            })
        })
    }

    /// Returns the library's Markdown files in the last commit. Names that no path can express are skipped.
    pub(super) fn committed(&self) -> Result<Committed, Failure> {
        let repository = &self.working_tree.repository;
        let git = repository.git();
        let mut committed = Committed::default();
        let Some(head) = repository.head_commit(&git)? else {
            return Ok(committed);
        };
        let tree = tree::of_commit(&git, head)?;
        if let Some(folder) = tree::folder(&git, tree, repository.prefix())? {
            let found = tree_diff::between(&git, None, Some(folder), &mut OF_COMMIT.clone())?;
            committed.truncated = found.truncated;
            let most = if found.truncated { MAX_OF_MANY } else { MAX_ENTRIES };
            let paths = found.paths.into_iter().take(most);
            committed.paths = paths.filter(|path| LibraryPath::of_any_file(path).is_ok()).collect();
        }
        Ok(committed)
    }
}

/// Maximum size of the documents of a change, before and after it.
const MAX_CHANGE_BYTES: usize = 4 * MAX_FILE_BYTES as usize;

fn too_much_to_show() -> Failure {
    let message = "the documents of this entry are too large to be shown together; `git show` shows them";
    Failure::new(FailureKind::TooLarge, message)
}

/// The documents of a commit.
#[derive(Debug, Default)]
pub(super) struct Committed {
    pub(super) paths: BTreeSet<String>,
    truncated: bool,
}

/// Number of a commit's documents that are compared if it has more than [`OF_COMMIT`].
const MAX_OF_MANY: usize = 5_000;

/// Budget of the listing of a commit: as many documents as a listing of the folder has.
pub(super) const OF_COMMIT: Budget = Budget { tree_bytes: 24 << 20, documents: MAX_ENTRIES };
