//! The library's folder, held open, and reading from it: never through a symbolic link, never outside, never blocking.
//!
//! The transaction writes; [`super::walk`] decides which files are shown.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tabellion_runtime::text::{composed, folded};

use crate::path::{LibraryDir, LibraryPath, PathError};
use tabellion_platform::{self as platform, Dir, FileId, Kind, OpenError};

/// Size limit of a file that is read whole: 64 MiB. Searching has no limit.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The folder of a library.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    dir: Arc<Dir>,
    /// Identity of the folder; `None` if the system has none.
    id: Option<FileId>,
    /// True if its file system finds a file by a name in another case.
    ignores_case: bool,
}

/// A file's content, and its metadata when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// Modification time.
    pub modified: SystemTime,
    /// The permission bits, as [`platform::mode`] returns them.
    pub mode: u32,
    /// The file's identity; `None` if the system has none.
    pub id: Option<FileId>,
}

/// Error when reading an existing file of the library.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file or a folder above it is a symbolic link, regardless of its target.
    #[error(
        "`{path}` leads through a symbolic link, which the library does not follow; put the file itself there"
    )]
    Symlink {
        /// The file.
        path: String,
    },
    /// It is a folder, pipe, socket or device.
    #[error("`{path}` is not a regular file")]
    NotRegular {
        /// The file.
        path: String,
    },
    /// It has more than [`MAX_FILE_BYTES`].
    #[error("`{path}` has {size} bytes, more than the {limit} that are read; split it")]
    TooLarge {
        /// The file.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// [`MAX_FILE_BYTES`].
        limit: u64,
    },
    /// The system does not let this process read it.
    #[error("`{path}` may not be read; give the server's user permission to")]
    Denied {
        /// The file.
        path: String,
    },
    /// The system failed.
    #[error("`{path}` can't be read: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl FileError {
    /// The stable name of the error, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Symlink { .. } => "file_symlink",
            Self::NotRegular { .. } => "file_not_regular",
            Self::TooLarge { .. } => "file_too_large",
            Self::Denied { .. } => "file_denied",
            Self::Io { .. } => "file_io",
        }
    }

    fn io(path: &LibraryPath, source: io::Error) -> Self {
        let path = path.to_string();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            _ => Self::Io { path, source },
        }
    }
}

impl Root {
    /// Opens the library in the folder `path`. A symbolic link is followed only here and now: later changes of its target
    /// have no effect.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or it can't be entered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = platform::canonicalize(path)?;
        let dir = Arc::new(Dir::open(&path)?);
        Ok(Self { ignores_case: ignores_case(&dir)?, id: platform::file_id_at(&path), path, dir })
    }

    /// Returns true if the folder is still in its original place.
    pub(super) fn is_there(&self) -> bool {
        platform::file_id_at(&self.path) == self.id && self.path.is_dir()
    }

    /// Returns the folder's absolute path without symbolic links, as of [`Root::open`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder, from which names are resolved.
    pub fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// Reads the file at `path`; `None` if there is none.
    ///
    /// On a file system that ignores case, `note.md` is not another name of `Note.md`: the history would have both. [`platform`]
    /// ensures that on Windows and macOS, and [`Root::case_twin`] on Linux: in case-folding folders, on FAT, NTFS, and shares of
    /// other systems.
    ///
    /// # Errors
    ///
    /// [`FileError`] if `path` exists and is not a readable regular file of at most [`MAX_FILE_BYTES`].
    pub fn read(&self, path: &LibraryPath) -> Result<Option<FileBytes>, FileError> {
        self.open_document(path)?.map(|file| Self::read_open(path, file)).transpose()
    }

    /// Opens the file at `path` for reading; `None` if there is none.
    pub(super) fn open_document(&self, path: &LibraryPath) -> Result<Option<File>, FileError> {
        let shown = || path.to_string();
        match self.dir.open_file(path.as_str()) {
            Ok(_) if self.ignores_case && matches!(self.case_twin(path), Ok(Some(_))) => Ok(None),
            Ok(file) => Ok(Some(file)),
            Err(OpenError::Io(error)) if is_missing(&error) => Ok(None),
            Err(OpenError::Io(error)) => Err(FileError::io(path, error)),
            Err(OpenError::Symlink) => Err(FileError::Symlink { path: shown() }),
            Err(OpenError::Special) => Err(FileError::NotRegular { path: shown() }),
            Err(OpenError::TooLarge { size, limit }) => {
                Err(FileError::TooLarge { path: shown(), size, limit })
            }
        }
    }

    /// Reads `file`, which was opened at `path`.
    pub(super) fn read_open(path: &LibraryPath, file: File) -> Result<FileBytes, FileError> {
        let shown = || path.to_string();
        let metadata = file.metadata().map_err(|error| FileError::io(path, error))?;
        if !metadata.is_file() {
            return Err(FileError::NotRegular { path: shown() });
        }
        let too_large = |size| FileError::TooLarge { path: shown(), size, limit: MAX_FILE_BYTES };
        if metadata.len() > MAX_FILE_BYTES {
            return Err(too_large(metadata.len()));
        }
        let id = platform::file_id(&file, &metadata);
        let bytes = read_up_to(file, metadata.len(), MAX_FILE_BYTES + 1)
            .map_err(|error| FileError::io(path, error))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large(bytes.len() as u64));
        }
        let modified = metadata.modified().map_err(|error| FileError::io(path, error))?;
        Ok(FileBytes { bytes, modified, mode: platform::mode(&metadata), id })
    }

    /// Returns the path of the file that `path` names: `path` itself if it exists, otherwise its true spelling.
    pub fn true_path(&self, path: &LibraryPath) -> LibraryPath {
        if path.as_str().is_ascii() || !matches!(self.open_document(path), Ok(None)) {
            return path.clone();
        }
        LibraryPath::of_any_file(&true_spelling(path.as_str(), |folder| self.names(folder)))
            .unwrap_or_else(|_| path.clone())
    }

    /// As [`Root::true_path`], for a folder.
    pub fn true_folder(&self, dir: &LibraryDir) -> LibraryDir {
        if dir.as_str().is_ascii() || self.dir.open_dir(dir.as_str()).is_ok() {
            return dir.clone();
        }
        LibraryDir::parse(&true_spelling(dir.as_str(), |folder| self.names(folder)))
            .unwrap_or_else(|_| dir.clone())
    }

    /// Fails if no file can be created at `path`, because of the name of the file or of a missing folder.
    ///
    /// # Errors
    /// The broken rule.
    pub fn check_new(&self, path: &LibraryPath) -> Result<(), PathError> {
        let exists = |folder: &LibraryDir| self.dir.open_dir(folder.as_str()).is_ok();
        path.check_new(path.parent().ancestors().take_while(exists).count())
    }

    /// Returns the names in the folder at `path`; none if it can't be read.
    fn names(&self, path: &str) -> Vec<String> {
        let mut names = Vec::new();
        let folder = if path.is_empty() { "." } else { path };
        if let Ok(dir) = self.dir.open_dir(folder) {
            // The names read before an error are incomplete, and a name may wrongly seem to be the only one.
            let read = dir.entries(|name, _| names.extend(name.to_str().map(str::to_owned)));
            if read.is_err() {
                names.clear();
            }
        }
        names
    }

    /// Returns the existing file or folder that some system takes for the one at `path`, or for a folder above it, although its
    /// spelling differs: `Note.md` for `note.md`, `DOCS` for `docs/a.md`. `None` if there is none, or each segment exists as spelt.
    ///
    /// To be called before a file is created at `path`. Reads each existing folder above it.
    ///
    /// # Errors
    ///
    /// If a folder above can't be read or is a symbolic link.
    pub fn case_twin(&self, path: &LibraryPath) -> io::Result<Option<String>> {
        let mut below: Option<Dir> = None;
        let mut above = String::new();
        for segment in path.components() {
            let sought = folded(segment);
            let (mut exact, mut twin) = (None, None::<String>);
            let dir = below.as_ref().unwrap_or(&self.dir);
            dir.entries(|name, kind| {
                let Some(name) = name.to_str() else { return };
                if name == segment {
                    exact = Some(kind);
                } else if twin.as_deref().is_none_or(|found| name < found) && folded(name) == sought {
                    twin = Some(name.to_owned());
                }
            })?;
            match (exact, twin) {
                (None, twin) => return Ok(twin.map(|name| above + &name)),
                (Some(Kind::Folder), _) => {
                    below = Some(dir.open_dir(segment)?);
                }
                (Some(_), _) => return Ok(None),
            }
            above.push_str(segment);
            above.push('/');
        }
        Ok(None)
    }
}

