//! The documents that a path on the command line names.

use std::path::{self, Component, Path};

use tabellion_library::{Library, path::LibraryPath};
use tabellion_platform::canonicalize;
use tabellion_upkeep::TerminalError;

/// A document, or all documents in a folder; the default is the whole library.
#[derive(Default)]
pub(super) struct Selection(String);

impl Selection {
    /// Returns the selection that `text` names: relative to the library in `folder`, or else as the system takes it, absolute or from
    /// the current folder.
    ///
    /// # Errors
    /// If `text` is outside of the library, or neither exists nor is the path of an entry or of an uncommitted document.
    pub(super) fn find(library: &Library, folder: &Path, text: Option<&str>) -> Result<Self, TerminalError> {
        let Some(text) = text else {
            return Ok(Self::default());
        };
        let root = canonicalize(folder)?;
        for path in [relative(Path::new(text)), below(&root, text)].iter().flatten() {
            if path.is_empty() {
                return Ok(Self::default());
            }
            let path = LibraryPath::of_any_file(path).map_err(TerminalError::new)?;
            let path = library.true_path(&path);
            let found = Self(path.as_str().to_owned());
            if root.join(path.as_path()).symlink_metadata().is_ok() || found.is_known(library)? {
                return Ok(found);
            }
        }
        let message = format_args!(
            "no document or folder in `{}` is called `{text}`, and no entry names it",
            root.display()
        );
        Err(TerminalError::new(message).hint("give a path relative to the library, as in `notes/plan.md`"))
    }

    /// Returns true if it is the whole library.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if it is the document at `path` alone.
    pub(super) fn is(&self, path: &str) -> bool {
        self.0 == path
    }

    /// Returns true if the document at `path` belongs to it.
    pub(super) fn has(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&self.0);
        self.is_whole() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns true if an entry or an uncommitted document has a path that belongs to it.
    fn is_known(&self, library: &Library) -> Result<bool, TerminalError> {
        let entries = library.activity(usize::MAX)?;
        Ok(entries.iter().flat_map(|entry| &entry.paths).any(|path| self.has(path))
            || library.uncommitted()?.documents.iter().any(|document| self.has(&document.path)))
    }
}

/// Returns a relative path as the library writes it; `None` for any other, also if it climbs with `..`.
fn relative(path: &Path) -> Option<String> {
    let names = path.components().filter(|part| *part != Component::CurDir).map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    names.collect::<Option<Vec<_>>>().map(|names| names.join("/"))
}

/// Returns `text`, absolute or from the current folder, relative to the folder `root`; `None` if it is not below it. Its last segments need
/// not exist.
fn below(root: &Path, text: &str) -> Option<String> {
    let path = path::absolute(text).ok()?;
    path.ancestors().find_map(|above| {
        let whole = canonicalize(above).ok()?.join(path.strip_prefix(above).ok()?);
        relative(whole.strip_prefix(root).ok()?)
    })
}
