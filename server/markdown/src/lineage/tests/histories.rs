//! Compares the lineage of whole histories with a model of two stacks and labelled sections.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseResult;

use super::super::{Direction, SectionChange, UndoEntry};
use super::*;
use crate::editor;

/// An action of a person or of the editor.
#[derive(Debug, Clone)]
enum Action {
    Insert(usize, &'static str, &'static str),
    Update(usize, &'static str),
    Delete(usize),
    Move(usize, usize),
    Undo,
    Redo,
    /// A hand edit, committed by hand.
    Write(&'static str),
    /// A section cut out by hand.
    CutOut(usize),
}

const TEXTS: [&str; 5] =
    ["", "text\n", "more\n\n- a\n", "x\n\n###### Below\n\ny", "###### Below\n###### Below\n"];

fn action() -> impl Strategy<Value = Action> {
    let (at, to) = (any::<usize>(), any::<usize>());
    let heading = select(&["Plan", "Plan", "Notes", "## Scope", "C #"][..]);
    let text = select(&TEXTS[..]);
    (0..14usize, at, to, heading, text).prop_map(|(kind, at, to, heading, text)| match kind {
        0..=3 => Action::Insert(at, heading, text),
        4 | 5 => Action::Update(at, text),
        6 => Action::Delete(at),
        7 | 8 => Action::Move(at, to),
        9 | 10 => Action::Undo,
        11 => Action::Redo,
        12 => Action::Write("# Plan\n\nby hand\n\n## Notes\n\n## Notes\n"),
        _ => Action::CutOut(at),
    })
}

/// A document with its history, and its expected state.
#[derive(Default)]
struct Model {
    text: Option<String>,
    versions: Vec<Version>,
    lineage: Option<Lineage>,
    /// A label for each section; never used twice.
    labels: Vec<usize>,
    next_label: usize,
    undo: Vec<Transition>,
    redo: Vec<Transition>,
    /// The id of each label.
    known: HashMap<usize, SectionId>,
    gone: HashSet<SectionId>,
}

/// The document, with its labels.
type Side = (Option<String>, Vec<usize>);

/// The document before and after a change.
#[derive(Clone)]
struct Transition {
    before: Side,
    after: Side,
    /// The texts before and after, as its last undo or redo left them.
    texts: [Option<String>; 2],
}

impl Transition {
    /// Returns the sides before and after its undo or redo.
    fn sides(&self, back: bool) -> (&Side, &Side) {
        if back { (&self.after, &self.before) } else { (&self.before, &self.after) }
    }

    /// Returns the texts before and after its undo or redo.
    fn texts(&self, back: bool) -> (&Option<String>, &Option<String>) {
        let [before, after] = &self.texts;
        if back { (after, before) } else { (before, after) }
    }
}

impl Model {
    fn lineage(&mut self) -> &mut Lineage {
        self.lineage.get_or_insert_with(|| Lineage::new(PATH))
    }

    fn commit(&mut self, text: Option<String>, change: Option<SectionChange>) {
        let version = Version { commit: self.versions.len().to_string(), content: text.clone(), change };
        follow(self.lineage(), std::slice::from_ref(&version));
        self.versions.push(version);
        self.text = text;
    }

    fn labelled(&mut self, count: usize) -> Vec<usize> {
        let first = self.next_label;
        self.next_label += count;
        (first..self.next_label).collect()
    }

    fn act(&mut self, action: &Action) -> TestCaseResult {
        let text = self.text.clone().unwrap_or_default();
        let document = parsed(&text);
        let count = document.sections().len();
        let before = (self.text.clone(), self.labels.clone());
        let name = |lineage: &Lineage, position: usize| {
            let heading = editor::title(&text, &document.sections()[position]);
            (lineage.ids(&document)[position], heading)
        };
        let (new, change) = match action {
            Action::Undo | Action::Redo => return self.undo_or_redo(matches!(action, Action::Undo)),
            Action::Write(text) => return self.by_hand(text),
            Action::CutOut(_) | Action::Update(..) | Action::Delete(_) | Action::Move(..) if count == 0 => {
                return Ok(());
            }
            Action::CutOut(at) => {
                let section = &document.sections()[at % count];
                return self.by_hand(&[&text[..section.heading.start], &text[section.end..]].concat());
            }
            Action::Insert(at, heading, content) => {
                let position = at % (count + 1);
                let Ok(plan) = editor::insert(&document, position, heading, content) else {
                    return Ok(());
                };
                let labels = self.labelled(plan.sections);
                self.labels.splice(position..position, labels);
                let content = self.text.clone();
                let section_id = self.lineage().new_id(content.as_deref(), &plan.text);
                let (heading, sections) = (heading.to_string(), plan.sections);
                (plan.text, SectionChange::Insert { section_id, heading, position, sections })
            }
            Action::Update(at, content) => {
                let position = at % count;
                let Ok(plan) = editor::update(&document, position, content) else {
                    return Ok(());
                };
                let labels = self.labelled(plan.sections);
                self.labels.splice(position + 1..position + 1, labels);
                let (section_id, heading) = name(self.lineage(), position);
                (plan.text, SectionChange::Update { section_id, heading, position, sections: plan.sections })
            }
            Action::Delete(at) => {
                let position = at % count;
                let Ok(plan) = editor::delete(&document, position) else {
                    return Ok(());
                };
                self.labels.drain(position..position + plan.sections);
                let (section_id, heading) = name(self.lineage(), position);
                (plan.text, SectionChange::Delete { section_id, heading, position, sections: plan.sections })
            }
            Action::Move(from, to) => {
                let from = from % count;
                let most = count - document.subtree_size(from);
                let Ok(plan) = editor::relocate(&document, from, to % (most + 1)) else {
                    return Ok(());
                };
                let moved: Vec<usize> = self.labels.drain(from..from + plan.sections).collect();
                self.labels.splice(plan.position..plan.position, moved);
                let (section_id, heading) = name(self.lineage(), from);
                let (position, sections) = (plan.position, plan.sections);
                (plan.text, SectionChange::Move { section_id, heading, from, position, sections })
            }
        };
        // The change survives being written to the log and read back.
        prop_assert_eq!(SectionChange::read(change.operation(), &change.details()), Some(change.clone()));
        self.commit(Some(new), Some(change));
        let after = (self.text.clone(), self.labels.clone());
        let texts = [before.0.clone(), after.0.clone()];
        self.undo.push(Transition { before, after, texts });
        self.redo.clear();
        Ok(())
    }

    fn undo_or_redo(&mut self, back: bool) -> TestCaseResult {
        let now = self.text.clone();
        let direction = if back { Direction::Undo } else { Direction::Redo };
        let entries: Vec<UndoEntry> = self.lineage().entries(direction).cloned().collect();
        let stack = if back { &mut self.undo } else { &mut self.redo };
        prop_assert_eq!(entries.len(), stack.len());
        let mut passed = 0;
        let (mut transition, done, text) = loop {
            let Some(transition) = stack.iter().rev().nth(passed).cloned() else { return Ok(()) };
            let (current, restored) = transition.texts(back);
            let done = entries[passed].clone();
            prop_assert_eq!(done.contents(direction), (current.as_deref(), restored.as_deref()));
            if *current == now {
                let text = restored.clone();
                break (transition, done, text);
            }
            let bytes = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
            let Ok(merged) = crate::merge(&bytes(current), &bytes(&now), &bytes(restored)) else {
                return Ok(());
            };
            if merged != bytes(&now) {
                break (transition, done, Some(String::from_utf8(merged).expect("merged texts")));
            }
            passed += 1;
        };
        stack.truncate(stack.len() - passed - 1);
        let (current, restored) = transition.sides(back);
        let change = done.step(direction);
        // If a hand edit was reverted by hand, sections may have new ids; undo restores those before the change.
        let same = current.1 == self.labels && text == restored.0;
        let labels = restored.1.clone();
        transition.texts = if back { [text.clone(), now] } else { [now, text.clone()] };
        self.commit(text, Some(change));
        if same {
            self.labels = labels;
        } else {
            self.relabel();
        }
        let other = if back { &mut self.redo } else { &mut self.undo };
        other.push(transition);
        Ok(())
    }

    fn by_hand(&mut self, text: &str) -> TestCaseResult {
        self.commit(Some(text.to_owned()), None);
        self.relabel();
        Ok(())
    }

    /// Takes the labels from the lineage: after a hand edit only the lineage knows the recognized sections.
    fn relabel(&mut self) {
        let text = self.text.clone().unwrap_or_default();
        let labels: HashMap<SectionId, usize> = self.known.iter().map(|(label, id)| (*id, *label)).collect();
        let ids = ids(self.lineage(), &text);
        self.labels = ids
            .iter()
            .map(|(_, id)| {
                labels.get(id).copied().unwrap_or_else(|| {
                    self.next_label += 1;
                    self.next_label - 1
                })
            })
            .collect();
    }

    /// Checks that each section still has its id, and that no two sections share one.
    fn check(&mut self, restores: bool) -> TestCaseResult {
        let text = self.text.clone().unwrap_or_default();
        let now: Vec<SectionId> = ids(self.lineage(), &text).into_iter().map(|(_, id)| id).collect();
        prop_assert_eq!(now.len(), self.labels.len());
        let set: HashSet<SectionId> = now.iter().copied().collect();
        prop_assert_eq!(set.len(), now.len(), "two sections share an id");
        for (label, id) in self.labels.iter().zip(&now) {
            prop_assert_eq!(*self.known.entry(*label).or_insert(*id), *id);
            prop_assert!(restores || !self.gone.contains(id), "a vanished id is back");
        }
        let gone = self.known.values().filter(|id| !set.contains(id));
        self.gone = gone.copied().collect();
        // A lineage built from the first version is equal.
        let mut cold = Lineage::new(PATH);
        follow(&mut cold, &self.versions);
        prop_assert_eq!(ids(&cold, &text), ids(self.lineage(), &text));
        let warm = self.lineage();
        for direction in [Direction::Undo, Direction::Redo] {
            prop_assert!(cold.entries(direction).eq(warm.entries(direction)));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_section_keeps_its_id_and_undo_matches_two_stacks(actions in proptest::collection::vec(action(), 1..40)) {
        let mut model = Model::default();
        for action in &actions {
            model.act(action)?;
            model.check(matches!(action, Action::Undo | Action::Redo))?;
        }
    }
}

#[test]
fn undo_and_redo_follow_three_hundred_changes() {
    let mut model = Model::default();
    let insert = |n: usize| Action::Insert(n * 7919, "Plan", TEXTS[n % TEXTS.len()]);
    for n in 0..300 {
        model.act(&insert(n)).expect("an insert");
    }
    let text = model.text.clone();
    for _ in 0..300 {
        model.act(&Action::Undo).expect("an undo");
    }
    assert_eq!(model.text, None);
    model.act(&Action::Undo).expect("nothing left");
    for _ in 0..300 {
        model.act(&Action::Redo).expect("a redo");
    }
    assert_eq!(model.text, text);
    model.check(true).expect("the same sections");
}

/// Edits by hand between a change and its undo don't prevent the redo.
#[test]
fn a_redo_restores_what_the_undo_changed() {
    let mut model = Model::default();
    let mut act = |action: Action| {
        model.act(&action).expect("a change");
        model.check(matches!(action, Action::Undo | Action::Redo)).expect("the same sections");
        model.text.clone()
    };
    act(Action::Write("# Plan\na\n# Notes\nb\nc\n"));
    act(Action::Move(0, 1));
    let edited = act(Action::Write("# Notes\nby hand\nc\n# Plan\na\n"));
    let undone = act(Action::Undo);
    assert_ne!(undone, edited);
    assert_eq!(act(Action::Redo), edited);
    assert_eq!(act(Action::Undo), undone);
}

/// Hand edits of indistinguishable sections, between a change and its undo.
#[test]
fn undo_and_redo_restore_the_ids_of_twins() {
    let by_hand = Action::Write("# Plan\n\nby hand\n\n## Notes\n\n## Notes\n");
    let histories = [
        // The merge of the undo restores the very content from before the move.
        vec![by_hand.clone(), Action::Update(1, "text\n"), Action::Move(1, 2), by_hand.clone(), Action::Undo],
        // A twin has the id of the section that the redo restores.
        vec![
            by_hand.clone(),
            Action::Insert(3, "Notes", "text\n"),
            Action::Insert(0, "Plan", ""),
            Action::Undo,
            Action::CutOut(2),
            by_hand,
            Action::Undo,
            Action::Redo,
        ],
    ];
    for history in histories {
        let mut model = Model::default();
        for action in history {
            model.act(&action).expect("a change");
            let restores = matches!(action, Action::Undo | Action::Redo);
            model.check(restores).expect("the same sections");
        }
    }
}

/// A recorded change that does not fit the list is followed like a hand edit.
#[test]
fn the_lineage_ignores_changes_that_do_not_fit() {
    let mut lineage = Lineage::new(PATH);
    follow(&mut lineage, &[by_hand("# A\n# B\n")]);
    let before = ids(&lineage, "# A\n# B\n");
    let (section_id, heading) = (before[0].1, String::new());
    let changes = [
        SectionChange::Insert { section_id, heading: heading.clone(), position: 0, sections: 1 },
        SectionChange::Insert {
            section_id: lineage.new_id(None, ""),
            heading: heading.clone(),
            position: 3,
            sections: 1,
        },
        SectionChange::Insert {
            section_id: lineage.new_id(None, ""),
            heading: heading.clone(),
            position: 0,
            sections: 0,
        },
        SectionChange::Delete { section_id, heading: heading.clone(), position: 1, sections: 2 },
        SectionChange::Delete { section_id, heading: heading.clone(), position: usize::MAX, sections: 2 },
        SectionChange::Update { section_id, heading: heading.clone(), position: 2, sections: 0 },
        SectionChange::Move { section_id, heading, from: 0, position: 2, sections: 1 },
        SectionChange::Undo { undoes: "by hand".into() },
        SectionChange::Redo { redoes: "by hand".into() },
    ];
    for change in changes {
        let version =
            Version { commit: "x".into(), content: Some("# A\n# B\n".into()), change: Some(change) };
        follow(&mut lineage, &[version]);
        assert_eq!(ids(&lineage, "# A\n# B\n"), before);
        assert_eq!(lineage.entries(Direction::Undo).count(), 0);
    }
}
