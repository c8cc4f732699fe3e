//! Checks that a section's id never changes and is never reused.

use std::collections::HashSet;

use super::{editor::Editor, samples::commit_document};
use crate::{checks::prelude::*, judgement::ensure_accepted, layout::DOCUMENT};

pub(super) const CHECK: Check = Check {
    id: "outline/ids",
    guarantees: &["ids-are-stable"],
    states: "A section keeps its id whatever else is edited, across restarts, undo and redo; no id is \
            reused.",
    explains: "In a document with repeated headings, sections are inserted, updated, moved and deleted, edits are \
               undone and redone, the server restarts, and a person edits the document. After each step every \
               remaining section, recognized by its text, must have its previous id, and a new id must never have been \
               used before.",
    ..Check::must(judge_stable)
};

pub(super) const GONE_ID: Check = Check {
    id: "outline/gone-id",
    guarantees: &["ids-are-stable", "errors-change-nothing"],
    states: "The id of a deleted or unknown section is an error in every call, and never means another \
            section.",
    explains: "A call or a person deletes a section, and similar sections take its position. Reading, updating, moving \
               and deleting with its id or an unknown id must then be refused, also after a restart, and change no \
               byte. Undoing the deletion restores the id.",
    cases: |_| Ok(["by a call", "by a person"].map(|by| Case::new(by, by)).into()),
    ..Check::must(judge_gone)
};

const TEXT: &str = "# Plan\n\nplan\n\n## Step\n\nstep one\n\n## Step\n\nstep two\n\n### Part\n\npart\n\n## Step\n\nstep three\n\n# End\n\nend\n";

/// Reads the id and the text of each section.
fn ids_and_texts(editor: &mut Editor<'_>) -> Result<Vec<(String, String)>, Stop> {
    let list = editor.list()?;
    let mut all = Vec::new();
    for entry in list {
        let read = editor.read(&entry.id)?;
        let read = read.ok_or_else(|| fail(format!("a listed section can't be read: {entry:?}")))?;
        all.push((entry.id, read.content.trim().to_owned()));
    }
    Ok(all)
}

/// The ids that the server has used.
#[derive(Default)]
struct IdHistory {
    /// All ids so far.
    used: HashSet<String>,
    /// Ids and texts of the current sections.
    current: Vec<(String, String)>,
}

impl IdHistory {
    /// Lists the sections. Fails if a known text has another id, or a new section a used one.
    fn update(&mut self, editor: &mut Editor<'_>, after: &str) -> Judgement {
        let found = ids_and_texts(editor)?;
        let ids: HashSet<_> = found.iter().map(|(id, _)| id.clone()).collect();
        ensure(ids.len() == found.len(), || format!("after {after}, two sections have the same id"))?;
        for (id, text) in &self.current {
            let same = found.iter().find(|(_, other)| other == text);
            if let Some((other, _)) = same.filter(|(other, _)| other != id) {
                return Err(fail(format!(
                    "after {after}, the section with {text:?} has the id {other} instead of {id}"
                )));
            }
        }
        for (id, text) in &found {
            let is_old = self.current.iter().any(|(old, _)| old == id);
            ensure(is_old || !self.used.contains(id) || after.contains("do of"), || {
                format!("after {after}, the section with {text:?} has the id of an earlier section: {id}")
            })?;
        }
        self.used.extend(ids);
        self.current = found;
        Ok(())
    }

    fn id(&self, text: &str) -> Result<String, Stop> {
        let found = self.current.iter().find(|(_, other)| other == text);
        found.map(|(id, _)| id.clone()).ok_or_else(|| fail(format!("no section has the text {text:?}")))
    }
}

