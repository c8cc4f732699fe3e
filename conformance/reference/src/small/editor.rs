//! Edits one document by sections, with undo and redo. Keeps its state in a separate file.

use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_conformance::markdown::{self, Section};
use tabellion_contracts::safe_markdown_editor::{CONTRACT, tool};

use super::{Answer, Call, ContractServer, Library, Refusal, failed, refused};
use crate::mutant::{Mutant, is};

/// A document and the ids of its sections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Version {
    text: Option<String>,
    ids: Vec<String>,
}

/// A change that can be undone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Edit {
    before: Version,
    after: Version,
}

/// State of the document and its history.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    now: Version,
    given: usize,
    undo: Vec<Edit>,
    redo: Vec<Edit>,
    history: Vec<Value>,
}

pub(super) struct Editor {
    library: Library,
    path: String,
    /// True if this process has not loaded the state yet.
    is_new: bool,
}

impl Editor {
    pub(super) fn new(library: Library, path: &str) -> Self {
        let path = path.to_owned();
        Self { library, path, is_new: true }
    }

    /// Loads the state and updates it to the current document.
    fn load(&mut self) -> Result<State, Refusal> {
        let kept = fs::read(self.library.own("state")?).unwrap_or_default();
        let mut state: State = serde_json::from_slice(&kept).unwrap_or_default();
        if self.is_new && is(Mutant::IdsOfAProcess) {
            state.now = Version::default();
        }
        if self.is_new && is(Mutant::UndoOfAProcess) {
            (state.undo, state.redo) = Default::default();
        }
        self.is_new = false;
        let bytes = self.library.read(&self.path)?;
        let text =
            bytes.map(String::from_utf8).transpose().map_err(|_| refused("the document is not UTF-8"))?;
        if state.now.text != text {
            state.now = state.adopt_text(text);
        }
        Ok(state)
    }

    fn save(&self, state: &State) -> Result<(), Refusal> {
        let bytes = serde_json::to_vec(state).map_err(|error| refused(error.to_string()))?;
        fs::write(self.library.own("state")?, bytes).map_err(failed)
    }

    /// Writes a version to the document and adds it to the history.
    fn publish(&self, state: &mut State, version: Version, operation: &str) -> Result<(), Refusal> {
        self.library.write(&self.path, version.text.as_deref().map(str::as_bytes), operation)?;
        state.now = version;
        if operation != tool::UNDO || !is(Mutant::UndoIsNotLogged) {
            let time = "2026-01-31T09:30:00Z";
            state.history.push(json!({ "operation": operation, "timestamp": time, "details": {} }));
        }
        Ok(())
    }

    /// Changes the document to `text`, whose sections have these ids.
    fn edit(
        &self,
        state: &mut State,
        mut text: String,
        ids: Vec<String>,
        operation: &str,
    ) -> Result<(), Refusal> {
        if is(Mutant::TrimsDocuments) {
            text.truncate(text.trim_end().len());
        }
        if sections_of(&text).len() != ids.len() {
            return Err(refused("the new content would change the structure of the sections"));
        }
        let after = Version { text: Some(text), ids };
        state.undo.push(Edit { before: state.now.clone(), after: after.clone() });
        if is(Mutant::ThreeLevels) && state.undo.len() > 3 {
            state.undo.remove(0);
        }
        if !is(Mutant::KeepsRedo) {
            state.redo.clear();
        }
        self.publish(state, after, operation)
    }

    fn undo(&self, state: &mut State) -> Result<(), Refusal> {
        let Some(done) = state.undo.pop() else {
            return if is(Mutant::UndoOfNothing) { Ok(()) } else { Err(refused("there is nothing to undo")) };
        };
        if done.after.text != state.now.text && !is(Mutant::UndoOverwrites) {
            return Err(refused("the document was edited outside of this server"));
        }
        let mut version = done.before.clone();
        state.redo.push(done);
        if is(Mutant::UndoResets) {
            self.library.git(&["reset", "--quiet", "--hard", "HEAD~"])?;
            state.now = version;
            return Ok(());
        }
        if is(Mutant::UndoForgetsIds) {
            version.ids = version.ids.iter().map(|_| state.new_id()).collect();
        }
        if let Some(text) =
            version.text.as_mut().filter(|text| is(Mutant::UndoEndsLines) && !text.ends_with('\n'))
        {
            text.push('\n');
        }
        self.publish(state, version, tool::UNDO)
    }

