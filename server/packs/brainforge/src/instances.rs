//! Instances of workflows, as clients see them: listed, shown, started by request, and their tasks completed.
//!
//! People see all of them, agents only their own. A proposal's content is shown to its author, to owners and, unless it is sensitive, to
//! reviewers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tabellion_contracts::brainforge::{CONTRACT, ToolError, WORKFLOW_AGENT_NOTE_REVIEW};
use tabellion_library::path::LibraryPath;
use tabellion_markdown::diff;
use tabellion_notes::{self as notes, ContentHash, Entry, FoundInstance, InstanceFilter, Note};
use tabellion_pack::{failures, review::Shown};
use tabellion_runtime::{
    Change, Content, Document, Failure, KnownCaller, Precondition, ReadCx, Staged, Until, WriteCx,
    context::BASE,
    spec::{CallerKind, WorkflowSpec},
    workflow::{self, Event, Instance, START},
    workflow_calls::{
        CompleteTask, GetInstance, InstanceStatus, InstanceView, Instances, ListInstances, StartWorkflow,
        StartedInstance,
    },
};
use uuid::Uuid;

use super::{
    fields::{self, Fields, Proposed},
    moments::Moment,
    named_note,
    requested::Requested,
    review::{self, Base, Decision, Review},
    shelf::Shelf,
    values::{caller, invalid, is_owner},
};

/// The roles to which proposals of others are shown.
const REVIEW_ROLES: [&str; 2] = ["owner", "reviewer"];

/// An instance of a workflow, parsed from its document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kept {
    /// A proposal of a note.
    Review(Arc<Review>),
    /// An instance started by a request.
    Requested(Arc<Requested>),
}

/// Number of instances that a list reads at once.
const LISTED_AT_ONCE: usize = 500;

/// Amount of detail in a view of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// All of it.
    Whole,
    /// Without the proposed content.
    Brief,
    /// Without any text of the note: no proposed content, no reason, and no remarks of reviewers.
    WithoutText,
}

impl Proposal {
    /// Returns the title of the note, or else the one that it will have.
    pub(super) fn title(&self) -> String {
        self.entry.as_ref().map_or(&self.proposed.title, |entry| &entry.title).clone()
    }

    /// Returns true if its text is for owners.
    pub(super) fn is_sensitive(&self) -> bool {
        let is_note_sensitive = self.entry.as_ref().map(|entry| entry.metadata.sensitive);
        review::is_sensitive(self.proposed.sensitive, self.proposed.base.is_some(), is_note_sensitive)
    }
}

impl Kept {
    /// Reads an instance's document; `None` if the document is not one.
    pub(super) fn parse(path: &str, bytes: &[u8]) -> Option<Self> {
        if let Some(requested) = Requested::parse(path, bytes) {
            return Some(Self::Requested(Arc::new(requested)));
        }
        Review::parse(path, bytes).map(|review| Self::Review(Arc::new(review)))
    }

    fn id(&self) -> Uuid {
        match self {
            Self::Review(review) => review.id,
            Self::Requested(requested) => requested.id,
        }
    }

    fn instance(&self) -> &Instance {
        match self {
            Self::Review(review) => &review.instance,
            Self::Requested(requested) => &requested.instance,
        }
    }

