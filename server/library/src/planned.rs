//! A planned mutation, returned by `plan` and collected by `pending`.

use gix::ObjectId;
use tabellion_runtime::Version;

use super::{
    history::Touched,
    intent::Logged,
    objects::NewObjects,
    tree::{FolderChange, TreeEntry},
};
use crate::path::LibraryPath;

/// A planned mutation, on top of earlier ones.
#[derive(Debug)]
pub(super) struct Plan {
    /// The commit and its reflog line.
    pub(super) logged: Logged,
    /// The commit's tree.
    pub(super) tree: ObjectId,
    /// The documents that the commit touched, with those of the adopting commit before it, if there is one.
    pub(super) touched: Vec<(ObjectId, Vec<Touched>)>,
    pub(super) objects: NewObjects,
    /// The folders above the documents, before and after.
    pub(super) folders: Vec<FolderChange>,
    /// The change of each document, in the order of the edits; then those that a person has moved away.
    pub(super) documents: Vec<DocumentPlan>,
    /// Git paths of submodules, with the entries that the index gets: no file here belongs to them.
    pub(super) links: Vec<(String, Option<TreeEntry>)>,
    /// The caller's idempotency key.
    pub(super) key: Option<String>,
}

/// The change of one document.
#[derive(Debug)]
pub(super) struct DocumentPlan {
    pub(super) path: LibraryPath,
    /// Id of its bytes before; `None` if there was no document.
    pub(super) old: Option<ObjectId>,
    /// Id of its bytes after; `None` if it is deleted.
    pub(super) new: Option<ObjectId>,
    /// Bytes after.
    pub(super) content: Option<Vec<u8>>,
    /// Permission bits.
    pub(super) mode: u32,
    pub(super) kept_before: Option<TreeEntry>,
    pub(super) kept_after: Option<TreeEntry>,
    /// The document's new versions, oldest first: at most one adopting commit, and the mutation's.
    pub(super) versions: Vec<Version>,
}
