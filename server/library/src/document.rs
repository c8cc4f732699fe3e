//! A mutation's document on disk, and its exchange file.
//!
//! Both are reached only through open folders, so no path leads outside of the library.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::{File, Metadata},
    io::{self, Read},
    path::PathBuf,
};

use gix::ObjectId;
use tabellion_runtime::Failure;

use super::{
    failures::IoContext,
    intent::{ASIDE, ASIDE_HIDDEN, Exchange},
    objects::blob_id,
    working_tree::WorkingTree,
};
use crate::path::{LibraryDir, LibraryPath};
use tabellion_platform::{self as platform, Dir, OpenError};

/// Suffix of an exchange file while it is being written.
pub(super) const UNFINISHED: &str = ".new";

/// A document and its exchange file.
pub(super) struct ExchangeFiles<'a> {
    working_tree: &'a WorkingTree,
    path: &'a LibraryPath,
    aside: &'a str,
    /// True if the exchange file is in the document's folder.
    beside: bool,
}

/// The kind and content of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileContent {
    /// No file.
    Nothing,
    /// A regular file whose bytes have this id.
    Bytes(ObjectId),
    /// Any other kind of file.
    Other,
}

impl From<Option<ObjectId>> for FileContent {
    fn from(bytes: Option<ObjectId>) -> Self {
        bytes.map_or(Self::Nothing, Self::Bytes)
    }
}

impl<'a> ExchangeFiles<'a> {
    /// Returns the files named in the intent.
    pub(super) fn new(working_tree: &'a WorkingTree, exchange: &'a Exchange) -> Self {
        Self { working_tree, path: &exchange.path, aside: &exchange.aside, beside: exchange.beside }
    }

    /// Returns the document's file name.
    pub(super) fn name(&self) -> &'a str {
        self.path.file_name()
    }

    /// Returns the name of the exchange file in [`Self::aside_folder`].
    pub(super) fn aside(&self) -> &'a str {
        self.aside
    }

    /// Returns the document's folder; `None` if it does not exist.
    pub(super) fn folder(&self) -> Result<Option<Dir>, Failure> {
        open_folder(self.working_tree, self.path.parent().as_str())
    }

    /// Returns the temporary name under which the exchange file is written; it is renamed once it is durable.
    pub(super) fn unfinished(&self) -> String {
        format!("{}{UNFINISHED}", self.aside)
    }

    /// Returns the folder of the exchange file; `None` if it does not exist.
    pub(super) fn aside_folder(&self) -> Result<Option<Dir>, Failure> {
        if self.beside {
            return self.folder();
        }
        let own = self.working_tree.repository.own("");
        Dir::open(&own).map(Some).context("open", &own)
    }
}

impl ExchangeFiles<'_> {
    /// Returns the path of the exchange file, for messages.
    pub(super) fn aside_path(&self) -> PathBuf {
        if self.beside {
            self.working_tree.root.path().join(self.path.parent().as_str()).join(self.aside)
        } else {
            self.working_tree.repository.own(self.aside)
        }
    }

    /// Returns the document's metadata; `None` if it does not exist.
    pub(super) fn metadata(&self) -> Result<Option<Metadata>, Failure> {
        let Some(folder) = self.folder()? else {
            return Ok(None);
        };
        match folder.open_entry(self.name()) {
            Ok(file) => file.metadata().map(Some).context("look at", self.path.as_path()),
            Err(_) => Ok(None),
        }
    }

    /// Adds to `folders`, by their paths, those with new names after the document has changed: its own, and those above the
    /// innermost `made` folders.
    pub(super) fn add_new_names(
        &self,
        made: usize,
        folders: &mut BTreeMap<PathBuf, Dir>,
    ) -> Result<(), Failure> {
        let parents = [vec![LibraryDir::ROOT], parents(self.path)].concat();
        let first = parents.len().saturating_sub(made + 1);
        for path in &parents[first..] {
            if let Entry::Vacant(new) = folders.entry(self.working_tree.root.path().join(path.as_str()))
                && let Some(folder) = open_folder(self.working_tree, path.as_str())?
            {
                new.insert(folder);
            }
        }
        Ok(())
    }
}

