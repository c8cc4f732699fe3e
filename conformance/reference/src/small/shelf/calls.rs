//! Creating, changing and linking notes, and deciding on proposals.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};

use super::{
    Answer, Outcome, Shelf, Wrong,
    files::WAITING,
    note::{Note, digest, new_id, now, title_of},
    parts::taken,
    wrong,
};
use crate::{
    mutant::{Mutant, is},
    small::{Refusal, failed},
};

/// States in which a proposal waits.
const OPEN: [&str; 2] = ["human_review", "needs_revision"];

fn is_open(proposal: &Note) -> bool {
    OPEN.contains(&proposal.said("state"))
}

fn not_found(id: &str) -> Wrong {
    Wrong {
        details: json!({ "note_id": id }),
        ..wrong("not_found", format!("there is no note {id}"))
    }
}

fn conflict(actual: u64, given: &Value) -> Wrong {
    Wrong {
        details: json!({ "expected": given, "actual": actual }),
        ..wrong("version_conflict", format!("the version is {actual}"))
    }
}

impl Shelf {
    pub(super) fn create(&self, arguments: &Value) -> Outcome {
        let content = arguments["content"].as_str().unwrap_or_default();
        let note_type = arguments["note_type"].as_str().unwrap_or("agent_generated");
        let metadata = &arguments["metadata"];
        let waits = self.is_agent || note_type == "agent_generated";
        let (id, instance, time) = (new_id(), new_id(), now());
        let title = metadata["title"].as_str().map(str::to_owned);
        let mut note = Note {
            path: format!("notes/{id}.md"),
            meta: json!({
                "id": id,
                "title": title.unwrap_or_else(|| title_of(content)),
                "type": note_type,
                "tags": metadata["tags"].as_array().cloned().unwrap_or_default(),
                "created_at": time,
                "version": 1,
                "digest": digest(content),
                "links": [],
            }),
            content: content.to_owned(),
        };
        let mut response = json!({ "note_id": id, "version": 1, "status": "created", "created_at": time });
        if waits {
            note.path = format!("{WAITING}/{instance}.md");
            self.wait(&mut note, &instance, Value::Null);
            response["status"] = "pending_review".into();
            response["review_workflow_id"] = instance.into();
        }
        self.write(&[note], "create")?;
        Ok(Ok(Answer::Response(response)))
    }

    /// Makes a note a proposal.
    fn wait(&self, note: &mut Note, instance: &str, base: Value) {
        note.meta["instance"] = instance.into();
        note.meta["author"] = self.author().into();
        note.meta["state"] = OPEN[0].into();
        note.meta["base"] = base;
    }

    /// Returns the version of the note before the lock is taken, for a mutant that uses it afterwards.
    pub(super) fn racing(&self, tool: &str, arguments: &Value) -> Result<Option<u64>, Refusal> {
        if tool != "update_note" || !is(Mutant::LocksTooLate) {
            return Ok(None);
        }
        let note = self.note(arguments["note_id"].as_str().unwrap_or_default())?;
        thread::sleep(Duration::from_millis(30));
        Ok(note.map(|note| note.version()))
    }

    pub(super) fn update(&self, arguments: &Value, racing: Option<u64>) -> Outcome {
        let content = arguments["content"].as_str().unwrap_or_default();
        let id = arguments["note_id"].as_str().unwrap_or_default();
        let (note, proposals) = (self.note(id)?, self.proposals()?);
        let of_note: Vec<_> = proposals.into_iter().filter(|it| it.id() == id).collect();
        let open = of_note.iter().find(|it| is_open(it)).cloned();
        let current = racing.or(note.as_ref().map(Note::version));
        let numbers = of_note.iter().filter_map(|it| it.meta["version"].as_u64());
        let next = numbers.chain(current).max().unwrap_or(0) + 1;
        let is_locked = |version: u64| arguments["version"] == version || is(Mutant::IgnoresVersions);
        let (written, status, meta) = match (open, note) {
            (Some(mut open), note) if open.said("author") == self.author() => {
                let number = open.meta["version"].as_u64().unwrap_or(0);
                if !is_locked(number) {
                    return Ok(Err(conflict(number, &arguments["version"])));
                }
                if is(Mutant::RevisesAtOnce)
                    && let Some(mut note) = note.clone()
                {
                    note.put(content, next);
                    (note, "updated", json!({}))
                } else {
                    let base = note.map_or(Value::Null, |note| note.base());
                    let instance = open.said("instance").to_owned();
                    open.put(content, next);
                    let base = if open.meta["base"].is_null() {
                        Value::Null
                    } else {
                        base
                    };
                    self.wait(&mut open, &instance, base);
                    (open, "pending_review", json!({ "review_workflow_id": instance }))
                }
            }
            (Some(open), note) if self.is_agent || note.is_none() => {
                return Ok(Err(Wrong {
                    details: json!({ "review_workflow_id": open.said("instance") }),
                    ..wrong("pending_review", "a proposal of this note waits")
                }));
            }
            (_, None) => return Ok(Err(not_found(id))),
            (_, Some(mut note)) => {
                let current = current.unwrap_or(1);
                if !is_locked(current) {
                    return Ok(Err(conflict(current, &arguments["version"])));
                }
                if self.is_agent {
                    let (instance, base) = (new_id(), note.base());
                    note.path = format!("{WAITING}/{instance}.md");
                    note.put(content, next);
                    self.wait(&mut note, &instance, base);
                    (note, "pending_review", json!({ "review_workflow_id": instance }))
                } else {
                    let number = current + if is(Mutant::SkipsNumbers) { 2 } else { 1 };
                    note.put(content, number);
                    (note, "updated", json!({}))
                }
            }
        };
        let response = json!({
            "note_id": id,
            "new_version": written.meta["version"],
            "previous_version": arguments["version"],
            "status": status,
            "updated_at": now(),
        });
        self.write(&[written], "update")?;
        Ok(Ok(Answer::Noted { response, meta }))
    }

