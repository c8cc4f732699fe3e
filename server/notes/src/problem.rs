//! Problems in a note's file. A problem never hides a note.

use std::fmt;

use uuid::Uuid;

/// A part of a note's file that can't be understood, or a decision about its id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file can't be read, so it is not a note.
    Unreadable {
        /// The cause.
        reason: String,
    },
    /// The file is not UTF-8: each invalid sequence is read as U+FFFD.
    NotUtf8,
    /// The front matter can't be read: the note has no metadata.
    FrontMatter {
        /// Line of the document, from 1.
        line: usize,
        /// The error.
        message: String,
    },
    /// A key's value is invalid, and is left out.
    Member {
        /// The key; for links with the position in the list, from 1: `links[2]`.
        key: String,
        /// The expected value.
        expected: &'static str,
    },
    /// Other files claim the same id. One of them owns it, and this file gets the id that is derived from its path.
    DuplicateId {
        /// The id in the file.
        id: Uuid,
        /// Path of the note that owns it.
        kept_by: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { reason } => write!(f, "the file can't be read: {reason}"),
            Self::NotUtf8 => {
                f.write_str("the file is not UTF-8; convert it, so that it can be read and changed")
            }
            Self::FrontMatter { message, .. } => write!(f, "{message}"),
            Self::Member { key, expected } => write!(f, "`{key}` is left out: it should be {expected}"),
            Self::DuplicateId { id, kept_by } => write!(
                f,
                "the id {id} is that of `{kept_by}`; remove the line `id` here, if this is a note of its own"
            ),
        }
    }
}
