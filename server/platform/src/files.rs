//! Files and their metadata, where systems differ.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use super::Timestamp;
#[cfg(windows)]
use super::windows;
use super::{FileId, FileStat};

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
    FileId { device: metadata.dev(), inode: metadata.ino().into() }
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
    if metadata.permissions().readonly() { 0o444 } else { 0o644 }
}

/// Returns the stat fields of a file for git's index.
pub fn file_stat(metadata: &Metadata) -> FileStat {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let m = metadata;
        FileStat {
            ctime: Timestamp { seconds: m.ctime() as u32, nanoseconds: m.ctime_nsec() as u32 },
            mtime: Timestamp { seconds: m.mtime() as u32, nanoseconds: m.mtime_nsec() as u32 },
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
        let mode = if is_executable { mode | readers } else { mode & !0o111 };
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = (file, is_executable);
    Ok(())
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
