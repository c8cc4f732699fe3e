//! All differences between operating systems; no other crate depends on the one it runs on.
//!
//! A [`Dir`] is a folder held open; names are resolved from it without ever following a symbolic link. On Linux (`linux.rs`), macOS
//! (`macos.rs`) and Windows (`windows.rs`) the system guarantees this. Elsewhere (`portable.rs`) the standard library checks first
//! and acts then, and each function documents the possible effects of a concurrent change. File locks are the same everywhere: they
//! end with the process.

#![allow(
    clippy::disallowed_methods,
    reason = "this is where files are opened, without following links, blocking, or without bound"
)]

mod beneath;
mod blocking;
mod files;
pub mod home;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
#[allow(missing_docs, reason = "`linux.rs` describes what does not differ")]
mod macos;
pub mod mistakes;
pub mod parent;
// macOS and Windows use parts of it. Also compiled for Linux's tests, so the fallback is always checked.
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(any(target_os = "linux", target_os = "macos", windows), allow(unreachable_pub, dead_code))]
#[allow(missing_docs, reason = "`linux.rs` and `unix.rs` describe what does not differ")]
mod portable;
mod signals;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod unix;
pub mod walk;
#[cfg(windows)]
#[allow(missing_docs, reason = "`linux.rs` and `unix.rs` describe what does not differ")]
mod windows;

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::process::{Child, Command};

pub use beneath::{
    MAX_OWN_BYTES, create, create_folders, create_own, each_below, names, open_regular, open_to_write,
    read_regular, read_text, slashed,
};
pub use blocking::blocking;
pub use files::{
    canonicalize, change_mode, entry_id_at, file_id, file_id_at, file_stat, for_owner_alone, is_for_others,
    is_held_open, make_like, mode, open_to_sync, remove_file, rename, set_executable,
};
pub use signals::asked_to_end;

#[cfg(target_os = "linux")]
pub use linux::{Dir, Journal, Lease, start_writing, write_out};
#[cfg(target_os = "macos")]
pub use macos::Dir;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub use portable::Dir;
#[cfg(not(any(target_os = "linux", windows)))]
pub use portable::Lease;
#[cfg(not(target_os = "linux"))]
pub use portable::{Journal, start_writing, write_out};
#[cfg(windows)]
pub use windows::{Dir, Lease};

/// Size limit of the name of a directory entry, in bytes of UTF-8. Linux counts bytes; macOS and Windows count 255 units of
/// UTF-16, which need up to three bytes each.
pub const MAX_NAME_BYTES: usize = if cfg!(target_os = "linux") { 255 } else { 3 * 255 };

/// True if each name means exactly the entry with that name. On Windows `a:b` is a stream of `a`, `aux` a device, and `a.` another
/// spelling of `a`.
pub const NAMES_ARE_LITERAL: bool = !cfg!(windows);

/// True if files have permission bits.
pub const HAS_MODES: bool = cfg!(unix);

/// The kind of a directory entry; symbolic links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, pipe, socket, device, or an unknown kind.
    Other,
}

/// Error when opening a name below a [`Dir`].
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A segment is a symbolic link.
    #[error("a symbolic link is in the way")]
    Symlink,
    /// It can't be opened as a file: a socket, or a device without a driver.
    #[error("not a regular file")]
    Special,
    /// It exceeds the size limit.
    #[error("{size} bytes, more than the {limit} that are read")]
    TooLarge {
        /// Its size, as far as it is known.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Any other error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Io(error) => error,
            OpenError::TooLarge { .. } => Self::new(io::ErrorKind::InvalidData, error),
            error => Self::other(error),
        }
    }
}

/// Returns `name` if it is one segment. Names also come from files that others can write, and any other would lead out of the folder.
fn segment(name: &str) -> io::Result<&str> {
    let ends: &[char] = if cfg!(windows) { &['/', '\0', '\\', ':'] } else { &['/', '\0'] };
    if matches!(name, "" | "." | "..") || name.contains(ends) {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    Ok(name)
}

/// Manner in which two names were exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// In one step: neither name was ever missing, and no concurrent write was lost.
    Atomic,
    /// In several steps. The first name always had one content or the other, but a file that another program put there
    /// between two steps is lost. Compare the result before removing it, as with [`Exchange::Atomic`].
    Stepwise,
}

/// The identity of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Device number.
    pub device: u64,
    /// Inode number; on Windows, file id.
    pub inode: u128,
}

/// A point in time in the form of git's index.
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

/// The stat fields in git's index, by which it detects changes without reading a file; all zero if unknown, which makes git read
/// it. Larger numbers are truncated to 32 bits, as in git. On Windows there are only times and size, as in Git for Windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStat {
    /// Time of the last change of its state (name, owner, mode or content); on Windows, time of its creation.
    pub ctime: Timestamp,
    /// Time of the last change of its content.
    pub mtime: Timestamp,
    /// The device.
    pub device: u32,
    /// The inode.
    pub inode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Size in bytes.
    pub size: u32,
}