    fn redo(&self, state: &mut State) -> Result<(), Refusal> {
        let done = state.redo.pop().ok_or_else(|| refused("there is nothing to redo"))?;
        if done.before.text != state.now.text && !is(Mutant::KeepsRedo) {
            return Err(refused("the document was edited outside of this server"));
        }
        let version = if is(Mutant::RedoDoesNothing) { state.now.clone() } else { done.after.clone() };
        state.undo.push(done);
        if is(Mutant::RedoesOnce) {
            state.redo.clear();
        }
        self.publish(state, version, tool::REDO)
    }

    fn answer(&self, state: &mut State, call: &Call<'_>) -> Result<Value, Refusal> {
        match call.operation {
            tool::LIST_SECTIONS => Ok(list_sections(state)),
            tool::GET_DOCUMENT => Ok(json!({ "document": state.now.text.clone().unwrap_or_default() })),
            tool::GET_SECTION => get_section(state, call),
            tool::INSERT_SECTION => self.insert_section(state, call),
            tool::UPDATE_SECTION => self.update_section(state, call),
            tool::DELETE_SECTION => self.delete_section(state, call),
            tool::MOVE_SECTION => self.move_section(state, call),
            tool::UNDO => self.undo(state).map(|()| done()),
            _ => self.redo(state).map(|()| done()),
        }
    }

    fn insert_section(&self, state: &mut State, call: &Call<'_>) -> Result<Value, Refusal> {
        let outline = Outline::parse(state);
        let Outline { text, sections } = &outline;
        let mut at = position(call, "position");
        if at > sections.len() && is(Mutant::ClampsPositions) {
            at = sections.len();
        }
        if at > sections.len() {
            return Err(no_position());
        }
        if is(Mutant::InsertsBehind) && at < sections.len() {
            at += 1;
        }
        let level = sections.get(at).or(sections.last()).map_or(1, |it| it.level);
        let piece = section(call.text("heading"), level, call.text("content"));
        let start = outline.start(at);
        let gap = if at < sections.len() { "\n" } else { "" };
        let new = [&with_blank_line(&text[..start]), &piece, gap, &text[start..]].concat();
        let came = sections_of(&new).len().saturating_sub(sections.len());
        let id = state.new_id();
        let more: Vec<_> = (1..came).map(|_| state.new_id()).collect();
        let mut ids = state.now.ids.clone();
        ids.splice(at..at, [id.clone()].into_iter().chain(more));
        self.edit(state, new, ids, tool::INSERT_SECTION)?;
        Ok(json!({ "section_id": shown_id(at, &id), "message": "inserted" }))
    }

    fn update_section(&self, state: &mut State, call: &Call<'_>) -> Result<Value, Refusal> {
        let outline = Outline::parse(state);
        let Outline { text, sections } = &outline;
        let at = state.index_of(call.text("section_id"))?;
        let start = sections[at].heading.end;
        let end = if is(Mutant::EatsChildren) { sections[at].end } else { outline.start(at + 1) };
        let old = &text[start..end];
        let content = call.text("content").trim_matches(['\r', '\n']);
        let is_same = old.trim_matches(['\r', '\n']) == content;
        let mut piece = match content {
            _ if is_same && !is(Mutant::AddsNewlines) => old.to_owned(),
            "" => "\n\n".to_owned(),
            _ if end < text.len() || is(Mutant::AddsNewlines) => format!("\n\n{content}\n\n"),
            _ => format!("\n\n{content}\n"),
        };
        if is(Mutant::AddsNewlines) {
            piece.push('\n');
        }
        let gone = sections[at + 1..].iter().take_while(|it| it.heading.start < end);
        let mut ids = state.now.ids.clone();
        ids.drain(at + 1..at + 1 + gone.count());
        let new = [&text[..start], &piece, &text[end..]].concat();
        self.edit(state, new, ids, tool::UPDATE_SECTION)?;
        Ok(done())
    }

