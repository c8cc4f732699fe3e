//! Creating, updating and linking notes.

use chrono::SubsecRound as _;
use serde_json::{Map, Value, json};
use tabellion_contracts::brainforge::{
    CreateLinkRequest, CreateLinkResponse, CreateNoteRequest, CreateNoteResponse, CreateStatus, ToolError,
    UpdateNoteRequest, UpdateNoteResponse, UpdateStatus, tool,
};
use tabellion_notes::{Agent, Entry, Link, Metadata, Note, Problem};
use tabellion_runtime::{
    Change, Content, Failure, KnownCaller, Staged, WriteCx,
    meta::REVIEW,
    spec::{CallerKind, Fact},
    workflow::Event,
};
use uuid::Uuid;

use super::{
    draft,
    moments::{Moment, digest},
    named_note::{self, NamedNote, changed},
    review::{self, Base, Review},
    shelf::Shelf,
    values::{caller, invalid, moment, not_found, number, parse_id, unchangeable, word},
    versions::{self, REASON},
};

/// `_meta` key of a response: the instance that decides on the change.
const REVIEW_WORKFLOW: &str = "review_workflow_id";

pub(super) fn create(
    cx: &WriteCx<'_>,
    request: CreateNoteRequest,
) -> Result<Staged<CreateNoteResponse>, ToolError> {
    draft::check_content(&request.content)?;
    let given = request.metadata.unwrap_or_default();
    draft::check_metadata(&given, 0)?;
    let author = caller(cx)?;
    let (call, waits) = (Moment::new(cx), cx.gates().requires_review());
    let id = call.id("note");
    let (mut metadata, _) = Metadata::from_members(given);
    let title = tabellion_notes::title_of(&metadata, &request.content);
    let review_id = waits.then(|| call.id("review"));
    let path = review_id.map_or_else(|| tabellion_notes::file_name(&title, id), review::path_of);
    let time = call.at.trunc_subsecs(0);
    metadata.id = Some(id);
    metadata.note_type = Some(word(&request.note_type));
    metadata.version = Some(1);
    metadata.created_at = Some(time);
    metadata.created_by = Some(author.name.to_string());
    metadata.agent = agent(author);
    metadata.ai_justification = request.ai_justification;
    let text = match review_id {
        None => tabellion_notes::render(&metadata, &request.content).map_err(unchangeable)?,
        Some(review_id) => {
            let review = Review {
                metadata: metadata.members(),
                content: request.content,
                ..Review::new(review_id, author, (id, 1), call.at)
            };
            let text = review.to_text()?;
            note_waiting(cx, review_id, &text)?;
            text
        }
    };
    let (operation, status) =
        if waits { ("propose", CreateStatus::PendingReview) } else { ("create", CreateStatus::Created) };
    let change = Change::one(path, Content::Write(text.into()), operation, format!("{operation} {id}"));
    let response = CreateNoteResponse {
        note_id: Some(id.to_string()),
        version: Some(1),
        status: Some(status),
        review_workflow_id: review_id.map(|id| id.to_string()),
        created_at: Some(moment(time)),
    };
    Ok(cx.stage(change, |_| response).with_details(call.details(None)))
}

pub(super) fn update(
    shelf: &Shelf,
    cx: &WriteCx<'_>,
    request: UpdateNoteRequest,
) -> Result<Staged<UpdateNoteResponse>, ToolError> {
    let given = request.metadata.unwrap_or_default();
    let (author, id) = (caller(cx)?, parse_id(&request.note_id)?);
    shelf.follow_for(&[id])?;
    let entry = shelf.cached_note(id)?;
    draft::check_content(&request.content)
        .map_err(|error| unreadable(cx, entry.as_ref()).unwrap_or(error))?;
    draft::check_metadata(&given, entry.map_or(0, |entry| entry.metadata.tags.len()))?;
    let reviews = review::of_note(shelf, cx, id)?;
    let base = review::current(shelf, cx, id)?;
    // All bytes of the previous version are in git: either they are committed already, or the change commits them first.
    cx.fact(Fact::Plan, json!({ "keeps_previous": true }));
    let proposal = Proposal {
        shelf,
        cx,
        id,
        content: request.content,
        metadata: given,
        reason: request.change_reason,
        version: request.version,
    };
    let waits = cx.gates().requires_review();
    let highest = reviews.iter().map(|review| review.proposed_version);
    let current = base.as_ref().map(|base| base.version);
    let next = highest.chain(current).max().unwrap_or(0) + 1;
    match (reviews.into_iter().find(Review::is_open), base) {
        (Some(review), base) if review.instance.is_by(author) => proposal.revise(review, author, base, next),
        (Some(review), base) if waits || base.is_none() => {
            let message = "a proposal of this note waits for a reviewer; update it once that is decided on";
            Err(invalid("pending_review", message).with(REVIEW_WORKFLOW, review.id.to_string()))
        }
        (_, None) => Err(not_found(id)),
        (_, Some(base)) if proposal.version != base.version => {
            Err(version_conflict(base.version, proposal.version))
        }
        (_, Some(base)) if waits => proposal.propose(author, base, next),
        (_, Some(base)) => proposal.make(base.version),
    }
}

