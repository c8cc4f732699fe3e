//! Everything that differs by operating system, so that nothing else asks which one it runs on.
//!
//! A [`Dir`] is a folder held open; names are resolved from it without ever following a symbolic link. On Linux
//! (`linux.rs`) the kernel itself promises this. Elsewhere (`portable.rs`) the standard library looks first and acts
//! then, and each function says what a change in between can do. File locks are the same everywhere.

#[cfg(target_os = "linux")]
mod linux;
// Compiled for Linux's tests too, so that the fallback cannot rot where it is not used.
pub mod parent;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(unreachable_pub, dead_code))]
mod portable;
mod signals;

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

pub use signals::asked_to_end;

#[cfg(target_os = "linux")]
pub use linux::{Dir, Journal, Lease, start_writing, write_out};
#[cfg(not(target_os = "linux"))]
pub use portable::{Dir, Journal, Lease, start_writing, write_out};

/// What stands under a name in a folder, by the folder's own word; a symbolic link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, pipe, socket, device, or something unknown.
    Other,
}

/// Why a name below a [`Dir`] could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A segment is a symbolic link.
    #[error("a symbolic link is in the way")]
    Symlink,
    /// It can't be opened as a file at all: a socket, or a device without a driver.
    #[error("not a regular file")]
    Special,
    /// Anything else.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How two names were exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// In one step: nobody saw either name missing, and no write in between was lost.
    Atomic,
    /// In steps. The first name always had the one content or the other, but a file that another program put there
    /// between two of the steps is gone. Look at what came out before throwing it away, as with [`Exchange::Atomic`].
    Stepwise,
}

/// Which file it is, whatever its name: the device and the inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device.
    pub device: u64,
    /// The inode on it.
    pub inode: u64,
}

/// The identity of a file; `None` where the system does not tell (Windows, on a stable compiler).
pub fn file_id(metadata: &Metadata) -> Option<FileId> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// The permission bits of a file; where there are none, 0o444 for a read-only file and 0o644 for any other.
pub fn mode(metadata: &Metadata) -> u32 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        metadata.mode() & 0o7777
    }
    #[cfg(not(unix))]
    if metadata.permissions().readonly() {
        0o444
    } else {
        0o644
    }
}

/// A moment as git's index keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970, modulo 2³².
    pub seconds: u32,
    /// Nanoseconds of the second.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// Returns the nanoseconds since 1970.
    pub fn as_nanos(self) -> u64 {
        u64::from(self.seconds) * 1_000_000_000 + u64::from(self.nanoseconds)
    }
}

/// What git's index keeps of a file, to see without reading it whether it changed; all zero where that is unknown, which
/// makes git read it. Larger numbers are cut to 32 bits, as git does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStat {
    /// When its state (name, owner, mode or content) last changed.
    pub ctime: Timestamp,
    /// When its content last changed.
    pub mtime: Timestamp,
    /// The device.
    pub device: u32,
    /// The inode.
    pub inode: u32,
    /// Its owner.
    pub user: u32,
    /// Its group.
    pub group: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// What git's index keeps of a file.
pub fn file_stat(metadata: &Metadata) -> FileStat {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let m = metadata;
        FileStat {
            ctime: Timestamp {
                seconds: m.ctime() as u32,
                nanoseconds: m.ctime_nsec() as u32,
            },
            mtime: Timestamp {
                seconds: m.mtime() as u32,
                nanoseconds: m.mtime_nsec() as u32,
            },
            device: m.dev() as u32,
            inode: m.ino() as u32,
            user: m.uid(),
            group: m.gid(),
            size: m.size() as u32,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        FileStat::default()
    }
}

/// Gives the file `new` the permissions of `old`, and its owner where we may.
///
/// # Errors
///
/// When the permissions can't be set.
pub fn make_like(new: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let now = new.metadata()?;
        if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
            // Only root may; the content matters more than whose it is.
            let _ = std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()));
        }
    }
    new.set_permissions(old.permissions())
}

/// What came of asking for a [`Lease`].
#[derive(Debug)]
pub enum Leased {
    /// Nobody has the file open for writing, and whoever opens it so waits until the lease ends.
    Yes(Lease),
    /// Somebody has it open for writing.
    BeingWritten,
    /// The system has no leases for this file: anybody may write to it at any time.
    Unsupported,
}

/// Gives the file or folder at `path`, unless it is a symbolic link, the permission bits that `new` makes of its own and of
/// whether it is a folder. Does nothing where the system has none.
///
/// # Errors
///
/// When they can't be set.
pub fn change_mode(path: &Path, new: impl FnOnce(u32, bool) -> u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let found = std::fs::symlink_metadata(path)?;
        let mode = found.permissions().mode() & 0o7777;
        let new = new(mode, found.is_dir());
        if new != mode && !found.is_symlink() {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(new))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (path, new);
    Ok(())
}

/// Lets a write beyond the limit on file sizes (`ulimit -f`) fail as on a full disk, where it would kill the process.
pub fn outlive_file_size_limit() {
    #[cfg(unix)]
    // SAFETY: no handler is set that could run at a bad moment: the signal is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Whether others than a file's owner may read or change it. Not known on Windows, where it is said to be the owner's.
pub fn is_for_others(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        std::os::unix::fs::MetadataExt::mode(metadata) & 0o077 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Has files that these options make be for their owner alone. On Windows, they are for whoever the folder is for.
pub fn for_owner_alone(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// A lock on a file that other processes honour too; released when dropped, or when the process dies.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "held, never read: closing it releases the lock")] File);

/// Waits for the lock on the file at `path`, which is made when it is not there.
///
/// # Errors
///
/// When the file can't be opened, or the file system has no locks.
pub fn lock_file(path: &Path) -> io::Result<FileLock> {
    let file = open_lock(path)?;
    file.lock()?;
    Ok(FileLock(file))
}

/// The lock on the file at `path`, or `None` while somebody else has it.
///
/// # Errors
///
/// As for [`lock_file`].
pub fn try_lock_file(path: &Path) -> io::Result<Option<FileLock>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
}

/// Has this thread run only when no other wants to, where the system can do that for one thread (Linux).
pub fn yield_to_others() {
    #[cfg(target_os = "linux")]
    {
        // Without the right to it, the thread runs like any other.
        let _ = rustix::process::setpriority_process(None, 19);
    }
}

#[cfg(test)]
mod tests;
