//! `tabellion log` and `tabellion show`.

use std::{borrow::Cow, path::Path};

use anstyle::Style;
use chrono::{DateTime, Local, SecondsFormat, TimeZone};
use serde_json::{Value, json};
use tabellion_library::{DocumentChange, LogEntry};
use tabellion_markdown::diff;
use tabellion_upkeep::{
    TerminalError,
    console::counted,
    page::{self, FAINT, NAME, Output, Page, STRONG, TITLE},
};

use super::{open, selection::Selection};

/// Number of digits of a commit id to show.
const SHORT: usize = 10;

/// Shows the newest entries, at most `limit`, of all documents or of those at or below `path`.
///
/// # Errors
/// If the library can't be opened or read, it does not know `path`, or standard output can't be written.
pub fn log(
    folder: &Path,
    path: Option<&str>,
    limit: Option<usize>,
    output: Output,
) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let limit = limit.unwrap_or(usize::MAX);
    let selection = Selection::find(&library, folder, path)?;
    let fetched = if selection.is_whole() { limit } else { usize::MAX };
    let entries = library.activity(fetched)?;
    let is_selected = |entry: &&LogEntry| entry.paths.iter().any(|path| selection.has(path));
    let entries: Vec<_> = entries.iter().rev().filter(is_selected).take(limit).collect();
    if output.json {
        return entries.into_iter().try_for_each(|entry| Ok(page::json(&as_json(entry))?));
    }
    let mut page = Page::new(output);
    for entry in entries {
        add_line(&mut page, entry);
    }
    if page.is_empty() {
        page.put(FAINT, "no entries: no tool has changed anything here yet").line("");
    }
    Ok(page.show()?)
}

/// Shows an entry and its change.
///
/// # Errors
/// If no or several entries match `id`, the library can't be opened or read, or standard output can't be written.
pub fn show(folder: &Path, id: &str, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let entry = library.find_entry(id)?;
    let change = library.change_of(&entry)?;
    if output.json {
        let mut shown = as_json(&entry);
        shown["changes"] = change.documents.iter().map(change_as_json).collect();
        return Ok(page::json(&shown)?);
    }
    let mut page = Page::new(output);
    page.put(TITLE, &format!("entry {}", entry.commit)).line("");
    add_field(&mut page, "time", &local(&entry.time));
    add_field(&mut page, "tool", &entry.tool);
    if let Some(client) = &entry.client {
        add_field(&mut page, "client", client);
    }
    for path in &entry.paths {
        add_field(&mut page, "path", path);
    }
    add_field(&mut page, "summary", &entry.summary);
    if change.outside > 0 {
        let others = counted(change.outside, "more document");
        add_field(&mut page, "outside", &format!("{others} outside of this folder"));
    }
    page.line("");
    for document in &change.documents {
        page.diff(difference(document));
    }
    Ok(page.show()?)
}

fn add_line(page: &mut Page, entry: &LogEntry) {
    page.put(TITLE, short(&entry.commit)).put(Style::new(), "  ");
    page.put(FAINT, &local(&entry.time)).put(Style::new(), "  ");
    page.put(NAME, &entry.paths[0]);
    if entry.paths.len() > 1 {
        page.put(NAME, &format!(" and {} more", entry.paths.len() - 1));
    }
    page.line("").put(Style::new(), &format!("            {}", entry.summary));
    if let Some(client) = &entry.client {
        page.put(FAINT, &format!("  ({client})"));
    }
    page.line("");
}

fn add_field(page: &mut Page, name: &str, value: &str) {
    page.put(STRONG, &format!("{name:<9}")).line(value);
}

/// Returns the beginning of a commit id, for people.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

/// Returns the time on this machine, for people.
pub(super) fn local<Z: TimeZone>(time: &DateTime<Z>) -> String {
    time.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns the diff of a document.
pub(super) fn difference(document: &DocumentChange) -> Vec<u8> {
    diff::unified_bytes(&document.path, document.before.as_deref(), document.after.as_deref())
}

/// Returns the JSON form of an entry.
pub(super) fn as_json(entry: &LogEntry) -> Value {
    json!({
        "commit": entry.commit,
        "time": entry.time.to_rfc3339_opts(SecondsFormat::Millis, true),
        "operation": entry.operation,
        "tool": entry.tool,
        "client": entry.client,
        "paths": entry.paths,
        "summary": entry.summary,
    })
}

/// Returns the JSON form of a document's change.
pub(super) fn change_as_json(document: &DocumentChange) -> Value {
    let diff = difference(document);
    let text = String::from_utf8_lossy(&diff);
    json!({
        "path": document.path,
        "created": document.before.is_none() && document.after.is_some(),
        "deleted": document.before.is_some() && document.after.is_none(),
        "lossy": matches!(text, Cow::Owned(_)),
        "diff": text,
    })
}
