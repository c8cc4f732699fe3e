//! One document, section by section, with undo and redo. What it knows beside the document lies in a file of its own.

use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_conformance::markdown::{self, Section};
use tabellion_contracts::safe_markdown_editor::{CONTRACT, tool};

use super::{Answer, Break, Library, Refused, Said, Serves, failed, is, refused};

const fn breaks(name: &'static str, does: &'static str, seen_by: &'static str) -> Break {
    Break {
        name,
        does,
        contract: CONTRACT.id,
        seen_by,
    }
}

pub(super) const BREAKS: &[Break] = &[
    breaks(
        "counts-from-one",
        "positions that are listed count from 1",
        "outline/position",
    ),
    breaks(
        "inserts-behind",
        "a section comes behind the one at the position",
        "outline/position",
    ),
    breaks(
        "moves-before",
        "a place is counted as it was before the move",
        "outline/position",
    ),
    breaks(
        "clamps-positions",
        "a position that there is not is the last one",
        "outline/position",
    ),
    breaks(
        "reads-the-heading",
        "a section's text begins with its heading",
        "outline/get-update",
    ),
    breaks(
        "adds-newlines",
        "an update adds a blank line",
        "outline/get-update",
    ),
    breaks(
        "eats-children",
        "an update takes the sections in the section",
        "outline/inside",
    ),
    breaks(
        "keeps-children",
        "a deletion leaves the sections in the section",
        "outline/inside",
    ),
    breaks(
        "trims-documents",
        "the end of the document is trimmed",
        "outline/inside",
    ),
    breaks("ids-are-places", "an id is a place", "outline/ids"),
    breaks(
        "ids-come-again",
        "an id that is free is given again",
        "outline/ids",
    ),
    breaks("ids-of-a-process", "each process gives other ids", "outline/ids"),
    breaks(
        "gone-is-the-first",
        "an id of nobody is the first section's",
        "outline/gone-id",
    ),
    breaks(
        "undo-forgets-ids",
        "after an undo all ids are new",
        "undo/inverts",
    ),
    breaks("undo-ends-lines", "an undo ends the last line", "undo/inverts"),
    breaks(
        "redo-does-nothing",
        "a redo is only said to be made",
        "undo/redo-inverts-undo",
    ),
    breaks(
        "keeps-redo",
        "an edit leaves what there is to redo",
        "undo/edit-clears-redo",
    ),
    breaks(
        "undo-resets",
        "an undo takes the last commit away",
        "undo/history-kept",
    ),
    breaks(
        "undo-overwrites",
        "a person's edits are undone over",
        "undo/hand-edit",
    ),
    breaks(
        "redoes-once",
        "a redo leaves nothing else to redo",
        "undo/program",
    ),
    breaks("undo-of-nothing", "an undo of nothing is fine", "undo/nothing"),
    breaks("three-levels", "three edits can be undone", "undo/levels"),
    breaks(
        "undo-of-a-process",
        "each process knows its own edits",
        "undo/levels",
    ),
    breaks(
        "undo-is-not-logged",
        "an undo is not in the history",
        "mutation/recorded",
    ),
];

/// A document and the ids of its sections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Version {
    text: Option<String>,
    ids: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Done {
    before: Version,
    after: Version,
}

/// What is known of the document.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    now: Version,
    given: usize,
    undo: Vec<Done>,
    redo: Vec<Done>,
    history: Vec<Value>,
}

pub(super) struct Editor {
    library: Library,
    path: String,
    /// Whether this process has not looked at the state yet.
    is_new: bool,
}

impl Editor {
    pub(super) fn new(library: Library, path: &str) -> Self {
        let path = path.to_owned();
        Self {
            library,
            path,
            is_new: true,
        }
    }

    /// The state, brought up to the document as it is.
    fn load(&mut self) -> Result<State, Refused> {
        let kept = fs::read(self.library.own("state")?).unwrap_or_default();
        let mut state: State = serde_json::from_slice(&kept).unwrap_or_default();
        if self.is_new && is("ids-of-a-process") {
            state.now = Version::default();
        }
        if self.is_new && is("undo-of-a-process") {
            (state.undo, state.redo) = Default::default();
        }
        self.is_new = false;
        let bytes = self.library.read(&self.path)?;
        let text = bytes
            .map(String::from_utf8)
            .transpose()
            .map_err(|_| refused("the document is no text"))?;
        if state.now.text != text {
            state.now = state.followed(text);
        }
        Ok(state)
    }

