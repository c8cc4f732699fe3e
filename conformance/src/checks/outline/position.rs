//! Checks that a position counts all sections in document order, after the edit.

use super::{
    editor::Editor,
    samples::{self, commit_document, document_text, sections},
};
use crate::{checks::prelude::*, documents::Document, judgement::ensure_accepted};

pub(super) const CHECK: Check = Check {
    id: "outline/position",
    guarantees: &["position-is-preorder", "errors-change-nothing"],
    states: "After an insertion or a move the section is at the requested position, and all others keep \
            their order.",
    explains: "In a table of documents, inserts sections at every position, including the end, and moves each section \
               to every position. The list must then have the section at that position, with its heading and the \
               returned id, and the others in their order; the suite's own parser must find the same headings in the \
               folder. A position beyond the end must be refused and leave the document unchanged.",
    cases: samples::cases,
    shrink: samples::shrink,
    ..Check::must(judge)
};

/// Maximum number of positions of a document in the quick profile.
const MAX_QUICK_POSITIONS: usize = 2;

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    samples::for_each_document(bench, case, |scene, editor, document| {
        let text = document.text();
        commit_document(scene, &text)?;
        ensure_listed(editor, &text)?;
        let count = sections(&text)?.len();
        for position in spread(bench, count + 1) {
            insert(scene, editor, document, position)?;
            commit_document(scene, &text)?;
        }
        for from in spread(bench, count) {
            for position in spread(bench, count + 1) {
                relocate(scene, editor, document, from, position)?;
                commit_document(scene, &text)?;
            }
        }
        let before = document_text(scene);
        let reply = editor.insert("Beyond", "text\n", count + 1)?;
        ensure(matches!(reply, Reply::Refused(_)) && document_text(scene) == before, || {
            format!("an insertion at {} of {count} sections was accepted", count + 1)
        })
    })
}

/// Returns evenly spaced numbers below `all`, with the first and the last.
fn spread(bench: &Bench<'_>, all: usize) -> Vec<usize> {
    let count = bench.pick(MAX_QUICK_POSITIONS, 12).min(all);
    (0..count).map(|part| part * (all - 1).max(1) / (count - 1).max(1)).collect()
}

/// Fails unless the server lists the sections of `text`.
fn ensure_listed(editor: &mut Editor<'_>, text: &str) -> Judgement {
    let listed: Vec<_> = editor.list()?.into_iter().map(|it| it.heading).collect();
    let parsed: Vec<_> = sections(text)?.into_iter().map(|it| it.heading).collect();
    ensure(listed == parsed, || {
        format!("the server lists the sections {listed:?}, but the document has {parsed:?}")
    })
}

fn insert(scene: &Scene<'_>, editor: &mut Editor<'_>, document: &Document, position: usize) -> Judgement {
    let before = editor.list()?;
    let reply = editor.insert("New one", "Some text.\n", position)?;
    if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
        return Ok(());
    }
    ensure_accepted(&reply, format!("an insertion at {position}"))?;
    let after = editor.list()?;
    let mut others = after.clone();
    let new = (position < others.len()).then(|| others.remove(position));
    let id = editor.id_of(&reply);
    ensure(new.as_ref().is_some_and(|new| Some(&new.id) == id.as_ref() && new.heading == "New one"), || {
        format!("an insertion at {position} returned {id:?}, but the list has {new:?} there")
    })?;
    ensure(others == before, || {
        format!("an insertion at {position} changed the other sections from {before:?} to {others:?}")
    })?;
    ensure_listed(editor, &document_text(scene))
}

fn relocate(
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    document: &Document,
    from: usize,
    position: usize,
) -> Judgement {
    let (before, text) = (editor.list()?, document_text(scene));
    let size = sections(&text)?[from].size;
    let reply = editor.relocate(&before[from].id, position)?;
    let is_possible = position + size <= before.len();
    if let Reply::Refused(refusal) = &reply {
        ensure(document_text(scene) == text, || "a refused move changed the document".into())?;
        return ensure(!is_possible || samples::may_refuse(document), || {
            format!("a move from {from} to {position} was refused: {}", refusal.message)
        });
    }
    ensure(is_possible, || {
        format!("a move of {size} sections to {position} of {} was accepted", before.len())
    })?;
    let mut expected = before.clone();
    let moved: Vec<_> = expected.drain(from..from + size).collect();
    expected.splice(position..position, moved);
    let after = editor.list()?;
    ensure(after == expected, || {
        format!("a move from {from} to {position} changed the list from {before:?} to {after:?}")
    })?;
    ensure_listed(editor, &document_text(scene))
}
