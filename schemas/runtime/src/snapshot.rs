//! Documents as a method reads them: their bytes and their history.

use chrono::{DateTime, FixedOffset};
use serde_json::{Map, Value};

use crate::{
    failure::{Failure, FailureKind},
    ids::{CommitId, ContentId},
};

/// The bytes of one document and the id of their content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Id of the bytes.
    pub id: ContentId,
}

/// Documents that can be read.
pub trait Snapshot: Send + Sync {
    /// Reads the document at `path`, if it exists.
    ///
    /// # Errors
    /// If `path` is invalid, or the document can't be read.
    fn read(&self, path: &str) -> Result<Option<Document>, Failure>;

    /// Returns the stored path of the document that `path` names: a different spelling if a document exists under that one and none at
    /// `path`, otherwise `path`.
    ///
    /// # Errors
    /// If `path` is invalid, or the store can't be read.
    fn true_path(&self, path: &str) -> Result<String, Failure> {
        Ok(path.to_owned())
    }

    /// Returns the document at `path` and its history, from the newest commit back to the limit `until`.
    ///
    /// # Errors
    /// If the store has no history, or it can't be read.
    fn history(&self, path: &str, until: Until<'_>) -> Result<DocumentHistory, Failure> {
        let _ = until;
        Err(no_history(path))
    }

    /// Returns the details in the log entry of a call that is repeated; `None` unless this is the state that the first call found.
    fn first_call(&self) -> Option<&Map<String, Value>> {
        None
    }

    /// Returns the bytes of an earlier content of the document at `path`, by its id in [`DocumentHistory`].
    ///
    /// # Errors
    /// If the content does not exist, or can't be read.
    fn past_content(&self, path: &str, id: &str) -> Result<Vec<u8>, Failure> {
        let _ = id;
        Err(no_history(path))
    }
}

fn no_history(path: &str) -> Failure {
    Failure::new(FailureKind::Refused, format!("the store keeps no history of `{path}`"))
}

/// The lower limit of a history.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// To the first of these commits, which need not have changed the document: only versions since then are read.
    pub known: &'a [&'a str],
    /// To the first version that is enough, inclusive.
    pub enough: &'a dyn Fn(&Version) -> bool,
}

impl Until<'_> {
    /// To the beginning.
    pub const BEGINNING: Self = Self { known: &[], enough: &|_| false };
}

/// The history of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHistory {
    /// The document, if it exists.
    pub document: Option<Document>,
    /// Id of its content in the history's terms: that of the newest version, unless there are uncommitted bytes.
    pub now: Option<ContentId>,
    /// The newest commit of the store, which need not have changed the document; `None` before the first one.
    pub state: Option<CommitId>,
    /// The known commit that `versions` follow; `None` when they go back to the beginning, or to a version that was enough.
    pub since: Option<CommitId>,
    /// The versions, oldest first.
    pub versions: Vec<Version>,
}

/// A version of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Id of the commit.
    pub commit: CommitId,
    /// The commit's author.
    pub author: String,
    /// The commit's time.
    pub time: DateTime<FixedOffset>,
    /// Id of the content; `None` if the commit deleted the document.
    pub content: Option<ContentId>,
    /// The log entry, if a tool made the commit.
    pub entry: Option<VersionEntry>,
}

/// The log entry of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionEntry {
    /// Name of the tool that was called.
    pub tool: String,
    /// The operation, in one word.
    pub operation: String,
    /// The details that the tool added.
    pub details: Map<String, Value>,
}