    fn save(&self, state: &State) -> Result<(), Refused> {
        let bytes = serde_json::to_vec(state).map_err(|error| refused(error.to_string()))?;
        fs::write(self.library.own("state")?, bytes).map_err(failed)
    }

    /// Makes a version the document, and the last entry of the history.
    fn publish(&self, state: &mut State, version: Version, operation: &str) -> Result<(), Refused> {
        self.library
            .write(&self.path, version.text.as_deref().map(str::as_bytes), operation)?;
        state.now = version;
        if operation != tool::UNDO || !is("undo-is-not-logged") {
            let time = "2026-01-31T09:30:00Z";
            state
                .history
                .push(json!({ "operation": operation, "timestamp": time, "details": {} }));
        }
        Ok(())
    }

    /// An edit that makes `text` of the document, in which sections have these ids.
    fn edit(
        &self,
        state: &mut State,
        mut text: String,
        ids: Vec<String>,
        operation: &str,
    ) -> Result<(), Refused> {
        if is("trims-documents") {
            text.truncate(text.trim_end().len());
        }
        if markdown::sections(&text).len() != ids.len() {
            return Err(refused("what comes would not be the sections that it is to be"));
        }
        let after = Version {
            text: Some(text),
            ids,
        };
        state.undo.push(Done {
            before: state.now.clone(),
            after: after.clone(),
        });
        if is("three-levels") && state.undo.len() > 3 {
            state.undo.remove(0);
        }
        if !is("keeps-redo") {
            state.redo.clear();
        }
        self.publish(state, after, operation)
    }

    fn undo(&self, state: &mut State) -> Result<(), Refused> {
        let Some(done) = state.undo.pop() else {
            return if is("undo-of-nothing") {
                Ok(())
            } else {
                Err(refused("there is nothing to undo"))
            };
        };
        if done.after.text != state.now.text && !is("undo-overwrites") {
            return Err(refused("a person has edited the document since"));
        }
        let mut version = done.before.clone();
        state.redo.push(done);
        if is("undo-resets") {
            self.library.git(&["reset", "--quiet", "--hard", "HEAD~"])?;
            state.now = version;
            return Ok(());
        }
        if is("undo-forgets-ids") {
            version.ids = version.ids.iter().map(|_| state.fresh()).collect();
        }
        if let Some(text) = version
            .text
            .as_mut()
            .filter(|text| is("undo-ends-lines") && !text.ends_with('\n'))
        {
            text.push('\n');
        }
        self.publish(state, version, tool::UNDO)
    }

    fn redo(&self, state: &mut State) -> Result<(), Refused> {
        let done = state
            .redo
            .pop()
            .ok_or_else(|| refused("there is nothing to redo"))?;
        if done.before.text != state.now.text && !is("keeps-redo") {
            return Err(refused("a person has edited the document since"));
        }
        let version = match is("redo-does-nothing") {
            true => state.now.clone(),
            false => done.after.clone(),
        };
        state.undo.push(done);
        if is("redoes-once") {
            state.redo.clear();
        }
        self.publish(state, version, tool::REDO)
    }

