//! Exports: files next to the index, until they expire.

use std::{cell::RefCell, fs::File, io, path::Path};

use chrono::Utc;
use serde_json::{Value, json};
use tabellion_contracts::brainforge::{
    CONTRACT, ExportFormat, ExportLibraryRequest, ExportLibraryResponse, ToolError, tool,
};
use tabellion_notes::{Entry, Export, Exported, Format, Selection};
use tabellion_runtime::{
    ReadCx,
    gates::{self, judge},
    spec::{Fact, GateTime},
};
use url::Url;
use uuid::Uuid;

use super::{
    downloads::Exports,
    shelf::{self, LIFETIME, Shelf},
    values::{check_tags, count, invalid, moment, not_found, parse_id, word},
    versions,
};

pub(super) fn export(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    request: ExportLibraryRequest,
) -> Result<ExportLibraryResponse, ToolError> {
    let selection = selection(shelf, &request)?;
    let (format, extension) = match request.format {
        ExportFormat::Json => (Format::Json, "json"),
        ExportFormat::Markdown => (Format::Markdown, "zip"),
        ExportFormat::Obsidian => (Format::Obsidian, "zip"),
    };
    let (id, now) = (Uuid::new_v4(), Utc::now());
    let file = shelf.exports().create(&format!("{id}.{extension}"));
    let (path, file) =
        file.map_err(|error| shelf::io(format!("can't create the file of the export: {error}")))?;
    let export = Export {
        id,
        created_at: now,
        format,
        selection,
        include_content: request.include_content,
        include_links: request.include_links,
    };
    let written = write(shelf, cx, &export, file);
    let (exported, sensitive) = written.inspect_err(|_| remove(shelf, &path))?;
    let facts = json!({ "notes": exported.notes, "bytes": exported.bytes, "sensitive": sensitive });
    if !may_leave(cx, &facts) {
        // The runtime refuses it.
        remove(shelf, &path);
    }
    cx.fact(Fact::Export, facts);
    let until = now + LIFETIME;
    let url = match &cx.call().origin.url {
        Some(endpoint) => Exports::new(&Shelf::derived(shelf.library())).url(
            endpoint,
            id,
            until,
            cx.call().identity.as_ref(),
        ),
        None => file_url(&path),
    };
    let url = url.map_err(|error| {
        remove(shelf, &path);
        shelf::io(format!("the export can't be given a URL: {error}"))
    })?;
    Ok(ExportLibraryResponse {
        export_id: Some(id.to_string()),
        format: Some(word(&request.format)),
        note_count: Some(count(exported.notes)),
        link_count: Some(count(exported.links)),
        file_size_bytes: Some(i64::try_from(exported.bytes).unwrap_or(i64::MAX)),
        download_url: Some(url),
        expires_at: Some(moment(until)),
    })
}

/// Returns the URL of a file. [`Url`] leaves characters in it that a URI (RFC 3986) does not have.
fn file_url(path: &Path) -> io::Result<String> {
    let url = Url::from_file_path(path).map_err(|()| io::Error::other("its path is no URL"))?;
    let encode = |c: char| if "[]|^".contains(c) { format!("%{:02X}", u32::from(c)) } else { c.into() };
    Ok(url.as_str().chars().map(encode).collect())
}

/// Returns the selection of notes to export. Ids of notes that do not exist are refused.
fn selection(shelf: &Shelf, request: &ExportLibraryRequest) -> Result<Selection, ToolError> {
    let Some(filters) = &request.filters else {
        return Ok(Selection::default());
    };
    let tags = filters.tags.clone().unwrap_or_default();
    check_tags("filters.tags", &tags)?;
    let ids: Option<Vec<Uuid>> = match &filters.note_ids {
        Some(ids) => Some(ids.iter().map(|id| parse_id(id)).collect::<Result<_, _>>()?),
        None => None,
    };
    let known = shelf.read(|notes| {
        let ids = ids.iter().flatten();
        ids.map(|id| Ok((*id, notes.get(*id)?.is_some()))).collect::<Result<Vec<_>, _>>()
    })?;
    let missing: Vec<Uuid> = known.iter().filter(|(_, is_there)| !is_there).map(|(id, _)| *id).collect();
    match missing[..] {
        [] => {}
        [id] => return Err(not_found(id)),
        _ => {
            let ids: Vec<String> = missing.iter().map(Uuid::to_string).collect();
            let message =
                format!("there are no notes {}; `semantic_search` finds notes and their ids", ids.join(", "));
            return Err(invalid("not_found", message).with("note_ids", ids));
        }
    }
    Ok(Selection { ids, note_type: filters.note_type.as_ref().map(word), tags, ..Selection::default() })
}

/// Writes the file; returns a summary of its contents, and the number of its sensitive notes.
fn write(
    shelf: &Shelf,
    cx: &ReadCx<'_>,
    export: &Export,
    file: File,
) -> Result<(Exported, usize), ToolError> {
    let written = shelf.read(|notes| {
        let entries = notes.list(&export.selection, None, usize::MAX)?;
        let sensitive = entries.iter().filter(|entry| entry.metadata.sensitive).count();
        let failure = RefCell::new(None);
        let version = |entry: &Entry| {
            versions::current(shelf, cx, &entry.path).unwrap_or_else(|error| {
                failure.replace(Some(error));
                0
            })
        };
        let exported = tabellion_notes::export(notes, export, &version, file);
        Ok((exported, sensitive, failure.into_inner()))
    })?;
    let (exported, sensitive, failure) = written;
    match failure {
        // An export with made-up version numbers is not valid.
        Some(failure) => Err(failure.into()),
        None => Ok((exported.map_err(|error| shelf::io(error.to_string()))?, sensitive)),
    }
}

/// Returns whether the gates permit the export.
fn may_leave(cx: &ReadCx<'_>, export: &Value) -> bool {
    let Some(spec) = CONTRACT.operation(tool::EXPORT_LIBRARY) else {
        return false;
    };
    let mut facts = gates::facts(spec, cx.call().caller.as_deref(), &json!({}));
    facts.insert(Fact::Export.to_string(), export.clone());
    judge(spec, GateTime::After, &Value::Object(facts)).is_approved()
}

fn remove(shelf: &Shelf, path: &Path) {
    if let Err(error) = shelf.exports().remove(path) {
        tracing::warn!(path = %path.display(), %error, "an export can't be removed");
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_any_file_is_a_uri() {
        for (path, url) in [
            ("/a b/#%?.json", "file:///a%20b/%23%25%3F.json"),
            ("/[x]/a|b^c", "file:///%5Bx%5D/a%7Cb%5Ec"),
            ("/\\`{\"<é>}", "file:///%5C%60%7B%22%3C%C3%A9%3E%7D"),
        ] {
            assert_eq!(file_url(Path::new(path)).unwrap(), url);
        }
    }
}
