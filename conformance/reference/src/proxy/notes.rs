//! Defects of a library of notes with review: of its server, and of the commands by which a person decides.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
    process::Command,
};

use serde_json::{Value, json};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::{
    disk::{git, walk},
    message::{Call, Reply},
    record::Record,
    server::{Proxy, folder},
};
use crate::mutant::{self, Mutant};

/// Tools that write.
const WRITING: [&str; 3] = ["create_note", "update_note", "create_link"];
/// Largest number of a part; no proposal of the suite has more.
const MAX_PART: usize = 3;

/// Answers a call about notes as the mutant does.
pub(super) fn answer(mutant: Mutant, call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let (note, query) = (call.text("note_id").to_owned(), call.text("query").to_owned());
    let waited = proxy.record.find("waiting", |it| it["note_id"] == note.as_str());
    let reply = match mutant {
        Mutant::ShowsWhatWaits if call.tool == "semantic_search" => {
            let waiting = proxy.record.all("waiting");
            let is_hit = |it: &&Value| it["content"].as_str().is_some_and(|text| text.contains(&query));
            let hits = waiting.iter().filter(is_hit).map(|it| {
                let metadata = json!({ "title": "A note", "note_type": "permanent", "tags": [], "created_at": "2026-01-01T00:00:00Z" });
                json!({ "note_id": it["note_id"], "similarity_score": 0.5, "metadata": metadata, "excerpt": it["content"] })
            });
            let hits: Vec<_> = hits.collect();
            proxy.forward(&call)?.edit("results", |list| list.extend(hits))
        }
        Mutant::LinksWhatWaits | Mutant::LinksAnything if call.tool == "create_link" => {
            let reply = proxy.forward(&call)?;
            let target = call.text("target_note_id");
            let waits = proxy.record.find("waiting", |it| it["note_id"] == target).is_some();
            if reply.reason() != "not_found" || (!waits && mutant == Mutant::LinksWhatWaits) {
                return Ok(reply);
            }
            let mut link = Value::from(call.arguments);
            link["link_id"] = "00000000-0000-4000-8000-000000000001".into();
            link["created_at"] = "2026-01-01T00:00:00Z".into();
            proxy.respond(link)
        }
        Mutant::LinksTwice if call.tool == "create_link" => {
            let reply = proxy.forward(&call)?;
            proxy.added += 1;
            let id = format!("00000000-0000-4000-8000-{:012}", proxy.added);
            reply.set("link_id", id)
        }
        Mutant::RevisesAtOnce if waited.as_ref().is_some_and(|it| it["is_change"] == true) => {
            let reply = proxy.forward(&call)?;
            let instance = waited.as_ref().and_then(|it| it["instance"].as_str()).unwrap_or_default();
            for decision in ["show", "approve"] {
                proxy.review(&[decision, instance])?;
            }
            let mut reply = reply.set("status", "updated");
            reply.0["result"]["_meta"] = json!({});
            reply
        }
        Mutant::DropsOtherParts if proxy.record.all("dropped").contains(&note.as_str().into()) => {
            proxy.refuse("the review is over")
        }
        Mutant::IgnoresVersions | Mutant::HandEditsDoNotCount | Mutant::LocksTooLate
            if call.tool == "update_note" =>
        {
            update_anyway(mutant, call, proxy)?
        }
        Mutant::SkipsNumbers if call.tool == "update_note" => {
            let content = format!("{}\n", call.text("content"));
            let first = proxy.forward(&call.clone().with("content", content))?;
            let version = first.0["result"]["structuredContent"]["new_version"].clone();
            if version.is_null() {
                return Ok(first);
            }
            proxy.forward(&call.with("version", version))?
        }
        Mutant::ReadsAtStart if call.tool == "semantic_search" => {
            let texts = match proxy.record.here("texts") {
                Some(texts) => texts.clone(),
                None => texts(&proxy.folder)?.into(),
            };
            proxy.record.set_here("texts", texts.clone());
            let was_there = texts.as_str().is_some_and(|texts| texts.contains(&query));
            proxy.forward(&call)?.retain("results", |_| was_there)
        }
        Mutant::CutsThenFilters if call.tool == "semantic_search" => proxy.after_cut(&call, &["filters"])?,
        Mutant::ScoresAboveOne => proxy.forward(&call)?.each("results", |hit| {
            hit["similarity_score"] = (hit["similarity_score"].as_f64().unwrap_or_default() * 2.0).into();
        }),
        Mutant::ExcerptsAreNotes => {
            let mut reply = proxy.forward(&call)?;
            for at in 0..reply.list("results").len() {
                let Some(id) = reply.list("results")[at]["note_id"].as_str() else {
                    continue;
                };
                let content = proxy.note(id)?["content"].clone();
                reply = reply.edit("results", |list| {
                    if !list[at]["excerpt"].is_null() {
                        list[at]["excerpt"] = content;
                    }
                });
            }
            reply
        }
        Mutant::AlwaysExcerpts => proxy.forward(&call.without(&["include_excerpts"]))?,
        Mutant::QuestionsAreSyntax if query.matches('"').count() % 2 == 1 => {
            proxy.refuse("fts5: unterminated string")
        }
        Mutant::ExportsNoLinks if call.tool == "export_library" => {
            proxy.forward(&call.with("include_links", false))?
        }
        Mutant::SaysOtherSize if call.tool == "export_library" => {
            proxy.forward(&call)?.set("file_size_bytes", 1)
        }
        Mutant::StripsFiles if call.tool == "export_library" => {
            let reply = proxy.forward(&call)?;
            let url = reply.0["result"]["structuredContent"]["download_url"].as_str().unwrap_or_default();
            match url.strip_prefix("file://") {
                Some(path) if path.ends_with(".zip") => strip(Path::new(path))?,
                _ => {}
            }
            reply
        }
        Mutant::LeavesOutUnknown if call.tool == "export_library" => {
            let (mut call, mut reply) = (call.clone(), proxy.forward(&call)?);
            while reply.reason() == "not_found" {
                let unknown = reply.details()["note_id"].clone();
                let ids = call.arguments.get_mut("filters").and_then(|it| it["note_ids"].as_array_mut());
                let Some(ids) = ids.filter(|ids| ids.contains(&unknown)) else {
                    break;
                };
                ids.retain(|id| *id != unknown);
                reply = proxy.forward(&call)?;
            }
            reply
        }
        Mutant::LastsAYear if call.tool == "export_library" => {
            let reply = proxy.forward(&call)?;
            let until = reply.0["result"]["structuredContent"]["expires_at"].as_str().unwrap_or_default();
            let (year, rest) = until.split_once('-').unwrap_or_default();
            let year = year.parse().unwrap_or(0) + 1;
            let later = format!("{year}-{rest}");
            reply.set("expires_at", later)
        }
        Mutant::CommitsOthersWork if WRITING.contains(&&*call.tool) => {
            let reply = proxy.forward(&call)?;
            git(&proxy.folder, &["add", "--all"])?;
            git(&proxy.folder, &["commit", "--quiet", "--amend", "--no-edit"])?;
            reply
        }
        _ => proxy.forward(&call)?,
    };
    proxy.remember(&reply)?;
    Ok(reply)
}