fn judge_stable(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    commit_document(&scene, TEXT)?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    let mut ids = IdHistory::default();
    ids.update(&mut editor, "the beginning")?;
    ensure_accepted(&editor.insert("Step", "step zero\n", 1)?, "an insertion")?;
    ids.update(&mut editor, "an insertion of a section of the same heading")?;
    let (zero, two) = (ids.id("step zero")?, ids.id("step two")?);
    ensure_accepted(&editor.relocate(&two, 1)?, "a move")?;
    ids.update(&mut editor, "a move")?;
    editor.client.close()?;
    editor = Editor::start(bench.subject, &scene)?;
    ids.update(&mut editor, "a restart")?;
    let one = ids.id("step one")?;
    ensure_accepted(&editor.update(&one, "step one, anew\n")?, "an update")?;
    let updated = ids.current.iter_mut().find(|(id, _)| *id == one);
    updated.into_iter().for_each(|(_, text)| "step one, anew".clone_into(text));
    ids.update(&mut editor, "an update")?;
    ensure_accepted(&editor.delete(&zero)?, "a deletion")?;
    let before = std::mem::take(&mut ids.current);
    ids.current = before.iter().filter(|(id, _)| *id != zero).cloned().collect();
    ids.update(&mut editor, "a deletion")?;
    ensure_accepted(&editor.insert("Step", "step four\n", 1)?, "an insertion")?;
    ids.update(&mut editor, "an insertion at the position of a deleted section")?;
    for (what, reply) in [
        ("an undo of an insertion", editor.undo()?),
        ("an undo of a deletion", editor.undo()?),
        ("a redo of a deletion", editor.redo()?),
        ("a redo of an insertion", editor.redo()?),
    ] {
        ensure_accepted(&reply, what)?;
    }
    ids.update(&mut editor, "an undo and a redo of an insertion and a deletion")?;
    ensure_accepted(&editor.undo()?, "an undo")?;
    ensure_accepted(&editor.undo()?, "an undo")?;
    ids.current = before;
    ids.update(&mut editor, "an undo of both")?;
    let mut text = super::samples::document_text(&scene);
    text.push_str("\nMore by a person.\n\n# A person's\n\nnew by hand\n");
    scene.put(DOCUMENT, &text)?;
    let end = ids.current.iter_mut().find(|(_, text)| text == "end");
    end.into_iter().for_each(|(_, text)| text.push_str("\n\nMore by a person."));
    ids.update(&mut editor, "an edit by hand")?;
    scene.commit_all("a person's")?;
    ids.update(&mut editor, "a commit by hand")
}

fn judge_gone(bench: &Bench<'_>, case: &Case) -> Judgement {
    let by: String = case.read()?;
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    commit_document(&scene, TEXT)?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    let mut ids = IdHistory::default();
    ids.update(&mut editor, "the beginning")?;
    let (id, end) = (ids.id("step two")?, ids.id("end")?);
    if by == "by a call" {
        ensure_accepted(&editor.delete(&id)?, "a deletion")?;
    } else {
        let without = TEXT.replace("## Step\n\nstep two\n\n### Part\n\npart\n\n", "");
        scene.put(DOCUMENT, without)?;
        scene.commit_all("a person deletes a section")?;
    }
    for restarted in [false, true] {
        if restarted {
            editor.client.close()?;
            editor = Editor::start(bench.subject, &scene)?;
        }
        let before = Moment::capture(&scene)?;
        let unknown = [
            "",
            "0",
            "1",
            "s1",
            "conformance-unknown",
            &end.to_uppercase(),
            &format!("{end} "),
            "../x",
            "null",
        ];
        let unknown = unknown.into_iter().filter(|it| !ids.used.contains(*it));
        for id in [id.as_str()].into_iter().chain(unknown).collect::<Vec<_>>() {
            ensure(editor.read(id)?.is_none(), || format!("a section was read by the unknown id {id:?}"))?;
            let replies =
                [editor.update(id, "for no section\n")?, editor.relocate(id, 0)?, editor.delete(id)?];
            let is_refused = replies.iter().all(|reply| matches!(reply, Reply::Refused(_)));
            ensure(is_refused, || format!("a section was changed by the unknown id {id:?}"))?;
        }
        before.same(&Moment::capture(&scene)?)?;
    }
    if by == "by a call" {
        ensure_accepted(&editor.undo()?, "an undo")?;
        let read = editor.read(&id)?;
        ensure(read.is_some_and(|read| read.content.trim() == "step two"), || {
            "undoing the deletion did not restore the section's id".into()
        })?;
    }
    Ok(())
}
