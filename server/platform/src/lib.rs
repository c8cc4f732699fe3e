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
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
pub mod parent;
// Also compiled for Linux's tests, so the fallback is always checked.
#[cfg(any(test, not(any(target_os = "linux", windows))))]
#[cfg_attr(
    any(target_os = "linux", target_os = "macos", windows),
    allow(unreachable_pub, dead_code)
)]
mod portable;
mod signals;
pub mod walk;
#[cfg(windows)]
mod windows;

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

pub use beneath::{
    MAX_OWN_BYTES, create, create_folders, create_own, each_below, names, open_regular, open_to_write,
    read_regular, read_text, slashed,
};
pub use signals::asked_to_end;

#[cfg(target_os = "linux")]
pub use linux::{Dir, Journal, Lease, start_writing, write_out};
#[cfg(target_os = "macos")]
pub use macos::Dir;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub use portable::{Dir, Journal, Lease, start_writing, write_out};
#[cfg(target_os = "macos")]
pub use portable::{Journal, Lease, start_writing, write_out};
#[cfg(windows)]
pub use windows::{Dir, Journal, Lease, start_writing, write_out};

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

/// Returns the identity of the open `file`, whose `metadata` the caller has read; `None` if its file system has none.
pub fn file_id(file: &File, metadata: &Metadata) -> Option<FileId> {
    #[cfg(unix)]
    {
        let _ = file;
        Some(id_in(metadata))
    }
    #[cfg(windows)]
    {
        let _ = metadata;
        windows::file_id(file)
    }
}

/// Returns the identity of the file or folder at `path`, after following links; `None` if there is none, or it has none.
pub fn file_id_at(path: &Path) -> Option<FileId> {
    #[cfg(unix)]
    return std::fs::metadata(path).ok().map(|found| id_in(&found));
    #[cfg(windows)]
    return windows::file_id(&windows::open_to_look(path, true).ok()?);
}

/// Returns the identity of the entry at `path`: of a link itself, not of its target. Otherwise as [`file_id_at`].
pub fn entry_id_at(path: &Path) -> Option<FileId> {
    #[cfg(unix)]
    return path.symlink_metadata().ok().map(|found| id_in(&found));
    #[cfg(windows)]
    return windows::file_id(&windows::open_to_look(path, false).ok()?);
}

#[cfg(unix)]
fn id_in(metadata: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    FileId {
        device: metadata.dev(),
        inode: metadata.ino().into(),
    }
}

/// Returns the absolute path of the existing `path`, without links; on Windows in the usual form (`C:\notes`) unless it is
/// too long for that (`\\?\C:\…`).
///
/// # Errors
///
/// If it does not exist, or the system call fails.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    #[cfg(windows)]
    return dunce::canonicalize(path);
    #[cfg(not(windows))]
    path.canonicalize()
}

/// Opens an existing file in order to sync it. Windows requires that it is open for writing.
///
/// # Errors
///
/// If it can't be opened.
pub fn open_to_sync(path: &Path) -> io::Result<File> {
    #[cfg(windows)]
    return windows::open_to_sync(path);
    #[cfg(not(windows))]
    File::open(path)
}

/// Renames the file `from` to `to`, which is replaced. On Windows, waits a second for programs that have it open.
///
/// # Errors
///
/// If it was not renamed; [`is_held_open`] returns true if another program prevents it.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(windows)]
    return windows::rename(from, to);
    #[cfg(not(windows))]
    std::fs::rename(from, to)
}

/// Removes the file at `path`. On Windows, waits a second for programs that have it open.
///
/// # Errors
///
/// As for [`rename`].
pub fn remove_file(path: &Path) -> io::Result<()> {
    #[cfg(windows)]
    return windows::remove_file(path);
    #[cfg(not(windows))]
    std::fs::remove_file(path)
}

/// Returns true if the operation failed only because another program has the file open and does not share it (Windows).
pub fn is_held_open(error: &io::Error) -> bool {
    #[cfg(windows)]
    return windows::is_held_open(error);
    #[cfg(not(windows))]
    {
        let _ = error;
        false
    }
}

/// Returns the permission bits of a file; on systems without them, 0o444 for a read-only file and 0o644 otherwise.
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

/// Returns the stat fields of a file for git's index.
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
    #[cfg(windows)]
    windows::file_stat(metadata)
}

/// Converts the result of a stat call, as [`file_stat`] does.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn file_stat_in(found: &rustix::fs::Stat) -> FileStat {
    FileStat {
        ctime: Timestamp {
            seconds: found.st_ctime as u32,
            nanoseconds: found.st_ctime_nsec as u32,
        },
        mtime: Timestamp {
            seconds: found.st_mtime as u32,
            nanoseconds: found.st_mtime_nsec as u32,
        },
        device: found.st_dev as u32,
        inode: found.st_ino as u32,
        user: found.st_uid,
        group: found.st_gid,
        size: found.st_size as u32,
    }
}

/// Copies permissions, and the owner if permitted, from `old` to the file `new`.
///
/// # Errors
///
/// If the permissions can't be set.
pub fn make_like(new: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let now = new.metadata()?;
        if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
            // Only root may do this; the content matters more than the owner.
            let _ = std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()));
        }
    }
    new.set_permissions(old.permissions())
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

/// Sets the permission bits of the file or folder at `path`, unless it is a symbolic link, to the result of `new`. Its arguments
/// are the current bits, and true for a folder. Has no effect on systems without permission bits.
///
/// # Errors
///
/// If they can't be set.
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

/// Permits everyone who may read a file to execute it, or forbids it to all. Has no effect where files have no permission bits.
///
/// # Errors
///
/// If it can't be changed.
pub fn set_executable(file: &File, is_executable: bool) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        let readers = (mode & 0o444) >> 2;
        let mode = if is_executable {
            mode | readers
        } else {
            mode & !0o111
        };
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = (file, is_executable);
    Ok(())
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
    name.to_str()
        .ok()
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
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
        name.to_str()
            .ok()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    }
    #[cfg(not(unix))]
    None
}

/// Returns true if users other than the owner may read or change a file. On Windows this is unknown, and returns false.
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

/// Creates files that only their owner can access. On Windows, they inherit the folder's permissions.
pub fn for_owner_alone(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
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
