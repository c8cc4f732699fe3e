//! A change that has been worked out: what `plan` returns and `pending` collects.

use gix::ObjectId;
use tabellion_runtime::Version;

use super::{
    intent::Logged,
    objects::NewObjects,
    tree::{FolderChange, Kept},
};
use crate::path::LibraryPath;

/// A mutation, worked out, on top of those that come first.
#[derive(Debug)]
pub(super) struct Plan {
    /// Its commit, and what git's logs say of it.
    pub(super) logged: Logged,
    /// The commit's tree.
    pub(super) tree: ObjectId,
    /// The objects that it makes.
    pub(super) objects: NewObjects,
    /// The folders on the way to the documents, before and after.
    pub(super) folders: Vec<FolderChange>,
    /// What becomes of each document, in the order of the change.
    pub(super) documents: Vec<DocumentPlan>,
    /// The caller's idempotency key.
    pub(super) key: Option<String>,
}

/// What becomes of one document.
#[derive(Debug)]
pub(super) struct DocumentPlan {
    pub(super) path: LibraryPath,
    /// Id of its bytes before; `None` where there is no document.
    pub(super) old: Option<ObjectId>,
    /// Id of its bytes after; `None` where it is deleted.
    pub(super) new: Option<ObjectId>,
    /// Its bytes after.
    pub(super) content: Option<Vec<u8>>,
    /// Its permission bits.
    pub(super) mode: u32,
    /// What the commit before has at the path.
    pub(super) kept_before: Option<Kept>,
    /// What the commit after has at the path.
    pub(super) kept_after: Option<Kept>,
    /// What the document becomes, oldest first: at most one commit that adopts, and its own.
    pub(super) versions: Vec<Version>,
}
