//! System calls that change a file system, and the affected files in their arguments.

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::{ffi::OsStringExt, fs::FileExt},
    path::{Path, PathBuf},
};

use libc::{O_CREAT, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY, c_long};

use super::system::Entry;

/// Arguments of a call that name a file, by index.
#[derive(Debug, Clone, Copy)]
enum FileArguments {
    /// A file descriptor.
    File(usize),
    /// A path.
    Path(usize),
    /// A folder's descriptor and a path relative to it.
    At(usize, usize),
}

/// Condition under which a call is a change.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    /// The flags in this argument open a file for writing.
    Writing(usize),
    /// The `struct open_how` in this argument, which begins with the flags, opens a file for writing.
    WritingHow(usize),
    /// The `ioctl` request in this argument makes a file share another's content.
    Cloning(usize),
}

/// Creates an `io_uring`, whose calls ptrace does not see.
pub(super) const IO_URING_SETUP: i64 = libc::SYS_io_uring_setup;

const FICLONE: u64 = 0x4004_9409;
const FICLONERANGE: u64 = 0x4020_940d;
/// Size of the longest path that a call accepts, including the zero byte.
const PATH_BYTES: usize = 4096;
/// Page size. Memory is read up to one page border at a time, because the next page may not be mapped.
const PAGE_BYTES: u64 = 4096;

use FileArguments::{At, File as Open, Path as Named};
use When::{Always, Cloning, Writing, WritingHow};

const CALLS: &[(c_long, &str, &[FileArguments], When)] = &[
    (libc::SYS_write, "write", &[Open(0)], Always),
    (libc::SYS_pwrite64, "pwrite64", &[Open(0)], Always),
    (libc::SYS_writev, "writev", &[Open(0)], Always),
    (libc::SYS_pwritev, "pwritev", &[Open(0)], Always),
    (libc::SYS_pwritev2, "pwritev2", &[Open(0)], Always),
    (libc::SYS_sendfile, "sendfile", &[Open(0)], Always),
    (libc::SYS_splice, "splice", &[Open(2)], Always),
    (libc::SYS_copy_file_range, "copy_file_range", &[Open(2)], Always),
    (libc::SYS_ioctl, "ioctl", &[Open(0)], Cloning(1)),
    (libc::SYS_truncate, "truncate", &[Named(0)], Always),
    (libc::SYS_ftruncate, "ftruncate", &[Open(0)], Always),
    (libc::SYS_fallocate, "fallocate", &[Open(0)], Always),
    (libc::SYS_fsync, "fsync", &[Open(0)], Always),
    (libc::SYS_fdatasync, "fdatasync", &[Open(0)], Always),
    (libc::SYS_syncfs, "syncfs", &[Open(0)], Always),
    (libc::SYS_sync_file_range, "sync_file_range", &[Open(0)], Always),
    (libc::SYS_flock, "flock", &[Open(0)], Always),
    (libc::SYS_open, "open", &[Named(0)], Writing(1)),
    (libc::SYS_openat, "openat", &[At(0, 1)], Writing(2)),
    (libc::SYS_openat2, "openat2", &[At(0, 1)], WritingHow(2)),
    (libc::SYS_creat, "creat", &[Named(0)], Always),
    (libc::SYS_mknod, "mknod", &[Named(0)], Always),
    (libc::SYS_mknodat, "mknodat", &[At(0, 1)], Always),
    (libc::SYS_mkdir, "mkdir", &[Named(0)], Always),
    (libc::SYS_mkdirat, "mkdirat", &[At(0, 1)], Always),
    (libc::SYS_rename, "rename", &[Named(0), Named(1)], Always),
    (libc::SYS_renameat, "renameat", &[At(0, 1), At(2, 3)], Always),
    (libc::SYS_renameat2, "renameat2", &[At(0, 1), At(2, 3)], Always),
    (libc::SYS_link, "link", &[Named(0), Named(1)], Always),
    (libc::SYS_linkat, "linkat", &[At(0, 1), At(2, 3)], Always),
    (libc::SYS_symlink, "symlink", &[Named(1)], Always),
    (libc::SYS_symlinkat, "symlinkat", &[At(1, 2)], Always),
    (libc::SYS_unlink, "unlink", &[Named(0)], Always),
    (libc::SYS_unlinkat, "unlinkat", &[At(0, 1)], Always),
    (libc::SYS_rmdir, "rmdir", &[Named(0)], Always),
    (libc::SYS_chmod, "chmod", &[Named(0)], Always),
    (libc::SYS_fchmod, "fchmod", &[Open(0)], Always),
    (libc::SYS_fchmodat, "fchmodat", &[At(0, 1)], Always),
    (libc::SYS_fchmodat2, "fchmodat2", &[At(0, 1)], Always),
    (libc::SYS_chown, "chown", &[Named(0)], Always),
    (libc::SYS_lchown, "lchown", &[Named(0)], Always),
    (libc::SYS_fchown, "fchown", &[Open(0)], Always),
    (libc::SYS_fchownat, "fchownat", &[At(0, 1)], Always),
    (libc::SYS_utime, "utime", &[Named(0)], Always),
    (libc::SYS_utimes, "utimes", &[Named(0)], Always),
    (libc::SYS_utimensat, "utimensat", &[At(0, 1)], Always),
    (libc::SYS_setxattr, "setxattr", &[Named(0)], Always),
    (libc::SYS_lsetxattr, "lsetxattr", &[Named(0)], Always),
    (libc::SYS_fsetxattr, "fsetxattr", &[Open(0)], Always),
    (libc::SYS_removexattr, "removexattr", &[Named(0)], Always),
    (libc::SYS_lremovexattr, "lremovexattr", &[Named(0)], Always),
    (libc::SYS_fremovexattr, "fremovexattr", &[Open(0)], Always),
];

