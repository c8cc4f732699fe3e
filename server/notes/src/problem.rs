//! Problems in a note's file. A problem never hides a note.

use uuid::Uuid;

/// A part of a note's file that can't be understood, or a decision about its id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file can't be read, so it is not a note.
    #[error("the file can't be read: {reason}")]
    Unreadable {
        /// The cause.
        reason: String,
    },
    /// The file is not UTF-8: each invalid sequence is read as U+FFFD.
    #[error("the file is not UTF-8; convert it, so that it can be read and changed")]
    NotUtf8,
    /// The front matter can't be read: the note has no metadata.
    #[error("{message}")]
    FrontMatter {
        /// Line of the document, from 1.
        line: usize,
        /// The error.
        message: String,
    },
    /// A key's value is invalid, and is left out.
    #[error("`{key}` is left out: it should be {expected}")]
    Member {
        /// The key; for links with the position in the list, from 1: `links[2]`.
        key: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A link leads to no note.
    #[error(
        "a link leads to {to}, and there is no such note: if its file was moved and had no `id`, write `id: {to}` there, else remove the link"
    )]
    Link {
        /// The id in the link.
        to: Uuid,
    },
    /// Other files claim the same id. One of them owns it, and this file gets the id that is derived from its path.
    #[error("the id {id} is that of `{kept_by}`; remove the line `id` here, if this is a note of its own")]
    DuplicateId {
        /// The id in the file.
        id: Uuid,
        /// Path of the note that owns it.
        kept_by: String,
    },
}