    fn delete_section(&self, state: &mut State, call: &Call<'_>) -> Result<Value, Refusal> {
        let outline = Outline::parse(state);
        let Outline { text, sections } = &outline;
        let at = if call.arguments.get("section_id").is_some() {
            state.index_of(call.text("section_id"))?
        } else {
            let heading = call.text("heading");
            let found = sections.iter().position(|it| it.text == heading);
            found.ok_or_else(|| refused("heading not found"))?
        };
        let all = if is(Mutant::KeepsChildren) { 1 } else { outline.size(at) };
        let mut ids = state.now.ids.clone();
        ids.drain(at..at + all);
        let new = [&text[..outline.start(at)], &text[outline.start(at + all)..]].concat();
        self.edit(state, new, ids, tool::DELETE_SECTION)?;
        Ok(done())
    }

    fn move_section(&self, state: &mut State, call: &Call<'_>) -> Result<Value, Refusal> {
        let outline = Outline::parse(state);
        let Outline { text, sections } = &outline;
        let at = state.index_of(call.text("section_id"))?;
        let all = outline.size(at);
        let mut to = position(call, "new_position");
        if is(Mutant::MovesBefore) && to > at && to > all {
            to -= all;
        }
        if to > sections.len() - all {
            return Err(no_position());
        }
        let new = if to == at {
            text.clone()
        } else {
            move_range(text, outline.start(at)..outline.start(at + all), to)
        };
        let mut ids = state.now.ids.clone();
        let moved: Vec<_> = ids.drain(at..at + all).collect();
        ids.splice(to..to, moved);
        self.edit(state, new, ids, tool::MOVE_SECTION)?;
        Ok(done())
    }
}

fn list_sections(state: &State) -> Value {
    let first = usize::from(is(Mutant::CountsFromOne));
    let sections = Outline::parse(state).sections;
    let entries = state.now.ids.iter().zip(&sections).enumerate();
    let entries = entries.map(|(at, (id, section))| {
        json!({ "section_id": shown_id(at, id), "heading": section.text, "position": at + first })
    });
    json!({ "sections": entries.collect::<Vec<_>>() })
}

fn get_section(state: &State, call: &Call<'_>) -> Result<Value, Refusal> {
    let outline = Outline::parse(state);
    let at = state.index_of(call.text("section_id"))?;
    let heading = &outline.sections[at].heading;
    let own = if is(Mutant::ReadsTheHeading) { heading.start } else { heading.end };
    let content = outline.text[own..outline.start(at + 1)].trim_matches(['\r', '\n']);
    Ok(json!({ "heading": outline.sections[at].text, "content": content, "position": at }))
}

/// Returns the answer to most edits.
fn done() -> Value {
    json!({ "message": "done" })
}

fn no_position() -> Refusal {
    (-32602, "position out of range".into())
}

