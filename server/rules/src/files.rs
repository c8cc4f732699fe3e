//! Which files a run looks at, and reading one.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

/// Larger files are skipped, and said so.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Folders that a run skips, whatever the ignore rules say.
pub const SKIPPED_FOLDERS: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

/// A file that was not looked at, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The file, relative to the workspace, with `/`.
    pub file: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why a file was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum SkipReason {
    /// It is larger than [`MAX_FILE_BYTES`].
    #[error("larger than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    /// It is not text in UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// The system does not let it be read.
    #[error("can't be read")]
    Unreadable,
    /// It took longer than any file that a person wrote.
    #[error("takes too long")]
    TooSlow,
}

/// Returns the files of a folder that git's and other ignore rules let through, sorted. Links are not followed.
pub(crate) fn list(folder: &Path, cancelled: &(dyn Fn() -> bool + Sync)) -> Vec<PathBuf> {
    let walk = WalkBuilder::new(folder)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| {
            let is_skipped = entry
                .file_name()
                .to_str()
                .is_some_and(|name| SKIPPED_FOLDERS.contains(&name));
            entry.depth() == 0 || !(is_skipped && entry.file_type().is_some_and(|kind| kind.is_dir()))
        })
        .build();
    let entries = walk.take_while(|_| !cancelled()).flatten();
    let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let mut files: Vec<PathBuf> = files.map(ignore::DirEntry::into_path).collect();
    files.sort();
    files
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<String, SkipReason> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
    if !is_file {
        return Err(SkipReason::Unreadable);
    }
    let file = fs::File::open(path).map_err(|_| SkipReason::Unreadable)?;
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| SkipReason::Unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(SkipReason::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|_| SkipReason::NotUtf8)?;
    // NUL is UTF-8, but of no text.
    if text.contains('\0') {
        Err(SkipReason::NotUtf8)
    } else {
        Ok(text)
    }
}

/// Returns a path relative to the workspace, with `/`.
pub(crate) fn relative(workspace: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(workspace).unwrap_or(path);
    let parts: Vec<_> = relative
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}
