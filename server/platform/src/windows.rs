//! Windows: names are resolved one by one from an open folder (`NtCreateFile`), so links and junctions are never followed.
//!
//! A name means only the entry with exactly that spelling: Windows would also find `Note.md` under `note.md` or `NOTE~1.MD`. Files
//! are replaced while others read them, as on Unix, if the file system supports it (NTFS and ReFS since Windows 10). A program that
//! opened a file without sharing it prevents that: such a step is repeated for a second, and its error is [`super::is_held_open`].

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::{offset_of, size_of};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::thread;
use std::time::{Duration, Instant};

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation::{self as win, HANDLE, NTSTATUS, UNICODE_STRING};
use windows_sys::Win32::Storage::FileSystem as fs_api;
use windows_sys::Win32::System::IO::{IO_STATUS_BLOCK, IO_STATUS_BLOCK_0};

use super::{Exchange, FileId, FileStat, Kind, Leased, OpenError, Timestamp, segment};

/// Time for which a step is repeated that another program's open file prevents.
const HELD_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Buffer for directory entries, in units of 8 bytes, to which entries are aligned.
const ENTRIES_UNITS: usize = 4096;
/// Reparse tags with this bit name another place: symbolic links and junctions, but not files of OneDrive.
const NAME_SURROGATE: u32 = 0x2000_0000;
const FOLDER: u32 =
    fs_api::FILE_LIST_DIRECTORY | fs_api::FILE_TRAVERSE | fs_api::FILE_READ_ATTRIBUTES | fs_api::SYNCHRONIZE;
const SHARE_ALL: u32 = fs_api::FILE_SHARE_READ | fs_api::FILE_SHARE_WRITE | fs_api::FILE_SHARE_DELETE;

/// A folder held open. It stays the same folder when it is renamed; others can rename or delete it.
#[derive(Debug)]
pub struct Dir(File);

impl Dir {
    /// Opens the folder at `path`; links above it are followed.
    ///
    /// # Errors
    ///
    /// If it does not exist, or can't be entered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = OpenOptions::new()
            .access_mode(FOLDER)
            .share_mode(SHARE_ALL)
            .custom_flags(fs_api::FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)?;
        if folder.metadata()?.is_dir() { Ok(Self(folder)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Opens the file at `path` below this folder for reading. It may be a folder: check its metadata. `path` is
    /// `/`-separated and has no `..`.
    ///
    /// Each segment must have the folder's spelling, and none may be a link.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; a segment that is missing or not a folder is its [`OpenError::Io`].
    pub fn open_file(&self, path: &str) -> Result<File, OpenError> {
        self.resolve(path, fs_api::FILE_GENERIC_READ)
    }

    /// Opens the folder at `path` below this one, resolved as in [`Dir::open_file`]; `.` is this folder.
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_dir(&self, path: &str) -> Result<Self, OpenError> {
        if path == "." {
            return Ok(Self(self.0.try_clone()?));
        }
        let folder = self.resolve(path, FOLDER)?;
        if folder.metadata()?.is_dir() {
            Ok(Self(folder))
        } else {
            Err(io::Error::from(io::ErrorKind::NotADirectory).into())
        }
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
        // A separate handle: it has the position in the list.
        let folder = self.reopen(FOLDER)?;
        let mut space = vec![0_u64; ENTRIES_UNITS];
        let mut class = fs_api::FileFullDirectoryRestartInfo;
        loop {
            // SAFETY: the handle is open, and the buffer has the stated size.
            let found = unsafe {
                fs_api::GetFileInformationByHandleEx(
                    handle(&folder),
                    class,
                    space.as_mut_ptr().cast(),
                    (space.len() * size_of::<u64>()) as u32,
                )
            };
            if found == 0 {
                let error = io::Error::last_os_error();
                return if error.raw_os_error() == Some(win::ERROR_NO_MORE_FILES as i32) {
                    Ok(())
                } else {
                    Err(error)
                };
            }
            class = fs_api::FileFullDirectoryInfo;
            each_entry(&space, &mut each);
        }
    }

    /// Returns the kind of the one-segment `name`, in this spelling; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        let Some(found) = self.entry(name)? else {
            return Ok(None);
        };
        Ok(Some(if is_link(&found)? {
            Kind::Other
        } else if found.metadata()?.is_dir() {
            Kind::Folder
        } else {
            Kind::File
        }))
    }