    pub(super) fn link(&self, arguments: &Value) -> Outcome {
        let text = |key: &str| arguments[key].as_str().unwrap_or_default();
        let (source, target, relation) = (
            text("source_note_id"),
            text("target_note_id"),
            text("relation_type"),
        );
        if source == target {
            return Ok(Err(wrong("self_link", "a note can't be linked with itself")));
        }
        let Some(mut note) = self.note(source)? else {
            return Ok(Err(not_found(source)));
        };
        let waits = || -> Result<bool, Refusal> {
            let mut proposals = self.proposals()?.into_iter();
            Ok(is(Mutant::LinksWhatWaits) && proposals.any(|it| it.id() == target))
        };
        if self.note(target)?.is_none() && !is(Mutant::LinksAnything) && !waits()? {
            return Ok(Err(not_found(target)));
        }
        let links = note.meta["links"].as_array().cloned().unwrap_or_default();
        let same = links
            .iter()
            .find(|link| link["to"] == target && link["relation"] == relation && !is(Mutant::LinksTwice));
        let link = match same {
            Some(link) => link.clone(),
            None => {
                let link = json!({ "id": new_id(), "to": target, "relation": relation, "created_at": now() });
                note.meta["links"] = links.into_iter().chain([link.clone()]).collect();
                self.write(&[note], "link")?;
                link
            }
        };
        Ok(Ok(Answer::Response(json!({
            "link_id": link["id"],
            "source_note_id": source,
            "target_note_id": target,
            "relation_type": relation,
            "created_at": link["created_at"],
        }))))
    }

    /// Decides on a proposal, or shows it; returns the reason if that fails.
    pub(super) fn decided(
        &self,
        decision: &str,
        parts: &[usize],
        instance: &str,
    ) -> Result<Result<(), Wrong>, Refusal> {
        let mut proposals = self.proposals()?.into_iter();
        let Some(mut proposal) = proposals.find(|it| it.said("instance") == instance) else {
            return Ok(Err(wrong("not_found", "nothing like this waits")));
        };
        let shown = self.library.own(&format!("shown-{instance}"))?;
        let revision = digest(&proposal.text());
        if decision == "show" {
            println!("{}", proposal.text());
            return Ok(Ok(fs::write(shown, revision).map_err(failed)?));
        }
        if proposal.said("state") != OPEN[0] && !is(Mutant::DecidesTwice) {
            let message = format!("it is in the state {}", proposal.said("state"));
            return Ok(Err(wrong("not_ready", message)));
        }
        if proposal.said("author") == "person" && !is(Mutant::ApprovesItsOwn) {
            return Ok(Err(wrong("own", "authors can't decide on their own proposals")));
        }
        let is_compared = decision == "approve" || !is(Mutant::RejectsUnseen);
        if is_compared && !is(Mutant::DecidesUnseen) && fs::read_to_string(shown).ok() != Some(revision) {
            return Ok(Err(wrong(
                "moved",
                "this is not what was shown; look at it again",
            )));
        }
        let note = self.note(proposal.id())?;
        let current = note.as_ref().map_or(Value::Null, Note::base);
        let in_parts = !parts.is_empty() && !is(Mutant::IgnoresParts);
        let mut written = Vec::new();
        if decision == "approve" {
            if proposal.meta["base"] != current && !is(Mutant::ApprovesStale) {
                return Ok(Err(wrong("stale", "the note has changed since")));
            }
            let mut published = proposal.clone();
            if in_parts {
                let before = note.as_ref().map(|note| note.content.as_str());
                let Some(content) = taken(before, &proposal.content, parts) else {
                    return Ok(Err(wrong("parts", "these are not some of its parts, each once")));
                };
                published.put(&content, proposal.version());
                proposal.meta["base"] = published.base();
                proposal.meta["version"] = (proposal.version() + 1).into();
            }
            published.path = note.map_or_else(|| format!("notes/{}.md", proposal.id()), |note| note.path);
            for key in ["instance", "author", "state", "base"] {
                if let Some(meta) = published.meta.as_object_mut() {
                    meta.remove(key);
                }
            }
            if !is(Mutant::ApprovesNothing) {
                written.push(published);
            }
        }
        proposal.meta["state"] = match decision {
            "approve" if in_parts && !is(Mutant::DropsOtherParts) => OPEN[1],
            "approve" => "approved",
            "reject" => "rejected",
            _ => OPEN[1],
        }
        .into();
        if !is_open(&proposal) {
            proposal.content.clear();
        }
        written.push(proposal);
        Ok(Ok(self.write(&written, decision)?))
    }

    /// Returns the notes for a search or an export.
    pub(super) fn seen(&mut self) -> Result<Vec<Note>, Refusal> {
        if is(Mutant::ReadsAtStart) {
            if self.old.is_none() {
                self.old = Some(self.notes()?);
            }
            return Ok(self.old.clone().unwrap_or_default());
        }
        let mut notes = self.notes()?;
        if is(Mutant::ShowsWhatWaits) {
            let waiting = self.proposals()?.into_iter();
            notes.extend(waiting.filter(is_open));
        }
        Ok(notes)
    }
}
