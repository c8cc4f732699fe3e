//! Linux: names are resolved beneath an open folder by `openat2`, exchanged by `renameat2`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::{Exchange, FileId, Kind, Leased, OpenError};

/// Space for folder entries: some 500 a system call.
const ENTRIES_BYTES: usize = 32 * 1024;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// `NONBLOCK`: a pipe must not make us wait. `NOCTTY`: a terminal must not become ours.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A folder held open. It stays the same folder when it is renamed or something else takes its name.
#[derive(Debug)]
pub struct Dir(OwnedFd);

impl Dir {
    /// The folder at `path`; symbolic links on the way are followed.
    ///
    /// # Errors
    ///
    /// When there is none, or it may not be entered.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(sys::open(path, HANDLE, Mode::empty())?))
    }

    /// The file at `path` below this folder, open for reading, never waiting for it. May be a folder or a pipe: look at
    /// its metadata. `path` is `/`-separated and has no `..`.
    ///
    /// The kernel refuses every symbolic link and every way out of this folder while it resolves, so nothing that
    /// changes meanwhile can lead outside. On ext4 folders with case folding and on FAT, the kernel finds `Note.md` under
    /// `note.md` too.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; a segment that is missing or no folder is its [`OpenError::Io`].
    pub fn open_file(&self, path: &str) -> Result<File, OpenError> {
        Ok(self.resolve(path, READ)?.into())
    }

    /// The folder at `path` below this one, resolved as in [`Dir::open_file`].
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_dir(&self, path: &str) -> Result<Self, OpenError> {
        Ok(Self(self.resolve(path, HANDLE.union(OFlags::NOFOLLOW))?))
    }

    /// The file with the one-segment `name` in this folder, opened as in [`Dir::open_file`] but at half its cost.
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_entry(&self, name: &str) -> Result<File, OpenError> {
        sys::openat(&self.0, name, READ, Mode::empty())
            .map(File::from)
            .map_err(open_error)
    }

    /// Calls `each` with every name in this folder, in no order; `.`, `..` and names that are not UTF-8 are left out.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn entries(&self, mut each: impl FnMut(&str, Kind)) -> io::Result<()> {
        let folder = self.reopen()?;
        let mut space = Vec::with_capacity(ENTRIES_BYTES);
        let mut entries = RawDir::new(&folder, space.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems leave the kind out.
                FileType::Unknown => self.kind(name)?.unwrap_or(Kind::Other),
                known => kind_of(known),
            };
            each(name, kind);
        }
        Ok(())
    }

    /// What stands under the one-segment `name`; `None` when nothing does.
    ///
    /// # Errors
    ///
    /// When the system doesn't tell.
    pub fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        match sys::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(kind_of(FileType::from_raw_mode(found.st_mode)))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Which file stands under the one-segment `name`; `None` when nothing does.
    ///
    /// # Errors
    ///
    /// When the system doesn't tell.
    pub fn file_id(&self, name: &str) -> io::Result<Option<FileId>> {
        match sys::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(FileId {
                device: found.st_dev,
                inode: found.st_ino,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges the files `name` here and `other_name` in `other`. Both must be there.
    ///
    /// [`Exchange::Stepwise`] where the file system can't do it at once (NFS, some FUSE ones).
    ///
    /// # Errors
    ///
    /// When it was not done; both names are then as before. Only if the last of the steps failed is the first name
    /// already exchanged; what it held is then at `other_name` with `.swap` added.
    pub fn exchange(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<Exchange> {
        match sys::renameat_with(&self.0, name, &other.0, other_name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(Exchange::Atomic),
            Err(Errno::INVAL | Errno::NOSYS) => self.exchange_in_steps(name, other, other_name),
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
            // What undoes a failed step is best effort: the step's own error is the one to report.
            let _ = sys::unlinkat(&other.0, aside.as_str(), AtFlags::empty());
            return Err(error.into());
        }
        sys::renameat(&other.0, aside.as_str(), &other.0, other_name)?;
        Ok(Exchange::Stepwise)
    }

    /// Renames `name` here to `other_name` in `other`, unless that is taken.
    ///
    /// Where the file system has no such rename, a second name is linked and the first removed: a crash between the two
    /// leaves both names on the one file.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] when `other_name` is taken.
    pub fn rename_noreplace(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<()> {
        match sys::renameat_with(&self.0, name, &other.0, other_name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => self.rename_by_link(name, other, other_name),
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
    /// [`io::ErrorKind::AlreadyExists`] when the name is taken.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(sys::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Creates the folder `name` in this folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] when the name is taken.
    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        Ok(sys::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes the file `name` from this folder.
    ///
    /// # Errors
    ///
    /// When it was not removed.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(sys::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes the folder `name` from this folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::DirectoryNotEmpty`] when something is in it.
    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        Ok(sys::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Returns when the names in this folder are on the disk.
    ///
    /// # Errors
    ///
    /// When the disk failed; the names may then be lost at a crash.
    pub fn sync(&self) -> io::Result<()> {
        Ok(sys::fsync(self.reopen()?)?)
    }

    /// The device that the folder is on.
    ///
    /// # Errors
    ///
    /// When the system doesn't tell.
    pub fn device(&self) -> io::Result<u64> {
        Ok(sys::fstat(&self.0)?.st_dev)
    }

    /// The folder opened anew for reading: the handle itself can only be resolved from, which also gives every reader a
    /// position of its own.
    fn reopen(&self) -> io::Result<OwnedFd> {
        Ok(sys::openat(
            &self.0,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?)
    }

    fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd, OpenError> {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match sys::openat2(&self.0, path, flags, Mode::empty(), beneath) {
            Ok(opened) => Ok(opened),
            // Before Linux 5.6, or under a seccomp filter that doesn't know the call.
            Err(Errno::NOSYS | Errno::PERM) => self.resolve_in_steps(path, flags),
            // With `O_DIRECTORY` the kernel calls a link at the end "not a directory".
            Err(Errno::NOTDIR) if flags.contains(OFlags::DIRECTORY) => Err(self.not_a_folder(path)),
            Err(error) => Err(open_error(error)),
        }
    }

    /// Opens one segment after the other, each from the one before and none through a symbolic link: as safe as
    /// `openat2`, only slower. Between two segments a folder may be moved out of the library and is still the one read.
    pub(super) fn resolve_in_steps(&self, path: &str, flags: OFlags) -> Result<OwnedFd, OpenError> {
        let (folders, last) = match path.rsplit_once('/') {
            Some((folders, last)) => (folders.split('/').collect(), last),
            None => (Vec::new(), path),
        };
        let mut at: Option<OwnedFd> = None;
        for (segment, flags) in folders
            .into_iter()
            .map(|folder| (folder, HANDLE))
            .chain([(last, flags)])
        {
            let from = at.as_ref().unwrap_or(&self.0);
            at = Some(
                match sys::openat(from, segment, flags | OFlags::NOFOLLOW, Mode::empty()) {
                    Err(Errno::NOTDIR) if is_symlink(from, segment) => return Err(OpenError::Symlink),
                    opened => opened.map_err(open_error)?,
                },
            );
        }
        at.ok_or_else(|| open_error(Errno::NOENT))
    }

    fn not_a_folder(&self, path: &str) -> OpenError {
        // The same steps once more, only to tell a link from a file.
        match self.resolve_in_steps(path, HANDLE) {
            Err(error) => error,
            Ok(_) => open_error(Errno::NOTDIR),
        }
    }
}

/// The right to be asked before anybody writes to a file: who opens it for writing waits until this is dropped.
///
/// Names may be renamed over the file's own meanwhile; that is another file. The kernel ends a lease that somebody waits
/// for after 45 seconds (`/proc/sys/fs/lease-break-time`).
#[derive(Debug)]
pub struct Lease(File);

/// The command of `fcntl` that chooses a lease's signal, from `<fcntl.h>`.
const F_SETSIG: i32 = 10;

impl Lease {
    /// Leases `file`, which is open for reading only.
    pub fn take(file: File) -> Leased {
        // A wish for the file is asked for, not signalled: `SIGURG` is ignored unless somebody handles it.
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

    /// Whether somebody waits to write to the file.
    pub fn is_wanted(&self) -> bool {
        // While one waits, the kernel tells what the lease is to become.
        control(&self.0, libc::F_GETLEASE, 0).ok() != Some(libc::F_RDLCK)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The file may be held open by others of our own threads; without this the lease would last as long.
        let _ = control(&self.0, libc::F_SETLEASE, libc::F_UNLCK);
    }
}

/// Whether the file is on another machine, where "try again" may also mean "never".
fn is_remote(file: &File) -> bool {
    const NFS: u32 = 0x6969;
    const SMB: [u32; 3] = [0x517b, 0xff53_4d42, 0xfe53_4d42];
    sys::fstatfs(file).is_ok_and(|found| {
        let kind = found.f_type as u32;
        kind == NFS || SMB.contains(&kind)
    })
}

fn control(file: &File, command: i32, argument: i32) -> io::Result<i32> {
    // SAFETY: these commands of `fcntl` take an open descriptor and an integer, and touch no memory of ours.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done),
    }
}

/// A file system that writes all changes of names and sizes through one journal, in the order in which they were made.
///
/// There it is enough to wait for the bytes of files, and then once for the journal: what was changed before a file is
/// touched is on the disk when that file is. This is ext4 with a journal that can be seen to be there. (XFS may keep the
/// order too; nothing is taken for granted of it, nor of any other.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journal {
    device: u64,
}

impl Journal {
    /// That of the file system at `path`; `None` where nothing is known of one.
    pub fn of(path: &Path) -> Option<Self> {
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

    /// Whether what is on `device` is written through this journal.
    pub fn is_of(&self, device: u64) -> bool {
        self.device == device
    }
}

/// Returns when what the system has buffered of `file` is written. Neither its size nor its name is safe by that.
///
/// # Errors
///
/// When it can't be written.
pub fn write_out(file: &File) -> io::Result<()> {
    let all =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes an open descriptor and integers, and touches no memory of ours.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, all) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Asks the system to begin writing what it has buffered of `file`. Best effort: it says nothing of when it is done.
pub fn start_writing(file: &File) {
    // SAFETY: the call takes an open descriptor and integers, and touches no memory of ours.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

fn is_symlink(folder: &OwnedFd, name: &str) -> bool {
    sys::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        _ => Kind::Other,
    }
}

fn open_error(error: Errno) -> OpenError {
    match error {
        Errno::LOOP => OpenError::Symlink,
        Errno::NXIO | Errno::NODEV => OpenError::Special,
        other => OpenError::Io(other.into()),
    }
}
