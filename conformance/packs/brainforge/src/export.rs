//! Exports: whole, in each format, filtered, for a time.

use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    exported::{archive, ensure_said},
    shelf::{By, Shelf, content, made, word},
    tool::Tool,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const WHOLE: Check = Check {
    id: "export/whole",
    guarantees: &["export-is-whole"],
    states: "An export has each note as it is, and each link between exported notes; the answer tells the truth about the file.",
    explains: "Exports a library with links as one JSON document, with and without content and links. Ids, versions, contents, tags and links must \
               be those of the library, each once, and size and counts those of the file. An empty library is an empty export.",
    cases: |_| {
        let all = [(true, true), (true, false), (false, true), (false, false)];
        let case = |(content, links): (bool, bool)| {
            let with = |is: bool| if is { "with" } else { "without" };
            Case::new(format!("{} content, {} links", with(content), with(links)), (content, links))
        };
        Ok(all.into_iter().map(case).collect())
    },
    ..Check::must(|bench, case| {
        let (content, links) = case.read()?;
        whole(bench, content, links)
    })
};

pub(super) const ARCHIVES: Check = Check {
    id: "export/archives",
    guarantees: &["export-is-whole"],
    states: "An archive of Markdown files has the library's files byte for byte; a vault has a file for each title, to which its links lead.",
    explains: "Exports a library with links in both formats, and opens the archives. No file may lead out of the archive.",
    cases: |_| Ok(["markdown", "obsidian"].map(|format| Case::new(format, format)).into()),
    ..Check::must(|bench, case| archives(bench, &case.read::<String>()?))
};

pub(super) const FILTERS: Check = Check {
    id: "export/filters",
    guarantees: &["export-is-whole"],
    states: "An export has the notes that pass all filters, and links with both ends among them; a note that does not exist is refused.",
    explains: "Exports by ids, tags and types, alone and together, and by ids of which one is unknown. A server that leaves out what it does not \
               know answers with an export that lacks a note, and says nothing.",
    ..Check::must(|bench, _| filters(bench))
};

pub(super) const EXPIRES: Check = Check {
    id: "export/expires",
    guarantees: &["export-is-whole"],
    states: "An export can be fetched with its URL for a day, and the answer says until when; over HTTP, no other URL leads to it.",
    explains: "Exports, reads until when the file can be fetched, and fetches it. Over HTTP, it then changes each part of the URL: the id, the \
               time until which it holds, the signature.",
    ..Check::must(|bench, _| expires(bench))
};

/// Notes of a library, and a link from the first to the second.
struct Library {
    ids: [String; 3],
}

/// Type and tags of each note.
const NOTES: [(&str, &[&str]); 3] =
    [("permanent", &["sea", "land"]), ("literature", &["sea"]), ("permanent", &["land"])];

fn library(shelf: &mut Shelf<'_, '_>) -> Result<Library, Stop> {
    let mut ids = Vec::new();
    for (number, (note_type, tags)) in NOTES.iter().enumerate() {
        let arguments = json!({
            "content": content(&word(number)),
            "note_type": note_type,
            "metadata": { "title": format!("Note {}", word(number)), "tags": tags },
        });
        let written = shelf.write(By::Person, Tool::Create, &arguments)?;
        ids.push(made(written.map_err(|why| why.of_valid(&arguments))?)?.id);
    }
    let link = json!({ "source_note_id": ids[0], "target_note_id": ids[1], "relation_type": "supports" });
    shelf.must(By::Person, Tool::Link, &link)?;
    let ids = ids.try_into();
    ids.map(|ids| Library { ids }).map_err(|_| Stop::Harness("the library has other notes".into()))
}

/// Reads an export that is one JSON document.
fn document(bytes: &[u8]) -> Result<Value, Stop> {
    serde_json::from_slice(bytes).map_err(|error| fail(format!("the export is not JSON: {error}")))
}

fn whole(bench: &Bench<'_>, with_content: bool, with_links: bool) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let asked = json!({ "format": "json", "include_content": with_content, "include_links": with_links });
    let (answer, bytes) = shelf.export(By::Agent, &asked)?;
    ensure_said(&answer, &bytes, 0, Some(0))?;
    let library = library(&mut shelf)?;
    let updated = shelf.update(By::Person, &library.ids[2], 1, &word(9))?;
    let (answer, bytes) = shelf.export(By::Agent, &asked)?;
    ensure_said(&answer, &bytes, NOTES.len(), with_links.then_some(1))?;
    let document = document(&bytes)?;
    let notes = document["notes"].as_array().cloned().unwrap_or_default();
    for (number, id) in library.ids.iter().enumerate() {
        let of_id: Vec<_> = notes.iter().filter(|note| note["id"] == id.as_str()).collect();
        let [note] = of_id[..] else {
            return Err(fail(format!("note {id} is in the export {} times", of_id.len())));
        };
        let (version, word) = if number == 2 { (updated.version, word(9)) } else { (1, word(number)) };
        let said = note["content"].as_str().map(str::trim);
        let right = with_content.then(|| content(&word));
        let is_right = said == right.as_deref().map(str::trim)
            && note["version"] == version
            && note["type"] == NOTES[number].0
            && note["tags"] == json!(NOTES[number].1);
        ensure(is_right, || format!("version {version} of note {id} is exported as {note}"))?;
    }
    let links = document["links"].as_array();
    let is_right = match links {
        None => !with_links,
        Some(links) => {
            let ends = |link: &Value| {
                link["source"] == *library.ids[0]
                    && link["target"] == *library.ids[1]
                    && link["relation"] == "supports"
            };
            with_links && links.len() == 1 && links.iter().all(ends)
        }
    };
    ensure(is_right && notes.len() == NOTES.len(), || {
        format!("the export should have one link and three notes: {document}")
    })
}