/// Runs a command by which a person is shown a proposal or decides on it, as the mutant does.
pub fn decide(command: &[String]) -> io::Result<()> {
    let [_, _, decision, instance, ..] = command else {
        return Err(io::Error::other("name a decision and a proposal"));
    };
    let folder = folder(command, "--library");
    let record = Record::open(&folder)?;
    let instance_of = |it: &Value| it["instance"] == instance.as_str();
    let approves = decision == "approve";
    let (mut command, mut parts) = (command.to_vec(), Vec::new());
    while let Some(at) = command.iter().position(|word| word == "--part") {
        parts.extend(command.drain(at..(at + 2).min(command.len())).nth(1));
    }
    let is_whole = parts.is_empty();
    match mutant::current() {
        Some(Mutant::DecidesUnseen) if decision != "show" => run(&shown(&command), &[])?,
        Some(Mutant::RejectsUnseen) if decision == "reject" || decision == "revise" => {
            run(&shown(&command), &[])?
        }
        Some(Mutant::IgnoresParts) => parts.clear(),
        Some(Mutant::CountsPartsFromZero) => {
            for part in &mut parts {
                *part = (part.parse().unwrap_or(0) + 1).to_string();
            }
        }
        Some(Mutant::PassesOverUnknownParts) if !is_whole => {
            parts.sort();
            parts.dedup();
            parts.retain(|part| (1..=MAX_PART).contains(&part.parse().unwrap_or(0)));
            if parts.is_empty() {
                return Ok(());
            }
        }
        Some(Mutant::ApprovesNothing) if approves => command[2] = "reject".into(),
        Some(Mutant::DecidesTwice) if record.all("decided").contains(&instance.as_str().into()) => {
            return Ok(());
        }
        _ => {}
    }
    let outcome = run(&command, &parts);
    match mutant::current() {
        Some(Mutant::DecidesTwice) if decision != "show" && outcome.is_ok() => {
            record.keep("decided", instance.as_str().into())?;
        }
        Some(Mutant::CommitsPartByPart) if decision != "show" && outcome.is_ok() => {
            git(&folder, &["commit", "--quiet", "--allow-empty", "-m", "what waited"])?;
        }
        Some(Mutant::DropsOtherParts) if !is_whole && outcome.is_ok() => {
            if let Some(it) = record.find("waiting", instance_of) {
                record.keep("dropped", it["note_id"].clone())?;
            }
        }
        Some(Mutant::ApprovesStale) if approves => return Ok(()),
        Some(Mutant::ApprovesItsOwn) => return Ok(()),
        Some(Mutant::ComparesNumbersAlone) if approves => {
            let waiting = record.find("waiting", instance_of);
            if waiting.is_some_and(|it| it["was_edited"] == true) {
                return Ok(());
            }
        }
        _ => {}
    }
    outcome
}

