//! The content of files in a comparison.

use gix::{ObjectId, bstr::BStr, objs::tree::EntryKind};
use memchr::memchr;

use super::{
    attributes::{Attributes, DiffAttribute},
    tree::TreeFile,
};
use crate::{error::VcsError, repository::GitRepository};

/// Size limit of a file whose lines are compared; a larger one counts as binary. Git's own limit (`core.bigFileThreshold`) is 512 MiB.
pub(super) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Number of bytes at the start of a file in which git looks for a NUL.
const BINARY_PROBE_BYTES: usize = 8000;

/// A file's content.
pub(super) enum Content {
    /// Lines of text.
    Text(Vec<u8>),
    /// Binary, or too large; the bytes are empty if it is too large.
    Binary(Vec<u8>),
}

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => bytes,
        }
    }
}

/// Reads files of a repository's trees.
pub(super) struct Contents<'r> {
    repository: &'r GitRepository,
    attributes: Attributes<'r>,
}

impl<'r> Contents<'r> {
    /// Returns a reader that uses the attributes in the tree `attributes`.
    pub(super) fn new(repository: &'r GitRepository, attributes: ObjectId) -> Self {
        Self { repository, attributes: Attributes::new(repository, attributes) }
    }

    /// Returns a file's size in bytes.
    pub(super) fn size(&self, file: &TreeFile) -> Result<u64, VcsError> {
        if file.kind == EntryKind::Commit {
            return Ok(of_submodule(file.id).len() as u64);
        }
        let header = self.repository.git.find_header(file.id);
        Ok(header.map_err(|error| self.repository.damaged("a file", &error))?.size())
    }

    /// Returns the content of the file at `path`.
    pub(super) fn read(&self, path: &BStr, file: &TreeFile) -> Result<Content, VcsError> {
        if file.kind == EntryKind::Commit {
            return Ok(Content::Text(of_submodule(file.id)));
        }
        let attribute =
            if file.is_regular() { self.attributes.diff_attribute(path) } else { DiffAttribute::ByContent };
        if self.size(file)? > MAX_FILE_BYTES {
            return Ok(Content::Binary(Vec::new()));
        }
        let blob = self.repository.git.find_blob(file.id);
        let mut blob = blob.map_err(|error| self.repository.damaged("a file", &error))?;
        let bytes = blob.take_data();
        let is_binary = match attribute {
            DiffAttribute::Text => false,
            DiffAttribute::Binary => true,
            DiffAttribute::ByContent => is_binary(&bytes),
        };
        if is_binary {
            return Ok(Content::Binary(bytes));
        }
        Ok(Content::Text(bytes))
    }
}

/// Returns true if git treats the bytes as binary.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    memchr(0, &bytes[..bytes.len().min(BINARY_PROBE_BYTES)]).is_some()
}

/// Returns the text that git compares in place of a submodule's content.
fn of_submodule(commit: ObjectId) -> Vec<u8> {
    format!("Subproject commit {commit}\n").into_bytes()
}
