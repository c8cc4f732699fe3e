//! Proposals that wait for a person's review, a document in `workflows/` each, and decisions on them.
//!
//! Front matter has the state, the history and the proposed metadata of the note; the body is the proposed content, as long as the
//! proposal is open.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tabellion_contracts::brainforge::{AgentNoteReviewEffect, ToolError, WORKFLOW_AGENT_NOTE_REVIEW};
use tabellion_markdown::{FrontMatter, diff};
use tabellion_notes::{InstanceFilter, MAX_VERSION, Metadata, Note};
use tabellion_pack::review::{Over, Remark, Shown, Side};
use tabellion_runtime::{
    Change, Content, Edit, Failure, FailureKind, KnownCaller, ReadCx, Until,
    identity::Method,
    spec::Unless,
    workflow::{self, Event, Instance, Refusal},
};
use uuid::Uuid;

use super::{
    fields,
    moments::digest,
    named_note,
    parts::Parted,
    shelf::Shelf,
    values::{self, FOLDER, caller, invalid, unchangeable},
    versions::{self, DECISION, REASON},
};

/// Members of front matter outside of the digest: links add some without a review, and versions are compared by number.
const APART: [&str; 4] = ["id", "version", "created_at", "links"];

/// The version of a note that a proposal changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Base {
    /// Number of the note's version.
    pub(super) version: u64,
    /// Digest of the note's metadata and content, since several edits by hand are one version.
    pub(super) digest: String,
}

impl Base {
    fn new(version: u64, note: &Note) -> Self {
        let mut members = note.metadata.members();
        members.retain(|key, _| !APART.contains(&key.as_str()));
        let text = format!("{}\n{}", Value::Object(members), note.content());
        Self { version, digest: digest(&text).to_string() }
    }
}

/// A proposal of a note or of a change to one, with the reviewer's decision.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Review {
    /// Id of the instance.
    pub(super) id: Uuid,
    /// State, author and history.
    pub(super) instance: Instance,
    pub(super) note_id: Uuid,
    /// Number of the version that it will be.
    pub(super) proposed_version: u64,
    /// The note that it changes; `None` for a new one.
    pub(super) base: Option<Base>,
    /// Front matter of a new note; else the members that change, of which `null` removes one.
    pub(super) metadata: Map<String, Value>,
    /// Reason for the change.
    pub(super) reason: Option<String>,
    /// The reviewer's last message.
    pub(super) notes: Option<String>,
    /// The reviewer's last remarks.
    pub(super) remarks: Vec<Remark>,
    /// The proposed content; empty once it was decided on.
    pub(super) content: String,
}

/// Returns the path of an instance's document.
pub(super) fn path_of(id: Uuid) -> String {
    format!("{FOLDER}/{id}.md")
}

impl Review {
    /// Starts a review at this time.
    pub(super) fn new(
        id: Uuid,
        author: &KnownCaller,
        (note_id, proposed_version): (Uuid, u64),
        at: DateTime<Utc>,
    ) -> Self {
        Self {
            id,
            instance: Instance::start(&WORKFLOW_AGENT_NOTE_REVIEW, author, at),
            note_id,
            proposed_version,
            base: None,
            metadata: Map::new(),
            reason: None,
            notes: None,
            remarks: vec![],
            content: String::new(),
        }
    }

