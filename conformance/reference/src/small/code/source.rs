//! A text to index: a file, a blob of a branch, or the message of a commit.

use std::{
    fs,
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use sha1::{Digest, Sha1};

use super::branches::git;
use crate::mutant::{Mutant, is};

/// A text to index.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) branch: Option<String>,
    pub(super) origin: Origin,
}

/// Origin of a text.
pub(super) enum Origin {
    Disk(PathBuf),
    Blob(String),
    Message { commit: String },
}

impl Source {
    /// Returns the key of the text, unique in the collection.
    pub(super) fn place(&self) -> String {
        match &self.branch {
            // No name of a branch has a colon.
            Some(branch) => format!("{branch}:{}", self.path),
            None => self.path.clone(),
        }
    }

    pub(super) fn is_message(&self) -> bool {
        matches!(self.origin, Origin::Message { .. })
    }

    /// Returns its bytes; empty if they can't be read.
    pub(super) fn read(&self, root: &Path) -> Vec<u8> {
        let found = match &self.origin {
            Origin::Disk(file) => return fs::read(file).unwrap_or_default(),
            Origin::Blob(id) => git(root, &["cat-file", "blob", id]),
            Origin::Message { commit } => git(root, &["show", "--no-patch", "--format=%B", commit]),
        };
        found.unwrap_or_default()
    }

    /// Returns git's id of the text, or of the commit.
    pub(super) fn id(&self, text: &str) -> String {
        if let Origin::Message { commit } = &self.origin {
            return commit.clone();
        }
        let header = if is(Mutant::HashesTextsAlone) {
            String::new()
        } else {
            format!("blob {}\0", text.len())
        };
        HEXLOWER.encode(&Sha1::digest(header + text))
    }
}
