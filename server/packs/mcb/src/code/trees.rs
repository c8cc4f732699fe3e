//! The trees of files in collections, as their rows describe them.

use std::{io, path::PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tabellion_code::{Choice, CodeError, Entry, Folder, Selection, Stop, Tree, commit_path};
use tabellion_runtime::Row;
use tabellion_vcs::{GitRepository, Objects, Submodules, VcsError, WorkspacePath, Workspaces};

use super::super::values::text;

/// Selection of a collection's files, as its row keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Request {
    #[serde(default)]
    pub(super) extensions: Vec<String>,
    #[serde(default)]
    pub(super) exclude_dirs: Vec<String>,
    #[serde(default)]
    pub(super) ignore_patterns: Vec<String>,
    pub(super) max_file_size: u64,
    #[serde(default)]
    pub(super) follow_symlinks: bool,
    /// The branches whose blobs are taken; without any, the files of the folder are.
    #[serde(default)]
    pub(super) branches: Vec<String>,
    /// Number of commits of each branch whose messages are taken.
    #[serde(default)]
    pub(super) depth: u64,
}

impl Request {
    pub(super) fn selection(&self) -> Selection {
        Selection {
            extensions: self.extensions.clone(),
            exclude_dirs: self.exclude_dirs.clone(),
            ignore_patterns: self.ignore_patterns.clone(),
            max_file_size: self.max_file_size,
            follow_symlinks: self.follow_symlinks,
        }
    }
}

pub(super) fn request(row: &Row) -> Result<Request, CodeError> {
    serde_json::from_value(row["request"].clone()).map_err(|error| CodeError::Listing(error.to_string()))
}

pub(super) fn tree(row: &Row, workspaces: &Workspaces) -> Result<Box<dyn Tree>, CodeError> {
    let request = request(row)?;
    let path = text(row, "path").unwrap_or_default();
    // The folder may have become a link, or its workspace may have been removed.
    let folder = workspaces.folder(path).map_err(|error| CodeError::Listing(error.to_string()))?;
    Ok(if request.branches.is_empty() {
        let tree = Folder::new(folder.root(), folder.relative(), request.selection());
        Box::new(tree.without(workspaces.own(folder.root())))
    } else {
        Box::new(Branches {
            path: folder.path().to_owned(),
            workspaces: workspaces.clone(),
            request,
            open: Mutex::default(),
        })
    })
}

/// The blobs of branches, without a checkout.
struct Branches {
    path: PathBuf,
    workspaces: Workspaces,
    request: Request,
    /// Open objects that no thread uses at the moment: each can be used by one thread at a time.
    open: Mutex<Vec<Objects>>,
}

impl Branches {
    fn content(&self, id: &[u8; 20]) -> Result<Vec<u8>, VcsError> {
        let idle = self.open.lock().pop();
        let objects = match idle {
            Some(objects) => objects,
            None => Objects::open(&self.workspaces, &self.folder()?, &|| false)?,
        };
        let result = objects.content(id, self.request.max_file_size);
        self.open.lock().push(objects);
        result
    }

    fn folder(&self) -> Result<WorkspacePath, VcsError> {
        Ok(self.workspaces.folder(&self.path.to_string_lossy())?)
    }
}

impl Tree for Branches {
    fn entries(&self, stop: &Stop) -> Result<Vec<Entry>, CodeError> {
        let selection = self.request.selection();
        let choose = selection.choose(&self.path)?;
        let cancelled = || stop.is_asked();
        let list = |repository: &GitRepository| {
            let mut entries = vec![];
            let mut missing = vec![];
            for branch in &self.request.branches {
                let revision = match repository.revision(branch) {
                    Err(error @ VcsError::UnknownRevision { .. }) => {
                        missing.push((branch, error));
                        continue;
                    }
                    revision => revision?,
                };
                for blob in repository.blobs(&revision, Submodules::Skip, &cancelled)? {
                    let blob = blob?;
                    if let Some(choice) = choose(&blob.path) {
                        entries.push(Entry {
                            branch: branch.clone(),
                            blob: blob.id.as_bytes().try_into().ok(),
                            path: blob.path,
                            choice,
                        });
                    }
                }
                let depth = usize::try_from(self.request.depth).unwrap_or(usize::MAX);
                for commit in repository.commits(&revision, depth, &cancelled)? {
                    entries.push(Entry {
                        branch: branch.clone(),
                        path: commit_path(&commit.id.to_string()),
                        blob: commit.id.as_bytes().try_into().ok(),
                        choice: Choice::Always,
                    });
                }
            }
            if missing.len() == self.request.branches.len()
                && let Some((_, error)) = missing.pop()
            {
                return Err(error);
            }
            entries.extend(missing.into_iter().map(|(branch, _)| Entry {
                branch: branch.clone(),
                path: ".".into(),
                blob: None,
                choice: Choice::Always,
            }));
            Ok(entries)
        };
        let listed = self
            .folder()
            .and_then(|at| GitRepository::read(&self.workspaces, &at, &cancelled, |error| error, list));
        listed.map_err(|error| match error {
            VcsError::Cancelled => CodeError::Ended,
            error => CodeError::Listing(error.to_string()),
        })
    }

    fn read(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let gone = || io::Error::other("there is no such branch any more; begin a run of the others");
        let id = entry.blob.ok_or_else(gone)?;
        self.content(&id).map_err(io::Error::other)
    }
}