    /// Reads an instance's document; `None` if the document is not one.
    pub(super) fn parse(path: &str, bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let front_matter = FrontMatter::parse(text).ok()?;
        let mut members = front_matter.values();
        let content = front_matter.body().to_owned();
        let number = |value: Option<Value>| value?.as_u64().filter(|number| *number <= MAX_VERSION);
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(String::from));
        Some(Self {
            id: id_of(path)?,
            instance: instance_of(&members)?,
            note_id: Uuid::try_parse(&text(members.remove("note_id"))?).ok()?,
            proposed_version: number(members.remove("proposed_version"))?,
            base: number(members.remove("base_version")).map(|version| Base {
                version,
                digest: text(members.remove("base_digest")).unwrap_or_default(),
            }),
            metadata: match members.remove("metadata") {
                Some(Value::Object(metadata)) => metadata,
                _ => Map::new(),
            },
            reason: text(members.remove("reason")),
            notes: text(members.remove("notes")),
            remarks: members
                .remove("remarks")
                .and_then(|all| serde_json::from_value(all).ok())
                .unwrap_or_default(),
            content,
        })
    }

    /// Returns the instance's document.
    pub(super) fn to_text(&self) -> Result<String, ToolError> {
        let (instance, base) = (&self.instance, self.base.as_ref());
        let all = [
            ("workflow", Some(json!(instance.workflow))),
            ("workflow_version", Some(json!(instance.version))),
            ("state", Some(json!(instance.state))),
            ("author", Some(json!(instance.author))),
            ("author_name", instance.author_name.as_ref().map(|it| json!(it))),
            ("author_identity", instance.author_identity.as_ref().map(|it| json!(it))),
            ("note_id", Some(json!(self.note_id.to_string()))),
            ("proposed_version", Some(json!(self.proposed_version))),
            ("base_version", base.map(|base| json!(base.version))),
            ("base_digest", base.map(|base| json!(base.digest))),
            ("reason", self.reason.as_ref().map(|reason| json!(reason))),
            ("notes", self.notes.as_ref().map(|notes| json!(notes))),
            ("remarks", Some(json!(self.remarks)).filter(|_| !self.remarks.is_empty())),
            ("metadata", Some(json!(self.metadata)).filter(|_| !self.metadata.is_empty())),
            ("history", Some(json!(instance.history))),
        ];
        Ok(front_matter(all, &self.content)? + &self.content)
    }

    pub(super) fn path(&self) -> String {
        path_of(self.id)
    }

    /// Returns true unless the proposal's state is final.
    pub(super) fn is_open(&self) -> bool {
        self.instance.outcome(&WORKFLOW_AGENT_NOTE_REVIEW).is_none()
    }

    /// Returns the time of its start (RFC 3339).
    pub(super) fn started_at(&self) -> &str {
        self.instance.history.first().map_or("", |passage| &passage.at)
    }

    /// Returns the time of its last change (RFC 3339).
    pub(super) fn changed_at(&self) -> &str {
        self.instance.history.last().map_or("", |passage| &passage.at)
    }

    /// Returns the name of the agent that made it; `None` for a person.
    pub(super) fn agent(&self) -> Option<&str> {
        let (agent, _) = self.instance.author.strip_prefix("agent:")?.rsplit_once('/')?;
        Some(agent)
    }

    /// Returns the reason for the change, or for the new note.
    pub(super) fn why(&self) -> Option<String> {
        let justification = self.metadata.get("ai_justification").and_then(Value::as_str);
        let reason = self.reason.as_deref().or(justification);
        reason.map(String::from)
    }

    /// Returns the title that the note will have. The content of a change is no title, since its note may be sensitive.
    pub(super) fn title(&self) -> String {
        let content = if self.base.is_none() { &self.content } else { "" };
        tabellion_notes::title_of(&self.proposed(), content)
    }

    /// Returns the proposed metadata.
    fn proposed(&self) -> Metadata {
        Metadata::from_members(self.metadata.clone()).0
    }

    /// Returns the title of the note, or else the one that it will have.
    pub(super) fn title_in(&self, shelf: &Shelf) -> Result<String, Failure> {
        Ok(shelf.cached_note(self.note_id)?.map_or_else(|| self.title(), |entry| entry.title))
    }

    /// Returns true if its text is for owners.
    pub(super) fn is_sensitive(&self, shelf: &Shelf) -> Result<bool, Failure> {
        let note = shelf.cached_note(self.note_id)?.map(|note| note.metadata.sensitive);
        Ok(is_sensitive(self.makes_sensitive(), self.base.is_some(), note))
    }

    /// Returns true if the note would be sensitive.
    pub(super) fn makes_sensitive(&self) -> bool {
        self.proposed().sensitive
    }

    /// Returns the decisions that the caller may make now.
    pub(super) fn decisions(
        &self,
        caller: &KnownCaller,
        is_stale: bool,
        is_sensitive: bool,
    ) -> impl Iterator<Item = String> {
        let spec = &WORKFLOW_AGENT_NOTE_REVIEW;
        let stale = [Unless::Stale];
        let decisions = workflow::decisions(spec, &self.instance, caller, &stale[..usize::from(is_stale)]);
        let may_publish = !is_sensitive || may_publish_sensitive(caller);
        let publishes =
            |on: &str| spec.from(&self.instance.state).any(|to| to.on == on && to.effect.is_some());
        decisions.into_iter().filter(move |on| may_publish || !publishes(on)).map(String::from)
    }

    /// Returns whether the note has changed since it was proposed. `current` is the note now; `None` if there is none.
    pub(super) fn is_stale(&self, current: Option<&Base>) -> bool {
        self.base.as_ref() != current
    }

    /// Lists the differences from another revision of the proposal.
    fn differs_from(&self, other: &Self) -> Vec<String> {
        let mut differences = vec![];
        if self.content != other.content {
            let (added, removed) = diff::line_counts(&other.content, &self.content);
            differences.push(format!("content: +{added} -{removed} lines"));
        }
        let keys: BTreeSet<_> = self.metadata.keys().chain(other.metadata.keys()).collect();
        let differ = keys.into_iter().filter(|key| self.metadata.get(*key) != other.metadata.get(*key));
        differences.extend(differ.cloned());
        for (name, now, before) in [
            ("state", Some(&self.instance.state), Some(&other.instance.state)),
            ("reason", self.reason.as_ref(), other.reason.as_ref()),
        ] {
            if now != before {
                differences.push(name.to_owned());
            }
        }
        differences
    }

    /// Takes one step.
    pub(super) fn step(&mut self, event: &Event<'_>, actor: &KnownCaller) -> Result<(), ToolError> {
        let next = workflow::step(&WORKFLOW_AGENT_NOTE_REVIEW, &self.instance, event, actor);
        self.instance = next.map_err(Failure::from)?;
        Ok(())
    }
}

