//! The document of a mutation on the disk, and the file aside that it is exchanged with.
//!
//! Both are only reached through folders held open, so that nothing leads outside of the library.

use std::{
    fs::{File, Metadata},
    io::{self, Read},
    path::PathBuf,
};

use gix::ObjectId;
use tabellion_runtime::Failure;

use super::{intent::Exchange, objects::blob_id, trouble::At, working_tree::WorkingTree};
use crate::path::{LibraryDir, LibraryPath};
use tabellion_platform::{self as platform, Dir, OpenError};

/// How the files aside are called, in our own folder; a number follows.
pub(super) const ASIDE: &str = "content-";
/// The same beside a document that is on another device than our own folder.
const ASIDE_HIDDEN: &str = ".tabellion-content-";
/// What follows the name of a file aside while it is being written.
pub(super) const UNFINISHED: &str = ".new";

/// A document and the file aside.
pub(super) struct Place<'a> {
    working_tree: &'a WorkingTree,
    path: &'a LibraryPath,
    aside: &'a str,
    /// Whether the file aside is in the document's folder.
    beside: bool,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A regular file with bytes of this id.
    Bytes(ObjectId),
    /// Something else.
    Other,
}

impl From<Option<ObjectId>> for Found {
    fn from(bytes: Option<ObjectId>) -> Self {
        bytes.map_or(Self::Nothing, Self::Bytes)
    }
}

impl<'a> Place<'a> {
    /// Where the intent says it is.
    pub(super) fn of(working_tree: &'a WorkingTree, exchange: &'a Exchange) -> Self {
        Self {
            working_tree,
            path: &exchange.path,
            aside: &exchange.aside,
            beside: exchange.beside,
        }
    }

    /// The document's name in its folder.
    pub(super) fn name(&self) -> &'a str {
        self.path.file_name()
    }

    /// The name of the file aside in [`Self::aside_folder`].
    pub(super) fn aside(&self) -> &'a str {
        self.aside
    }

    /// The document's folder; `None` when there is none.
    pub(super) fn folder(&self) -> Result<Option<Dir>, Failure> {
        open_folder(self.working_tree, self.path.parent().as_str())
    }

    /// The name that the file aside is written under: it gets its own when it is on the disk.
    pub(super) fn unfinished(&self) -> String {
        format!("{}{UNFINISHED}", self.aside)
    }

    /// The folder of the file aside; `None` when there is none.
    pub(super) fn aside_folder(&self) -> Result<Option<Dir>, Failure> {
        if self.beside {
            return self.folder();
        }
        let own = self.working_tree.repository.own("");
        Dir::open(&own).map(Some).at("open", &own)
    }
}

impl Place<'_> {
    /// The path of the file aside, for people.
    pub(super) fn aside_path(&self) -> PathBuf {
        if self.beside {
            self.working_tree
                .root
                .path()
                .join(self.path.parent().as_str())
                .join(self.aside)
        } else {
            self.working_tree.repository.own(self.aside)
        }
    }

    /// What the system says of the document; `None` when there is none.
    pub(super) fn metadata(&self) -> Result<Option<Metadata>, Failure> {
        let Some(folder) = self.folder()? else {
            return Ok(None);
        };
        match folder.open_entry(self.name()) {
            Ok(file) => file.metadata().map(Some).at("look at", self.path.as_path()),
            Err(_) => Ok(None),
        }
    }

    /// The folders that have new names in them when the document has changed: its own, and those above the innermost
    /// `made` folders.
    pub(super) fn new_names(&self, made: usize) -> Result<Vec<(Dir, PathBuf)>, Failure> {
        let parents = [vec![LibraryDir::ROOT], parents(self.path)].concat();
        let first = parents.len().saturating_sub(made + 1);
        let mut folders = Vec::new();
        for path in &parents[first..] {
            if let Some(folder) = open_folder(self.working_tree, path.as_str())? {
                folders.push((folder, self.working_tree.root.path().join(path.as_str())));
            }
        }
        Ok(folders)
    }
}

