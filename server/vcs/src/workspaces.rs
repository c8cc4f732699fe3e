//! Workspaces: the folders of the host in which callers can name paths. Every path from a caller is checked here before it is
//! opened.
//!
//! A path is absolute or relative to the working directory. Symbolic links are resolved before the check, so only the target
//! counts. An error does not reveal whether a file outside exists: a caller can't probe other folders.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Component, Path, PathBuf},
};

use tabellion_platform::{self as platform, Dir, OpenError, mistakes::mistake, slashed};

/// The folders in which callers can name paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspaces {
    /// Absolute paths without links.
    roots: Vec<PathBuf>,
    working_directory: PathBuf,
    /// The server's own files and folders, which no caller can name; absolute, without links above them.
    own: Vec<PathBuf>,
}

/// A file or folder in a workspace, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePath {
    path: PathBuf,
    root: PathBuf,
}

/// Reason why a folder can't be a workspace.
#[derive(Debug, thiserror::Error)]
#[error("can't use `{}` as a workspace: {source}; name an existing folder", path.display())]
pub struct WorkspaceError {
    path: PathBuf,
    source: io::Error,
}

/// Reason why a path from a caller is refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkspacePathError {
    /// It is empty.
    #[error("the path is empty; give a path in a workspace, such as `.`")]
    Empty,
    /// It has a character that no path has.
    #[error("the path has a NUL character; omit it")]
    Nul,
    /// It has a segment `..`.
    #[error("`{0}` has the segment `..`; give the path without it")]
    ParentSegment(String),
    /// It leads to no workspace, whether the target exists or not.
    #[error("`{0}` is not in a workspace; the server permits more with `--workspace DIR`")]
    Outside(String),
    /// It does not exist.
    #[error("`{0}` does not exist")]
    Missing(String),
    /// A folder is needed.
    #[error("`{0}` is not a folder; give the folder that contains it")]
    NotAFolder(String),
    /// A file is needed.
    #[error("`{0}` is not a file; give the path of a file")]
    NotAFile(String),
    /// The system denies this process access.
    #[error("`{0}` may not be read; give the server's user permission to")]
    Denied(String),
    /// The system failed.
    #[error("`{path}` can't be looked at: {source}")]
    Io {
        /// The path as given.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl WorkspacePathError {
    /// The stable name of the error, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Empty => "path_empty",
            Self::Nul => "path_nul",
            Self::ParentSegment(_) => "path_parent_segment",
            Self::Outside(_) => "path_outside",
            Self::Missing(_) => "path_missing",
            Self::NotAFolder(_) => "path_not_folder",
            Self::NotAFile(_) => "path_not_file",
            Self::Denied(_) => "path_denied",
            Self::Io { .. } => "path_io",
        }
    }
}

impl Workspaces {
    /// Creates workspaces from these folders; without any, from the top of the work tree around the working directory, or the working
    /// directory if there is none. Folders may be relative to the working directory. A folder that is not named and can only be a
    /// [`mistake`] is left out: then there may be no workspace.
    ///
    /// # Errors
    /// If one does not exist or is not a folder.
    pub fn new(folders: &[PathBuf], working_directory: &Path) -> Result<Self, WorkspaceError> {
        let resolved = |folder: &Path| {
            let found = platform::canonicalize(&working_directory.join(folder)).and_then(|path| {
                if path.is_dir() {
                    return Ok(path);
                }
                Err(io::ErrorKind::NotADirectory.into())
            });
            found.map_err(|source| WorkspaceError { path: folder.to_owned(), source })
        };
        let working_directory = resolved(working_directory)?;
        let mut roots = Vec::new();
        for folder in folders {
            roots.push(resolved(folder)?);
        }
        if roots.is_empty() {
            let is_top = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
            let top = working_directory.ancestors().find(is_top).filter(|top| mistake(top).is_none());
            let fit = Some(top.unwrap_or(&working_directory)).filter(|folder| mistake(folder).is_none());
            roots.extend(fit.map(Path::to_owned));
        }
        Ok(Self { roots, working_directory, own: vec![] })
    }