/// Returns true if the text of a proposal is for owners: the note is sensitive, or would be. Of a change whose note is gone, it may be.
pub(super) fn is_sensitive(makes_sensitive: bool, is_change: bool, is_note_sensitive: Option<bool>) -> bool {
    makes_sensitive || is_note_sensitive.unwrap_or(is_change)
}

/// Returns true if the caller may read the text of a sensitive proposal, which approving it takes: owners, and the person at this machine,
/// who reads the files.
fn may_publish_sensitive(caller: &KnownCaller) -> bool {
    caller.roles.contains(&values::OWNER) || caller.identity.method() == Method::Local
}

/// Returns front matter with these members, for a document with this content.
pub(super) fn front_matter<'k>(
    members: impl IntoIterator<Item = (&'k str, Option<Value>)>,
    content: &str,
) -> Result<String, ToolError> {
    let members = members.into_iter().filter_map(|(key, value)| Some((key, value?)));
    tabellion_notes::front_matter(members, content).map_err(unwritable)
}

/// Returns the id of the instance whose document is at this path; `None` for other paths.
pub(super) fn id_of(path: &str) -> Option<Uuid> {
    let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
    Uuid::try_parse(name.strip_suffix(".md")?).ok()
}

/// Returns the instance in front matter with these members.
pub(super) fn instance_of(members: &Map<String, Value>) -> Option<Instance> {
    let instance = json!({
        "workflow": members.get("workflow"),
        "version": members.get("workflow_version"),
        "state": members.get("state"),
        "author": members.get("author"),
        "author_name": members.get("author_name"),
        "author_identity": members.get("author_identity"),
        "history": members.get("history"),
    });
    serde_json::from_value(instance).ok()
}

fn unwritable(error: impl std::fmt::Display) -> ToolError {
    ToolError::mcp_internal_error(format!("what waits can't be written: {error}"))
}

/// Returns a review from its document in the call's state; `None` if there is none.
pub(super) fn find(cx: &ReadCx<'_>, id: Uuid) -> Result<Option<Review>, Failure> {
    let path = path_of(id);
    let document = cx.read(&path)?;
    Ok(document.and_then(|document| Review::parse(&path, &document.bytes)))
}

/// Returns a review from its document in the call's state, and its revision: the document's content id.
pub(super) fn read(cx: &ReadCx<'_>, id: Uuid) -> Result<(Review, String), ToolError> {
    let path = path_of(id);
    let found = cx.read(&path)?.and_then(|document| {
        let review = Review::parse(&path, &document.bytes)?;
        Some((review, document.id.to_string()))
    });
    found.ok_or_else(|| {
        let message = format!("there is no review {id}; `tabellion review list` lists those that wait");
        invalid("not_found", message).with("review_workflow_id", id.to_string())
    })
}