    fn workflow(&self) -> &'static WorkflowSpec {
        match self {
            Self::Review(_) => &WORKFLOW_AGENT_NOTE_REVIEW,
            Self::Requested(requested) => {
                CONTRACT.workflow(requested.workflow).unwrap_or(&WORKFLOW_AGENT_NOTE_REVIEW)
            }
        }
    }

    /// Returns the sort key of instances: their start, then their id.
    pub(super) fn place(&self) -> (&str, Uuid) {
        let first = self.instance().history.first();
        (first.map_or("", |passage| &passage.at), self.id())
    }

    /// Returns true if the instance is valid in the current declaration of its workflow.
    fn is_sound(&self, caller: &KnownCaller) -> bool {
        InstanceView::new(self.workflow(), "", self.instance(), caller).is_some()
    }

    /// Returns true if a caller may see it. A proposal of another agent is not shown to agents, since it holds a note's text.
    fn is_shown_to(&self, caller: &KnownCaller) -> bool {
        let is_proposal = matches!(self, Self::Review(_));
        !is_proposal || caller.kind == CallerKind::Human || self.instance().is_by(caller)
    }

    /// Returns the instance as `caller` sees it, without commits; `None` if an edit by hand made its document invalid. `published` is the
    /// note that the caller's decision publishes.
    fn view(
        &self,
        shelf: &Shelf,
        cx: &ReadCx<'_>,
        detail: Detail,
        published: Option<&Note>,
    ) -> Result<Option<InstanceView>, ToolError> {
        let caller = caller(cx)?;
        let view = InstanceView::new(self.workflow(), self.id().to_string(), self.instance(), caller);
        let Some(mut view) = view else {
            return Ok(None);
        };
        match self {
            Self::Requested(requested) => {
                view.data.insert("parameters".into(), json!(requested.parameters));
                view.data.insert("tasks".into(), json!(requested.tasks));
            }
            Self::Review(review) => {
                let about = [
                    ("note_id", json!(review.note_id.to_string())),
                    ("proposed_version", json!(review.proposed_version)),
                ];
                view.about = about.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
                let (title, is_sensitive, is_stale) = match published {
                    Some(note) => {
                        (note.title.clone(), note.metadata.sensitive || review.makes_sensitive(), false)
                    }
                    None => {
                        let is_stale = review.is_open()
                            && review.is_stale(review::current(shelf, cx, review.note_id)?.as_ref());
                        (review.title_in(shelf)?, review.is_sensitive(shelf)?, is_stale)
                    }
                };
                if let Some(task) = view.tasks.iter_mut().find(|task| task.task_id == view.state) {
                    task.decisions = review.decisions(caller, is_stale, is_sensitive).collect();
                }
                let is_theirs = review.instance.is_by(caller);
                if is_theirs || REVIEW_ROLES.iter().any(|role| caller.roles.contains(role)) {
                    let hides_text = !is_theirs && !is_owner(cx) && is_sensitive;
                    let detail = if hides_text { Detail::WithoutText } else { detail };
                    view.data = proposal(review, title, is_stale, detail);
                }
            }
        }
        Ok(Some(view))
    }
}

/// Returns the data of a proposal, in addition to its instance.
fn proposal(review: &Review, title: String, is_stale: bool, detail: Detail) -> Map<String, Value> {
    let mut data = Map::new();
    let mut put = |key: &str, value: Value| data.insert(key.to_owned(), value);
    let has_text = detail != Detail::WithoutText;
    if let Some(reason) = review.reason.as_ref().filter(|_| has_text) {
        put("reason", reason.as_str().into());
    }
    if let Some(notes) = review.notes.as_ref().filter(|_| has_text) {
        put("notes", notes.as_str().into());
    }
    if has_text && !review.remarks.is_empty() {
        put("remarks", json!(review.remarks));
    }
    if review.is_open() {
        put("title", title.into());
        put("stale", is_stale.into());
        if detail == Detail::Whole {
            put("metadata", json!(review.metadata));
            put("content", review.content.as_str().into());
        }
    }
    data
}

/// Reads the fields of an instance's document.
pub(super) fn parse(path: &str, bytes: &[u8]) -> Option<notes::Instance> {
    let kept = Kept::parse(path, bytes)?;
    let instance = kept.instance();
    let status = InstanceStatus::from_instance(kept.workflow(), instance);
    let review = match &kept {
        Kept::Review(review) => Some(&**review),
        Kept::Requested(_) => None,
    };
    let fields = Fields {
        author: instance.author.clone(),
        identity: instance.author_identity.clone(),
        status,
        proposal: review.map(|review| Proposed {
            title: review.title(),
            sensitive: review.makes_sensitive(),
            reason: review.why(),
            changed_at: review.changed_at().to_owned(),
            version: review.proposed_version,
            base: (review.base.as_ref()).map(|base| (base.version, base.digest.clone())),
        }),
    };
    Some(notes::Instance {
        id: kept.id(),
        workflow: kept.workflow().id.to_owned(),
        state: instance.state.clone(),
        is_open: status == InstanceStatus::Active,
        started_at: kept.place().0.to_owned(),
        note: review.map(|review| review.note_id),
        agent: review.and_then(Review::agent).map(String::from),
        fields: serde_json::to_string(&fields).ok()?,
    })
}

/// Number of lines that a proposal changes in a note with this content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Size {
    note: Option<ContentHash>,
    added: usize,
    removed: usize,
}

