//! Defects of a document that is edited by its sections.

use std::{fs, io, ops::Range};

use serde_json::{Map, Value, json};
use tabellion_conformance::markdown;
use tabellion_contracts::safe_markdown_editor::{CONTRACT, tool};

use super::{
    disk::git,
    message::{Call, Reply},
    server::{Proxy, folder},
};
use crate::mutant::Mutant;

/// Answers a call about sections as the mutant does.
pub(super) fn answer(mutant: Mutant, call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    Ok(match (mutant, &*call.tool) {
        (Mutant::CountsFromOne, _) => proxy.forward(&call)?.each("sections", |entry| {
            entry["position"] = (entry["position"].as_u64().unwrap_or_default() + 1).into();
        }),
        (Mutant::InsertsBehind, tool::INSERT_SECTION) => {
            let behind = call.number("position").saturating_add(1);
            let reply = proxy.forward(&call.clone().with("position", behind))?;
            if reply.is_refused() { proxy.forward(&call)? } else { reply }
        }
        (Mutant::ClampsPositions, tool::INSERT_SECTION) => {
            let most = call.number("position").min(proxy.ids()?.len() as u64);
            proxy.forward(&call.with("position", most))?
        }
        (Mutant::MovesBefore, tool::MOVE_SECTION) => {
            let (at, to) = (proxy.place(&call)?, call.number("new_position"));
            let all = 1 + inside(&proxy.text(), at).1 as u64;
            let counted = if to > at as u64 && to > all { to - all } else { to };
            proxy.forward(&call.with("new_position", counted))?
        }
        (Mutant::ReadsTheHeading, tool::GET_SECTION) => {
            let reply = proxy.forward(&call)?;
            let member =
                |name: &str| reply.0["result"]["structuredContent"][name].as_str().map(str::to_owned);
            let (heading, content) =
                (member("heading").unwrap_or_default(), member("content").unwrap_or_default());
            reply.reset("content", format!("# {heading}\n\n{content}"))
        }
        (Mutant::AddsNewlines, tool::UPDATE_SECTION) => {
            let at = proxy.place(&call)?;
            proxy.rewriting(&call, |text| text.insert(inside(text, at).0.start, '\n'))?
        }
        (Mutant::EatsChildren, tool::UPDATE_SECTION) => {
            let at = proxy.place(&call)?;
            proxy.rewriting(&call, |text| text.replace_range(inside(text, at).0, ""))?
        }
        (Mutant::KeepsChildren, tool::DELETE_SECTION) => {
            let (at, old) = (proxy.place(&call)?, proxy.text());
            let (children, _) = inside(&old, at);
            proxy.rewriting(&call, |text| {
                let start = text.floor_char_boundary(start(&old, at));
                text.insert_str(start, &old[children]);
            })?
        }
        (Mutant::TrimsDocuments, _) => proxy.rewriting(&call, |text| text.truncate(text.trim_end().len()))?,
        (Mutant::UndoEndsLines, tool::UNDO) => proxy.rewriting(&call, |text| {
            if !text.ends_with('\n') {
                text.push('\n');
            }
        })?,
        (Mutant::IdsArePlaces | Mutant::IdsComeAgain | Mutant::IdsOfAProcess | Mutant::UndoForgetsIds, _) => {
            with_other_ids(mutant, call, proxy)?
        }
        (Mutant::GoneIsTheFirst, _) if call.arguments.contains_key("section_id") => {
            let ids = proxy.ids()?;
            let is_there = ids.iter().any(|id| id == call.text("section_id"));
            match ids.into_iter().next() {
                Some(first) if !is_there => proxy.forward(&call.with("section_id", first))?,
                _ => proxy.forward(&call)?,
            }
        }
        (Mutant::RedoDoesNothing, tool::REDO) => proxy.done(),
        (Mutant::KeepsRedo, tool::REDO) | (Mutant::UndoOfNothing, tool::UNDO) => {
            let reply = proxy.forward(&call)?;
            if reply.is_refused() { proxy.done() } else { reply }
        }
        (Mutant::UndoResets, tool::UNDO) => {
            let reply = proxy.forward(&call)?;
            git(&proxy.folder, &["reset", "--quiet", "--hard", "HEAD~2"])?;
            reply
        }
        (Mutant::UndoOverwrites, tool::UNDO) => {
            let reply = proxy.forward(&call)?;
            if !reply.is_refused() {
                return Ok(reply);
            }
            git(&proxy.folder, &["checkout", "--quiet", "HEAD~", "--", &proxy.document()])?;
            proxy.done()
        }
        (Mutant::RedoesOnce, _) => in_a_row(tool::REDO, 1, &call, proxy)?,
        (Mutant::ThreeLevels, _) => in_a_row(tool::UNDO, 3, &call, proxy)?,
        (Mutant::UndoOfAProcess, _) => {
            let own = proxy.record.list_here("own").len();
            if call.tool == tool::UNDO && own == 0 {
                return Ok(proxy.refuse("there is nothing to undo"));
            }
            let reply = proxy.forward(&call)?;
            match &*call.tool {
                _ if reply.is_refused() || !is_mutating(&call) => {}
                tool::UNDO => drop(proxy.record.list_here("own").pop()),
                _ => proxy.record.list_here("own").push(true.into()),
            }
            reply
        }
        _ => proxy.forward(&call)?,
    })
}