    pub fn file_id(&self, name: &str) -> io::Result<Option<FileId>> {
        Ok(self.entry(name)?.as_ref().and_then(file_id))
    }

    pub fn own_stat(&self) -> io::Result<FileStat> {
        Ok(file_stat(&self.0.metadata()?))
    }

    /// Fails: links are never followed here, so none is read.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn read_link(&self, _: &str) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn stat(&self, name: &str) -> io::Result<Option<FileStat>> {
        let found = self.entry(name)?.map(|found| found.metadata()).transpose()?;
        Ok(found.map(|found| file_stat(&found)))
    }

    /// Exchanges the files `name` here and `other_name` in `other`; always [`Exchange::Stepwise`].
    ///
    /// # Errors
    ///
    /// If the exchange was not made. Only if the last step failed is the first name already exchanged; its former content is
    /// then at `other_name` with `.swap` appended.
    pub fn exchange(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<Exchange> {
        let aside = format!("{other_name}.swap");
        // The link of a file that another program holds could not be removed either.
        let access = fs_api::DELETE | fs_api::SYNCHRONIZE;
        while_held(|| self.nt_open(name, access, nt::FILE_OPEN, nt::FILE_OPEN_REPARSE_POINT).map(drop))?;
        self.link(name, other, &aside)?;
        if let Err(error) = other.rename(other_name, self, name, Replace::Yes) {
            // Best effort: the step's own error is reported.
            let _ = other.remove_file(&aside);
            return Err(error);
        }
        other.rename(&aside, other, other_name, Replace::Yes)?;
        Ok(Exchange::Stepwise)
    }

    /// Renames `name` here to `other_name` in `other`, unless that exists.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if `other_name` exists.
    pub fn rename_noreplace(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<()> {
        self.rename(name, other, other_name, Replace::No)
    }

    pub fn create_file(&self, name: &str) -> io::Result<File> {
        // The right to read is required for queries of the file's attributes and identity.
        let access = fs_api::FILE_GENERIC_READ | fs_api::FILE_GENERIC_WRITE;
        self.nt_open(name, access, nt::FILE_CREATE, nt::FILE_NON_DIRECTORY_FILE)
    }

    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        self.nt_open(name, FOLDER, nt::FILE_CREATE, nt::FILE_DIRECTORY_FILE).map(drop)
    }

    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        while_held(|| self.remove(name, nt::FILE_NON_DIRECTORY_FILE))
    }

    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        self.remove(name, nt::FILE_DIRECTORY_FILE)
    }

    /// Asks the system to write the names in this folder to the disk.
    ///
    /// NTFS does so for a folder that may be written to. Windows documents it for no file system; if it is refused, the file
    /// system's journal, which keeps the order of changes, is relied upon.
    ///
    /// # Errors
    ///
    /// If the disk failed.
    pub fn sync(&self) -> io::Result<()> {
        let writable = self.reopen(fs_api::FILE_ADD_FILE | fs_api::SYNCHRONIZE);
        match writable.and_then(|folder| folder.sync_all()) {
            Err(error) if cant_sync_folders(&error) => Ok(()),
            done => done,
        }
    }

    /// Returns the volume of the folder.
    ///
    /// # Errors
    ///
    /// If the system call fails.
    pub fn device(&self) -> io::Result<u64> {
        Ok(file_id(&self.0).map_or(0, |id| id.device))
    }

    fn resolve(&self, path: &str, access: u32) -> Result<File, OpenError> {
        let (folders, last) = path.rsplit_once('/').map_or((None, path), |(above, last)| (Some(above), last));
        let mut at: Option<Self> = None;
        for folder in folders.into_iter().flat_map(|above| above.split('/')) {
            let next = at.as_ref().unwrap_or(self).open_segment(folder, FOLDER)?;
            if !next.metadata()?.is_dir() {
                return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
            }
            at = Some(Self(next));
        }
        let opened = at.as_ref().unwrap_or(self).open_segment(last, access)?;
        if is_spelt(&opened, path)? {
            Ok(opened)
        } else {
            Err(io::Error::from(io::ErrorKind::NotFound).into())
        }
    }

    fn open_segment(&self, name: &str, access: u32) -> Result<File, OpenError> {
        let found = self.nt_open(name, access, nt::FILE_OPEN, nt::FILE_OPEN_REPARSE_POINT)?;
        match reparse_tag(&found)? {
            0 => Ok(found),
            tag if tag & NAME_SURROGATE != 0 => Err(OpenError::Symlink),
            // A file of OneDrive, or a compressed one: only its driver can read it.
            _ => {
                let read = self.nt_open(name, access, nt::FILE_OPEN, 0)?;
                if file_id(&read) == file_id(&found) { Ok(read) } else { Err(OpenError::Symlink) }
            }
        }
    }

    /// Opens `name`, in this spelling, for inspection only; a link itself. `None` if it does not exist.
    fn entry(&self, name: &str) -> io::Result<Option<File>> {
        let access = fs_api::FILE_READ_ATTRIBUTES | fs_api::SYNCHRONIZE;
        match self.nt_open(name, access, nt::FILE_OPEN, nt::FILE_OPEN_REPARSE_POINT) {
            Ok(found) => Ok(is_spelt(&found, name)?.then_some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn reopen(&self, access: u32) -> io::Result<File> {
        self.nt_open_or_reopen("", access, nt::FILE_OPEN, nt::FILE_DIRECTORY_FILE)
    }

    fn link(&self, name: &str, other: &Dir, other_name: &str) -> io::Result<()> {
        let other_name = segment(other_name)?;
        let access = fs_api::FILE_WRITE_ATTRIBUTES | fs_api::SYNCHRONIZE;
        let file = self.nt_open(name, access, nt::FILE_OPEN, nt::FILE_OPEN_REPARSE_POINT)?;
        Ok(set_name(&file, other, other_name, nt::FileLinkInformation, 0)?)
    }

    fn rename(&self, name: &str, other: &Dir, other_name: &str, replace: Replace) -> io::Result<()> {
        let other_name = segment(other_name)?;
        while_held(|| {
            let access = fs_api::DELETE | fs_api::SYNCHRONIZE;
            let file = self.nt_open(name, access, nt::FILE_OPEN, nt::FILE_OPEN_REPARSE_POINT)?;
            let to = |class, flags| set_name(&file, other, other_name, class, flags);
            match replace {
                Replace::No => Ok(to(nt::FileRenameInformation, 0)?),
                Replace::Yes => {
                    let flags = nt::FILE_RENAME_REPLACE_IF_EXISTS
                        | nt::FILE_RENAME_POSIX_SEMANTICS
                        | nt::FILE_RENAME_IGNORE_READONLY_ATTRIBUTE;
                    let renamed = match to(nt::FileRenameInformationEx, flags) {
                        Err(error) if error.is_unsupported() => to(nt::FileRenameInformation, 1),
                        done => done,
                    };
                    renamed.map_err(|error| other.why_not_replaced(other_name, error.into()))
                }
            }
        })
    }

    /// Windows reports "access denied" both for a file that may not be replaced and for one that another program has open.
    fn why_not_replaced(&self, name: &str, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::PermissionDenied {
            return error;
        }
        let access = fs_api::DELETE | fs_api::SYNCHRONIZE;
        match self.nt_open(name, access, nt::FILE_OPEN, nt::FILE_OPEN_REPARSE_POINT) {
            Err(held) if is_held_open(&held) => held,
            _ => error,
        }
    }

    fn remove(&self, name: &str, options: u32) -> io::Result<()> {
        let access = fs_api::DELETE | fs_api::SYNCHRONIZE;
        let options = options | nt::FILE_OPEN_REPARSE_POINT;
        let file = self.nt_open(name, access, nt::FILE_OPEN, options)?;
        let at_once = nt::FILE_DISPOSITION_INFORMATION_EX {
            Flags: nt::FILE_DISPOSITION_DELETE
                | nt::FILE_DISPOSITION_POSIX_SEMANTICS
                | nt::FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE,
        };
        match set(&file, &at_once, nt::FileDispositionInformationEx) {
            Err(error) if error.is_unsupported() => {
                // Such systems refuse to remove what is read-only.
                let access =
                    fs_api::FILE_READ_ATTRIBUTES | fs_api::FILE_WRITE_ATTRIBUTES | fs_api::SYNCHRONIZE;
                let attributes = self.nt_open(name, access, nt::FILE_OPEN, options)?;
                let mut permissions = attributes.metadata()?.permissions();
                if permissions.readonly() {
                    clear_read_only(&mut permissions);
                    attributes.set_permissions(permissions)?;
                }
                let once_closed = nt::FILE_DISPOSITION_INFORMATION { DeleteFile: true };
                Ok(set(&file, &once_closed, nt::FileDispositionInformation)?)
            }
            done => Ok(done?),
        }
    }

    /// Opens or creates `name`, one segment, in this folder.
    fn nt_open(&self, name: &str, access: u32, disposition: u32, options: u32) -> io::Result<File> {
        self.nt_open_or_reopen(segment(name)?, access, disposition, options)
    }

    /// As [`nt_open`](Self::nt_open); opens the folder itself for the empty name.
    fn nt_open_or_reopen(&self, name: &str, access: u32, disposition: u32, options: u32) -> io::Result<File> {
        let mut units: Vec<u16> = name.encode_utf16().collect();
        let bytes = u16::try_from(units.len() * 2).map_err(|_| io::ErrorKind::InvalidFilename)?;
        let name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: units.as_mut_ptr() };
        let attributes = OBJECT_ATTRIBUTES {
            Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
            RootDirectory: handle(&self.0),
            ObjectName: &name,
            Attributes: win::OBJ_CASE_INSENSITIVE,
            SecurityDescriptor: null(),
            SecurityQualityOfService: null(),
        };
        let mut opened: HANDLE = null_mut();
        let mut block = status_block();
        // SAFETY: all pointers are to values that live until the call returns, and the folder is open.
        let status = unsafe {
            nt::NtCreateFile(
                &mut opened,
                access,
                &attributes,
                &mut block,
                null(),
                fs_api::FILE_ATTRIBUTE_NORMAL,
                SHARE_ALL,
                disposition,
                options | nt::FILE_SYNCHRONOUS_IO_NONALERT | nt::FILE_OPEN_FOR_BACKUP_INTENT,
                null(),
                0,
            )
        };
        NtError::check(status)?;
        // SAFETY: the call succeeded, so that the handle is open and owned here alone.
        Ok(unsafe { OwnedHandle::from_raw_handle(opened) }.into())
    }
}

#[derive(Clone, Copy)]
enum Replace {
    Yes,
    No,
}

/// There are no leases: a program that finds its file locked would fail to save. Windows can only detect that a program has the
/// file open for writing.
#[derive(Debug)]
pub enum Lease {}

impl Lease {
    /// Returns [`Leased::BeingWritten`] if a program has `file` open for writing, otherwise [`Leased::Unsupported`].
    pub fn take(file: File) -> Leased {
        let share = fs_api::FILE_SHARE_READ | fs_api::FILE_SHARE_DELETE;
        // SAFETY: the handle is open; a new one is returned, or the invalid one.
        let reopened = unsafe { fs_api::ReOpenFile(handle(&file), fs_api::FILE_GENERIC_READ, share, 0) };
        if reopened == win::INVALID_HANDLE_VALUE {
            return match io::Error::last_os_error() {
                error if is_held_open(&error) => Leased::BeingWritten,
                _ => Leased::Unsupported,
            };
        }
        // SAFETY: the handle is open and owned here alone.
        drop(unsafe { OwnedHandle::from_raw_handle(reopened) });
        Leased::Unsupported
    }

    pub fn is_wanted(&self) -> bool {
        match *self {}
    }
}

/// Returns the identity of an open file or folder; `None` if its file system has none.
pub(super) fn file_id(file: &File) -> Option<FileId> {
    let mut id = fs_api::FILE_ID_INFO::default();
    query(file, &mut id, fs_api::FileIdInfo).ok()?;
    Some(FileId { device: id.VolumeSerialNumber, inode: u128::from_le_bytes(id.FileId.Identifier) })
}

/// Opens the file or folder at `path` for inspection only; a link itself, unless it is `followed`.
pub(super) fn open_to_look(path: &Path, followed: bool) -> io::Result<File> {
    let itself = if followed { 0 } else { fs_api::FILE_FLAG_OPEN_REPARSE_POINT };
    OpenOptions::new()
        .access_mode(fs_api::FILE_READ_ATTRIBUTES)
        .share_mode(SHARE_ALL)
        .custom_flags(fs_api::FILE_FLAG_BACKUP_SEMANTICS | itself)
        .open(path)
}

/// Returns the stat fields in the form of Git for Windows: no device, inode or owner, and the time of creation as `ctime`.
pub(super) fn file_stat(metadata: &fs::Metadata) -> FileStat {
    FileStat {
        ctime: timestamp(metadata.creation_time()),
        mtime: timestamp(metadata.last_write_time()),
        size: metadata.file_size() as u32,
        ..FileStat::default()
    }
}

/// Opens an existing file in order to sync it, which only a writer may; a read-only one is made writable meanwhile.
pub(super) fn open_to_sync(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).open(path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => while_writable(path, error, open),
        opened => opened,
    }
}

