//! Resources: notes, their versions and links, the index, tags, and proposals: all for reviewers, an agent's own for the agent.

use tabellion_contracts::brainforge::{
    IndexResource, IndexVariables, IndexedNote, MineResource, NoteLink, NoteLinksResource, NoteResource,
    NoteType, NoteVersion, NoteVersionsResource, OwnProposal, ReviewRemark, TagCount, TagsResource,
    ToolError, VersionOfNoteResource, WaitingResource, WaitingReview,
};
use tabellion_notes::{Entry, FoundLink, Note, Position, Problem, Selection};
use tabellion_pack::review::Remark;
use tabellion_runtime::ReadCx;
use uuid::Uuid;

use super::{
    fields, instances, review,
    shelf::Shelf,
    values::{
        PROBLEMS, caller, check_sensitive, check_tags, count, invalid, is_owner, moment, not_found, number,
        parse_id, word,
    },
    versions,
};

/// Number of notes on a page of the index.
const PAGE: usize = 100;
/// The types that tools set.
const TYPES: [NoteType; 5] = [
    NoteType::Fleeting,
    NoteType::Literature,
    NoteType::Permanent,
    NoteType::Insight,
    NoteType::AgentGenerated,
];
/// Summary of a version that was sensitive, for others than owners.
const FOR_OWNERS: &str = "for owners: this version was sensitive";
/// Maximum number of completions.
const MAX_COMPLETIONS: usize = 100;

fn entry(shelf: &Shelf, id: &str) -> Result<Entry, ToolError> {
    let id = parse_id(id)?;
    shelf.note(id)?.ok_or_else(|| not_found(id))
}

pub(super) fn tags(shelf: &Shelf) -> Result<TagsResource, ToolError> {
    let tags = shelf.read(|notes| notes.tags())?;
    let tags = tags.into_iter().map(|(tag, notes)| TagCount { tag, notes: notes.into() });
    Ok(TagsResource { tags: tags.collect() })
}

pub(super) fn tags_like(shelf: &Shelf, value: &str) -> Result<Vec<String>, ToolError> {
    let tags = shelf.read(|notes| notes.tags())?;
    let like = tags.into_iter().map(|(tag, _)| tag).filter(|tag| tag.starts_with(value));
    Ok(like.take(MAX_COMPLETIONS).collect())
}

pub(super) fn ids(shelf: &Shelf, value: &str) -> Result<Vec<String>, ToolError> {
    let entries = shelf.read(|notes| notes.list(&Selection::default(), None, usize::MAX))?;
    let ids = entries.into_iter().map(|entry| entry.id.to_string());
    Ok(ids.filter(|id| id.starts_with(value)).take(MAX_COMPLETIONS).collect())
}

pub(super) fn waiting(shelf: &Shelf, cx: &ReadCx<'_>) -> Result<WaitingResource, ToolError> {
    let (waiting, _) = instances::proposals(shelf, cx, &fields::open(), 0, usize::MAX)?;
    let mut instances = vec![];
    for proposal in waiting {
        let title = proposal.title();
        let instance = proposal.found.instance;
        instances.push(WaitingReview {
            review_workflow_id: instance.id.to_string(),
            note_id: instance.note.unwrap_or_default().to_string(),
            proposed_version: number(proposal.proposed.version),
            state: instance.state,
            title,
            author: proposal.fields.author,
            started_at: instance.started_at,
            stale: proposal.is_stale,
        });
    }
    Ok(WaitingResource { instances })
}

/// Returns the caller's open proposals. Authorship is read from their documents.
pub(super) fn mine(shelf: &Shelf, cx: &ReadCx<'_>) -> Result<MineResource, ToolError> {
    let caller = caller(cx)?;
    shelf.follow()?;
    let mut proposals = vec![];
    for found in shelf.instances(&fields::open(), usize::MAX)? {
        if !fields::read(&found)?.is_by(caller) {
            continue;
        }
        let Some(review) = review::find(cx, found.instance.id)? else {
            continue;
        };
        if !review.is_open() || !review.instance.is_by(caller) {
            continue;
        }
        let current = review::current(shelf, cx, review.note_id)?;
        proposals.push(OwnProposal {
            review_workflow_id: review.id.to_string(),
            note_id: review.note_id.to_string(),
            proposed_version: number(review.proposed_version),
            state: review.instance.state.clone(),
            title: review.title_in(shelf)?,
            started_at: review.started_at().to_owned(),
            changed_at: review.changed_at().to_owned(),
            stale: review.is_stale(current.as_ref()),
            notes: review.notes,
            remarks: Some(review.remarks)
                .filter(|remarks| !remarks.is_empty())
                .map(|remarks| remarks.into_iter().map(remark).collect()),
        });
    }
    Ok(MineResource { proposals })
}

fn remark(remark: Remark) -> ReviewRemark {
    ReviewRemark {
        side: word(&remark.side),
        line: count(remark.line),
        quote: remark.quote,
        text: remark.text,
    }
}

pub(super) fn note(shelf: &Shelf, cx: &ReadCx<'_>, id: &str) -> Result<NoteResource, ToolError> {
    let entry = entry(shelf, id)?;
    let document = cx.read(&entry.path)?.ok_or_else(|| not_found(entry.id))?;
    let note = Note::parse(&entry.path, &document.bytes);
    check_sensitive(cx, note.metadata.sensitive)?;
    let mut problems: Vec<_> = note.problems.iter().map(Problem::to_string).collect();
    if let Some(id) = note.metadata.id.filter(|id| *id != entry.id)
        && let Some(Entry { path: kept_by, .. }) = shelf.cached_note(id)?
    {
        problems.push(Problem::DuplicateId { id, kept_by }.to_string());
    }
    if !problems.is_empty() {
        cx.note(PROBLEMS, problems);
    }
    Ok(NoteResource {
        note_id: entry.id.to_string(),
        title: note.title.clone(),
        note_type: Some(note.metadata.note_type().to_owned()),
        tags: note.tags(),
        version: number(versions::current(shelf, cx, &entry.path)?),
        created_at: moment(entry.created_at),
        updated_at: moment(entry.modified_at),
        created_by: note.metadata.created_by.clone(),
        source: note.metadata.source.clone(),
        path: entry.path,
        content: note.content().to_owned(),
    })
}

