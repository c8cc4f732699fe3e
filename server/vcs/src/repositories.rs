//! Finds the repositories in a folder.

use std::{io, path::Path};

use tabellion_platform::{Dir, Kind, slashed};

use crate::{
    error::{VcsError, check},
    facts::repository_id,
    repository::{GitRepository, Layout},
    workspaces::{WorkspacePath, WorkspacePathError, Workspaces},
};

/// Depth of the search for repositories below a folder.
pub const REPOSITORY_DEPTH: usize = 3;

/// Folders with many subfolders and, in practice, without repositories.
const SKIPPED: [&str; 4] = [".git", "__pycache__", "node_modules", "target"];

/// Upper bound of the folders that are searched.
const MAX_FOLDERS: usize = 100_000;

/// A repository in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositorySummary {
    /// UUID (version 5) of the first commit, equal to [`crate::WorkspaceFacts::repository`].
    pub id: String,
    /// Absolute path of the top of the work tree; for a bare repository, its folder.
    pub path: String,
    /// The project's main branch.
    pub default_branch: Option<String>,
    /// Id of the commit that is checked out; `None` before the first one.
    pub head: Option<String>,
}

/// The repositories in a folder.
#[derive(Debug, Default)]
pub struct RepositoryList {
    /// Those that can be read, by path.
    pub repositories: Vec<RepositorySummary>,
    /// The unreadable ones: path and error.
    pub unreadable: Vec<(String, VcsError)>,
    /// True if there were too many folders to search all.
    pub truncated: bool,
}

/// Returns the repositories in `folder`, itself and at most [`REPOSITORY_DEPTH`] folders below it. The work trees of submodules, linked
/// work trees and nested repositories are listed separately. Links are not followed.
///
/// # Errors
/// If the caller cancels, or `folder` itself is a repository that can't be read and there is no other. The list reports those below it.
pub fn repositories(
    workspaces: &Workspaces,
    folder: &WorkspacePath,
    cancelled: &dyn Fn() -> bool,
) -> Result<RepositoryList, VcsError> {
    let mut list = RepositoryList::default();
    let mut folders = 0;
    let unreadable = |error: io::Error| WorkspacePathError::Io {
        path: folder.path().display().to_string(),
        source: error,
    };
    let root = Dir::open(folder.root()).map_err(unreadable)?;
    let mut pending = vec![(folder.path().to_owned(), REPOSITORY_DEPTH)];
    while let Some((at, depth)) = pending.pop() {
        check(cancelled)?;
        folders += 1;
        if folders > MAX_FOLDERS {
            list.truncated = true;
            break;
        }
        let layout = Layout::detect(&at);
        if let Some(layout) = layout {
            match summary(workspaces, &at, layout, cancelled) {
                Ok(summary) => list.repositories.push(summary),
                Err(VcsError::Cancelled) => return Err(VcsError::Cancelled),
                Err(error) => list.unreadable.push((at.display().to_string(), error)),
            }
        }
        if depth == 0 || layout == Some(Layout::Bare) {
            continue;
        }
        // A folder that can't be read has no repositories for this process.
        let relative = at.strip_prefix(folder.root()).ok().and_then(slashed);
        let Some(open) = relative.and_then(|path| root.open_dir(&path).ok()) else {
            continue;
        };
        let mut below = Vec::new();
        let _ = open.entries(|name, kind| {
            if kind == Kind::Folder
                && below.len() < MAX_FOLDERS
                && !SKIPPED.iter().any(|skipped| name == *skipped)
            {
                below.push((at.join(name), depth - 1));
            }
        });
        below.sort_unstable_by(|one, other| other.0.cmp(&one.0));
        pending.append(&mut below);
    }
    let is_itself = |(path, _): &mut (String, VcsError)| *path == folder.path().display().to_string();
    if list.repositories.is_empty()
        && let Some((_, error)) = list.unreadable.pop_if(is_itself)
    {
        return Err(error);
    }
    Ok(list)
}

fn summary(
    workspaces: &Workspaces,
    folder: &Path,
    layout: Layout,
    cancelled: &dyn Fn() -> bool,
) -> Result<RepositorySummary, VcsError> {
    let repository = GitRepository::open_at(workspaces, folder, layout, cancelled)?;
    let summary = repository.summary()?;
    if repository.seal.borrow().holds() { Ok(summary) } else { Err(VcsError::Changing(folder.to_owned())) }
}

impl GitRepository {
    /// Returns the repository's id: UUID (version 5) of its first commit, equal to [`crate::WorkspaceFacts::repository`].
    pub fn id(&self) -> String {
        repository_id(&self.git, self.path())
    }

    /// Returns the repository's entry in the list of [`repositories`].
    ///
    /// # Errors
    /// If its references can't be read.
    pub fn summary(&self) -> Result<RepositorySummary, VcsError> {
        Ok(RepositorySummary {
            id: self.id(),
            path: self.path().to_string_lossy().into_owned(),
            default_branch: self.default_branch()?,
            head: self.checkout()?.commit,
        })
    }
}

#[cfg(test)]
#[path = "repositories_tests.rs"]
mod tests;
