//! What in a note's file can't be understood. A problem never hides a note.

use std::fmt;

use uuid::Uuid;

/// Something in a note's file that can't be understood, or that was decided for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file can't be read, so that it is no note.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The file is not UTF-8: each invalid sequence is read as U+FFFD.
    NotUtf8,
    /// The front matter can't be read: the note has no metadata.
    FrontMatter {
        /// Line of the document, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A key's value is not what it should be, and is left out.
    Member {
        /// The key; for links with the place in the list, from 1: `links[2]`.
        key: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Other files say the same id. One keeps it, and this file has the id that is derived from its path.
    DuplicateId {
        /// The id that the file says.
        id: Uuid,
        /// Path of the note that keeps it.
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