fn is_mutating(call: &Call) -> bool {
    CONTRACT.tool(&call.tool).is_some_and(|tool| tool.mutating)
}

/// Refuses `step` once it was made this often in a row.
fn in_a_row(step: &str, most: usize, call: &Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let made = proxy.record.all("made");
    if call.tool == step && made.iter().rev().take_while(|made| **made == step).count() >= most {
        return Ok(proxy.refuse("there is nothing more"));
    }
    let reply = proxy.forward(call)?;
    if is_mutating(call) && !reply.is_refused() {
        proxy.record.keep("made", call.tool.as_str().into())?;
    }
    Ok(reply)
}

/// Makes a call in which sections have ids of the mutant.
fn with_other_ids(mutant: Mutant, mut call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let given = call.text("section_id").to_owned();
    if !given.is_empty() {
        let mut named = "gone".to_owned();
        for id in proxy.ids()? {
            if shown(mutant, &id, proxy)? == given {
                named = id;
            }
        }
        call = call.with("section_id", named);
    }
    let mut reply = proxy.forward(&call)?;
    match &*call.tool {
        tool::UNDO => proxy.record.list_here("undone").push(true.into()),
        tool::DELETE_SECTION => proxy.record.set_here("freed", given.into()),
        tool::INSERT_SECTION => {
            let new = reply.0["result"]["structuredContent"]["section_id"].clone();
            if let Some(freed) = proxy.record.here("freed").cloned() {
                proxy.record.set_here("again", json!([new, freed]));
            }
        }
        _ => {}
    }
    let rename = |entry: &mut Map<String, Value>, proxy: &mut Proxy| {
        if let Some(id) = entry.get("section_id").and_then(Value::as_str) {
            let id = shown(mutant, id, proxy)?;
            entry.insert("section_id".to_owned(), id.into());
        }
        io::Result::Ok(())
    };
    if let Some(response) = reply.response() {
        rename(response, proxy)?;
        let sections = response.get_mut("sections").and_then(Value::as_array_mut);
        for entry in sections.into_iter().flatten().filter_map(Value::as_object_mut) {
            rename(entry, proxy)?;
        }
    }
    Ok(reply)
}

/// Returns the mutant's id of a section.
fn shown(mutant: Mutant, id: &str, proxy: &mut Proxy) -> io::Result<String> {
    Ok(match mutant {
        Mutant::IdsArePlaces => {
            let place = proxy.ids()?.iter().position(|it| it == id);
            place.unwrap_or_default().to_string()
        }
        Mutant::IdsComeAgain => match proxy.record.here("again") {
            Some(again) if again[0] == id => again[1].as_str().unwrap_or_default().to_owned(),
            _ => id.to_owned(),
        },
        Mutant::IdsOfAProcess => format!("{id}-{}", std::process::id()),
        _ => format!("{id}-{}", proxy.record.list_here("undone").len()),
    })
}

/// Returns the range of the subsections of a section, and their number.
fn inside(text: &str, at: usize) -> (Range<usize>, usize) {
    let sections = markdown::sections(text).unwrap_or_default();
    let end = sections.get(at).map_or(text.len(), |section| section.end);
    let count = sections.iter().skip(at + 1).take_while(|it| it.heading.start < end).count();
    (start(text, at + 1).min(end)..end, count)
}

/// Returns the start of a section; the end of the text after the last one.
fn start(text: &str, at: usize) -> usize {
    let sections = markdown::sections(text).unwrap_or_default();
    sections.get(at).map_or(text.len(), |section| section.heading.start)
}

impl Proxy {
    /// Returns the document's path in the library.
    fn document(&self) -> String {
        folder(&self.command, "--document").to_string_lossy().into_owned()
    }

    /// Returns the document's text; empty if it has none.
    fn text(&self) -> String {
        fs::read_to_string(self.folder.join(self.document())).unwrap_or_default()
    }

    /// Returns the ids of the sections.
    fn ids(&mut self) -> io::Result<Vec<String>> {
        let listed = self.forward(&Call { tool: tool::LIST_SECTIONS.to_owned(), arguments: Map::new() })?;
        let ids = listed.list("sections").iter().filter_map(|entry| entry["section_id"].as_str());
        Ok(ids.map(str::to_owned).collect())
    }

    /// Returns the index of the section that a call names; that of the last one and one more if there is none.
    fn place(&mut self, call: &Call) -> io::Result<usize> {
        let ids = self.ids()?;
        Ok(ids.iter().position(|id| id == call.text("section_id")).unwrap_or(ids.len()))
    }

    /// Answers an edit that does nothing.
    fn done(&self) -> Reply {
        self.respond(json!({ "message": "done" }))
    }

    /// Makes a call, and changes the document in its commit.
    fn rewriting(&mut self, call: &Call, change: impl FnOnce(&mut String)) -> io::Result<Reply> {
        let reply = self.forward(call)?;
        let (document, text) = (self.document(), self.text());
        if !is_mutating(call) || reply.is_refused() || text.is_empty() {
            return Ok(reply);
        }
        let mut changed = text.clone();
        change(&mut changed);
        if changed != text {
            fs::write(self.folder.join(&document), changed)?;
            git(&self.folder, &["commit", "--quiet", "--amend", "--no-edit", "--", &document])?;
        }
        Ok(reply)
    }
}