/// A proposal, compared with its note.
pub(super) struct Proposal {
    pub(super) found: FoundInstance,
    pub(super) fields: Fields,
    pub(super) proposed: Proposed,
    /// The note, if there is one.
    pub(super) entry: Option<Entry>,
    /// Number of lines that it adds.
    pub(super) added: usize,
    /// Number of lines that it removes.
    pub(super) removed: usize,
    /// True if it is open, and the note has changed since.
    pub(super) is_stale: bool,
}

/// Returns a page of the proposals that `filter` admits, oldest first, and the number of all. Bases of notes and sizes are read from the
/// catalogue, or computed and kept there.
pub(super) fn proposals(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    filter: &InstanceFilter,
    offset: usize,
    limit: usize,
) -> Result<(Vec<Proposal>, usize), ToolError> {
    let head = shelf.follow_history()?;
    let (rows, total) = shelf.snapshot(|notes| {
        let mut rows = vec![];
        for found in notes.instances(filter, offset, limit)? {
            let entry = match found.instance.note {
                Some(note) => notes.get(note)?,
                None => None,
            };
            let base = match &entry {
                Some(entry) => notes.value(&entry.path, &entry.content)?,
                None => None,
            };
            let size = notes.value(&found.path, &found.content)?;
            rows.push((found, entry, base, size));
        }
        Ok((rows, notes.count_instances(filter)?))
    })?;
    let mut new = New { shelf, cx, head, values: vec![] };
    let mut proposals = vec![];
    for (found, entry, base, size) in rows {
        let fields = fields::read(&found)?;
        let Some(proposed) = fields.proposal.clone() else {
            continue;
        };
        let is_stale = found.instance.is_open
            && match (&entry, &proposed.base) {
                (None, base) => base.is_some(),
                (Some(_), None) => true,
                (Some(entry), Some(before)) => {
                    new.base(entry, base)?.is_none_or(|now| (now.version, now.digest) != *before)
                }
            };
        let size = if found.instance.is_open { new.size(&found, entry.as_ref(), size)? } else { (0, 0) };
        proposals.push(Proposal { found, fields, proposed, entry, added: size.0, removed: size.1, is_stale });
    }
    new.keep()?;
    Ok((proposals, total))
}

/// Values that the catalogue lacks.
struct New<'a, 'c> {
    shelf: &'a Shelf,
    cx: &'a ReadCx<'c>,
    head: String,
    values: Vec<(String, ContentHash, String)>,
}

impl New<'_, '_> {
    /// Returns the base that a proposal of a note would have now.
    fn base(&mut self, entry: &Entry, known: Option<String>) -> Result<Option<Base>, ToolError> {
        if let Some(base) = known.and_then(|known| serde_json::from_str(&known).ok()) {
            return Ok(Some(base));
        }
        let base = review::current(self.shelf, self.cx, entry.id)?;
        if let Some(base) = &base
            && self.is_still(&entry.path, &entry.content)?
        {
            self.add(&entry.path, entry.content, base);
        }
        Ok(base)
    }

    /// Returns the numbers of lines that a proposal adds to its note and removes from it.
    fn size(
        &mut self,
        found: &FoundInstance,
        entry: Option<&Entry>,
        known: Option<String>,
    ) -> Result<(usize, usize), ToolError> {
        let note = entry.map(|entry| entry.content);
        let known = known.and_then(|known| serde_json::from_str::<Size>(&known).ok());
        if let Some(size) = known.filter(|size| size.note == note) {
            return Ok((size.added, size.removed));
        }
        let Some(document) = self.cx.read(&found.path)? else {
            return Ok((0, 0));
        };
        let Some(review) = Review::parse(&found.path, &document.bytes) else {
            return Ok((0, 0));
        };
        let before = match entry {
            Some(entry) => self.shelf.snapshot(|notes| notes.note(entry))?.content().to_owned(),
            None => String::new(),
        };
        let (added, removed) = diff::line_counts(&before, &notes::with_ending_of(&before, &review.content));
        if document.id.to_string() == fields::hex(&found.content) {
            let size = Size { note, added, removed };
            self.add(&found.path, found.content, &size);
        }
        Ok((added, removed))
    }

    /// Returns true if a document has this content, and HEAD has not moved.
    fn is_still(&self, path: &str, content: &ContentHash) -> Result<bool, ToolError> {
        let document = self.cx.read(path)?;
        let is_same = document.is_some_and(|document| document.id.to_string() == fields::hex(content));
        Ok(is_same && self.shelf.head()? == self.head)
    }

