//! A reviewer's desk: open proposals of a library, and decisions on them, for people at the terminal.
//!
//! Both are tools that no client sees: the runtime dispatches them like all others, so a decision is one transaction, one commit and
//! one entry.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_contracts::brainforge::{CONTRACT, ToolError, WORKFLOW_AGENT_NOTE_REVIEW};
use tabellion_library::Library;
use tabellion_meaning::Installed;
use tabellion_notes::InstanceFilter;
use tabellion_pack::review::{
    Decide, DeskAnswer, DeskError, Document, Filter, Listed, Outcome, Page, ReviewDesk, Row, Waiting,
};
use tabellion_runtime::{
    Annotations, Answer, BoxFuture, CallContext, Contract, ContractError as _, ErrorAnswer, Failure, ReadCx,
    Rejection, Schema, Staged, ToolSpec, WriteCx,
    calls::{CallStore, NewExecution, RecordedCall},
    dispatch,
    spec::ContractSpec,
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

/// Name of the tool that decisions are recorded as.
pub(super) const DECISION_TOOL: &str = "tabellion review";

/// Errors of a decision: those of the contract's tools.
const ERRORS: &[&str] = CONTRACT.tools[0].errors;

const fn annotations(read_only: bool) -> Annotations {
    Annotations { read_only, destructive: !read_only, idempotent: read_only, open_world: false }
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

static PREVIEW: ToolSpec =
    ToolSpec { name: "tabellion review preview", description: "What a decision would do.", ..LIST };

static DECIDE: ToolSpec = ToolSpec {
    name: DECISION_TOOL,
    description: "A decision on what waits.",
    annotations: annotations(false),
    mutating: true,
    commit: Some("/commit"),
    errors: ERRORS,
    ..ToolSpec::new(&ANY, &ANY)
};

/// The proposals of a library, for its reviewers.
pub(super) struct Desk {
    shelf: Arc<Shelf>,
    library: Arc<Library>,
    /// Records decisions, if present.
    calls: Option<Arc<dyn CallStore>>,
}

impl From<Proposal> for Row {
    fn from(proposal: Proposal) -> Self {
        let (title, sensitive) = (proposal.title(), proposal.is_sensitive());
        let (instance, proposed) = (proposal.found.instance, proposal.proposed);
        Self {
            id: instance.id.to_string(),
            note_id: instance.note.unwrap_or_default().to_string(),
            title,
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
            sensitive,
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

impl Desk {
    /// Opens the desk of a library. Decisions are recorded in `calls`.
    pub(super) fn new(library: Arc<Library>, calls: Option<Arc<dyn CallStore>>) -> Self {
        let shelf = Shelf::new(Arc::clone(&library), Box::new(Installed), instances::parse);
        Self { calls, ..Self::over(shelf, library) }
    }

    pub(super) fn over(shelf: Arc<Shelf>, library: Arc<Library>) -> Self {
        Self { shelf, library, calls: None }
    }

    /// Makes a decision, and records its execution if there is a call store.
    async fn make(&self, call: &CallContext, request: Value) -> Result<Answer, Rejection> {
        let decide = |call, request| async move {
            dispatch::mutate(&DECIDE, self, &*self.library, call, request, |desk, cx, request| {
                Box::pin(async move { desk.staged(cx, request) })
            })
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
                return Ok(Listed { rows: vec![], total: 0, states: BTreeMap::new() });
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
                let filter =
                    InstanceFilter { state: Some(state.to_owned()), is_open: None, ..filter.clone() };
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
        let sensitive = review.is_sensitive(&self.shelf)?;
        Ok(Waiting {
            id: review.id.to_string(),
            note_id: review.note_id.to_string(),
            title: review.title_in(&self.shelf)?,
            state: review.instance.state.clone(),
            author: review.instance.author.clone(),
            started_at: review.started_at().to_owned(),
            proposed_version: review.proposed_version,
            revision,
            stale: is_stale,
            sensitive,
            reason: review.why(),
            notes: review.notes.clone(),
            remarks: review.remarks.clone(),
            over: review::note_id(&self.shelf, cx, review.note_id)?,
            history: review.instance.history.clone(),
            decisions: review.decisions(caller(cx)?, is_stale, sensitive).collect(),
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
        Ok(EarlierResponse { text: Some(parted.after) })
    }

    /// Returns the id of the only proposal whose id begins with `text`, at least four characters: an unset variable names none.
    fn chosen(&self, text: &str) -> Result<Uuid, ToolError> {
        if text.len() < 4 {
            let message = "name a review by at least four characters of its id; `tabellion review list` lists those that wait";
            return Err(super::values::invalid("not_found", message));
        }
        let filter = InstanceFilter { id: Some(text.to_owned()), ..fields::any() };
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
        let staged = cx.stage(change, |receipt| DecideResponse { commit: receipt.commit().to_string() });
        Ok(staged.with_details(decision.details(&review)))
    }
}

impl ReviewDesk for Desk {
    fn list<'a>(&'a self, call: &'a CallContext, filter: &'a Filter, page: Page) -> DeskAnswer<'a, Listed> {
        let request = json!({ "filter": filter, "page": page });
        let answer =
            dispatch::read(&LIST, self, &*self.library, call, request, |desk, cx, request: ListRequest| {
                Box::pin(async move { desk.listed(cx, &request) })
            });
        Box::pin(answered(answer))
    }

    fn show<'a>(&'a self, call: &'a CallContext, id: &'a str) -> DeskAnswer<'a, Waiting> {
        let request = json!({ "id": id });
        let answer =
            dispatch::read(&SHOW, self, &*self.library, call, request, |desk, cx, request: ShowRequest| {
                Box::pin(async move { desk.shown(cx, &request.id) })
            });
        Box::pin(answered(answer))
    }

    fn earlier<'a>(
        &'a self,
        call: &'a CallContext,
        id: &'a str,
        revision: &'a str,
    ) -> DeskAnswer<'a, Option<String>> {
        let request = json!({ "id": id, "revision": revision });
        let answer = dispatch::read(
            &SHOW,
            self,
            &*self.library,
            call,
            request,
            |desk, cx, request: EarlierRequest| Box::pin(async move { desk.was(cx, &request) }),
        );
        Box::pin(async move {
            let response: EarlierResponse = answered(answer).await?;
            Ok(response.text)
        })
    }

    fn preview<'a>(&'a self, call: &'a CallContext, decide: &'a Decide) -> DeskAnswer<'a, Outcome> {
        let answer = dispatch::read(
            &PREVIEW,
            self,
            &*self.library,
            call,
            json!(decide),
            |desk, cx, request: Decide| Box::pin(async move { desk.outcome(cx, request) }),
        );
        Box::pin(answered(answer))
    }

    fn decide<'a>(&'a self, call: &'a CallContext, decide: &'a Decide) -> DeskAnswer<'a, String> {
        Box::pin(async move {
            let answer = self.call(call, DECISION_TOOL, json!(decide));
            let response: Value = answered(answer).await?;
            Ok(response["commit"].as_str().unwrap_or_default().to_owned())
        })
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
            if tool == DECISION_TOOL { self.make(call, arguments).await } else { Err(Rejection::UnknownTool) }
        })
    }

    fn error_for(&self, failure: Failure) -> ErrorAnswer {
        ToolError::from(failure).answer()
    }
}

async fn answered<T: for<'d> Deserialize<'d>>(
    answer: impl Future<Output = Result<tabellion_runtime::Answer, Rejection>>,
) -> Result<T, DeskError> {
    let defect = |what: String| DeskError::new(format!("a defect of this program: {what}"), None);
    match answer.await {
        Ok(answer) => serde_json::from_value(answer.response).map_err(|error| defect(error.to_string())),
        Err(Rejection::Declared(ErrorAnswer { message, data, .. })) => {
            let reason = data.get("reason").and_then(Value::as_str).map(str::to_owned);
            Err(DeskError::new(message, reason))
        }
        Err(other) => Err(defect(format!("{other:?}"))),
    }
}