/// Returns a position argument; the largest number if absent.
fn position(call: &Call<'_>, name: &str) -> usize {
    let position = call.arguments[name].as_u64().unwrap_or(u64::MAX);
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Returns the id of a section as shown to clients.
fn shown_id(at: usize, id: &str) -> String {
    if is(Mutant::IdsArePlaces) { at.to_string() } else { id.to_owned() }
}

/// Returns the text of a new section; `heading` may begin with `#` marks.
fn section(heading: &str, level: u8, content: &str) -> String {
    let marks = "#".repeat(level.into());
    let heading = if heading.starts_with('#') { heading.to_owned() } else { format!("{marks} {heading}") };
    if content.trim_matches('\n').is_empty() {
        format!("{heading}\n")
    } else {
        format!("{heading}\n\n{}\n", content.trim_end_matches('\n'))
    }
}

/// The document's text and its sections.
struct Outline {
    text: String,
    sections: Vec<Section>,
}

impl Outline {
    fn parse(state: &State) -> Self {
        let text = state.now.text.clone().unwrap_or_default();
        let sections = sections_of(&text);
        Self { text, sections }
    }

    /// Returns the start of the section at this index; the end of the text after the last one.
    fn start(&self, at: usize) -> usize {
        self.sections.get(at).map_or(self.text.len(), |it| it.heading.start)
    }

    /// Returns the number of sections in the one at this index, including itself.
    fn size(&self, at: usize) -> usize {
        let end = self.sections[at].end;
        let children = self.sections[at + 1..].iter();
        1 + children.take_while(|it| it.heading.start < end).count()
    }
}

impl ContractServer for Editor {
    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal> {
        let _lock = self.library.lock()?;
        let mut state = self.load()?;
        let given = state.given;
        match self.answer(&mut state, call) {
            Ok(response) => {
                self.save(&state)?;
                Ok(Answer::Response(response))
            }
            Err(refused) => {
                // A failed call keeps the updated ids and changes nothing else.
                let mut state = self.load()?;
                state.given = state.given.max(given);
                self.save(&state)?;
                Err(refused)
            }
        }
    }

    fn resource(&mut self, uri: &str) -> Option<Value> {
        let found = CONTRACT.resources.iter().find(|it| it.uri == uri)?;
        let state = self.load().ok()?;
        (found.name == "history").then(|| json!({ "history": state.history }))
    }
}

impl State {
    fn new_id(&mut self) -> String {
        if is(Mutant::IdsComeAgain) {
            let free = (1..).map(|number| format!("id-{number}")).find(|id| !self.now.ids.contains(id));
            return free.unwrap_or_default();
        }
        self.given += 1;
        if is(Mutant::IdsOfAProcess) {
            format!("id-{}-{}", std::process::id(), self.given)
        } else {
            format!("id-{}", self.given)
        }
    }

    fn index_of(&self, id: &str) -> Result<usize, Refusal> {
        let found = if is(Mutant::IdsArePlaces) {
            id.parse().ok().filter(|at| *at < self.now.ids.len())
        } else {
            self.now.ids.iter().position(|it| it == id)
        };
        let first = is(Mutant::GoneIsTheFirst).then_some(0);
        found.or(first).ok_or_else(|| refused("no section has this id"))
    }

    /// Assigns ids to the sections of an externally changed text: by heading and text, else by heading and order.
    fn adopt_text(&mut self, text: Option<String>) -> Version {
        let old_text = self.now.text.clone().unwrap_or_default();
        let new_text = text.clone().unwrap_or_default();
        let (old, new) = (headings_and_texts(&old_text), headings_and_texts(&new_text));
        let mut ids: Vec<Option<String>> = vec![None; new.len()];
        let mut used = vec![false; old.len()];
        for exactly in [true, false] {
            for (at, section) in new.iter().enumerate().filter(|(at, _)| *at < new.len()) {
                let same = |it: &(String, String)| it.0 == section.0 && (!exactly || it.1 == section.1);
                let found = (0..old.len()).find(|at| !used[*at] && same(&old[*at]));
                if let Some(found) = found.filter(|_| ids[at].is_none()) {
                    used[found] = true;
                    ids[at] = self.now.ids.get(found).cloned();
                }
            }
        }
        let ids = ids.into_iter().map(|id| id.unwrap_or_else(|| self.new_id())).collect();
        Version { text, ids }
    }
}

/// Returns the sections of a document; none if the suite would not judge it.
fn sections_of(text: &str) -> Vec<Section> {
    markdown::sections(text).unwrap_or_default()
}

/// Returns heading and own text of each section.
fn headings_and_texts(text: &str) -> Vec<(String, String)> {
    let sections = sections_of(text);
    let next = |at: usize| sections.get(at + 1).map_or(text.len(), |it| it.heading.start);
    let all = sections.iter().enumerate();
    all.map(|(at, it)| (it.text.clone(), text[it.heading.end.min(next(at))..next(at)].trim().to_owned()))
        .collect()
}

/// Returns the text with a blank line at its end, so that a heading can follow.
fn with_blank_line(text: &str) -> String {
    let is_apart =
        text.trim_start_matches('\u{feff}').is_empty() || text.ends_with("\n\n") || text.ends_with("\n\r\n");
    let ending = if is_apart {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    format!("{text}{ending}")
}

/// Returns the text with the section at `range` moved before the section that is then at `to`.
fn move_range(text: &str, range: std::ops::Range<usize>, to: usize) -> String {
    let rest = [&text[..range.start], &text[range.end..]].concat();
    let at = sections_of(&rest).get(to).map_or(rest.len(), |it| it.heading.start);
    let piece = with_blank_line(&text[range]);
    let piece = if at == rest.len() { piece.trim_end_matches('\n').to_owned() + "\n" } else { piece };
    [with_blank_line(&rest[..at]), piece, rest[at..].to_owned()].concat()
}
