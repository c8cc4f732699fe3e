//! Whole histories: what the lineage says of each beside a model of two stacks and labelled sections.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseResult;

use super::super::{Step, UndoError};
use super::*;
use crate::editor;

/// A step of a generated history.
#[derive(Debug, Clone)]
enum Act {
    Insert(usize, &'static str, &'static str),
    Update(usize, &'static str),
    Delete(usize),
    Move(usize, usize),
    Undo,
    Redo,
    /// A hand edit, committed by hand.
    Write(&'static str),
    /// A section taken out by hand.
    CutOut(usize),
}

const TEXTS: [&str; 5] = [
    "",
    "text\n",
    "more\n\n- a\n",
    "x\n\n###### Below\n\ny",
    "###### Below\n###### Below\n",
];

fn act() -> impl Strategy<Value = Act> {
    let (at, to) = (any::<usize>(), any::<usize>());
    let heading = select(&["Plan", "Plan", "Notes", "## Scope", "C #"][..]);
    let text = select(&TEXTS[..]);
    (0..14usize, at, to, heading, text).prop_map(|(kind, at, to, heading, text)| match kind {
        0..=3 => Act::Insert(at, heading, text),
        4 | 5 => Act::Update(at, text),
        6 => Act::Delete(at),
        7 | 8 => Act::Move(at, to),
        9 | 10 => Act::Undo,
        11 => Act::Redo,
        12 => Act::Write("# Plan\n\nby hand\n\n## Notes\n\n## Notes\n"),
        _ => Act::CutOut(at),
    })
}

/// A document with its history, and what is expected of it.
#[derive(Default)]
struct World {
    text: Option<String>,
    versions: Vec<Version>,
    lineage: Option<Lineage>,
    /// A label for each section; never used twice.
    labels: Vec<usize>,
    next_label: usize,
    undo: Vec<Moment>,
    redo: Vec<Moment>,
    /// Ids by label.
    known: HashMap<usize, SectionId>,
    gone: HashSet<SectionId>,
}

/// The document before and after a step, with its labels.
#[derive(Clone)]
struct Moment {
    before: (Option<String>, Vec<usize>),
    after: (Option<String>, Vec<usize>),
}

impl World {
    fn lineage(&mut self) -> &mut Lineage {
        self.lineage.get_or_insert_with(|| Lineage::new(PATH))
    }

    fn commit(&mut self, text: Option<String>, step: Option<Step>) {
        let version = Version {
            commit: self.versions.len().to_string(),
            content: text.clone(),
            step,
        };
        follow(self.lineage(), std::slice::from_ref(&version));
        self.versions.push(version);
        self.text = text;
    }

    fn labelled(&mut self, count: usize) -> Vec<usize> {
        let first = self.next_label;
        self.next_label += count;
        (first..self.next_label).collect()
    }

    fn act(&mut self, act: &Act) -> TestCaseResult {
        let text = self.text.clone().unwrap_or_default();
        let document = parsed(&text);
        let count = document.sections().len();
        let before = (self.text.clone(), self.labels.clone());
        let name = |lineage: &Lineage, position: usize| {
            let heading = editor::title(&text, &document.sections()[position]);
            (lineage.ids(&document)[position], heading)
        };
        let (new, step) = match act {
            Act::Undo | Act::Redo => return self.back_or_forth(matches!(act, Act::Undo)),
            Act::Write(text) => return self.by_hand(text),
            Act::CutOut(_) | Act::Update(..) | Act::Delete(_) | Act::Move(..) if count == 0 => return Ok(()),
            Act::CutOut(at) => {
                let section = &document.sections()[at % count];
                return self.by_hand(&[&text[..section.heading.start], &text[section.end..]].concat());
            }
            Act::Insert(at, heading, content) => {
                let position = at % (count + 1);
                let Ok(plan) = editor::insert(&document, position, heading, content) else {
                    return Ok(());
                };
                let labels = self.labelled(plan.sections);
                self.labels.splice(position..position, labels);
                let content = self.text.clone();
                let section_id = self.lineage().fresh(content.as_deref());
                let (heading, sections) = (heading.to_string(), plan.sections);
                (
                    plan.text,
                    Step::Insert {
                        section_id,
                        heading,
                        position,
                        sections,
                    },
                )
            }
            Act::Update(at, content) => {
                let position = at % count;
                let Ok(plan) = editor::update(&document, position, content) else {
                    return Ok(());
                };
                let labels = self.labelled(plan.sections);
                self.labels.splice(position + 1..position + 1, labels);
                let (section_id, heading) = name(self.lineage(), position);
                (
                    plan.text,
                    Step::Update {
                        section_id,
                        heading,
                        position,
                        sections: plan.sections,
                    },
                )
            }
            Act::Delete(at) => {
                let position = at % count;
                let Ok(plan) = editor::delete(&document, position) else {
                    return Ok(());
                };
                self.labels.drain(position..position + plan.sections);
                let (section_id, heading) = name(self.lineage(), position);
                (
                    plan.text,
                    Step::Delete {
                        section_id,
                        heading,
                        position,
                        sections: plan.sections,
                    },
                )
            }
            Act::Move(from, to) => {
                let from = from % count;
                let most = count - document.size(from);
                let Ok(plan) = editor::relocate(&document, from, to % (most + 1)) else {
                    return Ok(());
                };
                let moved: Vec<usize> = self.labels.drain(from..from + plan.sections).collect();
                self.labels.splice(plan.position..plan.position, moved);
                let (section_id, heading) = name(self.lineage(), from);
                let (position, sections) = (plan.position, plan.sections);
                (
                    plan.text,
                    Step::Move {
                        section_id,
                        heading,
                        from,
                        position,
                        sections,
                    },
                )
            }
        };
        // The log entry round-trips.
        prop_assert_eq!(Step::read(step.operation(), &step.details()), Some(step.clone()));
        self.commit(Some(new), Some(step));
        let after = (self.text.clone(), self.labels.clone());
        self.undo.push(Moment { before, after });
        self.redo.clear();
        Ok(())
    }

    fn back_or_forth(&mut self, back: bool) -> TestCaseResult {
        let now = self.text.clone();
        let lineage = self.lineage().clone();
        let found = if back {
            lineage.to_undo(now.as_deref()).cloned()
        } else {
            lineage.to_redo(now.as_deref()).cloned()
        };
        let stack = if back { &mut self.undo } else { &mut self.redo };
        let Some(moment) = stack.last().cloned() else {
            prop_assert!(matches!(found, Err(UndoError::Nothing { .. })), "{:?}", found);
            return Ok(());
        };
        let (left, restored) = if back {
            (&moment.after, &moment.before)
        } else {
            (&moment.before, &moment.after)
        };
        if left.0 != now {
            prop_assert!(matches!(found, Err(UndoError::Changed { .. })), "{:?}", found);
            return Ok(());
        }
        let done = found.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let content = if back { &done.before } else { &done.after };
        prop_assert_eq!(content, &restored.0);
        stack.pop();
        let (text, step) = if back {
            (done.before.clone(), Step::Undo { undoes: done.commit })
        } else {
            (done.after.clone(), Step::Redo { redoes: done.commit })
        };
        // After a hand edit that was taken back by hand, sections may have new ids: undo brings back those of before.
        let same = left.1 == self.labels;
        self.commit(text, Some(step));
        if same {
            self.labels = restored.1.clone();
        } else {
            self.relabel();
        }
        let other = if back { &mut self.redo } else { &mut self.undo };
        other.push(moment);
        Ok(())
    }

    fn by_hand(&mut self, text: &str) -> TestCaseResult {
        self.commit(Some(text.to_owned()), None);
        self.relabel();
        Ok(())
    }

    /// After a hand edit it is for the lineage to say what is recognised; but nothing that was gone.
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

    /// Each section has the id that it always had, and no two have the same.
    fn check(&mut self, restores: bool) -> TestCaseResult {
        let text = self.text.clone().unwrap_or_default();
        let now: Vec<SectionId> = ids(self.lineage(), &text).into_iter().map(|(_, id)| id).collect();
        prop_assert_eq!(now.len(), self.labels.len());
        let set: HashSet<SectionId> = now.iter().copied().collect();
        prop_assert_eq!(set.len(), now.len(), "an id twice");
        for (label, id) in self.labels.iter().zip(&now) {
            prop_assert_eq!(*self.known.entry(*label).or_insert(*id), *id);
            prop_assert!(restores || !self.gone.contains(id), "an id that was gone is back");
        }
        let gone = self.known.values().filter(|id| !set.contains(id));
        self.gone = gone.copied().collect();
        // Made anew, it is the same.
        let mut cold = Lineage::new(PATH);
        follow(&mut cold, &self.versions);
        prop_assert_eq!(ids(&cold, &text), ids(self.lineage(), &text));
        let now = self.text.clone();
        let warm = self.lineage();
        prop_assert_eq!(cold.to_undo(now.as_deref()), warm.to_undo(now.as_deref()));
        prop_assert_eq!(cold.to_redo(now.as_deref()), warm.to_redo(now.as_deref()));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_section_has_one_id_and_undo_is_two_stacks(acts in proptest::collection::vec(act(), 1..40)) {
        let mut world = World::default();
        for act in &acts {
            world.act(act)?;
            world.check(matches!(act, Act::Undo | Act::Redo))?;
        }
    }
}

#[test]
fn three_hundred_steps_back_and_forth() {
    let mut world = World::default();
    let insert = |n: usize| Act::Insert(n * 7919, "Plan", TEXTS[n % TEXTS.len()]);
    for n in 0..300 {
        world.act(&insert(n)).expect("a step");
    }
    let text = world.text.clone();
    for _ in 0..300 {
        world.act(&Act::Undo).expect("a step back");
    }
    assert_eq!(world.text, None);
    world.act(&Act::Undo).expect("nothing left");
    for _ in 0..300 {
        world.act(&Act::Redo).expect("a step forth");
    }
    assert_eq!(world.text, text);
    world.check(true).expect("the same sections");
}

/// A step that can't have been made is followed like a hand edit, and breaks nothing.
#[test]
fn steps_that_do_not_fit_are_not_followed() {
    let mut lineage = Lineage::new(PATH);
    follow(&mut lineage, &[by_hand("# A\n# B\n")]);
    let before = ids(&lineage, "# A\n# B\n");
    let (section_id, heading) = (before[0].1, String::new());
    let steps = [
        Step::Insert {
            section_id,
            heading: heading.clone(),
            position: 0,
            sections: 1,
        },
        Step::Insert {
            section_id: lineage.fresh(None),
            heading: heading.clone(),
            position: 3,
            sections: 1,
        },
        Step::Insert {
            section_id: lineage.fresh(None),
            heading: heading.clone(),
            position: 0,
            sections: 0,
        },
        Step::Delete {
            section_id,
            heading: heading.clone(),
            position: 1,
            sections: 2,
        },
        Step::Delete {
            section_id,
            heading: heading.clone(),
            position: usize::MAX,
            sections: 2,
        },
        Step::Update {
            section_id,
            heading: heading.clone(),
            position: 2,
            sections: 0,
        },
        Step::Move {
            section_id,
            heading,
            from: 0,
            position: 2,
            sections: 1,
        },
        Step::Undo {
            undoes: "by hand".into(),
        },
        Step::Redo {
            redoes: "by hand".into(),
        },
    ];
    for step in steps {
        let version = Version {
            commit: "x".into(),
            content: Some("# A\n# B\n".into()),
            step: Some(step),
        };
        follow(&mut lineage, &[version]);
        assert_eq!(ids(&lineage, "# A\n# B\n"), before);
        assert!(matches!(
            lineage.to_undo(Some("# A\n# B\n")),
            Err(UndoError::Nothing { .. })
        ));
    }
}
