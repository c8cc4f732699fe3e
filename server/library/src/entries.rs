//! What people ask of a library at a terminal: an entry of the log with its change, and what is not committed yet.

use std::collections::BTreeSet;

use gix::{ObjectId, bstr::ByteSlice, objs::FindExt, objs::TreeRefIter};
use tabellion_runtime::Failure;

use super::{
    Library, LogEntry,
    blocking::blocking,
    failures::{InRepository, invalid_path},
    history::{self, FindEntryError},
    repository::Head,
    tree, versions,
};
use crate::path::{LibraryDir, LibraryPath, is_markdown};

/// The change of a log entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryChange {
    /// The documents, in the order of the entry.
    pub documents: Vec<DocumentChange>,
    /// Number of changed documents outside the library.
    pub outside: usize,
}

/// A document before and after a change, as git stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    /// Path of the document.
    pub path: String,
    /// Bytes before; `None` if there was no document.
    pub before: Option<Vec<u8>>,
    /// Bytes after; `None` if the document was deleted.
    pub after: Option<Vec<u8>>,
}

/// How a document differs from the last commit.
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
    /// How it differs.
    pub difference: Difference,
}

/// Where the next change would be committed.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The branch's short name; `None` if no branch is checked out.
    pub branch: Option<String>,
    /// HEAD's commit; `None` before the first one.
    pub commit: Option<String>,
    /// Why no change can be made now, whatever its document; `None` if one can.
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
    /// If the repository can't be read.
    pub fn change_of(&self, entry: &LogEntry) -> Result<EntryChange, Failure> {
        blocking(|| {
            let git = self.working_tree.repository.git();
            let id = versions::content_id(&entry.commit)?;
            let commit = git.find_commit(id).reading("a commit")?;
            let before = commit.parent_ids().next().map(gix::Id::detach);
            let content = |at: Option<ObjectId>, path: &str| {
                let kept = tree::look_up_at(&git, at, path)?;
                kept.map(|kept| versions::content(&git, kept.blob)).transpose()
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
            Ok(EntryChange {
                outside: entry.outside,
                documents,
            })
        })
    }

    /// Returns the documents that differ from the last commit, by path: those that the server shows, and those that the
    /// commit has.
    ///
    /// # Errors
    /// If the folder or the repository can't be read.
    pub fn uncommitted(&self) -> Result<Vec<Uncommitted>, Failure> {
        let listing = self
            .list(&LibraryDir::ROOT, true)
            .map_err(|error| Failure::new(tabellion_runtime::FailureKind::Io, error.to_string()))?;
        let committed = blocking(|| self.committed())?;
        let shown = listing.files.iter().map(|path| path.as_str().to_owned());
        let all: BTreeSet<String> = shown.chain(committed.iter().cloned()).collect();
        let mut found = Vec::new();
        for path in all {
            let document = LibraryPath::of_any_file(&path).map_err(|error| invalid_path(&error))?;
            let difference = match self.read(&document) {
                Ok(Some(state)) if !state.dirty => continue,
                Ok(Some(_)) if committed.contains(&path) => Difference::Modified,
                Ok(Some(_)) => Difference::Untracked,
                Ok(None) if committed.contains(&path) => Difference::Deleted,
                Ok(None) => continue,
                // Something else is in its place, or it can't be read; an unlisted file is none of ours.
                Err(_) if committed.contains(&path) => Difference::Modified,
                Err(_) => continue,
            };
            found.push(Uncommitted { path, difference });
        }
        Ok(found)
    }

    /// Returns the bytes of the document at `path` in the last commit, as git stores them.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn committed_content(&self, path: &LibraryPath) -> Result<Option<Vec<u8>>, Failure> {
        blocking(|| {
            let git = self.working_tree.repository.git();
            let head = self.working_tree.repository.head_commit(&git)?;
            let kept = tree::look_up_at(&git, head, &self.working_tree.repository.git_path(path))?;
            kept.map(|kept| versions::content(&git, kept.blob)).transpose()
        })
    }

    /// Returns where the next change would be committed.
    ///
    /// # Errors
    /// If the repository can't be read.
    pub fn place(&self) -> Result<Place, Failure> {
        blocking(|| {
            let repository = &self.working_tree.repository;
            let git = repository.git();
            let (branch, refusal) = match (repository.head(&git), repository.check_idle(&git)) {
                (Ok(Head { branch, .. }), idle) => (Some(branch), idle.err()),
                (Err(detached), idle) => (None, Some(idle.err().unwrap_or(detached))),
            };
            let short = |name: String| {
                name.strip_prefix("refs/heads/")
                    .map_or(name.clone(), str::to_owned)
            };
            Ok(Place {
                branch: branch.map(short),
                commit: repository.head_commit(&git)?.map(|id| id.to_string()),
                refusal,
            })
        })
    }

    /// Returns the paths of the Markdown files that the last commit has in the library.
    fn committed(&self) -> Result<BTreeSet<String>, Failure> {
        let repository = &self.working_tree.repository;
        let git = repository.git();
        let mut paths = BTreeSet::new();
        let Some(head) = repository.head_commit(&git)? else {
            return Ok(paths);
        };
        let mut folder = Some(tree::of_commit(&git, head)?);
        for segment in repository.prefix().split_terminator('/') {
            folder = match folder {
                Some(tree) => subfolder(&git, tree, segment)?,
                None => None,
            };
        }
        if let Some(tree) = folder {
            add_documents(&git, tree, "", &mut paths)?;
        }
        Ok(paths)
    }
}

fn subfolder(git: &gix::Repository, tree: ObjectId, name: &str) -> Result<Option<ObjectId>, Failure> {
    let mut bytes = Vec::new();
    let entries: TreeRefIter<'_> = git.objects.find_tree_iter(&tree, &mut bytes).reading("a tree")?;
    for entry in entries {
        let entry = entry.reading("a tree")?;
        if entry.filename == name && entry.mode.is_tree() {
            return Ok(Some(entry.oid.to_owned()));
        }
    }
    Ok(None)
}

/// Adds the paths of the Markdown files in `tree`, prefixed with `folder`. Names that no path can express are skipped.
fn add_documents(
    git: &gix::Repository,
    tree: ObjectId,
    folder: &str,
    paths: &mut BTreeSet<String>,
) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let entries: TreeRefIter<'_> = git.objects.find_tree_iter(&tree, &mut bytes).reading("a tree")?;
    for entry in entries {
        let entry = entry.reading("a tree")?;
        let Ok(name) = entry.filename.to_str() else {
            continue;
        };
        let path = format!("{folder}{name}");
        if entry.mode.is_tree() {
            add_documents(git, entry.oid.to_owned(), &format!("{path}/"), paths)?;
        } else if entry.mode.is_blob() && is_markdown(name) && LibraryPath::of_any_file(&path).is_ok() {
            paths.insert(path);
        }
    }
    Ok(())
}