    fn add(&mut self, path: &str, content: ContentHash, value: &impl Serialize) {
        if let Ok(value) = serde_json::to_string(value) {
            self.values.push((path.to_owned(), content, value));
        }
    }

    fn keep(self) -> Result<(), Failure> {
        if self.values.is_empty() {
            return Ok(());
        }
        self.shelf.keep(&self.head, &self.values)
    }
}

/// Returns an instance from its document in the call's state, if the caller may see it.
fn find(cx: &ReadCx<'_>, id: &str) -> Result<(Kept, Document), ToolError> {
    let caller = caller(cx)?;
    let path = Uuid::try_parse(id).ok().map(review::path_of);
    let path = path.ok_or_else(|| not_found(id))?;
    let document = cx.read(&path)?.ok_or_else(|| not_found(id))?;
    let kept = Kept::parse(&path, &document.bytes);
    let kept = kept.filter(|kept| kept.is_sound(caller) && kept.is_shown_to(caller));
    Ok((kept.ok_or_else(|| not_found(id))?, document))
}

/// Reads the file of an instance; `None` if it is not one.
fn read_file(shelf: &Shelf, path: &str) -> Result<Option<Kept>, Failure> {
    let parsed = LibraryPath::parse(path).map_err(failures::path)?;
    let file = shelf.library().read(&parsed)?;
    Ok(file.and_then(|file| Kept::parse(path, &file.bytes)))
}

fn not_found(id: &str) -> ToolError {
    let message =
        "there is no such instance of a workflow, or it is another caller's; list those that there are";
    invalid("not_found", message).with("instance_id", id)
}

/// Adds the commits that made the steps of an instance.
fn with_commits(mut view: InstanceView, cx: &ReadCx<'_>, id: Uuid) -> Result<InstanceView, ToolError> {
    let path = review::path_of(id);
    let versions = cx.history(&path, Until::BEGINNING)?.versions;
    // Without edits by hand, each commit is one step.
    let is_plain =
        versions.len() == view.history.len() && versions.iter().all(|version| version.entry.is_some());
    let mut named = 0;
    for version in versions {
        let steps = match &version.content {
            Some(_) if is_plain => named + 1,
            Some(content) => {
                let bytes = cx.past_content(&path, content)?;
                Kept::parse(&path, &bytes).map_or(0, |kept| kept.instance().history.len())
            }
            None => 0,
        };
        let made = steps == named + 1 && version.entry.is_some();
        for step in view.history.iter_mut().take(steps).skip(named) {
            step.commit = made.then(|| version.commit.to_string());
        }
        named = named.max(steps);
    }
    Ok(view)
}

/// Returns instances that the caller may see, oldest first.
pub(super) fn list(shelf: &Shelf, cx: &ReadCx<'_>, request: &ListInstances) -> Result<Instances, ToolError> {
    shelf.follow()?;
    let caller = caller(cx)?;
    let is_shown = |found: &FoundInstance, fields: &Fields| {
        let is_theirs = fields.is_by(caller);
        let is_proposal = fields.proposal.is_some();
        (!is_proposal || caller.kind == CallerKind::Human || is_theirs)
            && (!request.mine || is_theirs)
            && request.status.is_none_or(|status| fields.status == status)
            && (request.workflow_id.as_ref()).is_none_or(|id| found.instance.workflow == *id)
    };
    let mut filter = InstanceFilter::default();
    if let Some(after) = &request.after {
        let (kept, _) = find(cx, after)?;
        let (started_at, id) = kept.place();
        filter.after = Some((started_at.to_owned(), id));
    }
    let mut instances = vec![];
    'all: loop {
        let part = shelf.snapshot(|notes| notes.instances(&filter, 0, LISTED_AT_ONCE))?;
        let Some(FoundInstance { instance: last, .. }) = part.last() else {
            break;
        };
        filter.after = Some((last.started_at.clone(), last.id));
        for found in &part {
            if !is_shown(found, &fields::read(found)?) {
                continue;
            }
            let Some(kept) = read_file(shelf, &found.path)? else {
                continue;
            };
            if let Some(view) = kept.view(shelf, cx, Detail::Brief, None)? {
                instances.push(with_commits(view, cx, kept.id())?);
            }
            if instances.len() == request.limit {
                break 'all;
            }
        }
    }
    Ok(Instances { count: instances.len(), instances })
}

