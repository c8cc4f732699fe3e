//! Lists the files of a run, and reads them.

use std::{
    io,
    path::{Path, PathBuf},
};

use tabellion_platform::{
    Dir, Kind, OpenError, slashed,
    walk::{Walk, WalkError},
};

/// Larger files are skipped and reported.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Folders that a run skips, regardless of the ignore rules.
pub const SKIPPED_FOLDERS: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];
/// Maximum number of names read from one folder.
const MAX_NAMES: usize = 100_000;

/// A file that was not checked, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The file, relative to the workspace, with `/`.
    pub file: String,
    /// The reason.
    pub reason: SkipReason,
}

/// Reason for skipping a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum SkipReason {
    /// It is larger than [`MAX_FILE_BYTES`].
    #[error("larger than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    /// It is text, and not in UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// It is no text.
    #[error("not text")]
    NotText,
    /// Its name is not UTF-8.
    #[error("its name is not UTF-8")]
    Name,
    /// It is the work tree of a different repository, or a bare one.
    #[error("a repository of its own")]
    Repository,
    /// It can't be read.
    #[error("can't be read")]
    Unreadable,
    /// It took longer than any handwritten file.
    #[error("takes too long")]
    TooSlow,
}

/// A workspace, held open: a folder that replaces it during a run is not read, and no link leads out of it.
#[derive(Debug)]
pub(crate) struct Workspace {
    path: PathBuf,
    dir: Dir,
}

impl Workspace {
    /// Opens the workspace at a path.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), dir: Dir::open(path)? })
    }

    /// Returns true if a path is in the workspace; it need not exist.
    pub(crate) fn has(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
    }

    /// Returns a path relative to the workspace, with `/`, for display.
    pub(crate) fn relative(&self, path: &Path) -> String {
        relative(&self.path, path)
    }

    /// Returns the kind of the file or folder at a path without following links.
    pub(crate) fn kind(&self, path: &Path) -> Option<Kind> {
        let path = self.inner(path)?;
        let (above, name) = path.rsplit_once('/').unwrap_or((".", &path));
        match name {
            "." => Some(Kind::Folder),
            name => self.dir.open_dir(above).ok()?.kind(name).ok()?,
        }
    }

    /// Returns the files of a folder that git's and other ignore rules do not exclude, sorted, and the unreadable entries.
    pub(crate) fn list(
        &self,
        folder: &Path,
        without: &[String],
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<PathBuf>, Vec<Skipped>), WalkError> {
        let start = self.inner(folder).ok_or(OpenError::Special)?;
        let walk = Walk {
            root: &self.dir,
            start: &start,
            without,
            takes: &|name, is_folder| !(is_folder && SKIPPED_FOLDERS.contains(&name)),
            follows_links: false,
            cancelled,
        };
        let files = walk.files()?;
        let unread = files.unread.into_iter().map(|(file, _)| file).collect();
        let skipped = [
            (unread, SkipReason::Unreadable),
            (files.not_utf8, SkipReason::Name),
            (files.repositories, SkipReason::Repository),
        ];
        let skipped = skipped.into_iter().flat_map(|(paths, reason): (Vec<String>, _)| {
            paths.into_iter().map(move |path| Skipped { file: self.relative(&folder.join(path)), reason })
        });
        Ok((files.paths.iter().map(|path| folder.join(path)).collect(), skipped.collect()))
    }

    /// Returns the names in a folder; none if there is no such folder.
    pub(crate) fn names(&self, folder: &Path) -> Result<Vec<String>, OpenError> {
        let mut names = Vec::new();
        let folder = self.dir.open_dir(&self.inner(folder).ok_or(OpenError::Special)?);
        let folder = match folder {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            folder => folder?,
        };
        folder.entries(|name, _| {
            if names.len() < MAX_NAMES {
                names.extend(name.to_str().map(str::to_owned));
            }
        })?;
        Ok(names)
    }

    /// Reads a file of at most `limit` bytes.
    pub(crate) fn bytes(&self, path: &Path, limit: u64) -> Result<Vec<u8>, OpenError> {
        self.dir.read(&self.inner(path).ok_or(OpenError::Special)?, limit)
    }

    /// Reads a source.
    pub(crate) fn read(&self, path: &Path) -> Result<String, SkipReason> {
        let bytes = self.bytes(path, MAX_FILE_BYTES).map_err(|error| match error {
            OpenError::TooLarge { .. } => SkipReason::TooLarge,
            _ => SkipReason::Unreadable,
        })?;
        // NUL is valid UTF-8, but among texts only those in UTF-16 have it.
        if bytes.contains(&0) {
            let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
            return Err(if is_utf16 { SkipReason::NotUtf8 } else { SkipReason::NotText });
        }
        String::from_utf8(bytes).map_err(|_| SkipReason::NotUtf8)
    }

    fn inner(&self, path: &Path) -> Option<String> {
        slashed(path.strip_prefix(&self.path).ok()?)
    }
}

fn relative(workspace: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(workspace).unwrap_or(path);
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}