/// Returns all proposals for a note, open or closed, in the call's state.
pub(super) fn of_note(shelf: &Shelf, cx: &ReadCx<'_>, note_id: Uuid) -> Result<Vec<Review>, Failure> {
    let of_note = InstanceFilter { note: Some(note_id), ..fields::any() };
    let all = shelf.instances(&of_note, usize::MAX)?;
    let found = all.iter().map(|found| find(cx, found.instance.id));
    found.filter_map(Result::transpose).collect()
}

/// Returns the current base of a note; `None` if the note does not exist. The catalogue has followed it in this call.
pub(super) fn current(shelf: &Shelf, cx: &ReadCx<'_>, note_id: Uuid) -> Result<Option<Base>, Failure> {
    let Some(path) = named_note::path(shelf, cx, note_id)? else {
        return Ok(None);
    };
    let Some(document) = cx.read(&path)? else {
        return Ok(None);
    };
    let version = versions::current(shelf, cx, &path)?;
    Ok(Some(Base::new(version, &Note::parse(&path, &document.bytes))))
}

/// A decision on a proposal.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// Id of the instance.
    pub(super) id: Uuid,
    /// Name of the event: `approve`, `reject`, `needs_revision`, `withdraw`.
    pub(super) on: String,
    /// The reviewer's message to the author.
    pub(super) notes: Option<String>,
    /// Time of the decision.
    pub(super) at: DateTime<Utc>,
    /// The shown revision and note, the parts taken, and remarks.
    pub(super) shown: Shown,
}

impl Decision {
    /// Returns the details that the log keeps of the decision. A version counts as a tool's if its commit has details.
    pub(super) fn details(&self, review: &Review) -> Map<String, Value> {
        let details = [
            ("review_workflow_id", Some(self.id.to_string())),
            (DECISION, Some(self.on.clone())),
            (REASON, review.reason.clone()),
        ];
        let mut said: Map<String, Value> =
            details.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))).collect();
        if !self.shown.parts.is_empty() {
            said.insert("parts".into(), json!(self.shown.parts));
        }
        said
    }
}

/// The effects of a decision, before they are published.
pub(super) struct Decided {
    /// The change of the instance's document and, if the decision publishes the note, of that.
    pub(super) change: Change,
    /// The instance afterwards.
    pub(super) review: Review,
    /// Path and text of the note, if the decision publishes it.
    pub(super) note: Option<(String, String)>,
}