/// Returns the refusal of a change of a note whose front matter can't be read: its content begins with front matter, too.
fn unreadable(cx: &WriteCx<'_>, entry: Option<&Entry>) -> Option<ToolError> {
    let path = &entry?.path;
    let note = Note::parse(path, &cx.read(path).ok()??.bytes);
    let problem = note.problems.iter().find(|problem| matches!(problem, Problem::FrontMatter { .. }))?;
    let message =
        format!("tools can't change `{path}`: {problem}; a person must mend that in the file first");
    Some(invalid("front_matter", message))
}

fn version_conflict(actual: u64, given: u64) -> ToolError {
    let message = format!(
        "the note's version is {actual}, not {given}: read it again, then repeat the change with `version` {actual}"
    );
    invalid("version_conflict", message).with("expected", given).with("actual", actual)
}

/// A requested change of a note.
struct Proposal<'a, 'c> {
    shelf: &'a Shelf,
    cx: &'a WriteCx<'c>,
    id: Uuid,
    content: String,
    metadata: Map<String, Value>,
    reason: Option<String>,
    version: u64,
}

impl Proposal<'_, '_> {
    /// Changes the note at once.
    fn make(self, current: u64) -> Result<Staged<UpdateNoteResponse>, ToolError> {
        let next = current + 1;
        let mut members = self.metadata.clone();
        members.insert("version".into(), json!(next));
        let (path, text) = changed(self.shelf, self.cx, self.id, &self.content, &members)?;
        let summary = self.reason.as_deref().and_then(|reason| reason.lines().next());
        let summary = format!("update {}: {}", self.id, summary.unwrap_or("no reason given"));
        let change = Change::one(path.clone(), Content::Write(text.into()), "update", summary);
        let change = versions::with_move(self.shelf, self.cx, &path, change)?;
        let call = Moment::new(self.cx);
        self.staged(change, &call, next, UpdateStatus::Updated)
    }

    /// Makes the change a proposal.
    fn propose(
        self,
        author: &KnownCaller,
        base: Base,
        next: u64,
    ) -> Result<Staged<UpdateNoteResponse>, ToolError> {
        let call = Moment::new(self.cx);
        let review_id = call.id("review");
        let review = Review {
            base: Some(base),
            metadata: self.metadata.clone(),
            reason: self.reason.clone(),
            content: self.content.clone(),
            ..Review::new(review_id, author, (self.id, next), call.at)
        };
        self.waiting(&review, "propose", &call)
    }

    /// Replaces the content of an open proposal.
    fn revise(
        self,
        mut review: Review,
        author: &KnownCaller,
        base: Option<Base>,
        next: u64,
    ) -> Result<Staged<UpdateNoteResponse>, ToolError> {
        if self.version != review.proposed_version {
            return Err(version_conflict(review.proposed_version, self.version));
        }
        let call = Moment::new(self.cx);
        let (tool, given) = (Some(tool::UPDATE_NOTE), &Map::new());
        let event = Event { on: "revise", tool, given, holds: &[], at: call.at };
        review.step(&event, author)?;
        // The id of a proposed new note can't belong to another note by now; a proposed change of a removed note would create a new one.
        if review.base.is_some() && base.is_none() {
            return Err(not_found(self.id));
        }
        review.base = review.base.and(base);
        review.proposed_version = next;
        for (key, value) in &self.metadata {
            if value.is_null() && review.base.is_none() {
                review.metadata.remove(key);
            } else {
                review.metadata.insert(key.clone(), value.clone());
            }
        }
        review.reason = self.reason.clone().or(review.reason);
        review.content.clone_from(&self.content);
        self.waiting(&review, "revise", &call)
    }

    fn waiting(
        self,
        review: &Review,
        operation: &'static str,
        call: &Moment,
    ) -> Result<Staged<UpdateNoteResponse>, ToolError> {
        if review.base.is_some() {
            // A change that could not be published is refused now.
            review::published(self.shelf, self.cx, review, caller(self.cx)?)?;
        }
        self.cx.note(REVIEW_WORKFLOW, review.id.to_string());
        let text = review.to_text()?;
        note_waiting(self.cx, review.id, &text)?;
        let change = Change::one(
            review.path(),
            Content::Write(text.into()),
            operation,
            format!("{operation} a change of {}", self.id),
        );
        self.staged(change, call, review.proposed_version, UpdateStatus::PendingReview)
    }

