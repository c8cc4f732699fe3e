//! A reviewer's desk: open proposals of a library, and decisions on them, for people at the terminal.
//!
//! Both are tools that no client sees: the runtime dispatches them like all others, so a decision is one transaction, one commit and
//! one entry.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tabellion_contracts::brainforge::{CONTRACT, ToolError, WORKFLOW_AGENT_NOTE_REVIEW};
use tabellion_library::Library;
use tabellion_meaning::Installed;
use tabellion_notes::InstanceFilter;
use tabellion_runtime::{
    Annotations, Answer, BoxFuture, CallContext, Contract, ContractError as _, ErrorAnswer, Failure, ReadCx,
    Rejection, Schema, Staged, ToolSpec, WriteCx,
    calls::{CallStore, NewExecution, RecordedCall},
    dispatch,
    spec::ContractSpec,
    workflow::Passage,
};
use uuid::Uuid;

use super::{
    fields,
    instances::{self, Proposal},
    review::{self, Decided, Decision, Review},
    shelf::Shelf,
    values::caller,
};

static ANY: Schema = Schema::plain(r#"{ "type": "object" }"#);

pub use super::{
    parts::Part,
    review::{Over, Remark, Shown, Side},
};

/// Errors of a decision: those of the contract's tools.
const ERRORS: &[&str] = CONTRACT.tools[0].errors;

const fn annotations(read_only: bool) -> Annotations {
    Annotations {
        read_only,
        destructive: !read_only,
        idempotent: read_only,
        open_world: false,
    }
}

static LIST: ToolSpec = ToolSpec {
    name: "tabellion review list",
    description: "What waits for a reviewer.",
    annotations: annotations(true),
    errors: ERRORS,
    ..ToolSpec::new(&ANY, &ANY)
};

static SHOW: ToolSpec = ToolSpec {
    name: "tabellion review show",
    description: "A proposal, and the note that it would become.",
    ..LIST
};

static PREVIEW: ToolSpec = ToolSpec {
    name: "tabellion review preview",
    description: "What a decision would do.",
    ..LIST
};

static DECIDE: ToolSpec = ToolSpec {
    name: "tabellion review",
    description: "A decision on what waits.",
    annotations: annotations(false),
    mutating: true,
    commit: Some("/commit"),
    errors: ERRORS,
    ..ToolSpec::new(&ANY, &ANY)
};

/// The proposals of a library, for its reviewers.
pub struct Desk {
    shelf: Arc<Shelf>,
    library: Arc<Library>,
    /// Records decisions, if present.
    calls: Option<Arc<dyn CallStore>>,
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

impl From<Proposal> for Row {
    fn from(proposal: Proposal) -> Self {
        let (instance, proposed) = (proposal.found.instance, proposal.proposed);
        Self {
            id: instance.id.to_string(),
            note_id: instance.note.unwrap_or_default().to_string(),
            title: proposal.entry.map_or(proposed.title, |entry| entry.title),
            state: instance.state,
            author: proposal.fields.author,
            agent: instance.agent,
            reason: proposed.reason,
            started_at: instance.started_at,
            changed_at: proposed.changed_at,
            proposed_version: proposed.version,
            added: proposal.added,
            removed: proposal.removed,
            stale: proposal.is_stale,
            revision: fields::hex(&proposal.found.content),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ListRequest {
    filter: Filter,
    page: Page,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ShowRequest {
    id: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct EarlierRequest {
    id: String,
    revision: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct EarlierResponse {
    text: Option<String>,
}

#[derive(Debug, Serialize)]
struct DecideResponse {
    commit: String,
}

/// Failure of a request to the desk: a sentence for people.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct DeskError {
    message: String,
    reason: Option<String>,
}

impl DeskError {
    /// Returns the one-word reason in the contract's error, such as `moved`.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

impl Desk {
    /// Opens the desk of a library. Decisions are recorded in `calls`.
    pub fn new(library: Arc<Library>, calls: Option<Arc<dyn CallStore>>) -> Self {
        let shelf = Shelf::new(Arc::clone(&library), Box::new(Installed));
        Self {
            calls,
            ..Self::over(shelf, library)
        }
    }

    pub(super) fn over(shelf: Arc<Shelf>, library: Arc<Library>) -> Self {
        Self {
            shelf,
            library,
            calls: None,
        }
    }

    /// Returns the name of the tool that decisions are recorded as.
    pub fn decision_tool() -> &'static str {
        DECIDE.name
    }

    /// Returns the contract, whose roles reviewers have.
    pub fn contract() -> &'static ContractSpec {
        &CONTRACT
    }

    /// Returns a page of the proposals that `filter` admits, oldest first.
    ///
    /// # Errors
    /// If the library can't be read.
    pub async fn list(&self, call: &CallContext, filter: &Filter, page: Page) -> Result<Listed, DeskError> {
        let answer = dispatch::read(
            &LIST,
            self,
            &*self.library,
            call,
            json!({ "filter": filter, "page": page }),
            |desk, cx, request: ListRequest| Box::pin(async move { desk.listed(cx, &request) }),
        );
        answered(answer).await
    }

    /// Returns the proposal with this id, or with the only id that has this prefix, whether it is open or closed.
    ///
    /// # Errors
    /// If none or several match, or the library can't be read.
    pub async fn show(&self, call: &CallContext, id: &str) -> Result<Waiting, DeskError> {
        let answer = dispatch::read(
            &SHOW,
            self,
            &*self.library,
            call,
            json!({ "id": id }),
            |desk, cx, request: ShowRequest| Box::pin(async move { desk.shown(cx, &request.id) }),
        );
        answered(answer).await
    }

    /// Returns the text of the note that an earlier revision of a proposal would have made; `None` if there was no such revision.
    ///
    /// # Errors
    /// If the library can't be read.
    pub async fn earlier(
        &self,
        call: &CallContext,
        id: &str,
        revision: &str,
    ) -> Result<Option<String>, DeskError> {
        let answer = dispatch::read(
            &SHOW,
            self,
            &*self.library,
            call,
            json!({ "id": id, "revision": revision }),
            |desk, cx, request: EarlierRequest| Box::pin(async move { desk.was(cx, &request) }),
        );
        let response: EarlierResponse = answered(answer).await?;
        Ok(response.text)
    }

    /// Returns the preview of a decision, without making it.
    ///
    /// # Errors
    /// Those of the decision.
    pub async fn preview(&self, call: &CallContext, decide: &Decide) -> Result<Outcome, DeskError> {
        let answer = dispatch::read(
            &PREVIEW,
            self,
            &*self.library,
            call,
            json!(decide),
            |desk, cx, request: Decide| Box::pin(async move { desk.outcome(cx, request) }),
        );
        answered(answer).await
    }

    /// Decides on a proposal as it was shown; returns the commit.
    ///
    /// # Errors
    /// If the decision is not possible, or not permitted to the caller, or the library can't be changed.
    pub async fn decide(&self, call: &CallContext, decide: &Decide) -> Result<String, DeskError> {
        let answer = self.call(call, DECIDE.name, json!(decide));
        let response: Value = answered(answer).await?;
        Ok(response["commit"].as_str().unwrap_or_default().to_owned())
    }

    /// Makes a decision, and records its execution if there is a call store.
    async fn make(&self, call: &CallContext, request: Value) -> Result<Answer, Rejection> {
        let decide = |call, request| async move {
            dispatch::mutate(
                &DECIDE,
                self,
                &*self.library,
                call,
                request,
                |desk, cx, request| Box::pin(async move { desk.staged(cx, request) }),
            )
            .await
        };
        let Some(calls) = &self.calls else {
            return decide(call, request).await;
        };
        let new = NewExecution::new(&CONTRACT, &DECIDE, call, &request);
        let (recorded, call) = RecordedCall::begin(calls, self, &new, call).await?;
        let outcome = decide(&call, request.clone()).await;
        recorded.end(self, &call, outcome).await
    }

    fn listed(&self, cx: &ReadCx<'_>, request: &ListRequest) -> Result<Listed, ToolError> {
        let Filter { note, agent, state } = &request.filter;
        let Page { offset, limit } = request.page;
        let note = match note.as_deref().map(Uuid::try_parse) {
            None => None,
            Some(Ok(note)) => Some(note),
            Some(Err(_)) => {
                return Ok(Listed {
                    rows: vec![],
                    total: 0,
                    states: BTreeMap::new(),
                });
            }
        };
        let filter = InstanceFilter {
            note,
            agent: agent.clone(),
            state: state.clone(),
            is_open: state.is_none().then_some(true),
            ..fields::any()
        };
        let (proposals, total) = instances::proposals(&self.shelf, cx, &filter, offset, limit)?;
        let rows = proposals.into_iter().map(Row::from).collect();
        let states = WORKFLOW_AGENT_NOTE_REVIEW.states.iter().map(|state| state.name);
        let states = self.shelf.snapshot(|notes| {
            let count = |state: &str| {
                let filter = InstanceFilter {
                    state: Some(state.to_owned()),
                    is_open: None,
                    ..filter.clone()
                };
                Ok((state.to_owned(), notes.count_instances(&filter)?))
            };
            states.map(count).collect()
        })?;
        Ok(Listed { rows, total, states })
    }

    fn shown(&self, cx: &ReadCx<'_>, id: &str) -> Result<Waiting, ToolError> {
        let (review, revision) = review::read(cx, self.chosen(id)?)?;
        self.shelf.follow_for(&[review.note_id])?;
        let current = review::current(&self.shelf, cx, review.note_id)?;
        let is_stale = review.is_open() && review.is_stale(current.as_ref());
        let document = if review.is_open() && !is_stale {
            let parted = review::parted(&self.shelf, cx, &review, caller(cx)?)?;
            let before = cx.read(&parted.path)?;
            Some(Document {
                before: before.map(|document| String::from_utf8_lossy(&document.bytes).into_owned()),
                path: parted.path,
                after: parted.after,
                base: parted.base,
                parts: parted.parts,
            })
        } else {
            None
        };
        Ok(Waiting {
            id: review.id.to_string(),
            note_id: review.note_id.to_string(),
            title: match self.shelf.cached_note(review.note_id)? {
                Some(entry) => entry.title,
                None => review.title(),
            },
            state: review.instance.state.clone(),
            author: review.instance.author.clone(),
            started_at: review.started_at().to_owned(),
            proposed_version: review.proposed_version,
            revision,
            stale: is_stale,
            reason: review.why(),
            notes: review.notes.clone(),
            remarks: review.remarks.clone(),
            over: review::note_id(&self.shelf, cx, review.note_id)?,
            history: review.instance.history.clone(),
            document,
        })
    }

    fn was(&self, cx: &ReadCx<'_>, request: &EarlierRequest) -> Result<EarlierResponse, ToolError> {
        let id = self.chosen(&request.id)?;
        let Some(earlier) = review::at_revision(cx, id, &request.revision)?.filter(Review::is_open) else {
            return Ok(EarlierResponse { text: None });
        };
        self.shelf.follow_for(&[earlier.note_id])?;
        let parted = review::parted(&self.shelf, cx, &earlier, caller(cx)?)?;
        Ok(EarlierResponse {
            text: Some(parted.after),
        })
    }

    /// Returns the id of the only proposal whose id begins with `text`.
    fn chosen(&self, text: &str) -> Result<Uuid, ToolError> {
        let filter = InstanceFilter {
            id: Some(text.to_owned()),
            ..fields::any()
        };
        match &self.shelf.instances(&filter, 2)?[..] {
            [found] => Ok(found.instance.id),
            [] => {
                let message =
                    format!("there is no review `{text}`; `tabellion review list` lists those that wait");
                Err(super::values::invalid("not_found", message))
            }
            _ => {
                let message = format!("several reviews begin with `{text}`; say more of the id");
                Err(super::values::invalid("ambiguous", message))
            }
        }
    }

    fn decision(&self, request: Decide) -> Result<Decision, ToolError> {
        Ok(Decision {
            id: self.chosen(&request.id)?,
            on: request.on,
            notes: request.notes,
            at: Utc::now(),
            shown: request.shown,
        })
    }

    fn outcome(&self, cx: &ReadCx<'_>, request: Decide) -> Result<Outcome, ToolError> {
        let decision = self.decision(request)?;
        let decided = review::decide(&self.shelf, cx, &decision)?;
        Ok(Outcome {
            summary: decided.change.summary,
            details: decision.details(&decided.review),
            message: decided.review.notes,
            note: decided.note,
        })
    }

    fn staged(&self, cx: &WriteCx<'_>, request: Decide) -> Result<Staged<DecideResponse>, ToolError> {
        let decision = self.decision(request)?;
        let Decided { change, review, .. } = review::decide(&self.shelf, cx, &decision)?;
        let staged = cx.stage(change, |receipt| DecideResponse {
            commit: receipt.commit().to_string(),
        });
        Ok(staged.with_details(decision.details(&review)))
    }
}

/// As a contract, the desk has the one tool by which people decide.
impl Contract for Desk {
    fn spec(&self) -> &'static ContractSpec {
        &CONTRACT
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(async move {
            if tool == DECIDE.name {
                self.make(call, arguments).await
            } else {
                Err(Rejection::UnknownTool)
            }
        })
    }

    fn error_for(&self, failure: Failure) -> ErrorAnswer {
        ToolError::from(failure).answer()
    }
}

async fn answered<T: for<'d> Deserialize<'d>>(
    answer: impl Future<Output = Result<tabellion_runtime::Answer, Rejection>>,
) -> Result<T, DeskError> {
    let defect = |what: String| DeskError {
        message: format!("a defect of this program: {what}"),
        reason: None,
    };
    match answer.await {
        Ok(answer) => serde_json::from_value(answer.response).map_err(|error| defect(error.to_string())),
        Err(Rejection::Declared(ErrorAnswer { message, data, .. })) => Err(DeskError {
            reason: data.get("reason").and_then(Value::as_str).map(str::to_owned),
            message,
        }),
        Err(other) => Err(defect(format!("{other:?}"))),
    }
}
