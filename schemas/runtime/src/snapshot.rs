//! Documents as a method reads them: their bytes, and how they became what they are.

use chrono::{DateTime, FixedOffset};
use serde_json::{Map, Value};

use crate::{
    failure::{Failure, FailureKind},
    ids::{CommitId, ContentId},
};

/// The bytes of one document and the id of their content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The bytes, as they are kept.
    pub bytes: Vec<u8>,
    /// Id of the bytes.
    pub id: ContentId,
}

/// Documents that can be read.
pub trait Snapshot: Send + Sync {
    /// The document at `path`, or `None` where there is none.
    ///
    /// # Errors
    /// When `path` is not one of the store's, or the document can't be read.
    fn read(&self, path: &str) -> Result<Option<Document>, Failure>;

    /// The document at `path` and how it became what it is, back to a commit that `known` says is known already, or to
    /// the beginning.
    ///
    /// # Errors
    /// When the store keeps no history, or it can't be read.
    fn history(&self, path: &str, known: &dyn Fn(&str) -> bool) -> Result<DocumentHistory, Failure> {
        let _ = known;
        Err(no_history(path))
    }

    /// The bytes of one of the contents that the document at `path` has had, by its id in [`DocumentHistory`].
    ///
    /// # Errors
    /// When there is no such content, or it can't be read.
    fn past_content(&self, path: &str, id: &str) -> Result<Vec<u8>, Failure> {
        let _ = id;
        Err(no_history(path))
    }
}

fn no_history(path: &str) -> Failure {
    Failure::new(
        FailureKind::Refused,
        format!("nothing is kept of what `{path}` was before"),
    )
}

/// How a document became what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHistory {
    /// The document; `None` where there is none.
    pub document: Option<Document>,
    /// Id of its content, as the history would keep it: that of the newest version, unless something is not committed
    /// yet.
    pub now: Option<ContentId>,
    /// The newest commit of the store, whether it changed the document or not; `None` before the first one.
    pub state: Option<CommitId>,
    /// The known commit that `versions` follow; `None` when they go back to the beginning.
    pub since: Option<CommitId>,
    /// What the document has been, oldest first.
    pub versions: Vec<Version>,
}

/// What a commit made of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Id of the commit.
    pub commit: CommitId,
    /// Who made it.
    pub author: String,
    /// When.
    pub time: DateTime<FixedOffset>,
    /// Id of the content; `None` where the commit deleted the document.
    pub content: Option<ContentId>,
    /// The log entry, where the commit is the change of a tool and nothing else.
    pub entry: Option<VersionEntry>,
}

/// What the log keeps of a tool's change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionEntry {
    /// Name of the tool that was called.
    pub tool: String,
    /// What was done, in one word.
    pub operation: String,
    /// What the tool wanted to be kept.
    pub details: Map<String, Value>,
}
