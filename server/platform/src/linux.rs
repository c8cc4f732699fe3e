//! Linux: names are resolved beneath an open folder by `openat2`, exchanged by `renameat2`.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

pub use super::unix::Dir;
use super::unix::{kind_in, kind_of};
use super::{Kind, Leased, OpenError, segment};

/// Buffer for directory entries: some 500 per system call.
const ENTRIES_BYTES: usize = 32 * 1024;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// `NONBLOCK`: opening a pipe must not block. `NOCTTY`: a terminal must not become the controlling one.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Dir {
    /// Opens the folder at `path`; symbolic links above it are followed.
    ///
    /// # Errors
    ///
    /// If it does not exist, or can't be entered.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(sys::open(path, HANDLE, Mode::empty())?))
    }

    /// Opens the file at `path` below this folder for reading, without blocking. It may be a folder or a pipe: check its
    /// metadata. `path` is `/`-separated and has no `..`.
    ///
    /// While resolving, the kernel refuses symbolic links and paths out of this folder, so concurrent changes can't lead
    /// outside. In case-folding folders on ext4 and on FAT, the kernel also finds `Note.md` under `note.md`.
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
        Ok(Self(self.resolve(path, HANDLE.union(OFlags::NOFOLLOW))?))
    }

    /// Opens the file with the one-segment `name` in this folder, as in [`Dir::open_file`] but at half its cost.
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_entry(&self, name: &str) -> Result<File, OpenError> {
        sys::openat(&self.0, segment(name)?, READ, Mode::empty()).map(File::from).map_err(open_error)
    }

    /// Calls `each` with every name in this folder except `.` and `..`, in no order.
    ///
    /// # Errors
    ///
    /// If the folder can't be read.
    pub fn entries(&self, mut each: impl FnMut(&OsStr, Kind)) -> io::Result<()> {
        let folder = self.reopen()?;
        let mut space = Vec::with_capacity(ENTRIES_BYTES);
        let mut entries = RawDir::new(&folder, space.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not report the kind.
                FileType::Unknown => self.look(name)?.map_or(Kind::Other, |found| kind_in(&found)),
                known => kind_of(known),
            };
            each(OsStr::from_bytes(name.to_bytes()), kind);
        }
        Ok(())
    }

    /// Returns once the names in this folder are durable.
    ///
    /// # Errors
    ///
    /// If the disk failed; the names may then be lost in a crash.
    pub fn sync(&self) -> io::Result<()> {
        Ok(sys::fsync(self.reopen()?)?)
    }

    /// Opens the folder again for reading: the handle itself only resolves names. Each reader also gets its own position.
    fn reopen(&self) -> io::Result<OwnedFd> {
        Ok(sys::openat(&self.0, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }

    fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd, OpenError> {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match sys::openat2(&self.0, path, flags, Mode::empty(), beneath) {
            Ok(opened) => Ok(opened),
            // Before Linux 5.6, or under a seccomp filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => self.resolve_in_steps(path, flags),
            // With `O_DIRECTORY` the kernel reports a link at the end as "not a directory".
            Err(Errno::NOTDIR) if flags.contains(OFlags::DIRECTORY) => Err(self.not_a_folder(path)),
            Err(error) => Err(open_error(error)),
        }
    }

    /// Opens one segment after the other, without following symbolic links: as safe as `openat2`, but slower. A folder moved
    /// out of the library between two segments is still read.
    pub(super) fn resolve_in_steps(&self, path: &str, flags: OFlags) -> Result<OwnedFd, OpenError> {
        let (folders, last) = match path.rsplit_once('/') {
            Some((folders, last)) => (folders.split('/').collect(), last),
            None => (Vec::new(), path),
        };
        let mut at: Option<OwnedFd> = None;
        for (name, flags) in folders.into_iter().map(|folder| (folder, HANDLE)).chain([(last, flags)]) {
            let from = at.as_ref().unwrap_or(&self.0);
            let name = if name == "." { name } else { segment(name)? };
            at = Some(match sys::openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOTDIR) if is_symlink(from, name) => return Err(OpenError::Symlink),
                opened => opened.map_err(open_error)?,
            });
        }
        at.ok_or_else(|| open_error(Errno::NOENT))
    }

    fn not_a_folder(&self, path: &str) -> OpenError {
        // Repeats the steps, only to distinguish a link from a file.
        match self.resolve_in_steps(path, HANDLE) {
            Err(error) => error,
            Ok(_) => open_error(Errno::NOTDIR),
        }
    }
}

