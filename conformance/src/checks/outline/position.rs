//! A position is a place in the order of all sections, before and after.

use super::{
    editor::{Editor, accepted},
    samples::{self, begin, held, sections},
};
use crate::{
    check::{Bench, Case, Check, Severity},
    documents::Document,
    judgement::{Judgement, ensure},
    reply::Reply,
    scene::Scene,
};

pub(super) const CHECK: Check = Check {
    id: "outline/position",
    severity: Severity::Must,
    guarantees: &["position-is-preorder", "errors-change-nothing"],
    states: "After an insertion or a move the section is the one at the position, and all others are in the order they were.",
    explains: "On a table of documents, sections are inserted at every position and at the one behind the last, and each \
               section is moved to every position. The list must then have the section there, with its heading and the id \
               that was returned, and the others as before; a parser of the tester must see the same headings in the \
               folder. A position that there is not is refused, and the document stays as it was.",
    cases: samples::cases,
    judge,
    shrink: samples::shrink,
};

/// How many positions of a document are tried in the quick profile.
const MAX_QUICK_POSITIONS: usize = 2;

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    samples::each(bench, case, |scene, editor, document| {
        let text = document.text();
        begin(scene, &text)?;
        agrees(editor, &text)?;
        let count = sections(&text).len();
        for position in chosen(bench, count + 1) {
            insert(scene, editor, document, position)?;
            begin(scene, &text)?;
        }
        for from in chosen(bench, count) {
            for position in chosen(bench, count + 1) {
                relocate(scene, editor, document, from, position)?;
                begin(scene, &text)?;
            }
        }
        let before = held(scene);
        let reply = editor.insert("Beyond", "text\n", count + 1)?;
        ensure(
            matches!(reply, Reply::Refused(_)) && held(scene) == before,
            || format!("an insertion at {} of {count} sections was accepted", count + 1),
        )
    })
}

/// Some of the numbers below `all`: the first, the last and those between.
fn chosen(bench: &Bench<'_>, all: usize) -> Vec<usize> {
    let most = bench.pick(MAX_QUICK_POSITIONS, 12).min(all);
    (0..most)
        .map(|part| part * (all - 1).max(1) / (most - 1).max(1))
        .collect()
}

/// Fails unless the list is what the tester sees.
fn agrees(editor: &mut Editor<'_>, text: &str) -> Judgement {
    let listed: Vec<_> = editor.list()?.into_iter().map(|it| it.heading).collect();
    let seen: Vec<_> = sections(text).into_iter().map(|it| it.heading).collect();
    ensure(listed == seen, || {
        format!("the sections that are listed are {listed:?}, and those in the folder {seen:?}")
    })
}

fn insert(scene: &Scene<'_>, editor: &mut Editor<'_>, document: &Document, position: usize) -> Judgement {
    let before = editor.list()?;
    let reply = editor.insert("New one", "Some text.\n", position)?;
    if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
        return Ok(());
    }
    accepted(&reply, &format!("an insertion at {position}"))?;
    let after = editor.list()?;
    let mut others = after.clone();
    let new = (position < others.len()).then(|| others.remove(position));
    let id = editor.id_of(&reply);
    ensure(
        new.as_ref()
            .is_some_and(|new| Some(&new.id) == id.as_ref() && new.heading == "New one"),
        || format!("after an insertion at {position}, {new:?} is there, and {id:?} was returned"),
    )?;
    ensure(others == before, || {
        format!("an insertion at {position} made of {before:?} {others:?}")
    })?;
    agrees(editor, &held(scene))
}

fn relocate(
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    document: &Document,
    from: usize,
    position: usize,
) -> Judgement {
    let (before, text) = (editor.list()?, held(scene));
    let size = sections(&text)[from].size;
    let reply = editor.relocate(&before[from].id, position)?;
    let is_place = position + size <= before.len();
    if let Reply::Refused(refusal) = &reply {
        ensure(held(scene) == text, || {
            "a move was refused, and the document is not what it was".into()
        })?;
        return ensure(!is_place || samples::may_refuse(document), || {
            format!(
                "a move from {from} to {position} was refused: {}",
                refusal.message
            )
        });
    }
    ensure(is_place, || {
        format!(
            "a move of {size} sections to {position} of {} was accepted",
            before.len()
        )
    })?;
    let mut expected = before.clone();
    let moved: Vec<_> = expected.drain(from..from + size).collect();
    expected.splice(position..position, moved);
    let after = editor.list()?;
    ensure(after == expected, || {
        format!("a move from {from} to {position} made of {before:?} {after:?}")
    })?;
    agrees(editor, &held(scene))
}