/// Returns the part of `other` that some system takes for the same part of `path`, although its spelling differs.
pub(super) fn twin_among(path: &LibraryPath, other: &LibraryPath) -> Option<String> {
    let mut same = String::new();
    for (segment, twin) in path.components().zip(other.components()) {
        if segment != twin {
            return (folded(segment) == folded(twin)).then(|| same + twin);
        }
        same.push_str(segment);
        same.push('/');
    }
    None
}

/// Returns `path` in the spelling of the folders, whose names `names` returns: a missing segment means the only existing one that
/// differs from it in Unicode's composition alone, since people and models can't distinguish the two. A segment without such a
/// twin, or with several, is unchanged.
pub(super) fn true_spelling(path: &str, mut names: impl FnMut(&str) -> Vec<String>) -> String {
    let mut found = String::new();
    for segment in path.split('/') {
        let mut here = if segment.is_ascii() { Vec::new() } else { names(&found) };
        let sought = composed(segment);
        here.retain(|name| composed(name) == sought);
        let only = match &here[..] {
            [name] => name.as_str(),
            _ => segment,
        };
        if !found.is_empty() {
            found.push('/');
        }
        found.push_str(only);
    }
    found
}

/// Returns true if a file is found by a name in another case, as far as the folder's own names reveal.
fn ignores_case(dir: &Dir) -> io::Result<bool> {
    let mut other_case = None;
    dir.entries(|name, _| {
        if other_case.is_none() {
            let swapped = name.to_str().map(swap_case);
            other_case = swapped.filter(|swapped| name.to_str() != Some(swapped));
        }
    })?;
    let Some(other_case) = other_case else {
        return Ok(false);
    };
    let mut is_there_itself = false;
    dir.entries(|name, _| is_there_itself |= name.to_str() == Some(&other_case))?;
    Ok(!is_there_itself && dir.kind(&other_case)?.is_some())
}

fn swap_case(name: &str) -> String {
    let swap = |c: char| {
        if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
    };
    name.chars().map(swap).collect()
}

/// Returns true if the path does not exist: a missing last segment or folder, or a file in place of a folder.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn read_up_to(file: File, expected: u64, limit: u64) -> io::Result<Vec<u8>> {
    // One more byte than expected, so the end is found without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0) + 1);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "root_tests.rs"]
mod tests;