/// Renames a file over an existing one, even if that is read-only or open in other programs.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match while_held(|| fs::rename(from, to)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // The target is gone afterwards, so its attribute need not be restored.
            let mut permissions = fs::metadata(to)?.permissions();
            if !permissions.readonly() {
                let replaced = OpenOptions::new().access_mode(fs_api::DELETE).open(to);
                return Err(replaced.err().filter(is_held_open).unwrap_or(error));
            }
            clear_read_only(&mut permissions);
            fs::set_permissions(to, permissions)?;
            fs::rename(from, to)
        }
        done => done,
    }
}

/// Removes a file, even if it is read-only, which some file systems refuse.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    let remove = || fs::remove_file(path);
    while_held(|| match remove() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => while_writable(path, error, remove),
        done => done,
    })
}

/// Returns true if another program prevents this: it has the file open, and does not share it.
pub(super) fn is_held_open(error: &io::Error) -> bool {
    const CODES: [u32; 4] = [
        win::ERROR_SHARING_VIOLATION,
        win::ERROR_LOCK_VIOLATION,
        win::ERROR_USER_MAPPED_FILE,
        win::ERROR_DELETE_PENDING,
    ];
    error.raw_os_error().is_some_and(|code| CODES.contains(&(code as u32)))
}

/// Repeats `step` for a while, as long as another program may be preventing it: a virus scanner, an indexer, git.
fn while_held(mut step: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match step() {
            Err(error)
                if (is_held_open(&error) || error.kind() == io::ErrorKind::PermissionDenied)
                    && started.elapsed() < HELD_TIMEOUT =>
            {
                thread::sleep(POLL_INTERVAL);
            }
            done => return done,
        }
    }
}

