//! A reviewer's desk: the proposals that wait in a library, and people's decisions on them.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tabellion_library::Library;
use tabellion_runtime::{
    BoxFuture, CallContext, ContractSpec,
    calls::CallStore,
    spec::{RestOperation, WorkflowSpec},
    workflow::Passage,
};

/// The review of proposals by people, for contracts in which an agent's changes wait for one.
pub struct Review {
    /// The contract, whose roles reviewers have.
    pub contract: &'static ContractSpec,
    /// Opens the desk of a library.
    pub desk: DeskOver,
    /// The workflow of proposals.
    pub workflow: &'static WorkflowSpec,
    /// Name of the tool that decisions are recorded as, except for those over REST.
    pub decision_tool: &'static str,
    /// Names of the contract's tools that make proposals.
    pub proposing_tools: &'static [&'static str],
    /// Folder of the proposals in a library.
    pub folder: &'static str,
}

impl Review {
    /// Returns true for a log entry with this tool and operation if it is a decision on a proposal.
    pub fn is_decision(&self, tool: &str, operation: &str) -> bool {
        let over_rest = self.contract.call_of(RestOperation::TaskComplete);
        let is_event = |on: &str| self.workflow.transitions.iter().any(|transition| transition.on == on);
        tool == self.decision_tool
            || over_rest.is_some_and(|call| call.label() == tool) && is_event(operation)
    }
}

/// Returns the desk of a library. Decisions are recorded in the call store, if there is one.
pub type DeskOver = fn(Arc<Library>, Option<Arc<dyn CallStore>>) -> Arc<dyn ReviewDesk>;

/// A desk's answer, which may have to be waited for.
pub type DeskAnswer<'a, T> = BoxFuture<'a, Result<T, DeskError>>;

/// The proposals of a library, for its reviewers.
pub trait ReviewDesk: Send + Sync {
    /// Returns a page of the proposals that `filter` admits, oldest first.
    ///
    /// # Errors
    /// If the library can't be read.
    fn list<'a>(&'a self, call: &'a CallContext, filter: &'a Filter, page: Page) -> DeskAnswer<'a, Listed>;

    /// Returns the proposal with this id, or with the only id that has this prefix, whether it is open or closed.
    ///
    /// # Errors
    /// If none or several match, or the library can't be read.
    fn show<'a>(&'a self, call: &'a CallContext, id: &'a str) -> DeskAnswer<'a, Waiting>;

    /// Returns the text of the note that an earlier revision of a proposal would have made; `None` if there was no such revision.
    ///
    /// # Errors
    /// If the library can't be read.
    fn earlier<'a>(
        &'a self,
        call: &'a CallContext,
        id: &'a str,
        revision: &'a str,
    ) -> DeskAnswer<'a, Option<String>>;

    /// Returns the preview of a decision, without making it.
    ///
    /// # Errors
    /// Those of the decision.
    fn preview<'a>(&'a self, call: &'a CallContext, decide: &'a Decide) -> DeskAnswer<'a, Outcome>;

    /// Decides on a proposal as it was shown; returns the commit.
    ///
    /// # Errors
    /// If the decision is not possible, or not permitted to the caller, or the library can't be changed.
    fn decide<'a>(&'a self, call: &'a CallContext, decide: &'a Decide) -> DeskAnswer<'a, String>;
}

/// A proposal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waiting {
    /// Id of the instance.
    pub id: String,
    /// Id of the note.
    pub note_id: String,
    /// Title of the note.
    pub title: String,
    /// State of the instance, as the workflow names it.
    pub state: String,
    /// Author of the proposal.
    pub author: String,
    /// Time of the start (RFC 3339).
    pub started_at: String,
    /// Number that the note's version would have.
    pub proposed_version: u64,
    /// Content id of the instance's document, which a decision names.
    pub revision: String,
    /// True if the note has changed since.
    pub stale: bool,
    /// True if its text is for owners.
    pub sensitive: bool,
    /// Reason for the change or for the new note.
    pub reason: Option<String>,
    /// The reviewer's last message.
    pub notes: Option<String>,
    /// The reviewer's last remarks.
    pub remarks: Vec<Remark>,
    /// Content id of the note that it would change; `None` for a new one.
    pub over: Option<String>,
    /// Events, oldest first.
    pub history: Vec<Passage>,
    /// Names of the events by which the caller can decide on it now.
    pub decisions: Vec<String>,
    /// The note as it is and as it would be, unless it is closed or stale.
    pub document: Option<Document>,
}

