//! A person's edits between a change and its undo, and undo where there is nothing.

use serde_json::json;

use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    checks::outline::{
        editor::{Editor, accepted},
        samples::{begin, held},
    },
    judgement::{Judgement, Stop, ensure},
    layout::DOCUMENT,
    moment::Moment,
    reply::Reply,
    scene::Scene,
};

pub(super) const CHECK: Check = Check {
    id: "undo/hand-edit",
    severity: Severity::Must,
    guarantees: &["hand-edits-are-kept", "errors-change-nothing"],
    states: "What a person has done to the document since is never undone or redone over: the call is refused.",
    explains: "After an edit, or after its undo, a person adds a line to the document, puts another text in its place, or \
               deletes it, and commits that or does not; the server goes on or is restarted. The undo, or the redo, must be \
               refused, and every byte, what is not committed included, must be as the person left it.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

pub(super) const NOTHING: Check = Check {
    id: "undo/nothing",
    severity: Severity::Must,
    guarantees: &["errors-change-nothing"],
    states: "Where there is nothing to undo or to redo, the call is refused, and nothing changes.",
    explains: "Undo and redo are called on a document that only a person has edited, on none, after all has been undone and \
               after all has been redone.",
    cases: |_| {
        Ok(["a document", "no document"]
            .map(|what| Case::new(what, what))
            .into())
    },
    judge: nothing,
    shrink: as_small_as_can_be,
};

const TEXT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";
/// What a person does.
const BY_HAND: [&str; 3] = ["adds a line", "writes it anew", "deletes it"];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for call in ["undo", "redo"] {
        for by_hand in BY_HAND {
            for commits in [true, false] {
                for restarts in bench.pick(&[false][..], &[false, true]) {
                    let how = if commits { "commits" } else { "does not commit" };
                    let then = if *restarts { ", then a restart" } else { "" };
                    let name = format!("{call}, after a person {by_hand} and {how}{then}");
                    cases.push(Case::new(name, json!([call, by_hand, commits, restarts])));
                }
            }
        }
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (call, by_hand, commits, restarts): (String, String, bool, bool) = case.read()?;
    let scene = bench.scene(&[(DOCUMENT, TEXT)])?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    accepted(&editor.insert("New one", "Some text.\n", 1)?, "an insertion")?;
    if call == "redo" {
        accepted(&editor.undo()?, "an undo")?;
    }
    match &*by_hand {
        "adds a line" => scene.put(DOCUMENT, held(&scene) + "\nA person's line.\n")?,
        "writes it anew" => scene.put(DOCUMENT, "# A person's\n\nAll anew.\n")?,
        _ => {
            scene.trace(format!("a person deletes `{DOCUMENT}`"));
            std::fs::remove_file(scene.path(DOCUMENT))?;
        }
    }
    if commits {
        scene.commit_all("a person's")?;
    }
    if restarts {
        editor.client.close()?;
        editor = Editor::start(bench.subject, &scene)?;
    }
    let before = Moment::of(&scene)?;
    let reply = match &*call {
        "undo" => editor.undo()?,
        _ => editor.redo()?,
    };
    before.same_documents(&Moment::of(&scene)?, &[])?;
    ensure(matches!(reply, Reply::Refused(_)), || {
        format!("the {call} was accepted although a person has edited the document since")
    })?;
    before.same(&Moment::of(&scene)?)
}

fn nothing(bench: &Bench<'_>, case: &Case) -> Judgement {
    let what: String = case.read()?;
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    if what == "a document" {
        begin(&scene, TEXT)?;
        begin(&scene, &TEXT.replace("All", "Most"))?;
    }
    let mut editor = Editor::start(bench.subject, &scene)?;
    refuses_both(&scene, &mut editor, "at the beginning", [true, true])?;
    accepted(&editor.insert("New one", "Some text.\n", 0)?, "an insertion")?;
    refuses_both(&scene, &mut editor, "after an insertion", [false, true])?;
    accepted(&editor.undo()?, "an undo")?;
    refuses_both(&scene, &mut editor, "after all was undone", [true, false])?;
    accepted(&editor.redo()?, "a redo")?;
    refuses_both(&scene, &mut editor, "after all was redone", [false, true])
}

/// Calls undo and redo, where there is nothing for them.
fn refuses_both(
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    when: &str,
    [undo, redo]: [bool; 2],
) -> Judgement {
    let before = Moment::of(scene)?;
    for (name, is_nothing) in [("undo", undo), ("redo", redo)] {
        if !is_nothing {
            continue;
        }
        let reply = match name {
            "undo" => editor.undo()?,
            _ => editor.redo()?,
        };
        ensure(matches!(reply, Reply::Refused(_)), || {
            format!("{when} there is nothing to {name}, and it was accepted")
        })?;
    }
    before.same(&Moment::of(scene)?)
}