fn while_writable<T>(path: &Path, denied: io::Error, run: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let before = fs::metadata(path)?.permissions();
    if !before.readonly() {
        return Err(denied);
    }
    let mut writable = before.clone();
    clear_read_only(&mut writable);
    fs::set_permissions(path, writable)?;
    let done = run();
    match fs::set_permissions(path, before) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => done,
        restored => restored.and(done),
    }
}

fn clear_read_only(permissions: &mut fs::Permissions) {
    // One attribute, which concerns the owner as everybody else.
    permissions.set_readonly(false);
}

fn cant_sync_folders(error: &io::Error) -> bool {
    const CODES: [u32; 4] = [
        win::ERROR_ACCESS_DENIED,
        win::ERROR_INVALID_FUNCTION,
        win::ERROR_INVALID_HANDLE,
        win::ERROR_NOT_SUPPORTED,
    ];
    error.raw_os_error().is_some_and(|code| CODES.contains(&(code as u32)))
}

/// Calls `each` with the entries that the system has written to `space`.
fn each_entry(space: &[u64], each: &mut impl FnMut(&OsStr, Kind)) {
    let start = space.as_ptr().cast::<u8>();
    let mut offset = 0;
    loop {
        // SAFETY: the system has written an entry at each offset, aligned to 8 bytes, with its name behind it.
        let (entry, name) = unsafe {
            let entry = start.add(offset).cast::<fs_api::FILE_FULL_DIR_INFO>();
            let name = start.add(offset + offset_of!(fs_api::FILE_FULL_DIR_INFO, FileName));
            let units = (*entry).FileNameLength as usize / 2;
            (*entry, std::slice::from_raw_parts(name.cast::<u16>(), units))
        };
        let name = OsString::from_wide(name);
        if name != "." && name != ".." {
            // For a reparse point, this field has its tag.
            let is_reparse_point = entry.FileAttributes & fs_api::FILE_ATTRIBUTE_REPARSE_POINT != 0;
            let kind = if is_reparse_point && entry.EaSize & NAME_SURROGATE != 0 {
                Kind::Other
            } else if entry.FileAttributes & fs_api::FILE_ATTRIBUTE_DIRECTORY != 0 {
                Kind::Folder
            } else {
                Kind::File
            };
            each(&name, kind);
        }
        if entry.NextEntryOffset == 0 {
            return;
        }
        offset += entry.NextEntryOffset as usize;
    }
}

