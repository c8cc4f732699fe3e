//! An id is one section's, for ever.

use std::collections::HashSet;

use super::{
    editor::{Editor, accepted},
    samples::begin,
};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop, ensure, fail},
    layout::DOCUMENT,
    moment::Moment,
    reply::Reply,
};

pub(super) const CHECK: Check = Check {
    id: "outline/ids",
    severity: Severity::Must,
    guarantees: &["ids-are-stable"],
    states: "A section keeps its id whatever else is edited, across restarts, undo and redo; no id is \
            reused.",
    explains: "In a document with headings that stand there several times, sections are inserted, updated, moved, deleted, undone \
               and redone, the server is restarted, and a person adds text by hand. After each step every section that was \
               not deleted must have the id that it had, known by the text in it, and an id that comes must be one that never \
               was.",
    cases: |_| Ok(Case::only()),
    judge: stable,
    shrink: as_small_as_can_be,
};

pub(super) const GONE: Check = Check {
    id: "outline/gone-id",
    severity: Severity::Must,
    guarantees: &["ids-are-stable", "errors-change-nothing"],
    states: "The id of a deleted or unknown section is an error in every call, and never means another \
            section.",
    explains: "A section is deleted, by a call or by a person, and others like it take its place. Reading, updating, moving and \
               deleting by its id must be refused then, also after a restart, and so must unknown ids; not a byte may \
               change. Once the deletion is undone, the id is that section's again.",
    cases: |_| Ok(["by a call", "by a person"].map(|by| Case::new(by, by)).into()),
    judge: gone,
    shrink: as_small_as_can_be,
};

const TEXT: &str = "# Plan\n\nplan\n\n## Step\n\nstep one\n\n## Step\n\nstep two\n\n### Part\n\npart\n\n## Step\n\nstep three\n\n# End\n\nend\n";

/// Each section's id and own text.
fn all(editor: &mut Editor<'_>) -> Result<Vec<(String, String)>, Stop> {
    let list = editor.list()?;
    let mut all = Vec::new();
    for entry in list {
        let read = editor.read(&entry.id)?;
        let read = read.ok_or_else(|| fail(format!("a section that is listed can't be read: {entry:?}")))?;
        all.push((entry.id, read.content.trim().to_owned()));
    }
    Ok(all)
}

/// What is known of ids.
#[derive(Default)]
struct IdHistory {
    ever: HashSet<String>,
    now: Vec<(String, String)>,
}

impl IdHistory {
    /// Fails unless the sections now are those that they should be: `expected` has the texts of all, in any order.
    fn look(&mut self, editor: &mut Editor<'_>, after: &str) -> Judgement {
        let found = all(editor)?;
        let ids: HashSet<_> = found.iter().map(|(id, _)| id.clone()).collect();
        ensure(ids.len() == found.len(), || {
            format!("after {after}, two sections have one id")
        })?;
        for (id, text) in &self.now {
            let same = found.iter().find(|(_, other)| other == text);
            if let Some((other, _)) = same.filter(|(other, _)| other != id) {
                return Err(fail(format!(
                    "after {after}, the section of {text:?} has the id {other} instead of {id}"
                )));
            }
        }
        for (id, text) in &found {
            let was = self.now.iter().any(|(old, _)| old == id);
            ensure(was || !self.ever.contains(id) || after.contains("do of"), || {
                format!("after {after}, the section of {text:?} has an id that another section had: {id}")
            })?;
        }
        self.ever.extend(ids);
        self.now = found;
        Ok(())
    }

    fn id(&self, text: &str) -> Result<String, Stop> {
        let found = self.now.iter().find(|(_, other)| other == text);
        found
            .map(|(id, _)| id.clone())
            .ok_or_else(|| fail(format!("no section has the text {text:?}")))
    }
}

fn stable(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    begin(&scene, TEXT)?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    let mut known = IdHistory::default();
    known.look(&mut editor, "the beginning")?;
    accepted(&editor.insert("Step", "step zero\n", 1)?, "an insertion")?;
    known.look(&mut editor, "an insertion of a section of the same heading")?;
    let (zero, two) = (known.id("step zero")?, known.id("step two")?);
    accepted(&editor.relocate(&two, 1)?, "a move")?;
    known.look(&mut editor, "a move")?;
    editor.client.close()?;
    editor = Editor::start(bench.subject, &scene)?;
    known.look(&mut editor, "a restart")?;
    let one = known.id("step one")?;
    accepted(&editor.update(&one, "step one, anew\n")?, "an update")?;
    let now = known.now.iter_mut().find(|(id, _)| *id == one);
    now.into_iter()
        .for_each(|(_, text)| "step one, anew".clone_into(text));
    known.look(&mut editor, "an update")?;
    accepted(&editor.delete(&zero)?, "a deletion")?;
    let before = std::mem::take(&mut known.now);
    known.now = before.iter().filter(|(id, _)| *id != zero).cloned().collect();
    known.look(&mut editor, "a deletion")?;
    accepted(&editor.insert("Step", "step four\n", 1)?, "an insertion")?;
    known.look(&mut editor, "an insertion in the place of what was deleted")?;
    for (what, reply) in [
        ("an undo of an insertion", editor.undo()?),
        ("an undo of a deletion", editor.undo()?),
        ("a redo of a deletion", editor.redo()?),
        ("a redo of an insertion", editor.redo()?),
    ] {
        accepted(&reply, what)?;
    }
    known.look(&mut editor, "an undo and a redo of an insertion and a deletion")?;
    accepted(&editor.undo()?, "an undo")?;
    accepted(&editor.undo()?, "an undo")?;
    known.now = before;
    known.look(&mut editor, "an undo of both")?;
    let mut text = super::samples::held(&scene);
    text.push_str("\nMore by a person.\n\n# A person's\n\nnew by hand\n");
    scene.put(DOCUMENT, &text)?;
    let end = known.now.iter_mut().find(|(_, text)| text == "end");
    end.into_iter()
        .for_each(|(_, text)| text.push_str("\n\nMore by a person."));
    known.look(&mut editor, "an edit by hand")?;
    scene.commit_all("a person's")?;
    known.look(&mut editor, "a commit by hand")
}

fn gone(bench: &Bench<'_>, case: &Case) -> Judgement {
    let by: String = case.read()?;
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    begin(&scene, TEXT)?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    let mut known = IdHistory::default();
    known.look(&mut editor, "the beginning")?;
    let (id, end) = (known.id("step two")?, known.id("end")?);
    if by == "by a call" {
        accepted(&editor.delete(&id)?, "a deletion")?;
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
        let before = Moment::of(&scene)?;
        let odd = [
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
        let odd = odd.into_iter().filter(|it| !known.ever.contains(*it));
        for id in [id.as_str()].into_iter().chain(odd).collect::<Vec<_>>() {
            ensure(editor.read(id)?.is_none(), || {
                format!("the id {id:?} is unknown, and a section was read by it")
            })?;
            let replies = [
                editor.update(id, "for no section\n")?,
                editor.relocate(id, 0)?,
                editor.delete(id)?,
            ];
            let is_refused = replies.iter().all(|reply| matches!(reply, Reply::Refused(_)));
            ensure(is_refused, || {
                format!("the id {id:?} is unknown, and a section was changed by it")
            })?;
        }
        before.same(&Moment::of(&scene)?)?;
    }
    if by == "by a call" {
        accepted(&editor.undo()?, "an undo")?;
        let read = editor.read(&id)?;
        ensure(read.is_some_and(|read| read.content.trim() == "step two"), || {
            "the deletion was undone, and the section's id is not its own again".into()
        })?;
    }
    Ok(())
}