/// Creates the innermost `made` folders above `path`.
pub(super) fn make_folders(
    working_tree: &WorkingTree,
    path: &LibraryPath,
    made: usize,
) -> Result<(), Failure> {
    let parents = parents(path);
    for folder in &parents[parents.len().saturating_sub(made)..] {
        let above = above(folder);
        let above =
            open_folder(working_tree, above)?.ok_or(io::ErrorKind::NotFound.into()).context("open", above)?;
        match above.create_dir(folder.file_name()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.context("create", folder.as_str())?,
        }
    }
    Ok(())
}

/// Removes up to `limit` of the innermost folders above `path`, while they are empty and can be removed. A mount point can't, nor a
/// folder whose parent is not writable.
pub(super) fn remove_empty_folders(
    working_tree: &WorkingTree,
    path: &LibraryPath,
    limit: usize,
) -> Result<(), Failure> {
    for folder in parents(path).iter().rev().take(limit) {
        let Some(above) = open_folder(working_tree, above(folder))? else {
            continue;
        };
        use io::ErrorKind::{DirectoryNotEmpty, NotFound, PermissionDenied, ResourceBusy};
        match above.remove_dir(folder.file_name()).map_err(|error| (error.kind(), error)) {
            Ok(()) | Err((NotFound, _)) => {}
            Err((DirectoryNotEmpty | PermissionDenied | ResourceBusy, _)) => return Ok(()),
            Err((_, error)) => return Err(error).context("remove", folder.as_str()),
        }
    }
    Ok(())
}

/// Returns the folders above `path`, from the top, without the library's root.
fn parents(path: &LibraryPath) -> Vec<LibraryDir> {
    path.parent().ancestors().collect()
}

/// Returns the parent of `folder`.
fn above(folder: &LibraryDir) -> &str {
    folder.as_str().rsplit_once('/').map_or("", |(above, _)| above)
}

/// Chooses the exchange file of a transaction's `number`th document, at `path`. Returns its name, and true if it is next to the
/// document, because that is on a different device than our own folder.
pub(super) fn choose_aside(working_tree: &WorkingTree, path: &LibraryPath, number: usize) -> (String, bool) {
    let device = |path: &std::path::Path| platform::file_id_at(path).map(|id| id.device);
    let folders = working_tree.root.path().join(path.as_path());
    let existing = folders.ancestors().skip(1).find_map(device);
    if existing == device(&working_tree.repository.own("")) {
        (format!("{ASIDE}{number}"), false)
    } else {
        (format!("{ASIDE_HIDDEN}{number}"), true)
    }
}

/// Returns the number of missing folders above `path`.
pub(super) fn missing_folders(working_tree: &WorkingTree, path: &LibraryPath) -> Result<usize, Failure> {
    let mut missing = 0;
    for folder in parents(path) {
        if missing > 0 || open_folder(working_tree, folder.as_str())?.is_none() {
            missing += 1;
        }
    }
    Ok(missing)
}

/// Opens the folder at `path` in the library; `None` if it does not exist.
pub(super) fn open_folder(working_tree: &WorkingTree, path: &str) -> Result<Option<Dir>, Failure> {
    let shown = if path.is_empty() { "." } else { path };
    match working_tree.root.dir().open_dir(shown) {
        Ok(dir) => Ok(Some(dir)),
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::from(error)).context("open", shown),
    }
}

/// Returns the kind and content of the file `name` in `folder`.
pub(super) fn look(folder: Option<&Dir>, name: &str) -> Result<FileContent, Failure> {
    let Some(folder) = folder else {
        return Ok(FileContent::Nothing);
    };
    match folder.open_entry(name) {
        Ok(file) => look_at(&file, name),
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(FileContent::Nothing),
        Err(OpenError::Io(error)) => Err(error).context("read", name),
        Err(OpenError::Symlink | OpenError::Special | OpenError::TooLarge { .. }) => Ok(FileContent::Other),
    }
}

/// Returns the kind and content of the open `file` called `name`.
pub(super) fn look_at(mut file: &File, name: &str) -> Result<FileContent, Failure> {
    if !file.metadata().context("look at", name)?.is_file() {
        return Ok(FileContent::Other);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).context("read", name)?;
    Ok(FileContent::Bytes(blob_id(&bytes)?))
}
