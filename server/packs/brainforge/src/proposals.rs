//! Proposals as the catalogue has them: what a list shows of each, without its document.

use serde::{Deserialize, Serialize};
use tabellion_contracts::brainforge::{ToolError, WORKFLOW_AGENT_NOTE_REVIEW};
use tabellion_library::Library;
use tabellion_markdown::diff;
use tabellion_notes::{ContentHash, Entry, FoundInstance, Instance, InstanceFilter};
use tabellion_runtime::{Failure, Identity, ReadCx, workflow_calls::InstanceStatus};

use super::{
    instances::Kept,
    review::{self, Base, Review},
    shelf::Shelf,
};

/// Fields of an instance that no query needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fields {
    /// Name of the caller who started it.
    pub(super) author: String,
    /// Identity of that caller.
    pub(super) identity: Option<Identity>,
    /// How far it has come.
    pub(super) status: InstanceStatus,
    /// Fields of a proposal.
    pub(super) proposal: Option<Proposed>,
}

/// Fields of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Proposed {
    /// Title that the note will have.
    pub(super) title: String,
    /// Reason for the change, or for the new note.
    pub(super) reason: Option<String>,
    /// Time of the last event (RFC 3339).
    pub(super) changed_at: String,
    /// Number that the note's version would have.
    pub(super) version: u64,
    /// What it changes; `None` for a new note.
    pub(super) base: Option<Base>,
}

/// Number of lines that a proposal changes in a note with this content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Size {
    note: Option<ContentHash>,
    added: usize,
    removed: usize,
}

/// A proposal, and how it stands to its note.
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
    /// Whether it is open, and the note has changed since.
    pub(super) is_stale: bool,
}

/// Reads the fields of an instance's document.
pub(super) fn parse(path: &str, bytes: &[u8]) -> Option<Instance> {
    let kept = Kept::parse(path, bytes)?;
    let instance = kept.instance();
    let status = InstanceStatus::of(kept.workflow(), instance);
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
            reason: review.why(),
            changed_at: review.changed_at().to_owned(),
            version: review.proposed_version,
            base: review.base.clone(),
        }),
    };
    Some(Instance {
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

/// Reads the further fields of an instance in the catalogue.
pub(super) fn fields(found: &FoundInstance) -> Result<Fields, Failure> {
    serde_json::from_str(&found.instance.fields).map_err(|error| super::shelf::io(error.to_string()))
}

/// Returns the filter for proposals.
pub(super) fn any() -> InstanceFilter {
    InstanceFilter {
        workflow: Some(WORKFLOW_AGENT_NOTE_REVIEW.id.into()),
        ..InstanceFilter::default()
    }
}

/// Returns the filter for proposals that wait.
pub(super) fn open() -> InstanceFilter {
    InstanceFilter {
        is_open: Some(true),
        ..any()
    }
}

/// Returns a part of the proposals that `filter` admits, oldest first, and the number of all. Bases of notes and sizes are read from the
/// catalogue, or computed and kept there.
pub(super) fn list(
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
    let mut new = New {
        shelf,
        cx,
        head,
        values: vec![],
    };
    let mut proposals = vec![];
    for (found, entry, base, size) in rows {
        let fields = fields(&found)?;
        let Some(proposed) = fields.proposal.clone() else {
            continue;
        };
        let is_stale = found.instance.is_open
            && match (&entry, &proposed.base) {
                (None, base) => base.is_some(),
                (Some(_), None) => true,
                (Some(entry), Some(before)) => new.base(entry, base)?.as_ref() != Some(before),
            };
        let size = if found.instance.is_open {
            new.size(&found, entry.as_ref(), size)?
        } else {
            (0, 0)
        };
        proposals.push(Proposal {
            found,
            fields,
            proposed,
            entry,
            added: size.0,
            removed: size.1,
            is_stale,
        });
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
            Some(entry) => self
                .shelf
                .snapshot(|notes| notes.note(entry))?
                .content()
                .to_owned(),
            None => String::new(),
        };
        let (added, removed) = diff::line_counts(&before, &review.content);
        if document.id.to_string() == hex(&found.content) {
            let size = Size { note, added, removed };
            self.add(&found.path, found.content, &size);
        }
        Ok((added, removed))
    }

    /// Returns whether a document has this content, and HEAD is where it was.
    fn is_still(&self, path: &str, content: &ContentHash) -> Result<bool, ToolError> {
        let document = self.cx.read(path)?;
        let is_same = document.is_some_and(|document| document.id.to_string() == hex(content));
        Ok(is_same && head(self.shelf.library())? == self.head)
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

/// Returns HEAD's commit; an empty text before the first one.
pub(super) fn head(library: &Library) -> Result<String, Failure> {
    Ok(library.head()?.unwrap_or_default())
}

/// Returns a content id as text.
pub(super) fn hex(content: &ContentHash) -> String {
    data_encoding::HEXLOWER.encode(content)
}
