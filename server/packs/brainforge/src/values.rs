//! Values of requests and answers, and refusals common to all tools.

use chrono::{DateTime, FixedOffset, Utc};
use serde_json::Value;
use tabellion_contracts::brainforge::ToolError;
use tabellion_notes::NoteError;
use tabellion_runtime::{Failure, FailureKind, KnownCaller, ReadCx, text::is_blank};
use uuid::Uuid;

/// `_meta` key of an answer with a note: the problems in its file.
pub(super) const PROBLEMS: &str = "tabellion/problems";

/// Folder of the documents of workflow instances.
pub(super) const FOLDER: &str = "workflows";

/// The role that may read sensitive notes.
pub(super) const OWNER: &str = "owner";

/// Returns whether the caller is an owner of the library.
pub(super) fn is_owner(cx: &ReadCx<'_>) -> bool {
    caller(cx).is_ok_and(|caller| caller.roles.contains(&OWNER))
}

/// Checks that the caller may read a text, which is for owners if it is sensitive.
pub(super) fn check_sensitive(cx: &ReadCx<'_>, is_sensitive: bool) -> Result<(), ToolError> {
    if is_sensitive && !is_owner(cx) {
        let message =
            "the note is sensitive (`sensitive: true`), and its text is for owners: ask one of them";
        let failure = Failure::new(FailureKind::Unauthenticated, message);
        return Err(failure.with("reason", "role").with("needs", vec![OWNER]).into());
    }
    Ok(())
}

/// Returns the name of an enum value on the wire.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

pub(super) fn moment(time: DateTime<Utc>) -> DateTime<FixedOffset> {
    time.fixed_offset()
}

pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn number(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

/// Returns the refusal of a request, with its reason for programs.
pub(super) fn invalid(reason: &str, message: impl Into<String>) -> ToolError {
    ToolError::mcp_invalid_input(message).with("reason", reason)
}

/// Returns true if a text names a tag, and can be seen.
pub(super) fn is_tag(tag: &str) -> bool {
    tabellion_notes::is_tag(tag) && !is_blank(tag.trim_matches(['#', '/']))
}

/// Checks the tags that a filter names. `argument` is its name in the request.
pub(super) fn check_tags(argument: &str, tags: &[String]) -> Result<(), ToolError> {
    match tags.iter().find(|tag| !is_tag(tag)) {
        None => Ok(()),
        Some(tag) => {
            let message = format!(
                "`{argument}` takes names of tags, and `{tag}` is none: name a tag, or leave `{argument}` out"
            );
            Err(invalid("filter", message).with("key", argument))
        }
    }
}

pub(super) fn unchangeable(error: NoteError) -> ToolError {
    invalid("front_matter", error.to_string())
}

pub(super) fn not_found(id: Uuid) -> ToolError {
    let message = format!("there is no note {id}; `semantic_search` finds notes and their ids");
    invalid("not_found", message).with("note_id", id.to_string())
}

pub(super) fn parse_id(text: &str) -> Result<Uuid, ToolError> {
    Uuid::try_parse(text).map_err(|_| invalid("not_found", format!("`{text}` is no id of a note")))
}

/// Returns the caller; the runtime has checked that there is one.
pub(super) fn caller<'c>(cx: &'c ReadCx<'_>) -> Result<&'c KnownCaller, ToolError> {
    let caller = cx.call().caller.as_deref();
    let unknown =
        || Failure::new(FailureKind::Unauthenticated, "the caller is unknown").with("reason", "missing");
    Ok(caller.ok_or_else(unknown)?)
}