fn is_link(file: &File) -> io::Result<bool> {
    Ok(reparse_tag(file)? & NAME_SURROGATE != 0)
}

/// Returns the tag of a reparse point that was opened itself; 0 for other files.
fn reparse_tag(file: &File) -> io::Result<u32> {
    let mut found = fs_api::FILE_ATTRIBUTE_TAG_INFO::default();
    query(file, &mut found, fs_api::FileAttributeTagInfo)?;
    Ok(if found.FileAttributes & fs_api::FILE_ATTRIBUTE_REPARSE_POINT == 0 { 0 } else { found.ReparseTag })
}

/// Returns true if the last segments of the file's true path are `path`, in this spelling.
fn is_spelt(file: &File, path: &str) -> io::Result<bool> {
    let sought: Vec<u16> = OsStr::new(path)
        .encode_wide()
        .map(|unit| if unit == u16::from(b'/') { u16::from(b'\\') } else { unit })
        .collect();
    // On a network drive the folders above may not be readable, and Wine has a limit of 260 characters.
    let found = true_path(file).or_else(|_| opened_path(file))?;
    let above = found.strip_suffix(&sought[..]);
    Ok(above.is_some_and(|above| above.last() == Some(&u16::from(b'\\'))))
}

/// Returns the path of an open file on its volume, in the spelling of the folders.
fn true_path(file: &File) -> io::Result<Vec<u16>> {
    let form = fs_api::FILE_NAME_NORMALIZED | fs_api::VOLUME_NAME_NONE;
    let mut path = vec![0_u16; 300];
    loop {
        let capacity = path.len() as u32;
        // SAFETY: the handle is open, and the buffer has the stated size.
        let length =
            unsafe { fs_api::GetFinalPathNameByHandleW(handle(file), path.as_mut_ptr(), capacity, form) }
                as usize;
        match length {
            0 => return Err(io::Error::last_os_error()),
            length if length < path.len() => {
                path.truncate(length);
                return Ok(path);
            }
            needed => path.resize(needed + 1, 0),
        }
    }
}