pub(super) fn versions(shelf: &Shelf, cx: &ReadCx<'_>, id: &str) -> Result<NoteVersionsResource, ToolError> {
    let entry = entry(shelf, id)?;
    // Reasons for changes are about the text.
    check_sensitive(cx, entry.metadata.sensitive)?;
    let versions = versions::all(shelf, cx, &entry.path)?;
    let versions = versions.into_iter().rev().map(|version| NoteVersion {
        version: number(version.number),
        commit: version.commit,
        at: version.at,
        by: version.by,
        summary: if version.sensitive && !is_owner(cx) { FOR_OWNERS.into() } else { version.summary },
        size: count(version.bytes.len()),
    });
    Ok(NoteVersionsResource { versions: versions.collect() })
}

pub(super) fn version(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    id: &str,
    asked: &str,
) -> Result<VersionOfNoteResource, ToolError> {
    let entry = entry(shelf, id)?;
    let versions = versions::all(shelf, cx, &entry.path)?;
    let found = versions.into_iter().find(|version| version.number.to_string() == asked);
    let found = found.ok_or_else(|| {
        let message = format!("the note has no version `{asked}`; `note://{id}/versions` lists them");
        invalid("not_found", message)
    })?;
    let note = Note::parse(&entry.path, &found.bytes);
    let now = cx.read(&entry.path)?.map(|document| Note::parse(&entry.path, &document.bytes));
    for note in [Some(&note), now.as_ref()].into_iter().flatten() {
        check_sensitive(cx, note.metadata.sensitive)?;
    }
    Ok(VersionOfNoteResource {
        note_id: entry.id.to_string(),
        version: number(found.number),
        content: note.content().to_owned(),
    })
}

pub(super) fn links(shelf: &Shelf, id: &str) -> Result<NoteLinksResource, ToolError> {
    let id = parse_id(id)?;
    let found = shelf.read(|notes| {
        let Some(entry) = notes.get(id)? else {
            return Ok(None);
        };
        Ok(Some((notes.links_from(&entry), notes.links_to(id)?)))
    })?;
    let (out, to) = found.ok_or_else(|| not_found(id))?;
    let shown = |links: Vec<FoundLink>| links.into_iter().map(link).collect();
    Ok(NoteLinksResource { out: shown(out), in_: shown(to) })
}

fn link(found: FoundLink) -> NoteLink {
    let link = found.link;
    NoteLink {
        link_id: found.id.to_string(),
        source_note_id: found.source.to_string(),
        target_note_id: link.to.to_string(),
        relation_type: link.relation,
        created_at: link.created_at.map(moment),
        metadata: Some(link.metadata).filter(|metadata| !metadata.is_empty()),
    }
}

/// Checks that tools set this type, or that a note has it: people may write any word.
fn check_type(shelf: &Shelf, note_type: &str) -> Result<(), ToolError> {
    let types = TYPES.map(|known| word(&known));
    let selection = Selection { note_type: Some(note_type.to_owned()), ..Selection::default() };
    if types.iter().any(|known| known == note_type)
        || !shelf.read(|notes| notes.list(&selection, None, 1))?.is_empty()
    {
        return Ok(());
    }
    let message = format!(
        "no note has the `note_type` `{note_type}`: it is one of {}, or a type that is in a file",
        types.map(|known| format!("`{known}`")).join(", ")
    );
    Err(invalid("filter", message).with("key", "note_type"))
}

/// Returns the place that a cursor names: one of [`index`], or the id of a note.
fn place(shelf: &Shelf, after: &str) -> Result<Position, ToolError> {
    let place = match (Position::parse(after), Uuid::try_parse(after)) {
        (None, Ok(id)) => shelf.note(id)?.map(|entry| entry.place()),
        (place, _) => place,
    };
    place.ok_or_else(|| {
        let message =
            format!("`{after}` is no place in the index: give `next` of the page before as `after`");
        invalid("not_found", message).with("key", "after")
    })
}

pub(super) fn index(shelf: &Shelf, variables: &IndexVariables) -> Result<IndexResource, ToolError> {
    let after = variables.after.as_deref().map(|after| place(shelf, after)).transpose()?;
    check_tags("tag", variables.tag.as_slice())?;
    if let Some(note_type) = &variables.note_type {
        check_type(shelf, note_type)?;
    }
    let selection = Selection {
        note_type: variables.note_type.clone(),
        tags: variables.tag.iter().cloned().collect(),
        ..Selection::default()
    };
    let entries = shelf.read(|notes| notes.list(&selection, after, PAGE + 1))?;
    let next = (entries.len() > PAGE).then(|| entries[PAGE - 1].place().to_string());
    let notes = entries.into_iter().take(PAGE).map(|entry| IndexedNote {
        note_id: entry.id.to_string(),
        title: entry.title,
        note_type: Some(entry.metadata.note_type().to_owned()),
        tags: entry.metadata.tags,
        created_at: moment(entry.created_at),
    });
    Ok(IndexResource { notes: notes.collect(), next })
}