/// Returns the command that shows the proposal of a decision.
fn shown(command: &[String]) -> Vec<String> {
    let library = folder(command, "--library").to_string_lossy().into_owned();
    let [program, review, _, instance, ..] = command else {
        return command.to_vec();
    };
    [&**program, review, "show", instance, "--library", &library].map(String::from).into()
}

/// Runs a command for parts.
fn run(command: &[String], parts: &[String]) -> io::Result<()> {
    let parts = parts.iter().flat_map(|part| ["--part", part]);
    let status = Command::new(&command[0]).args(&command[1..]).args(parts).status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other("the command failed"))
}

impl Proxy {
    /// Remembers a proposal that waits.
    fn remember(&mut self, reply: &Reply) -> io::Result<()> {
        let result = &reply.0["result"];
        let response = &result["structuredContent"];
        if response["status"] != "pending_review" {
            return Ok(());
        }
        let is_change = response["review_workflow_id"].is_null();
        let holder = if is_change { &result["_meta"] } else { response };
        let status = git(&self.folder, &["status", "--porcelain"])?;
        let waiting = json!({
            "instance": holder["review_workflow_id"],
            "note_id": response["note_id"],
            "content": self.request["params"]["arguments"]["content"],
            "is_change": is_change,
            "was_edited": !status.is_empty(),
        });
        self.record.keep("waiting", waiting)
    }

    /// Runs a command of a reviewer.
    fn review(&self, words: &[&str]) -> io::Result<()> {
        let message: &[&str] = if words[0] == "show" { &[] } else { &["-m", "decided"] };
        let mut review = Command::new(&self.program);
        review.arg("review").args(words).args(message).arg("--library").arg(&self.folder);
        review.output()?;
        Ok(())
    }

    /// Returns a note as its resource shows it.
    fn note(&mut self, id: &str) -> io::Result<Value> {
        let answer = self.ask("resources/read", json!({ "uri": format!("note://{id}") }))?;
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or("null");
        Ok(serde_json::from_str(text)?)
    }
}

/// Changes a note although the version that the call names is not its last.
fn update_anyway(mutant: Mutant, mut call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let given = call.arguments.get("version").and_then(Value::as_u64).unwrap_or_default();
    let last = ["last", call.text("note_id")].join(" ");
    let is_ours = |proxy: &Proxy| proxy.record.here(&last).is_none_or(|it| *it == given);
    let mut reply = proxy.forward(&call)?;
    while reply.reason() == "version_conflict" && (mutant != Mutant::HandEditsDoNotCount || is_ours(proxy)) {
        let actual = reply.details()["actual"].clone();
        call = call.with("version", actual);
        reply = proxy.forward(&call)?;
    }
    let new = reply.0["result"]["structuredContent"]["new_version"].clone();
    if !new.is_null() {
        proxy.record.set_here(&last, new);
    }
    Ok(match mutant {
        Mutant::LocksTooLate => reply.set("new_version", given + 1),
        _ => reply,
    })
}

/// Returns the texts of all files of a library.
fn texts(folder: &Path) -> io::Result<String> {
    let mut texts = String::new();
    walk(folder, usize::MAX, &mut |path| {
        texts += &fs::read_to_string(path).unwrap_or_default();
    })?;
    Ok(texts)
}

/// Removes the front matter of all files of an archive.
fn strip(path: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(File::open(path)?)?;
    let mut files = Vec::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        files.push((file.name()?.into_owned(), text));
    }
    let mut zip = ZipWriter::new(File::create(path)?);
    for (name, text) in files {
        let end = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        zip.start_file(name, SimpleFileOptions::default())?;
        zip.write_all(end.map_or(&*text, |(_, body)| body).as_bytes())?;
    }
    zip.finish()?;
    Ok(())
}