pub(super) fn get(shelf: &Shelf, cx: &ReadCx<'_>, request: &GetInstance) -> Result<InstanceView, ToolError> {
    let (kept, document) = find(cx, &request.instance_id)?;
    cx.note(BASE, document.id);
    follow(shelf, &kept)?;
    let view = kept.view(shelf, cx, Detail::Whole, None)?;
    with_commits(view.ok_or_else(|| not_found(&request.instance_id))?, cx, kept.id())
}

/// Updates the catalogue for the note of an instance.
fn follow(shelf: &Shelf, kept: &Kept) -> Result<(), Failure> {
    match kept {
        Kept::Review(review) => shelf.follow_for(&[review.note_id]),
        Kept::Requested(_) => Ok(()),
    }
}

/// Starts an instance of a workflow that requests start.
pub(super) fn start(cx: &WriteCx<'_>, request: &StartWorkflow) -> Result<Staged<StartedInstance>, ToolError> {
    let (workflow, parameters) = request.admit(&CONTRACT)?;
    let call = Moment::new(cx);
    let id = call.id("instance");
    let path = review::path_of(id);
    let caller = caller(cx)?;
    let instance = Instance::start(workflow, caller, call.at);
    let requested = Requested::new(id, workflow, instance, parameters)?;
    let response = StartedInstance::new(workflow, id.to_string(), &requested.instance, caller);
    let content = Content::Write(requested.to_text()?.into());
    let change = Change::one(path, content, "start", format!("start {} {id}", workflow.id));
    let mut details = details(id, START);
    details.extend(call.details(None));
    Ok(cx.stage(change, |_| response).with_details(details))
}

/// Returns the details that the log keeps of a step. A version counts as a tool's if its commit has details.
fn details(id: Uuid, on: &str) -> Map<String, Value> {
    let details = [("instance_id", id.to_string()), ("on", on.to_owned())];
    let details = details.map(|(key, value)| (key.to_owned(), value.into()));
    details.into_iter().collect()
}

/// Completes the task that an instance waits for.
pub(super) fn complete(
    shelf: &Shelf,
    cx: &WriteCx<'_>,
    request: &CompleteTask,
) -> Result<Staged<InstanceView>, ToolError> {
    let (kept, _) = find(cx, &request.instance_id)?;
    request.check(kept.workflow(), kept.instance())?;
    let (call, id) = (Moment::new(cx), kept.id());
    let (mut note, mut published) = (None, None);
    let (change, next, mut details) = match &kept {
        Kept::Review(_) => {
            let data = Value::Object(request.data.clone().unwrap_or_default());
            let mut shown: Shown = serde_json::from_value(data)
                .map_err(|error| invalid("data", format!("`data` of a decision: {error}")))?;
            if let Some(Precondition::Has(id)) = &cx.call().if_base {
                shown.revision.get_or_insert_with(|| id.to_string());
            }
            let decision = Decision {
                id,
                on: request.decision.clone(),
                notes: request.notes.clone(),
                at: call.at,
                shown,
            };
            let review::Decided { change, review, note: made } = review::decide(shelf, cx, &decision)?;
            published = made.map(|(path, text)| Note::parse(&path, text.as_bytes()));
            let details = decision.details(&review);
            note = named_note::path(shelf, cx, review.note_id)?;
            (change, Kept::Review(Arc::new(review)), details)
        }
        Kept::Requested(requested) => {
            let mut requested = (**requested).clone();
            let event =
                Event { on: &request.decision, tool: None, given: &request.given(), holds: &[], at: call.at };
            let next = workflow::step(kept.workflow(), &requested.instance, &event, caller(cx)?);
            requested.instance = next.map_err(Failure::from)?;
            requested.keep(&request.task_id, request.notes.as_deref(), request.data.as_ref())?;
            let content = Content::Write(requested.to_text()?.into());
            let summary = format!("{} {} of {id}", request.decision, request.task_id);
            let change = Change::one(review::path_of(id), content, "complete", summary);
            (change, Kept::Requested(Arc::new(requested)), details(id, &request.decision))
        }
    };
    details.extend(call.details(note));
    let view = next.view(shelf, cx, Detail::Whole, published.as_ref())?;
    let mut view = with_commits(view.ok_or_else(|| not_found(&request.instance_id))?, cx, id)?;
    let staged = cx.stage(change, move |receipt| {
        if let Some(last) = view.history.last_mut() {
            last.commit = Some(receipt.commit().to_string());
        }
        view
    });
    Ok(staged.with_details(details))
}
