//! Actions on names in an open folder, for Linux and macOS. `linux.rs` and `macos.rs` open folders, and files below them. A name that is
//! not one segment is [`io::ErrorKind::InvalidFilename`].

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::{Exchange, FileId, FileStat, Kind, file_stat_in, segment};

/// The errors of file systems that can neither exchange names nor rename without replacing.
const NO_SUCH_RENAME: [Errno; 2] =
    if cfg!(target_os = "linux") { [Errno::INVAL, Errno::NOSYS] } else { [Errno::INVAL, Errno::NOTSUP] };

/// A folder held open. It stays the same folder when it is renamed or replaced.
#[derive(Debug)]
pub struct Dir(pub(super) OwnedFd);

impl Dir {
    /// Returns the kind of the one-segment `name`; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        Ok(self.look(segment(name)?)?.map(|found| kind_in(&found)))
    }

    /// Returns the identity of the one-segment `name`; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn file_id(&self, name: &str) -> io::Result<Option<FileId>> {
        Ok(self
            .look(segment(name)?)?
            .map(|found| FileId { device: device_in(&found), inode: found.st_ino.into() }))
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
        let target = sys::readlinkat(&self.0, segment(name)?, Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
    }

    /// Returns the stat fields of the one-segment `name`, of a link itself; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn stat(&self, name: &str) -> io::Result<Option<FileStat>> {
        Ok(self.look(segment(name)?)?.map(|found| file_stat_in(&found)))
    }

    pub(super) fn look(&self, name: impl Arg) -> io::Result<Option<sys::Stat>> {
        match sys::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges the files `name` here and `other_name` in `other`. Both must exist.
    ///
    /// [`Exchange::Stepwise`] if the file system has no atomic exchange (NFS, some FUSE file systems, SMB, exFAT).
    ///
    /// # Errors
    ///
    /// If the exchange was not made; both names are then as before. Only if the last step failed is the first name already
    /// exchanged; its former content is then at `other_name` with `.swap` appended.
    pub fn exchange(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<Exchange> {
        let (name, other_name) = (segment(name)?, segment(other_name)?);
        match sys::renameat_with(&self.0, name, &other.0, other_name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(Exchange::Atomic),
            Err(error) if NO_SUCH_RENAME.contains(&error) => self.exchange_in_steps(name, other, other_name),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn exchange_in_steps(
        &self,
        name: &str,
        other: &Dir,
        other_name: &str,
    ) -> io::Result<Exchange> {
        let aside = format!("{other_name}.swap");
        sys::linkat(&self.0, name, &other.0, aside.as_str(), AtFlags::empty())?;
        if let Err(error) = sys::renameat(&other.0, other_name, &self.0, name) {
            // Undoing a failed step is best effort: the step's own error is reported.
            let _ = sys::unlinkat(&other.0, aside.as_str(), AtFlags::empty());
            return Err(error.into());
        }
        sys::renameat(&other.0, aside.as_str(), &other.0, other_name)?;
        Ok(Exchange::Stepwise)
    }

    /// Renames `name` here to `other_name` in `other`, unless that exists.
    ///
    /// On file systems without such a rename, links the second name and removes the first: a crash in between leaves both
    /// names.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if `other_name` exists.
    pub fn rename_noreplace(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<()> {
        let (name, other_name) = (segment(name)?, segment(other_name)?);
        match sys::renameat_with(&self.0, name, &other.0, other_name, RenameFlags::NOREPLACE) {
            Err(error) if NO_SUCH_RENAME.contains(&error) => self.rename_by_link(name, other, other_name),
            done => Ok(done?),
        }
    }

    pub(super) fn rename_by_link(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<()> {
        sys::linkat(&self.0, name, &other.0, other_name, AtFlags::empty())?;
        Ok(sys::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Creates the empty file `name` in this folder, for writing.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(sys::openat(&self.0, segment(name)?, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Creates the folder `name` in this folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        Ok(sys::mkdirat(&self.0, segment(name)?, Mode::from_raw_mode(0o777))?)
    }

    /// Removes the file `name` from this folder.
    ///
    /// # Errors
    ///
    /// If it was not removed.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(sys::unlinkat(&self.0, segment(name)?, AtFlags::empty())?)
    }

    /// Removes the folder `name` from this folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::DirectoryNotEmpty`] if it is not empty.
    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        Ok(sys::unlinkat(&self.0, segment(name)?, AtFlags::REMOVEDIR)?)
    }

    /// Returns the device of the folder.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn device(&self) -> io::Result<u64> {
        Ok(device_in(&sys::fstat(&self.0)?))
    }
}

#[allow(clippy::unnecessary_cast, reason = "on macOS it is an `i32`")]
fn device_in(found: &sys::Stat) -> u64 {
    found.st_dev as u64
}

pub(super) fn kind_in(found: &sys::Stat) -> Kind {
    kind_of(FileType::from_raw_mode(found.st_mode))
}

pub(super) fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        _ => Kind::Other,
    }
}
