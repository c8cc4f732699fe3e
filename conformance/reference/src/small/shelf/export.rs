//! Exports: one JSON document, or an archive of files.

use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Write},
    time::SystemTime,
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use zip::{ZipWriter, result::ZipResult, write::SimpleFileOptions};

use super::{
    Answer, Outcome, Shelf,
    note::{Note, new_id, now},
    wrong,
};
use crate::{
    mutant::{Mutant, is},
    small::failed,
};

impl Shelf {
    pub(super) fn export(&mut self, arguments: &Value) -> Outcome {
        let filters = &arguments["filters"];
        let mut notes = self.seen()?;
        if let Some(ids) = filters["note_ids"].as_array() {
            let unknown = ids
                .iter()
                .find(|id| !notes.iter().any(|note| note.meta["id"] == **id));
            if let Some(unknown) = unknown
                && !is(Mutant::LeavesOutUnknown)
            {
                return Ok(Err(wrong("not_found", format!("there is no note {unknown}"))));
            }
            notes.retain(|note| ids.contains(&note.meta["id"]));
        }
        notes.retain(|note| {
            note.has_tags(&filters["tags"])
                && filters["note_type"]
                    .as_str()
                    .is_none_or(|wanted| wanted == note.said("type"))
        });
        let links = links(&notes);
        let count = links.len();
        let links = (arguments["include_links"] != false && !is(Mutant::ExportsNoLinks)).then_some(links);
        let with_content = arguments["include_content"] != false;
        let format = arguments["format"].as_str().unwrap_or("json");
        let (bytes, extension) = match format {
            "json" => (document(&notes, links.as_deref(), with_content), "json"),
            format => {
                let archive = archive(&notes, links.as_deref(), with_content, format == "obsidian");
                (archive.map_err(|error| failed(error.into()))?, "zip")
            }
        };
        let id = new_id();
        let file = self.library.own(&format!("{id}.{extension}"))?;
        fs::write(&file, &bytes).map_err(failed)?;
        let day = if is(Mutant::LastsAYear) { 365 } else { 1 };
        let until = DateTime::<Utc>::from(SystemTime::now()) + TimeDelta::days(day);
        let size = if is(Mutant::SaysOtherSize) { 1 } else { bytes.len() };
        Ok(Ok(Answer::Response(json!({
            "export_id": id,
            "format": format,
            "note_count": notes.len(),
            "link_count": count,
            "file_size_bytes": size,
            "download_url": format!("file://{}", file.display()),
            "expires_at": until.to_rfc3339_opts(SecondsFormat::Secs, true),
        }))))
    }
}

/// Returns the links with both ends among the notes.
fn links(notes: &[Note]) -> Vec<Value> {
    let is_there = |id: &Value| notes.iter().any(|note| note.meta["id"] == *id);
    let of_note = |note: &Note| {
        let links = note.meta["links"].as_array().cloned().unwrap_or_default();
        let source = note.meta["id"].clone();
        links.into_iter().map(move |link| {
            json!({
                "id": link["id"],
                "source": source,
                "target": link["to"],
                "relation": link["relation"],
                "created_at": link["created_at"],
            })
        })
    };
    let all = notes.iter().flat_map(of_note);
    all.filter(|link| is_there(&link["target"])).collect()
}

fn document(notes: &[Note], links: Option<&[Value]>, with_content: bool) -> Vec<u8> {
    let note = |note: &Note| {
        let mut whole = json!({
            "id": note.meta["id"],
            "title": note.meta["title"],
            "type": note.meta["type"],
            "tags": note.meta["tags"],
            "version": note.version(),
            "created_at": note.meta["created_at"],
        });
        if with_content {
            whole["content"] = note.content.clone().into();
        }
        whole
    };
    let notes: Vec<Value> = notes.iter().map(note).collect();
    let mut document = json!({ "created_at": now(), "notes": notes });
    if let Some(links) = links {
        document["links"] = links.into();
    }
    document.to_string().into_bytes()
}

fn archive(
    notes: &[Note],
    links: Option<&[Value]>,
    with_content: bool,
    is_vault: bool,
) -> ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut put = |name: String, text: String| -> ZipResult<()> {
        zip.start_file(name, SimpleFileOptions::default())?;
        Ok(zip.write_all(text.as_bytes())?)
    };
    let titles: BTreeMap<&str, &str> = notes.iter().map(|note| (note.id(), note.said("title"))).collect();
    for note in notes {
        let content = if with_content { &*note.content } else { "" };
        if !is_vault {
            let bare = Note {
                content: content.to_owned(),
                ..note.clone()
            };
            let text = if is(Mutant::StripsFiles) {
                content.to_owned()
            } else {
                bare.text()
            };
            put(format!("{}.md", note.id()), text)?;
            continue;
        }
        let mut text = content.to_owned();
        for link in links
            .into_iter()
            .flatten()
            .filter(|link| link["source"] == note.id())
        {
            let target = link["target"].as_str().and_then(|id| titles.get(id));
            text += &format!("\n- [[{}]]\n", target.unwrap_or(&""));
        }
        put(format!("{}.md", note.said("title")), text)?;
    }
    if !is_vault {
        put(
            "links.json".to_owned(),
            Value::from(links.unwrap_or_default()).to_string(),
        )?;
    }
    Ok(zip.finish()?.into_inner())
}
