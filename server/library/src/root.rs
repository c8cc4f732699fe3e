//! The library's folder, held open, and reading from it: never through a symbolic link, never outside, never waiting.
//!
//! Writing is the transaction's, which files are shown is [`super::walk`]'s.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use unicode_normalization::UnicodeNormalization;

use tabellion_runtime::text::is_invisible;

use crate::path::LibraryPath;
use tabellion_platform::{self as platform, Dir, FileId, Kind, OpenError};

/// The largest file that is read whole: 64 MiB. Searching has no limit.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The folder that a library is.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    dir: Arc<Dir>,
}

/// What a file held, and what the system said of it when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// When it was last changed.
    pub modified: SystemTime,
    /// The permission bits, as [`platform::mode`] gives them.
    pub mode: u32,
    /// Which file it is; `None` where the system does not tell.
    pub id: Option<FileId>,
}

/// Why a file of the library can't be had although something stands at its path.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file or a folder on the way is a symbolic link, wherever it leads.
    #[error(
        "`{path}` leads through a symbolic link, which the library does not follow; put the file itself there"
    )]
    Symlink {
        /// The file asked for.
        path: String,
    },
    /// It is a folder, pipe, socket or device.
    #[error("`{path}` is not a regular file")]
    NotRegular {
        /// The file asked for.
        path: String,
    },
    /// It has more than [`MAX_FILE_BYTES`].
    #[error("`{path}` has {size} bytes, more than the {limit} that are read; split it")]
    TooLarge {
        /// The file asked for.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// [`MAX_FILE_BYTES`].
        limit: u64,
    },
    /// The system does not let this process read it.
    #[error("`{path}` may not be read; give the server's user permission to")]
    Denied {
        /// The file asked for.
        path: String,
    },
    /// The system failed.
    #[error("`{path}` can't be read: {source}")]
    Io {
        /// The file asked for.
        path: String,
        /// What the system said.
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
    /// The library in the folder `path`. A symbolic link is followed here, once: what it points to later does not matter.
    ///
    /// # Errors
    ///
    /// When there is no such folder, or it may not be entered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let dir = Arc::new(Dir::open(&path)?);
        Ok(Self { path, dir })
    }

    /// The folder's absolute path without symbolic links, as of [`Root::open`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself, to resolve names from.
    pub fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// What the file at `path` holds; `None` when there is none.
    ///
    /// On a file system that ignores case, `note.md` must not be another name for `Note.md`: [`platform`] sees to that
    /// everywhere but on Linux's case-folding folders and FAT mounts, where [`Root::case_twin`] tells.
    ///
    /// # Errors
    ///
    /// [`FileError`] when something is there that is not a readable regular file of at most [`MAX_FILE_BYTES`].
    pub fn read(&self, path: &LibraryPath) -> Result<Option<FileBytes>, FileError> {
        self.open_document(path)?
            .map(|file| Self::read_open(path, file))
            .transpose()
    }

    /// The file at `path`, open for reading; `None` when there is none.
    pub(super) fn open_document(&self, path: &LibraryPath) -> Result<Option<File>, FileError> {
        let shown = || path.to_string();
        match self.dir.open_file(path.as_str()) {
            Ok(file) => Ok(Some(file)),
            Err(OpenError::Io(error)) if is_missing(&error) => Ok(None),
            Err(OpenError::Io(error)) => Err(FileError::io(path, error)),
            Err(OpenError::Symlink) => Err(FileError::Symlink { path: shown() }),
            Err(OpenError::Special) => Err(FileError::NotRegular { path: shown() }),
        }
    }

    /// What `file`, which was opened at `path`, holds.
    pub(super) fn read_open(path: &LibraryPath, file: File) -> Result<FileBytes, FileError> {
        let shown = || path.to_string();
        let metadata = file.metadata().map_err(|error| FileError::io(path, error))?;
        if !metadata.is_file() {
            return Err(FileError::NotRegular { path: shown() });
        }
        let too_large = |size| FileError::TooLarge {
            path: shown(),
            size,
            limit: MAX_FILE_BYTES,
        };
        if metadata.len() > MAX_FILE_BYTES {
            return Err(too_large(metadata.len()));
        }
        let bytes = read_up_to(file, metadata.len(), MAX_FILE_BYTES + 1)
            .map_err(|error| FileError::io(path, error))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large(bytes.len() as u64));
        }
        let modified = metadata.modified().map_err(|error| FileError::io(path, error))?;
        Ok(FileBytes {
            bytes,
            modified,
            mode: platform::mode(&metadata),
            id: platform::file_id(&metadata),
        })
    }

    /// The existing file or folder that some system takes for the one at `path`, or for a folder on the way, though it is
    /// spelt otherwise: `Note.md` for `note.md`, `DOCS` for `docs/a.md`. `None` when there is none, or each segment exists
    /// as it is spelt.
    ///
    /// To be asked before something is made at `path`; costs reading each existing folder on the way.
    ///
    /// # Errors
    ///
    /// When a folder on the way can't be read or is a symbolic link.
    pub fn case_twin(&self, path: &LibraryPath) -> io::Result<Option<String>> {
        let mut below: Option<Dir> = None;
        let mut above = String::new();
        for segment in path.components() {
            let folded = fold(segment);
            let (mut exact, mut twin) = (None, None::<String>);
            let dir = below.as_ref().unwrap_or(&self.dir);
            dir.entries(|name, kind| {
                if name == segment {
                    exact = Some(kind);
                } else if twin.as_deref().is_none_or(|found| name < found) && fold(name) == folded {
                    twin = Some(name.to_owned());
                }
            })?;
            match (exact, twin) {
                (None, twin) => return Ok(twin.map(|name| above + &name)),
                (Some(Kind::Folder), _) => {
                    below = Some(dir.open_dir(segment).map_err(|error| match error {
                        OpenError::Io(error) => error,
                        other => io::Error::other(other),
                    })?);
                }
                (Some(_), _) => return Ok(None),
            }
            above.push_str(segment);
            above.push('/');
        }
        Ok(None)
    }
}

/// The part of `other` that some system takes for the same part of `path`, though it is spelt otherwise.
pub(super) fn twin_among(path: &LibraryPath, other: &LibraryPath) -> Option<String> {
    let mut same = String::new();
    for (segment, twin) in path.components().zip(other.components()) {
        if segment != twin {
            return (fold(segment) == fold(twin)).then(|| same + twin);
        }
        same.push_str(segment);
        same.push('/');
    }
    None
}

/// Whether nothing stands at the path: the last segment, a folder on the way, or a file where a folder would have to be.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn read_up_to(file: File, expected: u64, limit: u64) -> io::Result<Vec<u8>> {
    // One byte more than expected, so that the end is found without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0) + 1);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a name is compared by where case and composition do not count: Unicode's full case folding of the decomposed
/// name without ignorable characters, as APFS and ext4 do it. Coarser than NTFS, so nothing is missed there either.
fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // There and back again: `ẞ`, `ß` and `SS` only meet after all three.
    name.nfd()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfd()
        .collect()
}

#[cfg(test)]
#[path = "root_tests.rs"]
mod tests;
