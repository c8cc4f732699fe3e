//! Numbers of versions: those in front matter, and one more for a person's later edits.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashSet},
};

use chrono::{DateTime, FixedOffset, Utc};
use serde_json::Value;
use tabellion_contracts::brainforge::CONTRACT;
use tabellion_library::Library;
use tabellion_notes::Note;
use tabellion_runtime::{Change, DocumentHistory, Failure, ReadCx, Until, Version, VersionEntry};

use super::shelf::Shelf;

/// Details of a log entry: the reason for the note's change, and a reviewer's decision.
pub(super) const REASON: &str = "reason";
pub(super) const DECISION: &str = "decision";
/// Summary of a version that no tool made.
const BY_HAND: &str = "edited by hand";

pub(super) struct NoteVersion {
    pub(super) number: u64,
    /// The commit of this version; `None` if it is not committed yet.
    pub(super) commit: Option<String>,
    pub(super) at: DateTime<FixedOffset>,
    pub(super) by: String,
    pub(super) summary: String,
    pub(super) bytes: Vec<u8>,
    /// True if a commit of it is sensitive: so is its reason.
    pub(super) sensitive: bool,
}

/// A commit of a note, or its bytes that are not committed yet, with the number of the version.
struct Numbered {
    number: u64,
    version: Option<Version>,
    bytes: Vec<u8>,
}

/// Returns the number of the current version of the note at `path`.
pub(super) fn current(shelf: &Shelf, cx: &ReadCx<'_>, path: &str) -> Result<u64, Failure> {
    let versions = numbered(shelf, cx, path, &has_number)?;
    Ok(versions.last().map_or(1, |version| version.number))
}

/// Returns true for a change by a tool of this contract, which leaves the note's number in its front matter.
fn has_number(version: &Version) -> bool {
    let is_ours = |entry: &VersionEntry| {
        CONTRACT.operation(&entry.tool).is_some() || entry.details.contains_key(DECISION)
    };
    version.entry.as_ref().is_some_and(is_ours)
}

/// Returns the versions of the note at `path` with their numbers, oldest first, back to the first that is enough.
///
/// Before a tool changes a note, each commit has a number of its own. After a tool's change, all commits by hand have the next number.
fn numbered(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    path: &str,
    is_enough: &dyn Fn(&Version) -> bool,
) -> Result<Vec<Numbered>, Failure> {
    let until = Until { enough: is_enough, ..Until::BEGINNING };
    let mut history = cx.history(path, until)?;
    if let Some(former) = moved_from(shelf, path, &history)? {
        history.versions = cx.history(&former, until)?.versions;
    }
    let committed = history.versions.last().and_then(|version| version.content.clone());
    let uncommitted = history.document.filter(|_| committed != history.now);
    let mut all = vec![];
    let mut before = None;
    let mut is_of_tools = false;
    // The number that an edit by hand follows.
    let mut left = None;
    for version in with_former(shelf, cx, path, history.versions, is_enough)? {
        let Some(content) = version.content.clone() else { continue };
        let has_number = has_number(&version);
        if !has_number && before.as_ref() == Some(&content) {
            // The file was moved.
            continue;
        }
        let bytes = cx.past_content(path, &content)?;
        let number = Note::parse(path, &bytes).metadata.current_version(left.filter(|_| !has_number));
        is_of_tools |= has_number;
        if has_number || !is_of_tools {
            left = Some(number);
        }
        before = Some(content);
        all.push(Numbered { number, version: Some(version), bytes });
    }
    if let Some(document) = uncommitted {
        let number = Note::parse(path, &document.bytes).metadata.current_version(left);
        all.push(Numbered { number, version: None, bytes: document.bytes });
    }
    Ok(all)
}

/// Returns the path from which a person has moved the note to `path` without a commit; `None` if its file was not moved.
fn moved_from(shelf: &Shelf, path: &str, history: &DocumentHistory) -> Result<Option<String>, Failure> {
    if history.versions.last().is_some_and(|last| last.content.is_some()) {
        return Ok(None);
    }
    let note = history.document.as_ref().map(|document| Note::parse(path, &document.bytes));
    match note.and_then(|note| note.metadata.id) {
        Some(id) => Ok(shelf.removed_by(None)?.get(&id).cloned()),
        None => Ok(None),
    }
}

