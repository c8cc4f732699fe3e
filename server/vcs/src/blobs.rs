//! The files of a commit, without a checkout: for searching and indexing branches.

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::tree::EntryKind,
};

use crate::{
    Workspaces,
    error::{VcsError, check, text},
    repository::{GitRepository, Layout},
    revision::Revision,
};

/// Depth limit of trees, and of submodules in submodules. Git's own is 2048.
pub(crate) const MAX_DEPTH: usize = 1024;

/// Bounds of the files and folders of one answer, and of the bytes of their pending paths. A folder that is in a commit under several
/// names counts each time.
pub(crate) const MAX_FILES: usize = 1_000_000;
pub(crate) const MAX_PATH_BYTES: usize = 256 << 20;

/// A regular file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobEntry {
    /// Path from the top of the repository; for a file in a submodule, through its folder. Invalid UTF-8 becomes `U+FFFD`.
    pub path: String,
    /// Id of the content.
    pub id: ObjectId,
    /// Size in bytes.
    pub size: u64,
    /// Index of its repository among those of [`Blobs`]: 0, or that of a submodule.
    repository: usize,
}

/// Choice of submodules whose files are included.
#[derive(Clone, Copy, Debug)]
pub enum Submodules<'w> {
    /// None.
    Skip,
    /// Those that are checked out in the work tree and are entirely in these workspaces, at the commit that the tree names.
    Include(&'w Workspaces),
}

/// The regular files of a commit, in the order of git's trees. Symbolic links are left out.
pub struct Blobs<'r> {
    first: &'r GitRepository,
    others: Vec<GitRepository>,
    submodules: Submodules<'r>,
    cancelled: &'r dyn Fn() -> bool,
    /// Pending entries, the next one last.
    pending: Vec<Pending>,
    path_bytes: usize,
    seen: usize,
    skipped: Vec<String>,
}

struct Pending {
    path: BString,
    kind: EntryKind,
    id: ObjectId,
    repository: usize,
    depth: usize,
}

impl GitRepository {
    /// Returns the files of a commit.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub fn blobs<'r>(
        &'r self,
        revision: &Revision,
        submodules: Submodules<'r>,
        cancelled: &'r dyn Fn() -> bool,
    ) -> Result<Blobs<'r>, VcsError> {
        let root = Pending {
            path: BString::default(),
            kind: EntryKind::Tree,
            id: self.tree_of(revision.commit)?,
            repository: 0,
            depth: 0,
        };
        Ok(Blobs {
            first: self,
            others: Vec::new(),
            submodules,
            cancelled,
            pending: vec![root],
            path_bytes: 0,
            seen: 0,
            skipped: Vec::new(),
        })
    }

    /// Returns an error if a walk through trees has exceeded its limits.
    pub(crate) fn check_budget(&self, files: usize, path_bytes: usize) -> Result<(), VcsError> {
        if files <= MAX_FILES && path_bytes <= MAX_PATH_BYTES {
            return Ok(());
        }
        let what = format!(
            "has more than {MAX_FILES} files and folders to look at, or paths of more than {MAX_PATH_BYTES} bytes"
        );
        Err(VcsError::Budget { path: self.path().to_owned(), what })
    }

    /// Returns the error for folders that are nested too deep.
    pub(crate) fn too_deep(&self) -> VcsError {
        let what = format!("has folders nested more than {MAX_DEPTH} deep");
        VcsError::Budget { path: self.path().to_owned(), what }
    }
}