/// A lease on a file: a program that opens the file for writing waits until this is dropped.
///
/// Files renamed over its name meanwhile are different files. The kernel ends a lease for which a program has waited 45
/// seconds (`/proc/sys/fs/lease-break-time`).
#[derive(Debug)]
pub struct Lease(File);

/// The `fcntl` command that sets a lease's signal, from `<fcntl.h>`.
const F_SETSIG: i32 = 10;

impl Lease {
    /// Leases `file`, which must be open for reading only.
    pub fn take(file: File) -> Leased {
        // Requests for the file are polled, not signalled: `SIGURG` is ignored unless a handler is installed.
        if control(&file, F_SETSIG, libc::SIGURG).is_err() {
            return Leased::Unsupported;
        }
        match control(&file, libc::F_SETLEASE, libc::F_RDLCK) {
            Ok(_) => Leased::Yes(Self(file)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !is_remote(&file) => {
                Leased::BeingWritten
            }
            Err(_) => Leased::Unsupported,
        }
    }

    /// Returns true if a program waits to write to the file.
    pub fn is_wanted(&self) -> bool {
        // While one waits, the kernel reports the state that the lease is to change to.
        control(&self.0, libc::F_GETLEASE, 0).ok() != Some(libc::F_RDLCK)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Other threads may have the file open; without this the lease would last as long.
        let _ = control(&self.0, libc::F_SETLEASE, libc::F_UNLCK);
    }
}

/// Returns true if the file is on another machine, where "try again" may also mean "never".
fn is_remote(file: &File) -> bool {
    const NFS: u32 = 0x6969;
    const SMB: [u32; 3] = [0x517b, 0xff53_4d42, 0xfe53_4d42];
    sys::fstatfs(file).is_ok_and(|found| {
        let kind = found.f_type as u32;
        kind == NFS || SMB.contains(&kind)
    })
}

fn control(file: &File, command: i32, argument: i32) -> io::Result<i32> {
    // SAFETY: these commands of `fcntl` take an open descriptor and an integer, and access no memory.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done),
    }
}

/// A file system that writes all changes of names and sizes through one journal, in order.
///
/// There it suffices to sync the bytes of files, and then the journal once: changes made before a file is modified are
/// durable when that file is. This is ext4 with a journal that can be verified. (XFS may keep the order too, but that is not
/// relied upon, nor for any other file system.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journal {
    device: u64,
}

impl Journal {
    /// Returns the journal of the file system at `path`; `None` if it is not known to have one.
    pub fn detect(path: &Path) -> Option<Self> {
        const EXT4: u32 = 0xef53;
        if sys::statfs(path).ok()?.f_type as u32 != EXT4 {
            return None;
        }
        let device = sys::stat(path).ok()?.st_dev;
        let number = format!("{}:{}", sys::major(device), sys::minor(device));
        let block = std::fs::read_link(Path::new("/sys/dev/block").join(number)).ok()?;
        let journal = format!("{}-", block.file_name()?.to_str()?);
        let journals = std::fs::read_dir("/proc/fs/jbd2").ok()?.flatten();
        journals
            .filter_map(|entry| entry.file_name().into_string().ok())
            .any(|name| name.starts_with(&journal))
            .then_some(Self { device })
    }

    /// Returns true if files on `device` are written through this journal.
    pub fn is_of(&self, device: u64) -> bool {
        self.device == device
    }
}

/// Returns once the buffered bytes of `file` are written. This makes neither its size nor its name durable.
///
/// # Errors
///
/// If they can't be written.
pub fn write_out(file: &File) -> io::Result<()> {
    let all =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes an open descriptor and integers, and accesses no memory.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, all) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Starts writing the buffered bytes of `file`. Best effort, without notice of completion.
pub fn start_writing(file: &File) {
    // SAFETY: the call takes an open descriptor and integers, and accesses no memory.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

fn is_symlink(folder: &OwnedFd, name: &str) -> bool {
    sys::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

fn open_error(error: Errno) -> OpenError {
    match error {
        Errno::LOOP => OpenError::Symlink,
        Errno::NXIO | Errno::NODEV => OpenError::Special,
        other => OpenError::Io(other.into()),
    }
}
