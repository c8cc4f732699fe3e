//! Numbers of versions: front matter's, and one more for what a person has edited since.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset};
use tabellion_notes::Note;
use tabellion_runtime::{DocumentHistory, Failure, ReadCx};

/// A version of a note.
pub(super) struct NoteVersion {
    pub(super) number: u64,
    /// The commit that has it; `None` if it is not committed yet.
    pub(super) commit: Option<String>,
    pub(super) at: DateTime<FixedOffset>,
    pub(super) by: String,
    pub(super) summary: String,
    pub(super) bytes: Vec<u8>,
}

/// Returns the number of the version that a note has now.
pub(super) fn current(cx: &ReadCx<'_>, note: &Note) -> Result<u64, Failure> {
    let history = cx.history(&note.path, &|_| false)?;
    Ok(note.metadata.current_version(is_edited(&history)))
}

/// Returns whether a person has edited the document since a tool last changed it.
fn is_edited(history: &DocumentHistory) -> bool {
    let by_tool = history
        .versions
        .iter()
        .rev()
        .find(|version| version.entry.is_some());
    by_tool.is_some_and(|version| version.content != history.now)
}

/// Returns the versions of the document at `path`, oldest first. What a person did between two changes of tools is one version, and
/// so are commits that left the number as it was, such as those of links: the last of them counts.
pub(super) fn all(cx: &ReadCx<'_>, path: &str) -> Result<Vec<NoteVersion>, Failure> {
    let history = cx.history(path, &|_| false)?;
    let mut versions: BTreeMap<u64, NoteVersion> = BTreeMap::new();
    // The number that the last change of a tool left.
    let mut last: Option<u64> = None;
    for version in &history.versions {
        let Some(content) = &version.content else {
            continue;
        };
        let bytes = cx.past_content(path, content)?;
        let said = Note::parse(path, &bytes).metadata.version;
        let (number, summary) = match &version.entry {
            Some(entry) => {
                let number = said.or(last).unwrap_or(1);
                last = Some(number);
                (number, entry.operation.clone())
            }
            None => {
                let before = said.unwrap_or(1);
                (
                    last.map_or(before, |last| before.max(last) + 1),
                    "edited by hand".to_owned(),
                )
            }
        };
        versions.insert(
            number,
            NoteVersion {
                number,
                commit: Some(version.commit.to_string()),
                at: version.time,
                by: version.author.clone(),
                summary,
                bytes,
            },
        );
    }
    if let Some(document) = history.document {
        let committed = history
            .versions
            .last()
            .and_then(|version| version.content.clone());
        if committed != history.now {
            let said = Note::parse(path, &document.bytes).metadata.version.unwrap_or(1);
            let number = last.map_or(said, |last| said.max(last) + 1);
            versions.insert(
                number,
                NoteVersion {
                    number,
                    commit: None,
                    at: chrono::Utc::now().fixed_offset(),
                    by: String::new(),
                    summary: "edited by hand, not committed yet".to_owned(),
                    bytes: document.bytes,
                },
            );
        }
    }
    Ok(versions.into_values().collect())
}