impl Blobs<'_> {
    /// Returns the bytes of a file that this iterator returned.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn read(&self, blob: &BlobEntry) -> Result<Vec<u8>, VcsError> {
        let repository = self.repository(blob.repository);
        let found = repository.git.find_blob(blob.id);
        let mut found = found.map_err(|error| repository.damaged("a file", &error))?;
        Ok(found.take_data())
    }

    /// Returns the paths of submodules that were skipped so far: excluded ones, and those that are not checked out, are outside of
    /// the workspaces, or lack the commit.
    pub fn skipped_submodules(&self) -> &[String] {
        &self.skipped
    }

    fn repository(&self, index: usize) -> &GitRepository {
        match index {
            0 => self.first,
            other => &self.others[other - 1],
        }
    }

    /// Adds the entries of a tree to the pending ones.
    fn open(&mut self, at: &Pending) -> Result<(), VcsError> {
        let repository = self.repository(at.repository);
        if at.depth > MAX_DEPTH {
            return Err(repository.too_deep());
        }
        let unreadable = |error: gix::Error| repository.damaged("a folder of a commit", &error);
        let tree = repository.git.find_tree(at.id).map_err(unreadable)?;
        let mut below = Vec::new();
        for entry in tree.iter() {
            let entry = entry.map_err(unreadable)?;
            let mut path = at.path.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(entry.filename());
            below.push(Pending {
                path,
                kind: entry.kind(),
                id: entry.object_id(),
                repository: at.repository,
                depth: at.depth + 1,
            });
        }
        drop(tree);
        self.seen += below.len();
        self.path_bytes += below.iter().map(|entry| entry.path.len()).sum::<usize>();
        self.first.check_budget(self.seen, self.path_bytes)?;
        self.pending.extend(below.into_iter().rev());
        Ok(())
    }

    /// Adds the files of a submodule to the pending ones, if it can be read.
    fn open_submodule(&mut self, at: &Pending) -> Result<(), VcsError> {
        if let Some((repository, tree)) = self.submodule(at)? {
            self.first.seal.borrow_mut().extend(&repository.seal.borrow());
            self.others.push(repository);
            self.pending.push(Pending {
                path: at.path.clone(),
                kind: EntryKind::Tree,
                id: tree,
                repository: self.others.len(),
                depth: at.depth + 1,
            });
        } else {
            self.skipped.push(text(at.path.clone()));
        }
        Ok(())
    }

    fn submodule(&self, at: &Pending) -> Result<Option<(GitRepository, ObjectId)>, VcsError> {
        let Submodules::Include(workspaces) = self.submodules else {
            return Ok(None);
        };
        // The path is from the outermost repository. Trees are untrusted.
        let Ok(path) = at.path.to_str() else {
            return Ok(None);
        };
        let top = self.first.path().join(path);
        let Ok(found) = workspaces.folder(&top.to_string_lossy()) else {
            return Ok(None);
        };
        if found.path() != top || Layout::detect(&top) != Some(Layout::WorkTree) {
            return Ok(None);
        }
        let opened = GitRepository::open_at(workspaces, &top, Layout::WorkTree, self.cancelled);
        let tree = opened.and_then(|repository| {
            let tree = repository.tree_of(at.id)?;
            Ok((repository, tree))
        });
        match tree {
            Ok(found) => Ok(Some(found)),
            Err(VcsError::Cancelled) => Err(VcsError::Cancelled),
            Err(_) => Ok(None),
        }
    }

    fn blob(&self, at: Pending) -> Result<BlobEntry, VcsError> {
        let repository = self.repository(at.repository);
        let header = repository.git.find_header(at.id);
        let header = header.map_err(|error| repository.damaged("a file", &error))?;
        Ok(BlobEntry { path: text(at.path), id: at.id, size: header.size(), repository: at.repository })
    }
}

impl Iterator for Blobs<'_> {
    type Item = Result<BlobEntry, VcsError>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(at) = self.pending.pop() {
            self.path_bytes = self.path_bytes.saturating_sub(at.path.len());
            if let Err(error) = check(self.cancelled) {
                self.pending.clear();
                return Some(Err(error));
            }
            let opened = match at.kind {
                EntryKind::Tree => self.open(&at),
                EntryKind::Commit => self.open_submodule(&at),
                EntryKind::Link => Ok(()),
                EntryKind::Blob | EntryKind::BlobExecutable => return Some(self.blob(at)),
            };
            if let Err(error) = opened {
                self.pending.clear();
                return Some(Err(error));
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "blobs_tests.rs"]
mod tests;
