//! Random programs of edits, undo, redo, restarts and a person's edits, compared with a model.

use serde::{Deserialize, Serialize};

use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be, fewer_steps},
    checks::outline::editor::{Editor, Entry, ensure_accepted},
    judgement::{Judgement, Stop, ensure, fail},
    layout::DOCUMENT,
    reply::Reply,
    scene::Scene,
    settled,
};

pub(super) const CHECK: Check = Check {
    id: "undo/program",
    severity: Severity::Must,
    guarantees: &[
        "undo-inverts",
        "redo-inverts-undo",
        "edit-clears-redo",
        "history-is-kept",
        "hand-edits-are-kept",
        "ids-are-stable",
        "commit-per-edit",
        "errors-change-nothing",
    ],
    states: "In any order of edits, undo, redo, restarts and a person's edits, each undo and redo gives \
            the expected document.",
    explains: "Runs random programs and compares each step with a model: a stack of earlier states and a person's \
               edits. An undo must restore the last state that has not been undone, or be refused if there is none or \
               a person has edited the document since; a redo likewise. An accepted call makes one commit, a refused \
               call none. A second server over the same library takes part. A failing program is shrunk.",
    cases,
    judge,
    shrink: fewer_steps::<Step>,
};

pub(super) const LEVELS: Check = Check {
    id: "undo/levels",
    severity: Severity::Must,
    guarantees: &["undo-inverts", "redo-inverts-undo"],
    states: "A hundred edits can be undone and redone one by one, also by a restarted server.",
    explains: "Makes a hundred edits (ten in the quick profile), restarts the server, undoes them all, restarts it, \
               and redoes them all. After each step the document must be in the state that it had there.",
    cases: |bench| Ok(vec![Case::new("levels", bench.pick(10, 100))]),
    judge: judge_levels,
    shrink: as_small_as_can_be,
};

/// A step of a program. Numbers select a section or position, modulo their count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Step {
    Insert(usize),
    Update(usize),
    Delete(usize),
    Move(usize, usize),
    Undo,
    Redo,
    /// The following calls go to the other of two servers.
    Change,
    Restart,
    /// A person adds a line, and commits it if true.
    Hand(bool),
}

const PROGRAM_LENGTH: usize = 16;

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut dice = bench.dice("undo/program");
    let mut step = || match dice.u8(..20) {
        0..=3 => Step::Insert(dice.usize(..8)),
        4 | 5 => Step::Update(dice.usize(..8)),
        6 => Step::Delete(dice.usize(..8)),
        7 => Step::Move(dice.usize(..8), dice.usize(..8)),
        8..=12 => Step::Undo,
        13..=15 => Step::Redo,
        16 | 17 => Step::Change,
        18 => Step::Restart,
        _ => Step::Hand(dice.bool()),
    };
    let mut program = || -> Vec<Step> { (0..PROGRAM_LENGTH).map(|_| step()).collect() };
    let cases = (0..bench.pick(6, 250)).map(|number| Case::new(format!("program {number}"), program()));
    Ok(cases.collect())
}

const TEXT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n";

/// Bytes and sections of the document.
type State = (Option<Vec<u8>>, Vec<Entry>);

/// An entry of the undo stack.
#[derive(Debug, Clone)]
enum UndoEntry {
    /// An edit, with the state before it.
    Edit(State),
    /// A person's edit.
    Hand,
}

/// The undo and redo stacks, with the states that they restore.
#[derive(Debug, Default)]
struct Model {
    undo: Vec<UndoEntry>,
    redo: Vec<State>,
}

fn read_state(scene: &Scene<'_>, editor: &mut Editor<'_>) -> Result<State, Stop> {
    Ok((scene.read(DOCUMENT), editor.list()?))
}

fn same_state(expected: &State, found: &State, when: &str) -> Judgement {
    if expected == found {
        return Ok(());
    }
    let what = if expected.0 == found.0 {
        format!(
            "{when} the sections are {:?} instead of {:?}",
            found.1, expected.1
        )
    } else {
        format!("{when} the document has other bytes than expected")
    };
    Err(fail(what).showing(DOCUMENT, expected.0.as_deref(), found.0.as_deref()))
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let steps: Vec<Step> = case.read()?;
    let scene = bench.scene(&[(DOCUMENT, TEXT)])?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    let mut other = match bench.subject.launch.running() {
        // A running server is used as it is: there is no second one.
        Some(_) => None,
        None => Some(Editor::start(bench.subject, &scene)?),
    };
    let mut model = Model::default();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Change => {
                if let Some(other) = &mut other {
                    std::mem::swap(&mut editor, other);
                }
            }
            Step::Restart => {
                editor.client.close()?;
                editor = Editor::start(bench.subject, &scene)?;
            }
            Step::Hand(commits) => {
                let mut text = scene.read(DOCUMENT).unwrap_or_default();
                text.extend(format!("\nA person's line {number}.\n").as_bytes());
                scene.put(DOCUMENT, text)?;
                if *commits {
                    scene.commit_all("a person's")?;
                }
                // Consecutive edits of a person block undo as one.
                if !matches!(model.undo.last(), Some(UndoEntry::Hand)) {
                    model.undo.push(UndoEntry::Hand);
                }
                model.redo.clear();
            }
            step => call(bench, &scene, &mut editor, &mut model, *step, number)?,
        }
    }
    Ok(())
}

