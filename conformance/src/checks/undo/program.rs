//! Random programs of edits, undo, redo, restarts and a person's edits, compared with a model.

use std::collections::BTreeMap;

use super::round::State;
use crate::{
    check::fewer_steps,
    checks::{outline::editor::Editor, prelude::*},
    judgement::ensure_accepted,
    layout::DOCUMENT,
    settled,
};

pub(super) const CHECK: Check = Check {
    id: "undo/program",
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
    explains: "Runs random programs and compares each step with a model: two stacks of edits with the states before and \
               after them. An undo must restore the state before the last edit that has not been undone; it must be \
               refused if there is none. If a person has edited the document since, it must be refused or take back that \
               edit alone: the person's lines stay. A redo likewise. An accepted call makes one commit, a refused \
               call none. A second server over the same library takes part. A failing program is shrunk.",
    cases,
    shrink: fewer_steps::<Step>,
    ..Check::must(judge)
};

pub(super) const LEVELS: Check = Check {
    id: "undo/levels",
    guarantees: &["undo-inverts", "redo-inverts-undo"],
    states: "A hundred edits can be undone and redone one by one, also by a restarted server.",
    explains: "Makes a hundred edits (ten in the quick profile), restarts the server, undoes them all, restarts it, \
               and redoes them all. After each step the document must be in the state that it had there.",
    cases: |bench| Ok(vec![Case::new("levels", bench.pick(10, 100))]),
    ..Check::must(judge_levels)
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

/// An edit, with the states before and after it.
#[derive(Debug)]
struct Edit {
    before: State,
    after: State,
}

/// The edits that can be undone and redone.
#[derive(Debug, Default)]
struct Model {
    undo: Vec<Edit>,
    redo: Vec<Edit>,
}

impl Model {
    /// Judges an undo, or a redo, that led from `before` to `after`.
    fn step(&mut self, word: &str, reply: &Reply, [before, after]: [&State; 2], when: &str) -> Judgement {
        let undoes = word == "undo";
        let stack = if undoes { &mut self.undo } else { &mut self.redo };
        let is_done = matches!(reply, Reply::Done(_));
        let Some(edit) = stack.pop() else {
            return ensure(!is_done, || format!("{when} {word} was accepted with nothing to {word}"));
        };
        let [from, to] = if undoes { [&edit.after, &edit.before] } else { [&edit.before, &edit.after] };
        if before.bytes == from.bytes {
            ensure_accepted(reply, format!("{word} of the last edit"))?;
        }
        if !is_done {
            stack.push(edit);
            return Ok(());
        }
        if before == from {
            to.same(after, when)?;
        } else {
            let mut expected = line_counts(before);
            for (state, by) in [(from, -1), (to, 1)] {
                for (line, count) in line_counts(state) {
                    *expected.entry(line).or_default() += by * count;
                }
            }
            expected.retain(|_, count| *count != 0);
            ensure(expected == line_counts(after), || {
                format!("{when} {word} did more than {word} its edit: a person's lines are not as they were")
            })?;
        }
        if undoes {
            self.redo.push(edit)
        } else {
            self.undo.push(edit)
        }
        Ok(())
    }
}

/// Returns the number of occurrences of each line of the document that is not blank. If an edit is taken back and other
/// lines stay, these numbers can be computed without knowing the lines' positions.
fn line_counts(state: &State) -> BTreeMap<&[u8], i64> {
    let text = state.bytes.as_deref().unwrap_or_default();
    let mut counts = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        *counts.entry(line).or_default() += 1;
    }
    counts
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
    let before = State::read(scene, editor)?;
    let old = settled::view(scene)?.library;
    let ids = &before.list;
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
    let after = State::read(scene, editor)?;
    let is_done = matches!(reply, Reply::Done(_));
    if !is_done {
        before.same(&after, &when)?;
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
        Step::Undo => model.step("undo", &reply, [&before, &after], &when)?,
        Step::Redo => model.step("redo", &reply, [&before, &after], &when)?,
        Step::Move(..) if !is_done => {}
        _ => {
            ensure_accepted(&reply, format!("step {number}, {step:?},"))?;
            model.undo.push(Edit { before, after });
            model.redo.clear();
        }
    }
    Ok(())
}

fn judge_levels(bench: &Bench<'_>, case: &Case) -> Judgement {
    let levels: usize = case.read()?;
    let scene = bench.scene(&[(DOCUMENT, TEXT)])?;
    let mut editor = Editor::start(bench.subject, &scene)?;
    let mut states = vec![State::read(&scene, &mut editor)?];
    for level in 0..levels {
        let ids = &states[level].list;
        let (count, last) = (ids.len(), ids[ids.len() - 1].id.clone());
        let reply = match level % 4 {
            0 | 1 => editor.insert(&format!("Level {level}"), "text\n", level % (count + 1))?,
            2 => editor.update(&last, &format!("Text {level}.\n"))?,
            _ => editor.delete(&last)?,
        };
        ensure_accepted(&reply, format!("edit {level}"))?;
        states.push(State::read(&scene, &mut editor)?);
    }
    editor.client.close()?;
    editor = Editor::start(bench.subject, &scene)?;
    for level in (0..levels).rev() {
        ensure_accepted(&editor.undo()?, format!("the undo of edit {level}"))?;
        states[level].same(&State::read(&scene, &mut editor)?, &format!("after the undo of edit {level}"))?;
    }
    editor.client.close()?;
    editor = Editor::start(bench.subject, &scene)?;
    for level in 0..levels {
        ensure_accepted(&editor.redo()?, format!("the redo of edit {level}"))?;
        states[level + 1]
            .same(&State::read(&scene, &mut editor)?, &format!("after the redo of edit {level}"))?;
    }
    Ok(())
}
