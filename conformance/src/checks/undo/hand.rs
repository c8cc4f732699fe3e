//! Checks of undo and redo after a person's edit, and with nothing to undo or redo.

use crate::{
    checks::{
        outline::{
            editor::Editor,
            samples::{commit_document, document_text},
        },
        prelude::*,
    },
    judgement::ensure_accepted,
    layout::DOCUMENT,
};

pub(super) const CHECK: Check = Check {
    id: "undo/hand-edit",
    guarantees: &["hand-edits-are-kept", "errors-change-nothing"],
    states: "A person's later edits are never overwritten by undo or redo: the call is refused, or keeps them.",
    explains: "After an edit or its undo, a person adds a line to the document, replaces its text or deletes it, with or \
               without a commit; the server continues or restarts. The undo or redo must be refused, and every byte, \
               including uncommitted changes, must be as the person left it. Beside the added line it may also do what \
               it does without it: the document is then what it would be, and the line.",
    cases,
    ..Check::must(judge)
};

pub(super) const NOTHING_TO_UNDO: Check = Check {
    id: "undo/nothing",
    guarantees: &["errors-change-nothing"],
    states: "With nothing to undo or redo, the call is refused, and nothing changes.",
    explains: "Calls undo and redo on a document that only a person has edited, without a document, after everything was \
               undone, and after everything was redone.",
    cases: |_| Ok(["a document", "no document"].map(|what| Case::new(what, what)).into()),
    ..Check::must(judge_nothing)
};

const TEXT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";
/// The line that a person adds.
const LINE: &str = "\nA person's line.\n";
/// A person's edits.
const PERSON_EDITS: [&str; 3] = ["adds a line", "writes it anew", "deletes it"];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for call in ["undo", "redo"] {
        for by_hand in PERSON_EDITS {
            for commits in [true, false] {
                for &restarts in bench.pick(&[false][..], &[false, true]) {
                    cases.push(Case::new(
                        name(call, by_hand, commits, restarts),
                        json!([call, by_hand, commits, restarts]),
                    ));
                }
            }
        }
    }
    Ok(cases)
}

fn name(call: &str, by_hand: &str, commits: bool, restarts: bool) -> String {
    let how = if commits { "commits" } else { "does not commit" };
    let then = if restarts { ", then a restart" } else { "" };
    format!("{call}, after a person {by_hand} and {how}{then}")
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (call, by_hand, commits, restarts): (String, String, bool, bool) = case.read()?;
    let scene = bench.scene(&[(DOCUMENT, TEXT)])?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    ensure_accepted(&editor.insert("New one", "Some text.\n", 1)?, "an insertion")?;
    let edited = document_text(&scene);
    if call == "redo" {
        ensure_accepted(&editor.undo()?, "an undo")?;
    }
    let aim = if call == "redo" { &edited } else { TEXT };
    match &*by_hand {
        "adds a line" => scene.put(DOCUMENT, document_text(&scene) + LINE)?,
        "writes it anew" => scene.put(DOCUMENT, "# A person's\n\nNew text.\n")?,
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
    let before = Moment::capture(&scene)?;
    let reply = match &*call {
        "undo" => editor.undo()?,
        _ => editor.redo()?,
    };
    if by_hand == "adds a line" && matches!(reply, Reply::Done(_)) {
        return ensure(document_text(&scene) == format!("{aim}{LINE}"), || {
            format!(
                "the {call} was accepted, and the document is not what it undid or redid with the person's line"
            )
        });
    }
    before.same_documents(&Moment::capture(&scene)?, &[])?;
    ensure(matches!(reply, Reply::Refused(_)), || {
        format!("the {call} was accepted although a person has edited the document since")
    })?;
    before.same(&Moment::capture(&scene)?)
}

fn judge_nothing(bench: &Bench<'_>, case: &Case) -> Judgement {
    let what: String = case.read()?;
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    if what == "a document" {
        commit_document(&scene, TEXT)?;
        commit_document(&scene, &TEXT.replace("All", "Most"))?;
    }
    let mut editor = Editor::start(bench.subject, &scene)?;
    refuses_both(&scene, &mut editor, "at the beginning", [true, true])?;
    ensure_accepted(&editor.insert("New one", "Some text.\n", 0)?, "an insertion")?;
    refuses_both(&scene, &mut editor, "after an insertion", [false, true])?;
    ensure_accepted(&editor.undo()?, "an undo")?;
    refuses_both(&scene, &mut editor, "after everything was undone", [true, false])?;
    ensure_accepted(&editor.redo()?, "a redo")?;
    refuses_both(&scene, &mut editor, "after everything was redone", [false, true])
}

/// Fails unless undo and redo, as selected, are refused and change nothing.
fn refuses_both(
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    when: &str,
    [undo, redo]: [bool; 2],
) -> Judgement {
    let before = Moment::capture(scene)?;
    for (name, is_selected) in [("undo", undo), ("redo", redo)] {
        if !is_selected {
            continue;
        }
        let reply = match name {
            "undo" => editor.undo()?,
            _ => editor.redo()?,
        };
        ensure(matches!(reply, Reply::Refused(_)), || {
            format!("{when} there is nothing to {name}, but the call was accepted")
        })?;
    }
    before.same(&Moment::capture(scene)?)
}