    /// Leaves out the server's own files and folders, which need not exist. A folder with a whole workspace in it is not left out.
    #[must_use]
    pub fn without(mut self, own: impl IntoIterator<Item = PathBuf>) -> Self {
        for path in own {
            let path = self.working_directory.join(path);
            let above = || Some(platform::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
            let found = platform::canonicalize(&path).ok().or_else(above);
            let is_below = |path: &PathBuf| !self.roots.iter().any(|root| root.starts_with(path));
            self.own.extend(found.filter(is_below));
        }
        self
    }

    /// Returns the paths of the server's own files and folders in a workspace, from it, with `/`.
    pub fn own(&self, root: &Path) -> Vec<String> {
        self.own.iter().filter_map(|path| slashed(path.strip_prefix(root).ok()?)).collect()
    }

    /// Returns the workspaces' absolute paths without links.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Returns true if a path without links is a workspace or in one, and not the server's own. For paths that a program finds while it follows links: it
    /// resolves them first.
    pub fn contain(&self, resolved: &Path) -> bool {
        self.root_of(resolved).is_some()
    }

    /// Returns the innermost workspace that a path without links is in.
    pub(crate) fn root_of(&self, resolved: &Path) -> Option<&PathBuf> {
        if self.own.iter().any(|own| resolved.starts_with(own)) {
            return None;
        }
        let around = self.roots.iter().filter(|root| resolved.starts_with(root));
        around.max_by_key(|root| root.as_os_str().len())
    }

    /// Resolves `path` to a file or folder.
    ///
    /// # Errors
    /// If it leads out of the workspaces, or does not exist.
    pub fn resolve(&self, path: &str) -> Result<WorkspacePath, WorkspacePathError> {
        use WorkspacePathError as Refused;
        let given = || path.to_owned();
        if path.is_empty() {
            return Err(Refused::Empty);
        }
        if path.contains('\0') {
            return Err(Refused::Nul);
        }
        let segments = || Path::new(path).components();
        if segments().any(|segment| segment == Component::ParentDir) {
            return Err(Refused::ParentSegment(given()));
        }
        // Access to a share (`\\server\share`) or device would open it.
        let mut prefixes = segments().take_while(|segment| matches!(segment, Component::Prefix(_)));
        if let Some(prefix) = prefixes.next() {
            let same = |root: &PathBuf| root.components().next() == Some(prefix);
            if !self.roots.iter().any(same) || Path::new(path).is_relative() {
                return Err(Refused::Outside(given()));
            }
        }
        let absolute = self.working_directory.join(path);
        match platform::canonicalize(&absolute) {
            Ok(found) => match self.root_of(&found) {
                Some(root) => Ok(WorkspacePath { root: root.clone(), path: found }),
                None => Err(Refused::Outside(given())),
            },
            Err(_) if self.leads_out(&absolute) => Err(Refused::Outside(given())),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refused::Missing(given()),
                io::ErrorKind::PermissionDenied => Refused::Denied(given()),
                _ => Refused::Io { path: given(), source: error },
            }),
        }
    }

    /// Returns true if a path that can't be resolved leads out of the workspaces: the existing part of it is outside, or ends in a link to
    /// a missing target.
    fn leads_out(&self, path: &Path) -> bool {
        for path in path.ancestors() {
            if let Ok(found) = platform::canonicalize(path) {
                return !self.contain(&found);
            }
            if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                return true;
            }
        }
        true
    }

    /// As [`Self::resolve`], for a folder.
    ///
    /// # Errors
    /// As [`Self::resolve`]; also if it is not a folder.
    pub fn folder(&self, path: &str) -> Result<WorkspacePath, WorkspacePathError> {
        let found = self.resolve(path)?;
        if !found.path.is_dir() {
            return Err(WorkspacePathError::NotAFolder(path.to_owned()));
        }
        Ok(found)
    }

    /// As [`Self::resolve`], for a regular file.
    ///
    /// # Errors
    /// As [`Self::resolve`]; also if it is a folder, pipe, socket or device.
    pub fn file(&self, path: &str) -> Result<WorkspacePath, WorkspacePathError> {
        let found = self.resolve(path)?;
        if !found.path.is_file() {
            return Err(WorkspacePathError::NotAFile(path.to_owned()));
        }
        Ok(found)
    }
}

impl WorkspacePath {
    /// Returns the absolute path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the workspace that it is in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path from the workspace; empty for the workspace itself.
    pub fn relative(&self) -> &Path {
        self.path.strip_prefix(&self.root).unwrap_or(Path::new(""))
    }

    /// Returns the last segment of the path; `None` for the root of the file system.
    pub fn name(&self) -> Option<&OsStr> {
        self.path.file_name()
    }

    /// Opens the file for reading. Links on the way from the workspace are not followed, so one that was put there since the path
    /// was checked is an error.
    ///
    /// # Errors
    /// If a part of the path is a link now, or it is not a regular file, or the system refuses.
    pub fn open(&self) -> Result<File, OpenError> {
        let relative = self.relative().to_str();
        let relative = relative.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
        Dir::open(&self.root)?.open_regular(relative)
    }
}

#[cfg(test)]
#[path = "workspaces_tests.rs"]
mod tests;