/// Makes the innermost `made` folders on the way to `path`.
pub(super) fn make_folders(
    working_tree: &WorkingTree,
    path: &LibraryPath,
    made: usize,
) -> Result<(), Failure> {
    let parents = parents(path);
    for folder in &parents[parents.len().saturating_sub(made)..] {
        let above = above(folder);
        let above = open_folder(working_tree, above)?
            .ok_or(io::ErrorKind::NotFound.into())
            .at("open", above)?;
        match above.create_dir(folder.file_name()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.at("create", folder.as_str())?,
        }
    }
    Ok(())
}

/// Removes up to `most` of the innermost folders on the way to `path`, as long as they are empty and can be removed: one
/// that something is mounted on can't, nor one whose own folder may not be written to.
pub(super) fn remove_empty_folders(
    working_tree: &WorkingTree,
    path: &LibraryPath,
    most: usize,
) -> Result<(), Failure> {
    for folder in parents(path).iter().rev().take(most) {
        let Some(above) = open_folder(working_tree, above(folder))? else {
            continue;
        };
        use io::ErrorKind::{DirectoryNotEmpty, NotFound, PermissionDenied, ResourceBusy};
        match above
            .remove_dir(folder.file_name())
            .map_err(|error| (error.kind(), error))
        {
            Ok(()) | Err((NotFound, _)) => {}
            Err((DirectoryNotEmpty | PermissionDenied | ResourceBusy, _)) => return Ok(()),
            Err((_, error)) => return Err(error).at("remove", folder.as_str()),
        }
    }
    Ok(())
}

/// The folders on the way to `path`, from the top, without the library's root.
fn parents(path: &LibraryPath) -> Vec<LibraryDir> {
    path.parent().ancestors().collect()
}

/// The folder that `folder` is in.
fn above(folder: &LibraryDir) -> &str {
    folder.as_str().rsplit_once('/').map_or("", |(above, _)| above)
}

/// Where the `number`th document of a transaction, which is at `path`, has its file aside: the name, and whether it is
/// beside the document, because that is on another device than our own folder.
pub(super) fn choose_aside(working_tree: &WorkingTree, path: &LibraryPath, number: usize) -> (String, bool) {
    let device = |path: &std::path::Path| platform::file_id(&path.metadata().ok()?).map(|id| id.device);
    let folders = working_tree.root.path().join(path.as_path());
    let existing = folders.ancestors().skip(1).find_map(device);
    if existing == device(&working_tree.repository.own("")) {
        (format!("{ASIDE}{number}"), false)
    } else {
        (format!("{ASIDE_HIDDEN}{number}"), true)
    }
}

/// How many folders on the way to `path` are missing.
pub(super) fn missing_folders(working_tree: &WorkingTree, path: &LibraryPath) -> Result<usize, Failure> {
    let mut missing = 0;
    for folder in parents(path) {
        if missing > 0 || open_folder(working_tree, folder.as_str())?.is_none() {
            missing += 1;
        }
    }
    Ok(missing)
}

/// The folder at `path` in the library; `None` when there is none.
pub(super) fn open_folder(working_tree: &WorkingTree, path: &str) -> Result<Option<Dir>, Failure> {
    let shown = if path.is_empty() { "." } else { path };
    match working_tree.root.dir().open_dir(shown) {
        Ok(dir) => Ok(Some(dir)),
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(OpenError::Io(error)) => Err(error).at("open", shown),
        Err(other) => Err(io::Error::other(other)).at("open", shown),
    }
}

/// What `name` in `folder` is.
pub(super) fn look(folder: Option<&Dir>, name: &str) -> Result<Found, Failure> {
    let Some(folder) = folder else {
        return Ok(Found::Nothing);
    };
    match folder.open_entry(name) {
        Ok(file) => look_at(&file, name),
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(OpenError::Io(error)) => Err(error).at("read", name),
        Err(OpenError::Symlink | OpenError::Special) => Ok(Found::Other),
    }
}

/// What the open `file` is, which is called `name`.
pub(super) fn look_at(mut file: &File, name: &str) -> Result<Found, Failure> {
    if !file.metadata().at("look at", name)?.is_file() {
        return Ok(Found::Other);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).at("read", name)?;
    Ok(Found::Bytes(blob_id(&bytes)?))
}
