//! The document of the note that a call names, and its text with another content.

use chrono::SecondsFormat;
use serde_json::{Map, Value, json};
use tabellion_contracts::brainforge::ToolError;
use tabellion_notes::{Entry, Metadata, Note};
use tabellion_runtime::{Failure, ReadCx};
use uuid::Uuid;

use super::{
    moments,
    shelf::Shelf,
    values::{invalid, not_found, unchangeable},
};

/// The document of the note that a call names.
pub(super) struct NamedNote {
    /// Its entry in the catalogue; `None` if the note of a repeated call is gone.
    pub(super) entry: Option<Entry>,
    pub(super) path: String,
    pub(super) text: String,
    pub(super) note: Note,
}

impl NamedNote {
    /// Returns the document of a note, which the catalogue has followed in this call.
    pub(super) fn read(shelf: &Shelf, cx: &ReadCx<'_>, id: Uuid) -> Result<Self, ToolError> {
        let path = path(shelf, cx, id)?.ok_or_else(|| not_found(id))?;
        let document = cx.read(&path)?.ok_or_else(|| not_found(id))?;
        let note = Note::parse(&path, &document.bytes);
        let text = String::from_utf8(document.bytes).map_err(|_| {
            let message = format!("`{path}` is not UTF-8, so that it can't be changed: convert it first");
            invalid("not_utf8", message)
        })?;
        Ok(Self { entry: shelf.cached_note(id)?, path, text, note })
    }

    /// Returns the members that a tool's first change adds, with which the note stays the same one, of the same time. Values of a person's
    /// own stay.
    pub(super) fn identity(&self) -> Vec<(&'static str, Option<Value>)> {
        let Some(entry) = &self.entry else { return vec![] };
        let Metadata { id, created_at, others, .. } = &self.note.metadata;
        let created = entry.created_at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let said = [
            ("id", *id != Some(entry.id), json!(entry.id.to_string())),
            ("created_at", created_at.is_none(), json!(created)),
        ];
        let missing =
            said.into_iter().filter(|(key, is_missing, _)| *is_missing && !others.contains_key(*key));
        missing.map(|(key, _, value)| (key, Some(value))).collect()
    }
}

/// Returns the path of a note's file in the call's state; `None` if there is no such note. The catalogue has followed it in this call.
pub(super) fn path(shelf: &Shelf, cx: &ReadCx<'_>, id: Uuid) -> Result<Option<String>, Failure> {
    match moments::note_path(cx) {
        Some(path) => Ok(Some(path.to_owned())),
        None => Ok(shelf.cached_note(id)?.map(|entry| entry.path)),
    }
}

/// Returns the path and text of a note with other content and members. Its front matter contains its id from now on.
pub(super) fn changed(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    id: Uuid,
    content: &str,
    members: &Map<String, Value>,
) -> Result<(String, String), ToolError> {
    let named = NamedNote::read(shelf, cx, id)?;
    let text = tabellion_notes::replace_body(&named.text, content).map_err(unchangeable)?;
    let members = members.iter().map(|(key, value)| {
        let value = Some(value.clone()).filter(|value| !value.is_null());
        (key.as_str(), value)
    });
    let all: Vec<_> = named.identity().into_iter().chain(members).collect();
    let text = tabellion_notes::set(&text, &all).map_err(unchangeable)?;
    Ok((named.path, text))
}