/// Converts the result of a stat call, as [`file_stat`] does.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn file_stat_in(found: &rustix::fs::Stat) -> FileStat {
    FileStat {
        ctime: Timestamp { seconds: found.st_ctime as u32, nanoseconds: found.st_ctime_nsec as u32 },
        mtime: Timestamp { seconds: found.st_mtime as u32, nanoseconds: found.st_mtime_nsec as u32 },
        device: found.st_dev as u32,
        inode: found.st_ino as u32,
        user: found.st_uid,
        group: found.st_gid,
        size: found.st_size as u32,
    }
}

/// The result of requesting a [`Lease`].
#[derive(Debug)]
pub enum Leased {
    /// No program has the file open for writing, and one that opens it so waits until the lease ends.
    Yes(Lease),
    /// A program has the file open for writing.
    BeingWritten,
    /// The system has no leases for this file: any program may write to it at any time.
    Unsupported,
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail like one on a full disk, instead of killing the process.
pub fn outlive_file_size_limit() {
    #[cfg(unix)]
    // SAFETY: no handler is set that could run at an unsafe moment: the signal is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Returns the name of the account that the process runs as: `uid-N` if the system knows no name, as in some containers. `None` on
/// Windows, where an environment variable contains it.
pub fn account_name() -> Option<String> {
    #[cfg(unix)]
    {
        // SAFETY: the call has no precondition, and can't fail.
        let uid = unsafe { libc::getuid() };
        Some(name_of_account(uid).unwrap_or_else(|| format!("uid-{uid}")))
    }
    #[cfg(not(unix))]
    None
}

/// Returns the name in the system's table of accounts.
#[cfg(unix)]
fn name_of_account(uid: libc::uid_t) -> Option<String> {
    let mut found = std::ptr::null_mut();
    let mut account = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut texts = vec![0u8; 16 << 10];
    // SAFETY: all pointers are to values that outlive the call, and the length is the buffer's.
    let status = unsafe {
        let (texts, len) = (texts.as_mut_ptr().cast(), texts.len());
        libc::getpwuid_r(uid, account.as_mut_ptr(), texts, len, &mut found)
    };
    if status != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so that `account` is filled in, and its name is a text in `texts` that ends with NUL.
    let name = unsafe { std::ffi::CStr::from_ptr(account.assume_init().pw_name) };
    name.to_str().ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Returns the name of the machine, if it has one that is text.
pub fn host_name() -> Option<String> {
    #[cfg(unix)]
    {
        // POSIX bounds names by 255 bytes and the NUL at their end.
        let mut name = [0u8; 256];
        // SAFETY: the buffer is as long as is said, and longer than any name.
        let status = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
        let name = (status == 0).then(|| std::ffi::CStr::from_bytes_until_nul(&name).ok())??;
        name.to_str().ok().filter(|name| !name.is_empty()).map(str::to_owned)
    }
    #[cfg(not(unix))]
    None
}

/// A file lock between processes; released when dropped, or when the process dies.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "held, never read: closing it releases the lock")] File);

/// Waits for the lock on the file at `path`, which is created if missing.
///
/// # Errors
///
/// If the file can't be opened, or the file system has no locks.
pub fn lock_file(path: &Path) -> io::Result<FileLock> {
    let file = open_lock(path)?;
    file.lock()?;
    Ok(FileLock(file))
}

/// Takes the lock on the file at `path`; returns `None` if it is held by another process.
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

/// Takes a share of the lock on the file at `path`, which others can share too; returns `None` if another process holds all of it.
/// A file that can't be opened for writing is opened for reading.
///
/// # Errors
///
/// As for [`lock_file`].
pub fn try_share_lock(path: &Path) -> io::Result<Option<FileLock>> {
    let file = open_lock(path).or_else(|error| open_regular(path).map_err(|_| error))?;
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(FileLock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    open_to_write(path, OpenOptions::new().create(true).truncate(false).write(true))
}

/// Makes the program that `command` will start the leader of a new group: [`end_group`] then also ends its children, and the
/// terminal's Ctrl-C does not.
pub fn lead_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Kills a program that was started after [`lead_group`], and its group. On Windows only the program itself.
pub fn end_group(child: &mut Child) {
    #[cfg(unix)]
    // SAFETY: the call has no precondition. The child was not waited for, so its id is its own.
    unsafe {
        libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL);
    }
    // It may have ended already.
    let _ = child.kill();
}

/// Gives this thread the lowest priority, if the system has priorities per thread (Linux).
pub fn yield_to_others() {
    #[cfg(target_os = "linux")]
    {
        // If that is not permitted, the priority stays.
        let _ = rustix::process::setpriority_process(None, 19);
    }
}

#[cfg(test)]
mod tests;