    fn staged(
        self,
        change: Change,
        call: &Moment,
        next: u64,
        status: UpdateStatus,
    ) -> Result<Staged<UpdateNoteResponse>, ToolError> {
        let response = UpdateNoteResponse {
            note_id: Some(self.id.to_string()),
            new_version: Some(number(next)),
            previous_version: Some(number(self.version)),
            status: Some(status),
            updated_at: Some(moment(call.at.trunc_subsecs(0))),
        };
        let mut details = call.details(named_note::path(self.shelf, self.cx, self.id)?);
        if let Some(reason) = self.reason {
            details.insert(REASON.into(), reason.into());
        }
        Ok(self.cx.stage(change, |_| response).with_details(details))
    }
}

/// Adds the open review with this document to the answer's `_meta`.
fn note_waiting(cx: &WriteCx<'_>, id: Uuid, text: &str) -> Result<(), Failure> {
    let revision = tabellion_library::content_id(text.as_bytes())?;
    cx.note(REVIEW, json!({ "id": id.to_string(), "revision": revision }));
    Ok(())
}

pub(super) fn link(
    shelf: &Shelf,
    cx: &WriteCx<'_>,
    request: CreateLinkRequest,
) -> Result<Staged<CreateLinkResponse>, ToolError> {
    let (source, to) = (parse_id(&request.source_note_id)?, parse_id(&request.target_note_id)?);
    if source == to {
        let message = "a note can't be linked with itself: name two notes";
        return Err(invalid("self_link", message));
    }
    let (author, given) = (caller(cx)?, request.metadata);
    if let Some(metadata) = &given {
        draft::check_link_metadata(metadata, author)?;
    }
    shelf.follow_for(&[source, to])?;
    let named = NamedNote::read(shelf, cx, source)?;
    let mut members = named.identity();
    let NamedNote { entry, path, text, note } = named;
    if cx.first_call().is_none() && shelf.cached_note(to)?.is_none() {
        return Err(not_found(to));
    }
    let relation = word(&request.relation_type);
    let is_same = |link: &&Link| link.to == to && link.relation == relation;
    let call = Moment::new(cx);
    let time = call.at.trunc_subsecs(0);
    let known = note.metadata.links.iter().find(is_same);
    let (by, by_id) = (Some(author.name.to_string()), Some(digest(&author.identity.to_string())));
    let current = versions::current(shelf, cx, &path)?;
    if current > note.metadata.version.unwrap_or(1) {
        // A version edited by a person keeps its own number.
        members.push(("version", Some(json!(current))));
    }
    let text = tabellion_notes::set(&text, &members).map_err(unchangeable)?;
    let (link, text) = match known {
        Some(link) if given.as_ref().is_none_or(|given| *given == link.metadata) => (link.clone(), text),
        // Links of agents do not wait for a reviewer, so they change nothing of a person's.
        Some(link) if author.kind != CallerKind::Human && link.by_id != by_id => {
            let message = "the link exists with other metadata, and is not yours: leave `metadata` out";
            return Err(invalid("immutable", message).with("link_id", link.id_from(source).to_string()));
        }
        _ => {
            let new = Link {
                id: None,
                to,
                relation: relation.clone(),
                created_at: Some(time),
                by: None,
                by_id: None,
                metadata: Map::new(),
                others: Map::new(),
            };
            let new = Link { id: Some(new.id_from(source)), ..new };
            let link =
                Link { by, by_id, metadata: given.unwrap_or_default(), ..known.cloned().unwrap_or(new) };
            let text = tabellion_notes::put_link(&text, &link).map_err(unchangeable)?;
            (link, text)
        }
    };
    let response = CreateLinkResponse {
        link_id: Some(link.id_from(source).to_string()),
        source_note_id: Some(source.to_string()),
        target_note_id: Some(to.to_string()),
        relation_type: Some(relation.clone()),
        created_at: link.created_at.or(entry.map(|entry| entry.created_at)).map(moment),
    };
    let summary = format!("link {source} {relation} {to}");
    let change = Change::one(path.clone(), Content::Write(text.into()), "link", summary);
    let change = versions::with_move(shelf, cx, &path, change)?;
    Ok(cx.stage(change, |_| response).with_details(call.details(Some(path))))
}

fn agent(author: &KnownCaller) -> Option<Agent> {
    let agent = author.agent.as_ref()?;
    Some(Agent { name: agent.name.clone()?, version: agent.version.clone() })
}
