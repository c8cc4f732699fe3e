//! Parts of the format that the other modules share: errors, marks, numbers, and descriptions of a change.

use std::collections::BTreeMap;

use gix::ObjectId;

/// Error when changing an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum IndexError {
    /// The file is not an index, or is damaged.
    #[error("the index is damaged ({0}); `rm .git/index && git reset` rebuilds it")]
    Damaged(&'static str),
    /// The version is unknown.
    #[error(
        "the index has version {0}, which is not supported; `git update-index --index-version 2` changes it"
    )]
    Version(u32),
    /// The path has a merge conflict.
    #[error("`{0}` has a merge conflict in the index; resolve it, then `git add` or `git rm` it")]
    Conflict(String),
    /// A file is where the path has a folder, or the other way round.
    #[error("the index has `{0}`, which is in the way; commit or unstage its removal first")]
    InTheWay(String),
    /// It is split into two files.
    #[error("the index is split, which is not supported; `git update-index --no-split-index` joins it")]
    Split,
    /// The path lies in a folder that a sparse checkout has collapsed.
    #[error("`{0}` is outside the sparse checkout; `git sparse-checkout add` its folder first")]
    Sparse(String),
    /// It has an unknown extension that must be understood.
    #[error("the index has the extension `{0}`, which is not supported")]
    Extension(String),
}

/// The trees of folders before and after the change, in the commit that the index was compared with. The top folder is the
/// empty text.
pub(in super::super) type Folders = BTreeMap<String, (Option<ObjectId>, Option<ObjectId>)>;

/// The folders above changed entries: their trees if they are known, and true if entries were added or removed below them.
pub(super) type Touched<'a> = BTreeMap<&'a str, (Option<(Option<ObjectId>, Option<ObjectId>)>, bool)>;

/// A person's mark on a file, set by `git update-index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Mark {
    /// Git assumes that the file is as in the index.
    AssumeUnchanged,
    /// Git assumes that the file is missing, as in a sparse checkout.
    SkipWorktree,
    /// Git knows the file by its name alone (`git add -N`).
    IntentToAdd,
}

pub(super) fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"))
}

/// Change of the entries, as far as extensions depend on it.
#[derive(Clone, Copy)]
pub(super) struct Changed<'a> {
    /// The folders above changed entries.
    pub(super) folders: &'a Touched<'a>,
    /// True if an entry was added or removed.
    pub(super) set: bool,
    /// True if the extensions moved.
    pub(super) moved: bool,
}