/// Returns the change with which the commit of a person's move of the note at `path` is whole.
pub(super) fn with_move(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    path: &str,
    change: Change,
) -> Result<Change, Failure> {
    let newest = Until { enough: &|_| true, ..Until::BEGINNING };
    Ok(change.moved_from(moved_from(shelf, path, &cx.history(path, newest)?)?))
}

/// Adds the versions of a note at its former paths: the commit that made its file removed a file with the same id.
fn with_former(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    path: &str,
    mut versions: Vec<Version>,
    is_enough: &dyn Fn(&Version) -> bool,
) -> Result<Vec<Version>, Failure> {
    while let Some(Version { commit, content: Some(content), .. }) =
        versions.first().filter(|first| !is_enough(first)).cloned()
    {
        let removed = shelf.removed_by(Some(&commit))?;
        if removed.is_empty() {
            break;
        }
        let id = Note::parse(path, &cx.past_content(path, &content)?).metadata.id;
        let Some(former) = id.and_then(|id| removed.get(&id)) else { break };
        // A later file at that path is a different note.
        let is_earlier = Cell::new(false);
        let enough = |version: &Version| {
            is_earlier.replace(is_earlier.get() || version.commit == commit) && is_enough(version)
        };
        let mut earlier = cx.history(former, Until { enough: &enough, ..Until::BEGINNING })?.versions;
        earlier.truncate(earlier.iter().position(|version| version.commit == commit).unwrap_or(0));
        if earlier.is_empty() {
            break;
        }
        versions.splice(0..0, earlier);
    }
    Ok(versions)
}

/// Returns the given reason for a change, or else the operation.
fn summary(entry: &VersionEntry) -> String {
    let reason = entry.details.get(REASON).and_then(Value::as_str);
    reason.unwrap_or(&entry.operation).to_owned()
}

/// Returns the summary that the log has of a version, such as that of an undone change; `None` for an edit by hand.
fn summary_of_log(library: &Library, version: &Version) -> Option<String> {
    library.find_entry(&version.commit).ok().map(|entry| entry.summary)
}

/// Returns the versions of the note at `path`, oldest first. Of commits with the same number, such as a person's edits after a tool's change
/// and those of links, the last has the bytes.
pub(super) fn all(shelf: &Shelf, cx: &ReadCx<'_>, path: &str) -> Result<Vec<NoteVersion>, Failure> {
    let mut versions: BTreeMap<u64, NoteVersion> = BTreeMap::new();
    let mut contents = HashSet::new();
    for Numbered { number, version, bytes } in numbered(shelf, cx, path, &|_| false)? {
        let sensitive = Note::parse(path, &bytes).metadata.sensitive;
        let Some(version) = version else {
            let (commit, by) = (None, String::new());
            let (at, summary) = (Utc::now().fixed_offset(), format!("{BY_HAND}, not committed yet"));
            versions.insert(number, NoteVersion { number, commit, at, by, summary, bytes, sensitive });
            continue;
        };
        let is_new = contents.insert(version.content.clone());
        let commit = Some(version.commit.to_string());
        // A version's author is the author of the commit that first had the number.
        if let Some(known) = versions.get_mut(&number) {
            (known.commit, known.bytes, known.sensitive) = (commit, bytes, known.sensitive || sensitive);
            continue;
        }
        let summary = match &version.entry {
            Some(entry) => summary(entry),
            // A look at the log takes a walk through later commits, so edits by hand are spared it.
            None => {
                let undone = if is_new { None } else { summary_of_log(shelf.library(), &version) };
                undone.unwrap_or_else(|| BY_HAND.to_owned())
            }
        };
        let (at, by) = (version.time, version.author);
        versions.insert(number, NoteVersion { number, commit, at, by, summary, bytes, sensitive });
    }
    Ok(versions.into_values().collect())
}
