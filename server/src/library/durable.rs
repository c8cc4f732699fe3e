//! Making things durable together.

use std::{fs::File, io::Write, path::Path};

use tabellion_schemas::Failure;

use super::trouble::At;
use crate::platform::{self, Dir};

/// One thing that must be on the disk.
pub(super) enum Thing<'a> {
    /// A file's content.
    File(&'a File, &'a Path),
    /// The names in a folder.
    Names(&'a Path),
    /// The names in a folder held open.
    NamesIn(&'a Dir, &'a Path),
}

impl Thing<'_> {
    fn sync(&self) -> Result<(), Failure> {
        const DOING: &str = "bring to the disk";
        match self {
            Self::File(file, path) => file.sync_all().at(DOING, path),
            Self::Names(path) => Dir::open(path).and_then(|dir| dir.sync()).at(DOING, path),
            Self::NamesIn(dir, path) => dir.sync().at(DOING, path),
        }
    }
}

/// Returns when all `things` are on the disk.
///
/// The files' bytes are all on their way before the first is waited for, so that the file system makes one journal commit
/// of them: as fast as a thread for each, without the threads.
///
/// # Errors
/// When one of them may not be; then it says which.
pub(super) fn sync_all(things: &[Thing<'_>]) -> Result<(), Failure> {
    for thing in things {
        if let Thing::File(file, _) = thing {
            platform::start_writing(file);
        }
    }
    things.iter().try_for_each(Thing::sync)
}

/// Writes a file anew; it is not on the disk yet.
///
/// # Errors
/// When it can't be written.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<File, Failure> {
    let mut file = File::create(path).at("create", path)?;
    file.write_all(bytes).at("write", path)?;
    Ok(file)
}
