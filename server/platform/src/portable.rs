//! All other systems: the standard library alone, which checks first and acts then. macOS and Windows use parts of it.
//!
//! A weaker guarantee for all of this file: a program that replaces a folder by a symbolic link between check and action can lead
//! one call outside the library. A replacement that lasts longer is detected.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Exchange, FileId, FileStat, Kind, Leased, OpenError, segment};

/// Leases are not supported here.
#[derive(Debug)]
pub enum Lease {}

impl Lease {
    /// Returns [`Leased::Unsupported`].
    pub fn take(_: File) -> Leased {
        Leased::Unsupported
    }

    pub fn is_wanted(&self) -> bool {
        match *self {}
    }
}

/// No journal here has known guarantees: those of NTFS are undocumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {}

impl Journal {
    /// Returns `None`.
    pub fn detect(_: &Path) -> Option<Self> {
        None
    }

    /// Returns true if files on a device are written through this journal.
    pub fn is_of(&self, _: u64) -> bool {
        match *self {}
    }
}

/// Returns once the buffered bytes of `file`, which is open for writing, are written.
///
/// # Errors
///
/// If they can't be written.
pub fn write_out(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Has no effect: the system writes on a sync.
pub fn start_writing(_: &File) {}

/// A folder by its path. If another folder takes that path, this names the new one.
#[derive(Debug)]
pub struct Dir(PathBuf);

impl Dir {
    /// Opens the folder at `path`; symbolic links above it are followed.
    ///
    /// # Errors
    ///
    /// If it does not exist.
    pub fn open(path: &Path) -> io::Result<Self> {
        let resolved = path.canonicalize()?;
        if resolved.is_dir() { Ok(Self(resolved)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Opens the file at `path` below this folder for reading. `path` is `/`-separated and has no `..`.
    ///
    /// Refuses all but regular files before opening. Each segment must have the folder's spelling: `note.md` does not open
    /// `Note.md` on a system that ignores case.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; a segment that is missing or not a folder is its [`OpenError::Io`].
    pub fn open_file(&self, path: &str) -> Result<File, OpenError> {
        let (path, kind) = self.resolve(path)?;
        if kind == Kind::Other { Err(OpenError::Special) } else { Ok(File::open(path)?) }
    }

    pub fn open_dir(&self, path: &str) -> Result<Self, OpenError> {
        match self.resolve(path)? {
            (path, Kind::Folder) => Ok(Self(path)),
            _ => Err(io::Error::from(io::ErrorKind::NotADirectory).into()),
        }
    }

    /// Opens the file with the one-segment `name`, which came from [`Dir::entries`], so its spelling is known.
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_entry(&self, name: &str) -> Result<File, OpenError> {
        let path = self.entry(name)?;
        match look(&path)? {
            Kind::Other => Err(OpenError::Special),
            _ => Ok(File::open(path)?),
        }
    }

    /// Calls `each` with every name in this folder, in no order.
    ///
    /// # Errors
    ///
    /// If the folder can't be read.
    pub fn entries(&self, mut each: impl FnMut(&OsStr, Kind)) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            each(&entry.file_name(), kind_of(entry.file_type()?));
        }
        Ok(())
    }

    pub fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        Ok(self.look(name)?.map(|found| kind_of(found.file_type())))
    }

    /// Returns the identity of the one-segment `name`; `None` if it does not exist, or the system has no identities.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn file_id(&self, name: &str) -> io::Result<Option<FileId>> {
        let found = self.look(name)?;
        let path = self.entry(name)?;
        Ok(found.and_then(|_| super::entry_id_at(&path)))
    }

    pub fn own_stat(&self) -> io::Result<FileStat> {
        Ok(super::file_stat(&fs::symlink_metadata(&self.0)?))
    }

    pub fn read_link(&self, name: &str) -> io::Result<PathBuf> {
        fs::read_link(self.entry(name)?)
    }

    pub fn stat(&self, name: &str) -> io::Result<Option<FileStat>> {
        Ok(self.look(name)?.map(|found| super::file_stat(&found)))
    }

    /// Returns the path of the one-segment `name`.
    fn entry(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.0.join(segment(name)?))
    }

    fn look(&self, name: &str) -> io::Result<Option<fs::Metadata>> {
        match fs::symlink_metadata(self.entry(name)?) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Exchanges the files `name` here and `other_name` in `other`; always [`Exchange::Stepwise`].
    ///
    /// # Errors
    ///
    /// If the exchange was not made. Only if the last step failed is the first name already exchanged; its former content is
    /// then at `other_name` with `.swap` appended.
    pub fn exchange(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<Exchange> {
        let (here, there) = (self.entry(name)?, other.entry(other_name)?);
        let aside = other.0.join(format!("{other_name}.swap"));
        fs::hard_link(&here, &aside)?;
        if let Err(error) = fs::rename(&there, &here) {
            // Best effort: the step's own error is reported.
            let _ = fs::remove_file(&aside);
            return Err(error);
        }
        fs::rename(&aside, &there)?;
        Ok(Exchange::Stepwise)
    }

    /// Renames `name` here to `other_name` in `other`, unless that exists. A crash in between leaves both names.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if `other_name` exists.
    pub fn rename_noreplace(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<()> {
        let here = self.entry(name)?;
        fs::hard_link(&here, other.entry(other_name)?)?;
        fs::remove_file(here)
    }

    pub fn create_file(&self, name: &str) -> io::Result<File> {
        File::create_new(self.entry(name)?)
    }

    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.entry(name)?)
    }

    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.entry(name)?)
    }

    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.entry(name)?)
    }

    /// Returns once the names in this folder are durable.
    ///
    /// # Errors
    ///
    /// If the disk failed.
    pub fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    /// Returns the device of the folder; 0 on systems without devices.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn device(&self) -> io::Result<u64> {
        Ok(super::file_id_at(&self.0).map_or(0, |id| id.device))
    }

    fn resolve(&self, path: &str) -> Result<(PathBuf, Kind), OpenError> {
        let mut at = self.0.clone();
        let mut kind = Kind::Folder;
        for segment in path.split('/') {
            if kind != Kind::Folder {
                return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
            }
            kind = look(&at.join(segment))?;
            if !is_spelt(&at, segment)? {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            at.push(segment);
        }
        Ok((at, kind))
    }
}

fn look(path: &Path) -> Result<Kind, OpenError> {
    let found = fs::symlink_metadata(path)?.file_type();
    if found.is_symlink() { Err(OpenError::Symlink) } else { Ok(kind_of(found)) }
}

/// Returns true if `folder` has `name` in exactly this spelling.
fn is_spelt(folder: &Path, name: &str) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if entry?.file_name() == name {
            return Ok(true);
        }
    }
    Ok(false)
}

fn kind_of(found: fs::FileType) -> Kind {
    if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Folder
    } else {
        Kind::Other
    }
}