fn archives(bench: &Bench<'_>, format: &str) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    library(&mut shelf)?;
    let (answer, bytes) = shelf.export(By::Agent, &json!({ "format": format }))?;
    ensure_said(&answer, &bytes, NOTES.len(), Some(1))?;
    let files = archive(&bytes)?;
    let notes: Vec<_> = files.iter().filter(|(name, _)| name.ends_with(".md")).collect();
    ensure(notes.len() == NOTES.len(), || format!("the archive has these files: {:?}", files.keys()))?;
    for number in 0..NOTES.len() {
        let word = word(number);
        if format == "obsidian" {
            let text = files.get(&format!("Note {word}.md"));
            let text =
                text.ok_or_else(|| fail(format!("no file has the title of `{word}`: {:?}", files.keys())))?;
            ensure(text.contains(content(&word).trim()), || format!("the file of `{word}` is {text:?}"))?;
            let leads = text.contains(&format!("[[Note {}]]", super::shelf::word(1)));
            ensure(leads == (number == 0), || {
                format!("the links of `{word}` are not those of the library: {text:?}")
            })?;
        } else {
            let path = shelf.file_with(&word)?;
            let there = shelf.scene.read(&path).unwrap_or_default();
            let same = notes.iter().filter(|(_, text)| text.as_bytes() == there).count();
            ensure(same == 1, || format!("{same} files of the archive are `{path}`, byte for byte"))?;
        }
    }
    if format == "markdown" {
        let links: Value =
            files.get("links.json").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        ensure(links.as_array().is_some_and(|links| links.len() == 1), || {
            format!("`links.json` should have one link: {links}")
        })?;
    }
    Ok(())
}

fn filters(bench: &Bench<'_>) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let library = library(&mut shelf)?;
    let [first, second, third] = &library.ids;
    let absent = "00000000-0000-4000-8000-000000000000";
    let cases: [(Value, &[&String], usize); 6] = [
        (json!({ "note_ids": [first, second] }), &[first, second], 1),
        (json!({ "note_ids": [third, second] }), &[second, third], 0),
        (json!({ "tags": ["sea"] }), &[first, second], 1),
        (json!({ "tags": ["sea", "land"] }), &[first], 0),
        (json!({ "note_type": "permanent", "tags": ["land"] }), &[first, third], 0),
        (json!({ "note_ids": [second], "note_type": "permanent" }), &[], 0),
    ];
    for (given, expected, links) in cases {
        let (answer, bytes) = shelf.export(By::Agent, &json!({ "filters": given }))?;
        ensure_said(&answer, &bytes, expected.len(), Some(links))?;
        let document = document(&bytes)?;
        let mut ids: Vec<_> = document["notes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|note| note["id"].as_str())
            .collect();
        let mut expected: Vec<_> = expected.iter().map(|id| id.as_str()).collect();
        ids.sort_unstable();
        expected.sort_unstable();
        ensure(ids == expected, || format!("{expected:?} pass `{given}`, but {ids:?} are exported"))?;
    }
    let asked = json!({ "filters": { "note_ids": [first, absent] } });
    shelf.must_not(By::Agent, Tool::Export, &asked, "although one of the notes does not exist")?;
    Ok(())
}

fn expires(bench: &Bench<'_>) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    library(&mut shelf)?;
    let (answer, bytes) = shelf.export(By::Agent, &json!({}))?;
    let said = answer["expires_at"].as_str().unwrap_or_default();
    let until = DateTime::parse_from_rfc3339(said);
    let until =
        until.map_err(|error| fail(format!("the answer does not say until when ({error}): {answer}")))?;
    let left = until.to_utc() - DateTime::<Utc>::from(SystemTime::now());
    ensure((TimeDelta::minutes(24 * 60 - 5)..=TimeDelta::minutes(24 * 60 + 1)).contains(&left), || {
        format!("an export should last a day, but lasts {} s", left.num_seconds())
    })?;
    let url = answer["download_url"].as_str().unwrap_or_default();
    ensure(shelf.fetch(url)? == bytes, || "the file changes".to_owned())?;
    if !url.contains('?') {
        return Ok(());
    }
    let start = url.rfind('/').unwrap_or(url.len());
    let changeable = url[start..].char_indices().filter(|(_, it)| it.is_ascii_alphanumeric());
    let others = changeable.map(|(at, it)| {
        let (before, after) = (&url[..start + at], &url[start + at + 1..]);
        format!("{before}{}{after}", if it == '1' { '2' } else { '1' })
    });
    for other in others {
        if shelf.fetch(&other).is_ok() {
            return Err(fail(format!("`{other}` leads to the export of `{url}`")));
        }
    }
    Ok(())
}
