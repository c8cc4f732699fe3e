//! The only opener of files made by others: repositories, workspaces, sources, ignore files, rules, configuration.
//!
//! Names are resolved below a folder held open, and no segment may be a symbolic link. Only regular files are opened, without
//! blocking, and read up to a limit. [`crate::walk`] lists such a tree. `server/.clippy.toml` forbids the standard library's own
//! functions, which prevents accidental bypasses.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path};

use super::{Dir, Kind, OpenError};

/// Bound of the links that one path may lead through, where links are followed at all; Linux has the same.
const MAX_LINKS: usize = 40;

impl Dir {
    /// Opens the regular file at `path` below this folder, as [`Dir::open_file`] does.
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`]; [`OpenError::Special`] if it is a folder, pipe, socket or device.
    pub fn open_regular(&self, path: &str) -> Result<File, OpenError> {
        regular(self.open_file(path)?)
    }

    /// Returns the content of the regular file at `path` below this folder.
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_regular`]; [`OpenError::TooLarge`] if it has more than `limit` bytes.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, OpenError> {
        read_all(self.open_regular(path)?, limit)
    }

    /// Returns the path below this folder that `path` leads to through symbolic links. Links that lead out of `within`, a path
    /// below this folder, are refused without being inspected. The result has to be opened like any other path: if a segment has
    /// become a link meanwhile, that is refused.
    ///
    /// # Errors
    ///
    /// [`OpenError::Symlink`] if a link leads out of `within`, or through too many others; [`OpenError::Io`] if a segment is missing.
    pub fn resolve_links(&self, within: &str, path: &str) -> Result<String, OpenError> {
        let bound: Vec<&str> = segments(within).collect();
        let mut left: Vec<String> = segments(path).rev().map(str::to_owned).collect();
        let mut found: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(segment) = left.pop() {
            let above = found.join("/");
            let folder = self.open_dir(if above.is_empty() { "." } else { &above })?;
            let kind = folder.kind(&segment)?.ok_or(io::ErrorKind::NotFound);
            if kind.map_err(io::Error::from)? != Kind::Other {
                found.push(segment);
                continue;
            }
            links += 1;
            let target = folder.read_link(&segment).map_err(|_| OpenError::Special)?;
            if links > MAX_LINKS || !target.is_relative() {
                return Err(OpenError::Symlink);
            }
            for step in target.components().rev() {
                match step {
                    Component::Normal(name) => left.push(name.to_str().ok_or(OpenError::Symlink)?.to_owned()),
                    Component::ParentDir => left.push("..".to_owned()),
                    _ => {}
                }
            }
            // Steps up come first in a useful target; each leads to the folder above, which is not a link.
            while left.last().is_some_and(|step| step == "..") {
                left.pop();
                found.pop().ok_or(OpenError::Symlink)?;
            }
            if left.iter().any(|step| step == "..")
                || !found.iter().map(String::as_str).take(bound.len()).eq(bound.iter().copied())
            {
                return Err(OpenError::Symlink);
            }
        }
        Ok(found.join("/"))
    }
}

/// Opens the regular file at `path`, for files in any place that the operator or the configuration names. Links are followed;
/// opening never blocks.
///
/// # Errors
///
/// As for [`Dir::open_regular`].
pub fn open_regular(path: &Path) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    regular(options.open(path)?)
}

/// Returns the content of the file at `path`, opened as [`open_regular`] does.
///
/// # Errors
///
/// As for [`open_regular`]; [`OpenError::TooLarge`] if it has more than `limit` bytes.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, OpenError> {
    read_all(open_regular(path)?, limit)
}

/// Size limit of a file of this program or its operator that is read whole.
pub const MAX_OWN_BYTES: u64 = 64 << 20;

/// Returns the text of the file at `path`, opened as [`open_regular`] does.
///
/// # Errors
///
/// As for [`open_regular`]; [`io::ErrorKind::InvalidData`] if it is not UTF-8 or has more than [`MAX_OWN_BYTES`].
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_regular(path, MAX_OWN_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Opens a file for writing with `options`; never waits for a reader of a pipe in its place.
///
/// # Errors
///
/// If it can't be opened, or is not a regular file.
pub fn open_to_write(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK | libc::O_NOCTTY);
    Ok(regular(options.open(path)?)?)
}

/// Opens the file at `path` for writing: empty, and created if it is missing.
///
/// # Errors
///
/// As for [`open_to_write`].
pub fn create(path: &Path) -> io::Result<File> {
    open_to_write(path, OpenOptions::new().create(true).truncate(true).write(true))
}

/// Creates the file at `path`, for its owner alone, if it is missing.
///
/// # Errors
///
/// As for [`open_to_write`].
pub fn create_own(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    super::for_owner_alone(&mut options);
    open_to_write(path, &mut options).map(drop)
}

/// Returns the names in the folder at `path`, in no order.
///
/// # Errors
///
/// If there is no such folder, or it can't be read.
pub fn names(path: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    Dir::open(path)?.entries(|name, _| names.push(name.to_owned()))?;
    Ok(names)
}

/// Maximum number of entries that [`each_below`] visits.
const MAX_BELOW: usize = 1_000_000;

/// Calls `look` with the path and kind of each entry below the folder at `path`; it returns true to enter the entry, should it be a
/// folder. Skips unreadable entries, those more than `depth` folders within, and all after a million entries.
pub fn each_below(path: &Path, depth: usize, mut look: impl FnMut(&Path, Kind) -> bool) {
    let mut left = vec![(path.to_owned(), depth)];
    let mut entries = 0;
    while let Some((folder, depth)) = left.pop() {
        let Ok(open) = Dir::open(&folder) else { continue };
        let _ = open.entries(|name, kind| {
            entries += 1;
            let path = folder.join(name);
            let enters = entries <= MAX_BELOW && look(&path, kind);
            if enters && depth > 0 && kind == Kind::Folder {
                left.push((path, depth - 1));
            }
        });
    }
}

/// Creates the folder at `path` and the folders above it, `levels` in all, if they are missing. Folders further up must exist: a
/// library that was moved away is not recreated as an empty skeleton.
///
/// # Errors
///
/// [`io::ErrorKind::NotFound`] if they do not; then no folder is created.
pub fn create_folders(path: &Path, levels: usize) -> io::Result<()> {
    let mut folders: Vec<&Path> = path.ancestors().take(levels).collect();
    while let Some(folder) = folders.pop() {
        match std::fs::create_dir(folder) {
            // A link to a folder is one too.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            created => created?,
        }
    }
    Ok(())
}

/// Returns a relative path with `/`, as [`Dir`] takes it; `None` if it is not UTF-8, or leads up. The path of the folder itself is `.`.
pub fn slashed(relative: &Path) -> Option<String> {
    let segments = relative.components().filter(|part| *part != Component::CurDir);
    let names = segments.map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let names = names.collect::<Option<Vec<_>>>()?;
    Some(if names.is_empty() { ".".to_owned() } else { names.join("/") })
}

fn segments(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty() && *segment != ".")
}

fn regular(file: File) -> Result<File, OpenError> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(OpenError::Special) }
}

fn read_all(file: File, limit: u64) -> Result<Vec<u8>, OpenError> {
    let size = file.metadata()?.len();
    if size > limit {
        return Err(OpenError::TooLarge { size, limit });
    }
    // One more byte than expected, so the end is found without growing the buffer. The file may grow meanwhile.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > limit {
        return Err(OpenError::TooLarge { size, limit });
    }
    Ok(bytes)
}