/// Returns the effects of a decision.
pub(super) fn decide(shelf: &Shelf, cx: &ReadCx<'_>, decision: &Decision) -> Result<Decided, ToolError> {
    let actor = caller(cx)?;
    let (mut review, revision) = read(cx, decision.id)?;
    shelf.follow_for(&[review.note_id])?;
    let current = current(shelf, cx, review.note_id)?;
    let over = note_id(shelf, cx, review.note_id)?;
    let shown = &decision.shown;
    // An empty text begins every revision and names none.
    let is_shown = |shown: &str| !shown.is_empty() && revision.starts_with(shown);
    let is_other_revision = shown.revision.as_deref().is_some_and(|shown| !is_shown(shown));
    let is_other_note = shown.over.has_moved(over.as_deref());
    let holds: Vec<_> = [
        (Unless::Stale, review.is_stale(current.as_ref())),
        (Unless::Moved, is_other_revision || is_other_note),
    ]
    .into_iter()
    .filter_map(|(condition, holds)| holds.then_some(condition))
    .collect();
    let parts = Some(&shown.parts).filter(|parts| !parts.is_empty());
    let given =
        [("notes", json!(decision.notes)), ("revision", json!(shown.revision)), ("parts", json!(parts))];
    let given: Map<String, Value> = given.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    let event = Event { on: &decision.on, tool: None, given: &given, holds: &holds, at: decision.at };
    let transition = match workflow::transition(&WORKFLOW_AGENT_NOTE_REVIEW, &review.instance, &event, actor)
    {
        Err(Refusal::Moved { .. }) if is_other_revision => {
            return Err(overtaken(cx, &review, &revision, shown.revision.as_deref().unwrap_or_default()));
        }
        Err(Refusal::Moved { .. }) => return Err(moved(&shown.over, over)),
        other => other.map_err(Failure::from)?,
    };
    let effect = transition.effect.and_then(AgentNoteReviewEffect::parse);
    if effect.is_some() && !may_publish_sensitive(actor) {
        values::check_sensitive(cx, review.is_sensitive(shelf)?)?;
    }
    if shown.revision.is_none() && effect.is_some() && was_changed(cx, &review)? {
        return Err(unnamed(&revision));
    }
    if effect != Some(AgentNoteReviewEffect::PublishPart) && !shown.parts.is_empty() {
        let message =
            format!("`{}` is about all parts: leave `parts` out, or decide `approve_part`", decision.on);
        return Err(invalid("parts", message));
    }
    review.step(&event, actor)?;
    let (note, left) = match effect {
        Some(AgentNoteReviewEffect::Publish) => (Some(published(shelf, cx, &review, actor)?), vec![]),
        Some(AgentNoteReviewEffect::PublishPart) => {
            let parted = parted(shelf, cx, &review, actor)?;
            let taken = parted.take(&shown.parts).map_err(|message| invalid("parts", message))?;
            let left = parted.left(&shown.parts);
            review.goes_on_after(&parted, &taken);
            (Some((parted.path, taken)), left)
        }
        None => (None, vec![]),
    };
    if let Some((path, _)) = note.as_ref().filter(|_| review.base.is_none())
        && cx.read(path)?.is_some()
    {
        let message = format!("`{path}`, the file of the new note, exists; rename that file first");
        return Err(Failure::new(FailureKind::Conflict, message).with("reason", "path_taken").into());
    }
    review.notes = message(decision, &left).or(review.notes);
    review.remarks.clone_from(&shown.remarks);
    if !review.is_open() {
        if review.base.is_none() {
            // It may come from the content.
            review.metadata.insert("title".into(), review.title().into());
        }
        review.content.clear();
    }
    let write = |path: String, text: String| Edit { path, content: Content::Write(text.into_bytes()) };
    // The commit's subject names the document of the first edit.
    let mut edits: Vec<Edit> = note.clone().map(|(path, text)| write(path, text)).into_iter().collect();
    edits.push(write(review.path(), review.to_text()?));
    let summary = format!("{} {} of {}", decision.on, review.id, review.note_id);
    let change = Change::new(edits, transition.on, summary);
    let change = change.map_err(|error| Failure::new(FailureKind::Io, error.to_string()))?;
    let change = change.compared_with(&review.path());
    let change = match &note {
        Some((path, _)) => versions::with_move(shelf, cx, path, change)?,
        None => change,
    };
    Ok(Decided { change, review, note })
}

/// Returns the content id of a note's file; `None` if there is none. The catalogue has followed it in this call.
pub(super) fn note_id(shelf: &Shelf, cx: &ReadCx<'_>, id: Uuid) -> Result<Option<String>, Failure> {
    let path = named_note::path(shelf, cx, id)?;
    let document = path.map(|path| cx.read(&path)).transpose()?.flatten();
    Ok(document.map(|document| document.id.to_string()))
}

/// Returns the message to the author: the reviewer's notes, the parts that were left, and the remarks.
fn message(decision: &Decision, left: &[String]) -> Option<String> {
    let mut message = decision.notes.clone().unwrap_or_default();
    let mut add = |paragraph: &str| {
        if !message.is_empty() {
            message.push_str("\n\n");
        }
        message.push_str(paragraph);
    };
    if !left.is_empty() {
        add(
            "The other parts are in the note. These were left; revise them with `update_note`, `proposed_version` as `version`:",
        );
        left.iter().for_each(|part| add(part));
    }
    for remark in &decision.shown.remarks {
        let side = if remark.side == Side::Old { "old line" } else { "line" };
        let quote = if remark.quote.is_empty() {
            String::new()
        } else {
            format!(" (`{}`)", remark.quote.replace('`', "'"))
        };
        add(&format!("**{side} {}**{quote}: {}", remark.line, remark.text));
    }
    Some(message).filter(|message| !message.is_empty())
}

/// Splits an open proposal into parts, as `reviewer` would approve them.
pub(super) fn parted(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    review: &Review,
    reviewer: &KnownCaller,
) -> Result<Parted, ToolError> {
    let (path, after) = published(shelf, cx, review, reviewer)?;
    if review.base.is_none() {
        return Ok(Parted::of_new(path, after));
    }
    // The note as it is, except for the values that an approval sets: those are not a part.
    let same = Review { metadata: Map::new(), content: current_content(cx, &path)?, ..review.clone() };
    let (_, base) = published(shelf, cx, &same, reviewer)?;
    Ok(Parted::between(path, base, after))
}