/// As [`true_path`], with short names (`NOTE~1.MD`) if it was opened by them.
fn opened_path(file: &File) -> io::Result<Vec<u16>> {
    // The length in bytes, in two units, and the longest path that the system has.
    let mut found = vec![0_u16; 2 + usize::from(u16::MAX)];
    // SAFETY: the handle is open, and the buffer has the stated size.
    let done = unsafe {
        fs_api::GetFileInformationByHandleEx(
            handle(file),
            fs_api::FileNameInfo,
            found.as_mut_ptr().cast(),
            (found.len() * size_of::<u16>()) as u32,
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = u32::from(found[0]) | u32::from(found[1]) << 16;
    found.truncate(2 + bytes as usize / 2);
    Ok(found.split_off(2))
}

/// Converts intervals of 100 ns since 1601.
fn timestamp(intervals: u64) -> Timestamp {
    const FROM_1601_TO_1970: u64 = 11_644_473_600;
    const PER_SECOND: u64 = 10_000_000;
    Timestamp {
        seconds: (intervals / PER_SECOND).wrapping_sub(FROM_1601_TO_1970) as u32,
        nanoseconds: (intervals % PER_SECOND) as u32 * 100,
    }
}

fn handle(file: &File) -> HANDLE {
    file.as_raw_handle()
}

fn status_block() -> IO_STATUS_BLOCK {
    IO_STATUS_BLOCK { Anonymous: IO_STATUS_BLOCK_0 { Status: 0 }, Information: 0 }
}

fn query<T>(file: &File, into: &mut T, class: fs_api::FILE_INFO_BY_HANDLE_CLASS) -> io::Result<()> {
    // SAFETY: the handle is open; `T` is the plain structure of this class, of which the size is stated.
    let done = unsafe {
        fs_api::GetFileInformationByHandleEx(
            handle(file),
            class,
            std::ptr::from_mut(into).cast(),
            size_of::<T>() as u32,
        )
    };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets an open file's name to `name` in `folder`, as another link or instead of the one it was opened by.
fn set_name(
    file: &File,
    folder: &Dir,
    name: &str,
    class: nt::FILE_INFORMATION_CLASS,
    flags: u32,
) -> Result<(), NtError> {
    // Links and renames have structures of the same form, with the name at the end.
    type Head = nt::FILE_RENAME_INFORMATION;
    let at = offset_of!(Head, FileName);
    let name: Vec<u16> = name.encode_utf16().collect();
    let size = (at + name.len() * 2).max(size_of::<Head>());
    let mut space = vec![0_u64; size.div_ceil(size_of::<u64>())];
    let head = space.as_mut_ptr().cast::<Head>();
    let mut block = status_block();
    // SAFETY: the space is aligned for the structure and has room for it and the name; both handles are open.
    let status = unsafe {
        (*head).Anonymous.Flags = flags;
        (*head).RootDirectory = handle(&folder.0);
        (*head).FileNameLength = (name.len() * 2) as u32;
        let to = head.cast::<u8>().add(at).cast::<u16>();
        std::ptr::copy_nonoverlapping(name.as_ptr(), to, name.len());
        nt::NtSetInformationFile(handle(file), &mut block, head.cast(), size as u32, class)
    };
    NtError::check(status)
}

fn set<T>(file: &File, value: &T, class: nt::FILE_INFORMATION_CLASS) -> Result<(), NtError> {
    let mut block = status_block();
    // SAFETY: the handle is open; `T` is the plain structure of this class, of which the size is stated.
    let status = unsafe {
        nt::NtSetInformationFile(
            handle(file),
            &mut block,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
            class,
        )
    };
    NtError::check(status)
}

/// A status that is an error.
#[derive(Clone, Copy)]
struct NtError(NTSTATUS);

impl NtError {
    fn check(status: NTSTATUS) -> Result<(), Self> {
        if status < 0 { Err(Self(status)) } else { Ok(()) }
    }

    /// Returns true if the system or file system does not know the request.
    fn is_unsupported(self) -> bool {
        matches!(
            self.0,
            win::STATUS_INVALID_PARAMETER
                | win::STATUS_INVALID_INFO_CLASS
                | win::STATUS_NOT_SUPPORTED
                | win::STATUS_NOT_IMPLEMENTED
                | win::STATUS_INVALID_DEVICE_REQUEST
        )
    }
}

impl From<NtError> for io::Error {
    fn from(error: NtError) -> Self {
        // SAFETY: the call takes and returns an integer.
        Self::from_raw_os_error(unsafe { win::RtlNtStatusToDosError(error.0) } as i32)
    }
}
