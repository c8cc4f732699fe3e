//! macOS: names are opened one by one from an open folder, without following links; exchanged by `renameatx_np`.
//!
//! APFS usually ignores case and Unicode composition, and keeps the spelling that a name was created with. A name means only the
//! entry with exactly that spelling: each opened segment is compared with the folder's own spelling.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

pub use super::unix::Dir;
use super::unix::{kind_in, kind_of};
use super::{Kind, OpenError, segment};

const HANDLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// `NONBLOCK`: opening a pipe must not block. `NOCTTY`: a terminal must not become the controlling one.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

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

    pub fn open_dir(&self, path: &str) -> Result<Self, OpenError> {
        Ok(Self(self.resolve(path, HANDLE)?))
    }

    /// Opens the file with the one-segment `name` in this folder, as in [`Dir::open_file`].
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_entry(&self, name: &str) -> Result<File, OpenError> {
        self.open_file(segment(name)?)
    }

    pub fn entries(&self, mut each: impl FnMut(&OsStr, Kind)) -> io::Result<()> {
        for entry in sys::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match sys::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => kind_in(&found),
                    Err(_) => Kind::Other,
                },
                known => kind_of(known),
            };
            each(OsStr::from_bytes(name.to_bytes()), kind);
        }
        Ok(())
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
