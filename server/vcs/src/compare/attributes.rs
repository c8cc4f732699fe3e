//! The attribute `diff` of a file, which makes git treat it as text or binary.
//!
//! The `.gitattributes` of the target's tree apply, as with `git --attr-source`, so an answer depends on commits alone: neither on the
//! checkout, nor on files outside of the repository.

use std::{cell::RefCell, collections::HashSet, path::PathBuf};

use gix::{
    ObjectId,
    attrs::{
        Search, StateRef,
        search::{MetadataCollection, Outcome},
    },
    bstr::{BStr, BString, ByteSlice},
    glob::pattern::Case,
};

use crate::repository::GitRepository;

/// Size limit of a `.gitattributes` file, the same as git's.
const MAX_ATTRIBUTES_BYTES: u64 = 100 * 1024 * 1024;

const ATTRIBUTE: &str = "diff";
const FILE: &str = ".gitattributes";

/// Effect of the attributes on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffAttribute {
    /// It is text, regardless of its content.
    Text,
    /// It is binary.
    Binary,
    /// Its content decides.
    ByContent,
}

/// The attributes in a tree, read folder by folder when those of a file in it are needed.
pub(super) struct Attributes<'r> {
    repository: &'r GitRepository,
    tree: ObjectId,
    state: RefCell<State>,
}

struct State {
    search: Search,
    names: MetadataCollection,
    /// Folders whose `.gitattributes` was read, without a trailing slash.
    read: HashSet<BString>,
    has_any: bool,
}

impl<'r> Attributes<'r> {
    pub(super) fn new(repository: &'r GitRepository, tree: ObjectId) -> Self {
        let mut names = MetadataCollection::default();
        // Without files it contains only git's macro `binary`, and can't fail.
        let search = Search::new_globals(None::<PathBuf>, &mut Vec::new(), &mut names).unwrap_or_default();
        let state = State { search, names, read: HashSet::new(), has_any: false };
        Self { repository, tree, state: RefCell::new(state) }
    }

    /// Returns the effect of the attributes on the regular file at `path`.
    pub(super) fn diff_attribute(&self, path: &BStr) -> DiffAttribute {
        let mut state = self.state.borrow_mut();
        let mut at = Some(0);
        while let Some(end) = at {
            let folder = &path[..end];
            if !state.read.contains(folder.as_bstr()) {
                self.read(&mut state, folder.as_bstr());
            }
            let from = if end == 0 { 0 } else { end + 1 };
            at = path[from..].find_byte(b'/').map(|slash| from + slash);
        }
        if !state.has_any {
            return DiffAttribute::ByContent;
        }
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&state.names, [ATTRIBUTE]);
        state.search.pattern_matching_relative_path(path, Case::Sensitive, Some(false), &mut outcome);
        let found = outcome.iter_selected().next();
        match found.map(|found| found.assignment.state) {
            Some(StateRef::Set) => DiffAttribute::Text,
            Some(StateRef::Unset) => DiffAttribute::Binary,
            Some(StateRef::Value(driver)) => self.of_driver(driver.as_bstr()),
            Some(StateRef::Unspecified) | None => DiffAttribute::ByContent,
        }
    }

    /// Returns the effect of a driver (`diff=NAME`) by the repository's configuration.
    fn of_driver(&self, name: &BStr) -> DiffAttribute {
        let config = self.repository.git.config_snapshot();
        match config.plumbing().boolean_by("diff", Some(name), "binary") {
            Ok(Some(true)) => DiffAttribute::Binary,
            Ok(Some(false)) => DiffAttribute::Text,
            _ => DiffAttribute::ByContent,
        }
    }

    /// Reads the attributes in `folder`. Unreadable ones count as absent, as in git. Folders come before those below them, so the nearest
    /// file takes precedence.
    fn read(&self, state: &mut State, folder: &BStr) {
        state.read.insert(folder.to_owned());
        let Some(text) = self.text(folder) else { return };
        state.has_any = true;
        let root = gix::path::from_bstr(folder).unwrap_or_default();
        let source = root.join(FILE);
        let added = state.search.add_patterns_buffer(
            &text,
            source,
            Some(std::path::Path::new("")),
            &mut state.names,
            folder.is_empty(),
        );
        state.has_any |= added.is_ok();
    }

    fn text(&self, folder: &BStr) -> Option<Vec<u8>> {
        let tree = self.repository.git.find_tree(self.tree).ok()?;
        let names = folder.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let names = names.chain([FILE.as_bytes()]);
        let entry = tree.lookup_entry(names).ok()??;
        let header = self.repository.git.find_header(entry.object_id()).ok()?;
        if !entry.mode().is_blob() || header.size() > MAX_ATTRIBUTES_BYTES {
            return None;
        }
        Some(entry.object().ok()?.data.clone())
    }
}