    fn answer(&self, state: &mut State, name: &str, arguments: &Value) -> Result<Value, Refused> {
        let text = state.now.text.clone().unwrap_or_default();
        let sections = markdown::sections(&text);
        let said = |name: &str| arguments[name].as_str().unwrap_or_default();
        let position =
            |name: &str| usize::try_from(arguments[name].as_u64().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let start = |at: usize| sections.get(at).map_or(text.len(), |it| it.heading.start);
        let mut ids = state.now.ids.clone();
        let message = json!({ "message": "done" });
        match name {
            tool::LIST_SECTIONS => {
                let first = usize::from(is("counts-from-one"));
                let entries = ids.iter().zip(&sections).enumerate().map(|(at, (id, section))| {
                    let id = if is("ids-are-places") {
                        at.to_string()
                    } else {
                        id.clone()
                    };
                    json!({ "section_id": id, "heading": section.text, "position": at + first })
                });
                Ok(json!({ "sections": entries.collect::<Vec<_>>() }))
            }
            tool::GET_DOCUMENT => Ok(json!({ "document": text })),
            tool::GET_SECTION => {
                let at = state.place(said("section_id"))?;
                let own = if is("reads-the-heading") {
                    start(at)
                } else {
                    sections[at].heading.end
                };
                let content = text[own..start(at + 1)].trim_matches(['\r', '\n']);
                Ok(json!({ "heading": sections[at].text, "content": content, "position": at }))
            }
            tool::INSERT_SECTION => {
                let mut at = position("position");
                if at > sections.len() && is("clamps-positions") {
                    at = sections.len();
                }
                if at > sections.len() {
                    return Err((-32602, "there is no such position".into()));
                }
                if is("inserts-behind") && at < sections.len() {
                    at += 1;
                }
                let level = sections.get(at).or(sections.last()).map_or(1, |it| it.level);
                let heading = match said("heading") {
                    whole if whole.starts_with('#') => whole.to_owned(),
                    bare => format!("{} {bare}", "#".repeat(usize::from(level))),
                };
                let content = said("content");
                let piece = match content.trim_matches('\n') {
                    "" => format!("{heading}\n"),
                    _ => format!("{heading}\n\n{}\n", content.trim_end_matches('\n')),
                };
                let new = [
                    apart(&text[..start(at)]),
                    piece,
                    if at < sections.len() {
                        "\n".into()
                    } else {
                        String::new()
                    },
                    text[start(at)..].into(),
                ]
                .concat();
                let came = markdown::sections(&new).len().saturating_sub(sections.len());
                let id = state.fresh();
                let more: Vec<_> = (1..came).map(|_| state.fresh()).collect();
                ids.splice(at..at, [id.clone()].into_iter().chain(more));
                self.edit(state, new, ids, name)?;
                let id = if is("ids-are-places") { at.to_string() } else { id };
                Ok(json!({ "section_id": id, "message": "inserted" }))
            }
            tool::UPDATE_SECTION => {
                let at = state.place(said("section_id"))?;
                let content = said("content").trim_matches(['\r', '\n']);
                let end = if is("eats-children") {
                    sections[at].end
                } else {
                    start(at + 1)
                };
                let own = sections[at].heading.end..end;
                let is_same = text[own.clone()].trim_matches(['\r', '\n']) == content;
                let gone = sections
                    .iter()
                    .filter(|it| it.heading.start > start(at) && it.heading.start < end)
                    .count();
                let piece = match content {
                    _ if is_same && !is("adds-newlines") => text[own.clone()].to_owned(),
                    "" => "\n\n".to_owned(),
                    _ => format!(
                        "\n\n{content}\n{}",
                        if end < text.len() || is("adds-newlines") {
                            "\n"
                        } else {
                            ""
                        }
                    ),
                };
                let piece = if is("adds-newlines") { piece + "\n" } else { piece };
                ids.drain(at + 1..at + 1 + gone);
                self.edit(
                    state,
                    [&text[..own.start], &piece, &text[end..]].concat(),
                    ids,
                    name,
                )?;
                Ok(message)
            }
            tool::DELETE_SECTION => {
                let at = match arguments.get("section_id") {
                    Some(_) => state.place(said("section_id"))?,
                    None => sections
                        .iter()
                        .position(|it| it.text == said("heading"))
                        .ok_or_else(|| refused("there is no such heading"))?,
                };
                let all = if is("keeps-children") {
                    1
                } else {
                    size(&sections, at)
                };
                ids.drain(at..at + all);
                self.edit(
                    state,
                    [&text[..start(at)], &text[start(at + all)..]].concat(),
                    ids,
                    name,
                )?;
                Ok(message)
            }
            tool::MOVE_SECTION => {
                let at = state.place(said("section_id"))?;
                let all = size(&sections, at);
                let mut to = position("new_position");
                if is("moves-before") && to > at && to > all {
                    to -= all;
                }
                if to > sections.len() - all {
                    return Err((-32602, "there is no such position".into()));
                }
                let new = match to == at {
                    true => text.clone(),
                    false => moved(&text, start(at)..start(at + all), to),
                };
                let moved: Vec<_> = ids.drain(at..at + all).collect();
                ids.splice(to..to, moved);
                self.edit(state, new, ids, name)?;
                Ok(message)
            }
            tool::UNDO => self.undo(state).map(|()| message),
            _ => self.redo(state).map(|()| message),
        }
    }
}

impl Serves for Editor {
    fn call(&mut self, name: &str, arguments: &Value, _: Option<Said>) -> Result<Answer, Refused> {
        let _lock = self.library.lock()?;
        let mut state = self.load()?;
        let given = state.given;
        let answer = self.answer(&mut state, name, arguments);
        match answer {
            Ok(response) => {
                self.save(&state)?;
                Ok(Answer::Done(response))
            }
            Err(refused) => {
                // What was followed and given stays, and nothing else.
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
    fn fresh(&mut self) -> String {
        if is("ids-come-again") {
            let free = (1..)
                .map(|number| format!("id-{number}"))
                .find(|id| !self.now.ids.contains(id));
            return free.unwrap_or_default();
        }
        self.given += 1;
        match is("ids-of-a-process") {
            true => format!("id-{}-{}", std::process::id(), self.given),
            false => format!("id-{}", self.given),
        }
    }

    fn place(&self, id: &str) -> Result<usize, Refused> {
        let found = match is("ids-are-places") {
            true => id.parse().ok().filter(|at| *at < self.now.ids.len()),
            false => self.now.ids.iter().position(|it| it == id),
        };
        let first = is("gone-is-the-first").then_some(0);
        found.or(first).ok_or_else(|| refused("no section has that id"))
    }

    /// The document with another text: sections are known by heading and text, else by heading and order.
    fn followed(&mut self, text: Option<String>) -> Version {
        let old_text = self.now.text.clone().unwrap_or_default();
        let new_text = text.clone().unwrap_or_default();
        let (old, new) = (named(&old_text), named(&new_text));
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
        let ids = ids
            .into_iter()
            .map(|id| id.unwrap_or_else(|| self.fresh()))
            .collect();
        Version { text, ids }
    }
}

/// Heading and own text of each section.
fn named(text: &str) -> Vec<(String, String)> {
    let sections = markdown::sections(text);
    let next = |at: usize| sections.get(at + 1).map_or(text.len(), |it| it.heading.start);
    let all = sections.iter().enumerate();
    all.map(|(at, it)| {
        (
            it.text.clone(),
            text[it.heading.end.min(next(at))..next(at)].trim().to_owned(),
        )
    })
    .collect()
}

/// How many sections the one at this place is, with those in it.
fn size(sections: &[Section], at: usize) -> usize {
    let end = sections[at].end;
    1 + sections[at + 1..]
        .iter()
        .take_while(|it| it.heading.start < end)
        .count()
}

/// The text, ended so that a heading may come.
fn apart(text: &str) -> String {
    let is_apart =
        text.trim_start_matches('\u{feff}').is_empty() || text.ends_with("\n\n") || text.ends_with("\n\r\n");
    let ending = match text.ends_with('\n') {
        _ if is_apart => "",
        true => "\n",
        false => "\n\n",
    };
    format!("{text}{ending}")
}

/// The text with what stands at `range` put before the section that is then at `to`.
fn moved(text: &str, range: std::ops::Range<usize>, to: usize) -> String {
    let rest = [&text[..range.start], &text[range.end..]].concat();
    let at = markdown::sections(&rest)
        .get(to)
        .map_or(rest.len(), |it| it.heading.start);
    let piece = apart(&text[range]);
    let piece = if at == rest.len() {
        piece.trim_end_matches('\n').to_owned() + "\n"
    } else {
        piece
    };
    [apart(&rest[..at]), piece, rest[at..].to_owned()].concat()
}
