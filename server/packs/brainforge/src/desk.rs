//! A reviewer's desk: what waits in a library, and decisions on it, for people at the terminal.
//!
//! Both are tools that no client sees: the runtime dispatches them like every other, so that a decision is one transaction, one commit and
//! one entry.

use std::{future::Future, sync::Arc};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tabellion_contracts::brainforge::{CONTRACT, ToolError};
use tabellion_library::Library;
use tabellion_meaning::Installed;
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
    caller,
    review::{self, Decided, Decision, Review},
    shelf::Shelf,
};

static ANY: Schema = Schema::plain(r#"{ "type": "object" }"#);

pub use super::{
    parts::Part,
    review::{Over, Remark, Shown, Side},
};

/// A decision fails as a call of the contract's tools does.
const ERRORS: &[&str] = CONTRACT.tools[0].errors;

const fn annotations(read_only: bool) -> Annotations {
    Annotations {
        read_only,
        destructive: !read_only,
        idempotent: read_only,
        open_world: false,
    }
}

static LOOK: ToolSpec = ToolSpec {
    name: "tabellion review list",
    description: "What waits for a reviewer.",
    annotations: annotations(true),
    errors: ERRORS,
    ..ToolSpec::new(&ANY, &ANY)
};

static PREVIEW: ToolSpec = ToolSpec {
    name: "tabellion review preview",
    description: "What a decision would do.",
    annotations: annotations(true),
    errors: ERRORS,
    ..ToolSpec::new(&ANY, &ANY)
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

/// What waits in a library.
pub struct Desk {
    shelf: Arc<Shelf>,
    library: Arc<Library>,
    /// Where decisions are recorded, if they are.
    calls: Option<Arc<dyn CallStore>>,
}

/// Something that waits, or waited.
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
    /// When it was started (RFC 3339).
    pub started_at: String,
    /// Number that the note's version would have.
    pub proposed_version: u64,
    /// Content id of the instance's document, which a decision names.
    pub revision: String,
    /// Whether the note has changed since.
    pub stale: bool,
    /// Why the note changes, or why the content is there.
    pub reason: Option<String>,
    /// The reviewer's last message.
    pub notes: Option<String>,
    /// The reviewer's last remarks.
    pub remarks: Vec<Remark>,
    /// Content id of the note that it would change; `None` for a new one.
    pub over: Option<String>,
    /// Events, oldest first.
    pub history: Vec<Passage>,
    /// What approving would do, if it is open and was asked for alone.
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
    /// The text that parts are compared with: the file as it is, but for what each approval sets; empty for a new note.
    pub base: String,
    /// The parts that can be taken or left, in the order of their numbers.
    pub parts: Vec<Part>,
}

/// What a decision would make, before it is made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// Path and text of the note, if something is published.
    pub note: Option<(String, String)>,
    /// The commit's summary, and the details that it keeps.
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
    /// A word to the author.
    pub notes: Option<String>,
    /// What comes with it.
    #[serde(flatten)]
    pub shown: Shown,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LookRequest {
    id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LookResponse {
    waiting: Vec<Waiting>,
}

#[derive(Debug, Serialize)]
struct DecideResponse {
    commit: String,
}

/// Why nothing was shown or decided: a sentence for people.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct DeskError {
    message: String,
    reason: Option<String>,
}

impl DeskError {
    /// Returns the reason in one word, as the contract's errors have it, such as `moved`.
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

    /// Returns what waits, oldest first; or the one with this id, or with an id that begins so, whether it waits or not.
    ///
    /// # Errors
    /// If there is none like that, there are several, or the library can't be read.
    pub async fn look(&self, call: &CallContext, id: Option<&str>) -> Result<Vec<Waiting>, DeskError> {
        let answer = dispatch::read(
            &LOOK,
            self,
            &*self.library,
            call,
            json!({ "id": id }),
            |desk, cx, request| Box::pin(async move { desk.waiting(cx, &request) }),
        );
        let response: LookResponse = answered(answer).await?;
        Ok(response.waiting)
    }

    /// Returns what a decision would make. Nothing is changed.
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

    /// Decides on what waits, as it was shown; returns the commit.
    ///
    /// # Errors
    /// If the decision is not possible, or not for the caller, or the library can't be changed.
    pub async fn decide(&self, call: &CallContext, decide: &Decide) -> Result<String, DeskError> {
        let answer = self.call(call, DECIDE.name, json!(decide));
        let response: Value = answered(answer).await?;
        Ok(response["commit"].as_str().unwrap_or_default().to_owned())
    }

    /// Makes a decision; its execution is recorded, if executions are.
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
        let new = NewExecution::of(&CONTRACT, &DECIDE, call, &request);
        let (recorded, call) = RecordedCall::begin(calls, self, &new, call).await?;
        let outcome = decide(&call, request.clone()).await;
        recorded.end(self, &call, outcome).await
    }

    fn waiting(&self, cx: &ReadCx<'_>, request: &LookRequest) -> Result<LookResponse, ToolError> {
        self.shelf.follow()?;
        let all = self.shelf.reviews()?;
        let Some(id) = &request.id else {
            let open = all.iter().filter(|review| review.is_open());
            let waiting = open
                .map(|review| {
                    let (review, revision) = review::read(cx, review.id)?;
                    self.shown(cx, &review, revision, false)
                })
                .collect::<Result<_, _>>()?;
            return Ok(LookResponse { waiting });
        };
        let (review, revision) = review::read(cx, chosen(&all, id)?)?;
        Ok(LookResponse {
            waiting: vec![self.shown(cx, &review, revision, true)?],
        })
    }

    fn shown(
        &self,
        cx: &ReadCx<'_>,
        review: &Review,
        revision: String,
        with_document: bool,
    ) -> Result<Waiting, ToolError> {
        let current = review::current(&self.shelf, cx, review.note_id)?;
        let is_stale = review.is_open() && review.is_stale(current.as_ref());
        let document = if with_document && review.is_open() && !is_stale {
            let parted = review::parted(&self.shelf, cx, review, caller(cx)?)?;
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
        let justification = review.metadata.get("ai_justification").and_then(Value::as_str);
        Ok(Waiting {
            id: review.id.to_string(),
            note_id: review.note_id.to_string(),
            title: match self.shelf.known(review.note_id)? {
                Some(entry) => entry.title,
                None => review.title(),
            },
            state: review.instance.state.clone(),
            author: review.instance.author.clone(),
            started_at: review.started_at().to_owned(),
            proposed_version: review.proposed_version,
            revision,
            stale: is_stale,
            reason: review.reason.clone().or_else(|| justification.map(String::from)),
            notes: review.notes.clone(),
            remarks: review.remarks.clone(),
            over: review::note_id(&self.shelf, cx, review.note_id)?,
            history: review.instance.history.clone(),
            document,
        })
    }

    fn decision(&self, request: Decide) -> Result<Decision, ToolError> {
        let all = self.shelf.reviews()?;
        Ok(Decision {
            id: chosen(&all, &request.id)?,
            on: request.on,
            notes: request.notes,
            at: Utc::now(),
            shown: request.shown,
        })
    }

    fn outcome(&self, cx: &ReadCx<'_>, request: Decide) -> Result<Outcome, ToolError> {
        self.shelf.follow()?;
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

/// As a contract, the desk has the tool by which people decide.
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

/// Returns the id of the only instance whose id begins with `text`.
fn chosen(all: &[Arc<Review>], text: &str) -> Result<Uuid, ToolError> {
    let mut found = all
        .iter()
        .filter(|review| review.id.to_string().starts_with(text));
    match (found.next(), found.next()) {
        (Some(review), None) => Ok(review.id),
        (None, _) => {
            let message =
                format!("there is no review `{text}`; `tabellion review list` lists those that wait");
            Err(super::invalid("not_found", message))
        }
        (Some(_), Some(_)) => {
            let message = format!("several reviews begin with `{text}`; say more of the id");
            Err(super::invalid("ambiguous", message))
        }
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