/// Returns the call's name and the absolute paths of the files that it would change; `None` if it changes none.
pub(super) fn change(thread: i32, entry: &Entry) -> Option<(&'static str, Vec<PathBuf>)> {
    let (_, name, files, when) = CALLS.iter().find(|call| call.0 == entry.number)?;
    let changes = match *when {
        Always => true,
        Writing(flags) => writes(entry.arguments[flags]),
        WritingHow(how) => {
            let flags = memory(thread, entry.arguments[how], 8);
            writes(u64::from_ne_bytes(flags.try_into().ok()?))
        }
        Cloning(request) => [FICLONE, FICLONERANGE].contains(&entry.arguments[request]),
    };
    let path = |names: &FileArguments| match *names {
        Open(file) => open_file(thread, entry.arguments[file]),
        Named(path) => resolved(thread, None, entry.arguments[path]),
        At(folder, path) => resolved(thread, Some(entry.arguments[folder]), entry.arguments[path]),
    };
    changes.then(|| (*name, files.iter().map(path).collect()))
}

fn writes(flags: u64) -> bool {
    flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_TMPFILE & !libc::O_DIRECTORY) as u64 != 0
}

/// Returns the path of a thread's open file; empty if the descriptor is not open.
fn open_file(thread: i32, file: u64) -> PathBuf {
    fs::read_link(format!("/proc/{thread}/fd/{}", file as i32)).unwrap_or_default()
}

/// Resolves the path at `address` in a thread's memory, relative to the thread's working folder or the open `folder`.
/// Follows symbolic links except in the last component.
fn resolved(thread: i32, folder: Option<u64>, address: u64) -> PathBuf {
    let base = match folder {
        Some(folder) if folder as i32 != libc::AT_FDCWD => open_file(thread, folder),
        _ => fs::read_link(format!("/proc/{thread}/cwd")).unwrap_or_default(),
    };
    let path = base.join(string(thread, address));
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.canonicalize().unwrap_or(path),
    }
}

/// Reads the string at `address`, up to its zero byte.
fn string(thread: i32, address: u64) -> OsString {
    let mut bytes = Vec::new();
    while bytes.len() < PATH_BYTES {
        let next = address + bytes.len() as u64;
        let read = memory(thread, next, PAGE_BYTES - next % PAGE_BYTES);
        if read.is_empty() {
            break;
        }
        if let Some(end) = read.iter().position(|byte| *byte == 0) {
            bytes.extend(&read[..end]);
            break;
        }
        bytes.extend(read);
    }
    OsString::from_vec(bytes)
}

/// Reads up to `length` bytes of a thread's memory; fewer if less is mapped.
fn memory(thread: i32, address: u64, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    let read =
        File::open(format!("/proc/{thread}/mem")).and_then(|memory| memory.read_at(&mut bytes, address));
    bytes.truncate(read.unwrap_or(0));
    bytes
}
