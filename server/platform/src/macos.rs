//! macOS: names are opened one by one from an open folder, without following links; exchanged by `renameatx_np`.
//!
//! APFS usually ignores case and Unicode composition, and keeps the spelling that a name was created with. A name means only the
//! entry with exactly that spelling: each opened segment is compared with the folder's own spelling.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{Exchange, FileId, FileStat, Kind, OpenError, file_stat_in};

const HANDLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// `NONBLOCK`: opening a pipe must not block. `NOCTTY`: a terminal must not become the controlling one.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A folder held open. It stays the same folder when it is renamed or replaced.
#[derive(Debug)]
pub struct Dir(OwnedFd);

impl Dir {
    /// Opens the folder at `path`; symbolic links above it are followed.
    ///
    /// # Errors
    ///
    /// If it does not exist, or can't be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(sys::open(path, HANDLE, Mode::empty())?))
    }

    /// Opens the file at `path` below this folder for reading, without blocking. It may be a folder or a pipe: check its
    /// metadata. `path` is `/`-separated and has no `..`.
    ///
    /// The kernel refuses a link anywhere on the path (`O_NOFOLLOW_ANY`). Each segment must have the folder's spelling.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; a segment that is missing or not a folder is its [`OpenError::Io`].
    pub fn open_file(&self, path: &str) -> Result<File, OpenError> {
        Ok(self.resolve(path, READ)?.into())
    }

    /// Opens the folder at `path` below this one, resolved as in [`Dir::open_file`].
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_dir(&self, path: &str) -> Result<Self, OpenError> {
        Ok(Self(self.resolve(path, HANDLE)?))
    }

    /// Opens the file with the one-segment `name` in this folder, as in [`Dir::open_file`].
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_entry(&self, name: &str) -> Result<File, OpenError> {
        self.open_file(name)
    }

    /// Calls `each` with every name in this folder except `.` and `..`, in no order.
    ///
    /// # Errors
    ///
    /// If the folder can't be read.
    pub fn entries(&self, mut each: impl FnMut(&OsStr, Kind)) -> io::Result<()> {
        for entry in sys::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match sys::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => kind_of(FileType::from_raw_mode(found.st_mode)),
                    Err(_) => Kind::Other,
                },
                known => kind_of(known),
            };
            each(OsStr::from_bytes(name.to_bytes()), kind);
        }
        Ok(())
    }

    /// Returns the kind of the one-segment `name`; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        let found = self.look(name)?;
        Ok(found.map(|found| kind_of(FileType::from_raw_mode(found.st_mode))))
    }

    /// Returns the identity of the one-segment `name`; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn file_id(&self, name: &str) -> io::Result<Option<FileId>> {
        Ok(self.look(name)?.map(|found| FileId { device: found.st_dev as u64, inode: found.st_ino.into() }))
    }

    /// Returns the stat fields of this folder. Those of Unix change whenever a name in it does.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn own_stat(&self) -> io::Result<FileStat> {
        Ok(file_stat_in(&sys::fstat(&self.0)?))
    }

    /// Returns the target of the symbolic link with the one-segment `name`.
    ///
    /// # Errors
    ///
    /// If it is not a link.
    pub fn read_link(&self, name: &str) -> io::Result<PathBuf> {
        let target = sys::readlinkat(&self.0, name, Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
    }

    /// Returns the stat fields of the one-segment `name`, of a link itself; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn stat(&self, name: &str) -> io::Result<Option<FileStat>> {
        Ok(self.look(name)?.map(|found| file_stat_in(&found)))
    }

    fn look(&self, name: &str) -> io::Result<Option<sys::Stat>> {
        match sys::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges the files `name` here and `other_name` in `other` (`RENAME_SWAP`). Both must exist.
    ///
    /// [`Exchange::Stepwise`] if the file system has no atomic exchange (SMB, exFAT).
    ///
    /// # Errors
    ///
    /// If the exchange was not made. Only if the last step failed is the first name already exchanged; its former content is
    /// then at `other_name` with `.swap` appended.
    pub fn exchange(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<Exchange> {
        match sys::renameat_with(&self.0, name, &other.0, other_name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(Exchange::Atomic),
            Err(Errno::NOTSUP | Errno::INVAL) => self.exchange_in_steps(name, other, other_name),
            Err(error) => Err(error.into()),
        }
    }

    fn exchange_in_steps(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<Exchange> {
        let aside = format!("{other_name}.swap");
        sys::linkat(&self.0, name, &other.0, aside.as_str(), AtFlags::empty())?;
        if let Err(error) = sys::renameat(&other.0, other_name, &self.0, name) {
            // Best effort: the step's own error is reported.
            let _ = sys::unlinkat(&other.0, aside.as_str(), AtFlags::empty());
            return Err(error.into());
        }
        sys::renameat(&other.0, aside.as_str(), &other.0, other_name)?;
        Ok(Exchange::Stepwise)
    }

    /// Renames `name` here to `other_name` in `other`, unless that exists (`RENAME_EXCL`).
    ///
    /// On file systems without such a rename, links the second name and removes the first: a crash in between leaves both
    /// names.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if `other_name` exists.
    pub fn rename_noreplace(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<()> {
        match sys::renameat_with(&self.0, name, &other.0, other_name, RenameFlags::NOREPLACE) {
            Err(Errno::NOTSUP | Errno::INVAL) => {
                sys::linkat(&self.0, name, &other.0, other_name, AtFlags::empty())?;
                Ok(sys::unlinkat(&self.0, name, AtFlags::empty())?)
            }
            done => Ok(done?),
        }
    }

    /// Creates the empty file `name` in this folder, for writing.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(sys::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Creates the folder `name` in this folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        Ok(sys::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes the file `name` from this folder.
    ///
    /// # Errors
    ///
    /// If it was not removed.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(sys::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes the folder `name` from this folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::DirectoryNotEmpty`] if it is not empty.
    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        Ok(sys::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Returns once the names in this folder are durable, by `F_FULLFSYNC`, as `File::sync_all` does for files.
    ///
    /// `fsync` leaves data in the drive's cache there, and `F_BARRIERFSYNC` only keeps its order: a power failure could revert an
    /// acknowledged change. If the file system has no full sync (SMB), `fsync` is the best available.
    ///
    /// # Errors
    ///
    /// If the disk failed; the names may then be lost in a crash.
    pub fn sync(&self) -> io::Result<()> {
        match sys::fcntl_fullfsync(&self.0) {
            Err(Errno::NOTSUP | Errno::INVAL | Errno::NOTTY) => Ok(sys::fsync(&self.0)?),
            done => Ok(done?),
        }
    }

    /// Returns the device of the folder.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn device(&self) -> io::Result<u64> {
        Ok(sys::fstat(&self.0)?.st_dev as u64)
    }

    fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd, OpenError> {
        let opened = sys::openat(&self.0, path, flags | OFlags::NOFOLLOW_ANY, Mode::empty());
        let opened = opened.map_err(|error| match error {
            Errno::LOOP => OpenError::Symlink,
            // A socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => OpenError::Special,
            other => OpenError::Io(other.into()),
        })?;
        if path == "." || self.is_spelt(&opened, path)? {
            Ok(opened)
        } else {
            Err(io::Error::from(io::ErrorKind::NotFound).into())
        }
    }

    /// Returns true if each segment of `path`, at which `opened` was found, has the folder's spelling.
    fn is_spelt(&self, opened: &OwnedFd, path: &str) -> io::Result<bool> {
        // The system knows one of a file's names. If the file has several, this may be a different one.
        let known = sys::getpath(opened)?;
        let above = known.to_bytes().strip_suffix(path.as_bytes());
        if above.is_some_and(|above| above.ends_with(b"/")) {
            return Ok(true);
        }
        let mut at: Option<Self> = None;
        for segment in path.split('/') {
            let folder = at.as_ref().unwrap_or(self);
            let mut is_found = false;
            folder.entries(|name, _| is_found |= name == segment)?;
            if !is_found {
                return Ok(false);
            }
            let flags = HANDLE | OFlags::NOFOLLOW;
            match sys::openat(&folder.0, segment, flags, Mode::empty()) {
                Ok(next) => at = Some(Self(next)),
                // The last segment need not be a folder.
                Err(Errno::NOTDIR) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        _ => Kind::Other,
    }
}
