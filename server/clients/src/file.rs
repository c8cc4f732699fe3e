//! Configuration files on the disk: read with care, replaced atomically, with a backup next to them.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tabellion_platform as platform;

/// Size limit of a configuration file: 64 MiB.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Suffix of the copy from before the first entry.
const BACKUP: &str = ".tabellion-backup";
/// Suffix of the note that there was no file before.
const CREATED: &str = ".tabellion-created";

/// Error when reading or writing a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is a folder, pipe, socket or device.
    #[error("`{0}` is not a regular file; move it away")]
    NotAFile(PathBuf),
    /// It is a symbolic link that leads nowhere, or in a circle.
    #[error("`{0}` is a symbolic link that does not lead to a file; mend or delete it")]
    Link(PathBuf),
    /// It is too large for a configuration.
    #[error("`{path}` has {size} bytes, more than the {MAX_BYTES} that are read")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// It is not UTF-8.
    #[error("`{path}` is not UTF-8 in line {line}; save it as UTF-8 with an editor first")]
    NotText {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// It has changed since it was read.
    #[error(
        "`{0}` was changed by another program in this moment; nothing was written, run the command again"
    )]
    Changed(PathBuf),
    /// The file, or its folder, can't be written by this user.
    #[error(
        "`{0}` can't be written: it, or its folder, is read-only for you. Change their permissions, or put what \
         `tabellion install CLIENT --print` prints into the file as a user that may write it"
    )]
    ReadOnly(PathBuf),
    /// The system failed.
    #[error("can't {action} `{path}`: {source}")]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl FileError {
    /// Converts a permission error, possibly about the backup alone, to one about the configuration at `path`, which has advice.
    pub(crate) fn about(self, path: &Path) -> Self {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match self {
            Self::Io { source, .. } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) => {
                Self::ReadOnly(path.into())
            }
            other => other,
        }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError + use<> {
    let path = path.to_owned();
    move |source| FileError::Io { action, path, source }
}

/// A configuration file: its real path, and its text.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// The file itself, after symbolic links are resolved.
    pub(crate) path: PathBuf,
    /// Its text, byte order mark included; `None` if it does not exist.
    pub(crate) text: Option<String>,
}

impl File {
    /// Reads a file, following symbolic links.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        let read = failed("read", path);
        let real = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), text: None });
            }
            Err(error) => return Err(read(error)),
            Ok(found) if found.is_symlink() => {
                fs::canonicalize(path).map_err(|_| FileError::Link(path.to_owned()))?
            }
            Ok(_) => path.to_owned(),
        };
        let found = fs::metadata(&real).map_err(failed("read", path))?;
        if !found.is_file() {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        if found.len() > MAX_BYTES {
            let (path, size) = (path.to_owned(), found.len());
            return Err(FileError::TooLarge { path, size });
        }
        let mut bytes = vec![];
        let file = platform::open_regular(&real).map_err(|error| failed("read", path)(error.into()))?;
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(read)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
            let path = path.to_owned();
            FileError::NotText { path, line }
        })?;
        Ok(Self { path: real, text: Some(text) })
    }

    /// Returns the state before the first entry, if a record of it exists.
    pub(crate) fn origin(&self) -> Option<Origin> {
        if let Ok(File { text: Some(text), .. }) = Self::read(&self.beside(BACKUP)) {
            return Some(Origin::File(text));
        }
        let note = platform::read_text(&self.beside(CREATED)).ok()?;
        serde_json::from_str(&note).ok().map(Origin::Nothing)
    }

    /// Records the state before the first entry.
    fn keep_origin(&self) -> Result<(), FileError> {
        self.forget_origin()?;
        match &self.text {
            Some(text) => replace(&self.beside(BACKUP), text, Some(&self.path)),
            None => {
                let folders = missing_folders(&self.path);
                if let Some(folder) = self.path.parent() {
                    fs::create_dir_all(folder).map_err(failed("create the folder of", &self.path))?;
                }
                let note = serde_json::to_string(&Created { folders }).unwrap_or_default();
                replace(&self.beside(CREATED), &[&note, "\n"].concat(), None)
            }
        }
    }

    /// Removes the record of the state before.
    pub(crate) fn forget_origin(&self) -> Result<(), FileError> {
        remove(&self.beside(BACKUP))?;
        remove(&self.beside(CREATED))
    }

    /// Replaces the file by `text`, or removes it.
    pub(crate) fn write(&self, text: Option<&str>, backup: Backup) -> Result<(), FileError> {
        self.replace_or_remove(text, backup).map_err(|error| error.about(&self.path))
    }

    fn replace_or_remove(&self, text: Option<&str>, backup: Backup) -> Result<(), FileError> {
        if Self::read(&self.path)?.text != self.text {
            return Err(FileError::Changed(self.path.clone()));
        }
        if backup == Backup::Keep {
            self.keep_origin()?;
        }
        match text {
            Some(text) => replace(&self.path, text, self.text.is_some().then_some(&self.path)),
            None => remove(&self.path),
        }
    }

    /// Removes the folders that were created for the file, from the innermost, while they are empty.
    pub(crate) fn remove_folders(&self, created: &Created) {
        for folder in self.path.ancestors().skip(1).take(created.folders) {
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }
}

/// Treatment of the record of the state before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backup {
    /// Records it now.
    Keep,
    /// Leaves it: it is recorded already, or not needed.
    Leave,
}

/// State before the first entry.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// A file with this text.
    File(String),
    /// No file.
    Nothing(Created),
}

/// Folders created together with a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Created {
    /// The number of folders.
    pub(crate) folders: usize,
}

/// Returns the number of missing folders above the file.
fn missing_folders(path: &Path) -> usize {
    path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).count()
}

/// Puts a file with `text` at `path` in one step, with the permissions of `like`; a new file is for its owner alone, because such
/// files contain keys.
fn replace(path: &Path, text: &str, like: Option<&PathBuf>) -> Result<(), FileError> {
    let write = || -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut new = tempfile::Builder::new().prefix(".tabellion-").tempfile_in(folder)?;
        new.write_all(text.as_bytes())?;
        if let Some(like) = like {
            platform::make_like(new.as_file(), &fs::metadata(like)?)?;
        }
        new.as_file().sync_all()?;
        new.persist(path).map_err(|error| error.error)?;
        sync_folder(folder);
        Ok(())
    };
    write().map_err(failed("write", path))
}

/// Makes a new name durable, if the system can. The content is durable already.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = platform::open_to_sync(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