/// The document of a note, as it is and as it would be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Document {
    /// Path of the note in the library.
    pub path: String,
    /// Text of the file as it is; `None` if there is no file.
    pub before: Option<String>,
    /// Text of the file once the proposal is approved.
    pub after: String,
    /// The text that parts are compared with: the file as it is, except for the values that each approval sets; empty for a new note.
    pub base: String,
    /// The parts that can be taken or left, in the order of their numbers.
    pub parts: Vec<Part>,
}

/// Preview of a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// Path and text of the note, if the decision publishes it.
    pub note: Option<(String, String)>,
    /// The commit's summary.
    pub summary: String,
    /// Details that the commit keeps.
    pub details: Map<String, Value>,
    /// The message to the author.
    pub message: Option<String>,
}

/// A decision of a person.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Decide {
    /// Id of the instance, or its beginning.
    pub id: String,
    /// Name of the event.
    pub on: String,
    /// A message to the author.
    pub notes: Option<String>,
    /// The shown revision and note, the parts taken, and remarks.
    #[serde(flatten)]
    pub shown: Shown,
}

/// Conditions for the proposals to list, all of which must hold. The default admits those that wait for a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Id of the note.
    pub note: Option<String>,
    /// Name of the agent that made the proposal.
    pub agent: Option<String>,
    /// State, as the workflow names it, including final states.
    pub state: Option<String>,
}

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Number of proposals to pass over.
    pub offset: usize,
    /// Maximum number of proposals.
    pub limit: usize,
}

/// A proposal in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Id of the instance.
    pub id: String,
    /// Id of the note.
    pub note_id: String,
    /// Title of the note.
    pub title: String,
    /// State of the instance, as the workflow names it.
    pub state: String,
    /// Author of the proposal.
    pub author: String,
    /// Name of the agent that made it; `None` for a person.
    pub agent: Option<String>,
    /// Reason for the change or for the new note.
    pub reason: Option<String>,
    /// Time of the start (RFC 3339).
    pub started_at: String,
    /// Time of the last event (RFC 3339).
    pub changed_at: String,
    /// Number that the note's version would have.
    pub proposed_version: u64,
    /// Number of lines of content that the proposal adds to the note as it is; 0 once it is closed.
    pub added: usize,
    /// Number of lines of content that it removes.
    pub removed: usize,
    /// True if the note has changed since.
    pub stale: bool,
    /// True if its text is for owners.
    pub sensitive: bool,
    /// Content id of the instance's document, which a decision names.
    pub revision: String,
}

/// A page of proposals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The proposals, oldest first.
    pub rows: Vec<Row>,
    /// Number of proposals that the filter admits.
    pub total: usize,
    /// Numbers of proposals by state, regardless of the filter's state.
    pub states: BTreeMap<String, usize>,
}

/// A part of a proposal: lines from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Lines of the note as it is.
    pub old: Range<usize>,
    /// Lines of the note as it would be.
    pub new: Range<usize>,
    /// True for the change of the front matter, which is one part.
    pub front_matter: bool,
}

/// A remark of a reviewer on a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// The text that contains the line.
    #[serde(default)]
    pub side: Side,
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// Text of the line.
    #[serde(default)]
    pub quote: String,
    /// The remark, in Markdown.
    pub text: String,
}

/// The text that a remark is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The note as it is.
    Old,
    /// The note as it is proposed.
    #[default]
    New,
}

/// Data of a decision: the revision and note that the reviewer was shown, the parts taken, and remarks. It is `data` of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The revision that was shown: a content id of the instance's document, or a prefix of it. `None` if the caller named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The note that was shown.
    #[serde(default, skip_serializing_if = "Over::is_unnamed")]
    pub over: Over,
    /// Numbers of the parts that are taken, from 1; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<usize>,
    /// Remarks on lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
}

/// The note over which a proposal was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Over {
    /// The content id of its file.
    Note(String),
    /// There was no note: the proposal creates one.
    Nothing,
    /// The caller did not name it.
    #[default]
    #[serde(skip)]
    Unnamed,
}

impl Over {
    fn is_unnamed(&self) -> bool {
        *self == Self::Unnamed
    }

    /// Returns true if the note has changed since it was shown; `now` is the content id of its file, `None` if there is none.
    pub fn has_moved(&self, now: Option<&str>) -> bool {
        match self {
            Self::Note(shown) => now != Some(shown),
            Self::Nothing => now.is_some(),
            Self::Unnamed => false,
        }
    }
}

/// Failure of a request to the desk: a sentence for people.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct DeskError {
    message: String,
    reason: Option<String>,
}

impl DeskError {
    /// Creates the failure with this message, and the one-word reason in the contract's error, if it has one.
    pub fn new(message: String, reason: Option<String>) -> Self {
        Self { message, reason }
    }

    /// Returns the one-word reason in the contract's error, such as `moved`.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}