/// Makes a call and judges its effect.
fn call(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    editor: &mut Editor<'_>,
    model: &mut Model,
    step: Step,
    number: usize,
) -> Judgement {
    let before = read_state(scene, editor)?;
    let old = settled::view(scene)?.library;
    let ids = &before.1;
    let chosen = |at: usize| ids.get(at % ids.len().max(1)).map(|entry| entry.id.as_str());
    let text = format!("Text {number}.\n");
    let when = format!("after step {number}, {step:?},");
    let reply = match step {
        Step::Insert(at) => editor.insert(&format!("New {number}"), &text, at % (ids.len() + 1))?,
        Step::Update(at) => match chosen(at) {
            Some(id) => editor.update(id, &text)?,
            None => return Ok(()),
        },
        Step::Delete(at) => match chosen(at) {
            Some(id) => editor.delete(id)?,
            None => return Ok(()),
        },
        Step::Move(at, to) => match chosen(at) {
            Some(id) => editor.relocate(id, to % ids.len())?,
            None => return Ok(()),
        },
        Step::Undo => editor.undo()?,
        _ => editor.redo()?,
    };
    let after = read_state(scene, editor)?;
    let is_done = matches!(reply, Reply::Done(_));
    if !is_done {
        same_state(&before, &after, &when)?;
    }
    let new = settled::view(scene)?.library;
    if bench.subject.should_commit() {
        // The server may adopt a person's uncommitted bytes in a commit of their own.
        let max_commits = usize::from(is_done) + usize::from(is_done && !old.status.is_empty());
        let made = new.commits.len().saturating_sub(old.commits.len());
        ensure(new.commits.ends_with(&old.commits), || {
            format!("{when} the previous HEAD is not an ancestor of HEAD")
        })?;
        ensure((usize::from(is_done)..=max_commits).contains(&made), || {
            format!("{when} there are {made} new commits")
        })?;
    }
    match step {
        Step::Undo => match (model.undo.pop(), is_done) {
            (Some(UndoEntry::Edit(expected)), true) => {
                same_state(&expected, &after, &when)?;
                model.redo.push(before);
            }
            (None, false) => {}
            (Some(UndoEntry::Hand), false) => model.undo.push(UndoEntry::Hand),
            (Some(UndoEntry::Edit(_)), false) => ensure_accepted(&reply, "an undo of the last edit")?,
            (None, true) => {
                return Err(fail(format!("{when} an undo was accepted with nothing to undo")));
            }
            (Some(UndoEntry::Hand), true) => {
                return Err(fail(format!(
                    "{when} an undo was accepted across a person's edit"
                )));
            }
        },
        Step::Redo => match (model.redo.pop(), is_done) {
            (Some(expected), true) => {
                same_state(&expected, &after, &when)?;
                model.undo.push(UndoEntry::Edit(before));
            }
            (None, false) => {}
            (Some(_), false) => ensure_accepted(&reply, "a redo of the last undo")?,
            (None, true) => {
                return Err(fail(format!("{when} a redo was accepted with nothing to redo")));
            }
        },
        Step::Move(..) if !is_done => {}
        _ => {
            ensure_accepted(&reply, &format!("step {number}, {step:?},"))?;
            model.undo.push(UndoEntry::Edit(before));
            model.redo.clear();
        }
    }
    Ok(())
}

fn judge_levels(bench: &Bench<'_>, case: &Case) -> Judgement {
    let levels: usize = case.read()?;
    let scene = bench.scene(&[(DOCUMENT, TEXT)])?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    let mut states = vec![read_state(&scene, &mut editor)?];
    for level in 0..levels {
        let ids = &states[level].1;
        let (count, last) = (ids.len(), ids[ids.len() - 1].id.clone());
        let reply = match level % 4 {
            0 | 1 => editor.insert(&format!("Level {level}"), "text\n", level % (count + 1))?,
            2 => editor.update(&last, &format!("Text {level}.\n"))?,
            _ => editor.delete(&last)?,
        };
        ensure_accepted(&reply, &format!("edit {level}"))?;
        states.push(read_state(&scene, &mut editor)?);
    }
    editor.client.close()?;
    editor = Editor::start(bench.subject, &scene)?;
    for level in (0..levels).rev() {
        ensure_accepted(&editor.undo()?, &format!("the undo of edit {level}"))?;
        same_state(
            &states[level],
            &read_state(&scene, &mut editor)?,
            &format!("after the undo of edit {level}"),
        )?;
    }
    editor.client.close()?;
    editor = Editor::start(bench.subject, &scene)?;
    for level in 0..levels {
        ensure_accepted(&editor.redo()?, &format!("the redo of edit {level}"))?;
        same_state(
            &states[level + 1],
            &read_state(&scene, &mut editor)?,
            &format!("after the redo of edit {level}"),
        )?;
    }
    Ok(())
}
