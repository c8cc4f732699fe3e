//! Numbers of versions: those in front matter, and one more for a person's later edits.

use std::collections::{
    BTreeMap, HashSet,
    btree_map::Entry::{Occupied, Vacant},
};

use chrono::{DateTime, FixedOffset, Utc};
use serde_json::Value;
use tabellion_library::Library;
use tabellion_notes::Note;
use tabellion_runtime::{Failure, ReadCx, Until, Version, VersionEntry};

/// Detail of a log entry: the reason for the note's change.
pub(super) const REASON: &str = "reason";
/// Summary of a version that no tool made.
const BY_HAND: &str = "edited by hand";

/// A version of a note.
pub(super) struct NoteVersion {
    pub(super) number: u64,
    /// The commit of this version; `None` if it is not committed yet.
    pub(super) commit: Option<String>,
    pub(super) at: DateTime<FixedOffset>,
    pub(super) by: String,
    pub(super) summary: String,
    pub(super) bytes: Vec<u8>,
}

/// Returns the number of a note's current version.
pub(super) fn current(cx: &ReadCx<'_>, note: &Note) -> Result<u64, Failure> {
    let is_of_tool = |version: &Version| version.entry.is_some();
    let last_of_tool = Until { enough: &is_of_tool, ..Until::BEGINNING };
    let history = cx.history(&note.path, last_of_tool)?;
    let by_tool = history.versions.first().filter(|version| is_of_tool(version));
    let left = match by_tool.map(|version| &version.content) {
        Some(content) if *content != history.now => {
            let bytes = content.as_ref().map(|content| cx.past_content(&note.path, content)).transpose()?;
            let said = bytes.and_then(|bytes| Note::parse(&note.path, &bytes).metadata.version);
            Some(said.unwrap_or(1))
        }
        _ => None,
    };
    Ok(note.metadata.current_version(left))
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

/// Returns the versions of the document at `path`, oldest first. A person's edits between two changes of tools are one version, and
/// so are commits that left the number as it was, such as those of links: the last of them has the bytes.
pub(super) fn all(library: &Library, cx: &ReadCx<'_>, path: &str) -> Result<Vec<NoteVersion>, Failure> {
    let history = cx.history(path, Until::BEGINNING)?;
    let mut versions: BTreeMap<u64, NoteVersion> = BTreeMap::new();
    let mut contents = HashSet::new();
    // The number set by the last change of a tool.
    let mut left: Option<u64> = None;
    for version in &history.versions {
        let Some(content) = &version.content else {
            continue;
        };
        let is_new = contents.insert(&**content);
        let bytes = cx.past_content(path, content)?;
        let metadata = Note::parse(path, &bytes).metadata;
        let (number, summary) = match &version.entry {
            Some(entry) => {
                left = Some(metadata.current_version(None));
                (metadata.current_version(None), summary(entry))
            }
            None => {
                // A look at the log takes a walk through later commits, so edits by hand are spared it.
                let undone = if is_new { None } else { summary_of_log(library, version) };
                (metadata.current_version(left), undone.unwrap_or_else(|| BY_HAND.to_owned()))
            }
        };
        let commit = Some(version.commit.to_string());
        match versions.entry(number) {
            // A version's author is the author of the commit that first had the number.
            Occupied(mut known) => {
                let known = known.get_mut();
                (known.commit, known.bytes) = (commit, bytes);
            }
            Vacant(new) => {
                new.insert(NoteVersion {
                    number,
                    commit,
                    at: version.time,
                    by: version.author.clone(),
                    summary,
                    bytes,
                });
            }
        }
    }
    let committed = history.versions.last().and_then(|version| version.content.clone());
    if let Some(document) = history.document.filter(|_| committed != history.now) {
        let number = Note::parse(path, &document.bytes).metadata.current_version(left);
        let version = NoteVersion {
            number,
            commit: None,
            at: Utc::now().fixed_offset(),
            by: String::new(),
            summary: format!("{BY_HAND}, not committed yet"),
            bytes: document.bytes,
        };
        versions.insert(number, version);
    }
    Ok(versions.into_values().collect())
}