/// Returns the content of the note at `path`.
fn current_content(cx: &ReadCx<'_>, path: &str) -> Result<String, ToolError> {
    let document = cx.read(path)?;
    let note = document.map(|document| Note::parse(path, &document.bytes));
    Ok(note.map(|note| note.content().to_owned()).unwrap_or_default())
}

impl Review {
    /// Rebases the proposal on the note with some of its parts; the rest is proposed again.
    fn goes_on_after(&mut self, parted: &Parted, text: &str) {
        let note = Note::parse(&parted.path, text.as_bytes());
        self.base = Some(Base::new(self.proposed_version, &note));
        self.proposed_version += 1;
        if parted.is_new {
            self.metadata.clear();
        }
    }
}

/// Returns the refusal of a decision on a note that has changed.
fn moved(shown: &Over, now: Option<String>) -> ToolError {
    let message =
        "the note has changed since you were shown the proposal over it: look at it again, and decide then";
    Failure::new(FailureKind::Conflict, message)
        .with("reason", "moved")
        .with("expected", json!(shown))
        .with("found", json!(now))
        .with("changed", vec!["note"])
        .into()
}

/// Returns true if a proposal was changed after it was made.
fn was_changed(cx: &ReadCx<'_>, review: &Review) -> Result<bool, Failure> {
    let history = cx.history(&review.path(), Until::BEGINNING)?;
    Ok(match &history.versions[..] {
        [first] => first.content != history.now || first.entry.is_none(),
        _ => true,
    })
}

/// Returns the refusal of an approval that names no revision, although the proposal was changed.
fn unnamed(revision: &str) -> ToolError {
    let message = format!(
        "the proposal was changed since it was made: read it, and say that you decide on its revision {revision} \
         (`If-Match`, or `tabellion review approve ID --revision`)"
    );
    Failure::new(FailureKind::Conflict, message).with("reason", "revision").with("found", revision).into()
}

/// Returns a past revision of a proposal, by its content id or a prefix of that; `None` if it does not exist.
pub(super) fn at_revision(cx: &ReadCx<'_>, id: Uuid, revision: &str) -> Result<Option<Review>, Failure> {
    let path = path_of(id);
    let versions = cx.history(&path, Until::BEGINNING)?.versions.into_iter();
    let mut contents = versions.filter_map(|version| version.content);
    let Some(content) = contents.find(|content| content.starts_with(revision)) else {
        return Ok(None);
    };
    Ok(Review::parse(&path, &cx.past_content(&path, &content)?))
}

/// Returns the refusal of a decision on an old revision, with the differences.
fn overtaken(cx: &ReadCx<'_>, now: &Review, revision: &str, shown: &str) -> ToolError {
    let before = at_revision(cx, now.id, shown).ok().flatten();
    let changed = before.map(|before| now.differs_from(&before));
    let what = match &changed {
        Some(changed) if !changed.is_empty() => format!(" ({})", changed.join(", ")),
        _ => String::new(),
    };
    let message =
        format!("the proposal has changed since you were shown it{what}: read it again, and decide then");
    Failure::new(FailureKind::Conflict, message)
        .with("reason", "moved")
        .with("expected", shown)
        .with("found", revision)
        .with("changed", changed.unwrap_or_default())
        .into()
}

/// Returns the path and text of the note that an approved proposal becomes.
pub(super) fn published(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    review: &Review,
    reviewer: &KnownCaller,
) -> Result<(String, String), ToolError> {
    if review.base.is_none() {
        let (mut metadata, _) = Metadata::from_members(review.metadata.clone());
        metadata.version = Some(review.proposed_version);
        metadata.reviewed_by = Some(reviewer.name.to_string());
        let path = tabellion_notes::file_name(&review.title(), review.note_id);
        let text = tabellion_notes::render(&metadata, &review.content).map_err(unchangeable)?;
        return Ok((path, text));
    }
    let mut members = review.metadata.clone();
    members.insert("version".into(), json!(review.proposed_version));
    members.insert("reviewed_by".into(), json!(&*reviewer.name));
    named_note::changed(shelf, cx, review.note_id, &review.content, &members)
}
