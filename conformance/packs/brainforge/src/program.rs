//! Random programs of people and agents, compared with a model of the library.

use std::collections::BTreeSet;

use super::{
    decision::{self, Decision},
    shelf::{By, Shelf, change, made, word},
    tool::Tool,
    written::Written,
};
use tabellion_conformance::{
    check::{counted, fewer_steps},
    checks::prelude::*,
};

pub(super) const CHECK: Check = Check {
    id: "review/program",
    guarantees: &["agents-are-reviewed", "locks-hold"],
    states: "Whatever people and agents do in turn: what is seen is what people wrote or approved, and nothing else.",
    explains: "Runs random programs of creating, changing, deciding and restarting, with a model beside them of which version of each note \
               is part of the library and which waits. What the model permits must be done, what it forbids must be refused, and after \
               each step a search must show what the model says. At the end all words that were ever written are searched, and everything \
               is exported.",
    cases: |bench| {
        let mut dice = bench.dice("program");
        let (programs, steps) = bench.pick((8, 20), (60, 40));
        let program = |number| {
            let many = dice.usize(steps / 2..=steps);
            let steps: Vec<Step> = (0..many).map(|_| Step::random(&mut dice)).collect();
            Case::new(format!("program {number}: {}", counted(many, "step")), steps)
        };
        Ok((1..=programs).map(program).collect())
    },
    shrink: fewer_steps::<Step>,
    ..Check::must(|bench, case| run(bench, &case.read::<Vec<Step>>()?))
};

/// A step. `note` is the index of a note, modulo their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Step {
    Create { by: By },
    Change { by: By, note: usize },
    Decide { decision: Decision, note: usize },
    Restart,
}

impl Step {
    fn random(dice: &mut fastrand::Rng) -> Self {
        let by = if dice.bool() { By::Agent } else { By::Person };
        let note = dice.usize(..4);
        match dice.usize(..12) {
            0..=2 => Self::Create { by },
            3..=6 => Self::Change { by, note },
            7..=10 => Self::Decide { decision: Decision::ALL[dice.usize(..Decision::ALL.len())], note },
            _ => Self::Restart,
        }
    }
}

/// A proposal that waits for a person.
#[derive(Debug, Clone)]
struct Waiting {
    instance: String,
    version: u64,
    word: String,
    /// Number of the version that it changes; `None` for a new note.
    base: Option<u64>,
    /// True if its author must write a new version.
    is_sent_back: bool,
}

/// A note: the version that is part of the library, and the pending one.
#[derive(Debug)]
struct Note {
    id: String,
    canonical: Option<(u64, String)>,
    waiting: Option<Waiting>,
}

impl Note {
    fn version(&self) -> Option<u64> {
        self.canonical.as_ref().map(|(version, _)| *version)
    }
}

/// A library and its model.
struct Model<'s, 'b, 'a> {
    shelf: &'s mut Shelf<'b, 'a>,
    notes: Vec<Note>,
}

fn run(bench: &Bench<'_>, steps: &[Step]) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    decision::required(&shelf)?;
    let mut model = Model { shelf: &mut shelf, notes: Vec::new() };
    for (number, step) in steps.iter().enumerate() {
        model.take(*step, &word(number))?;
    }
    model.compare(steps.len())
}

impl Model<'_, '_, '_> {
    fn take(&mut self, step: Step, word: &str) -> Judgement {
        match step {
            Step::Create { by } => {
                let written = self.shelf.create(by, word)?;
                self.notes.push(note(by, word, written)?);
            }
            Step::Change { by, note } if !self.notes.is_empty() => {
                self.change(by, note % self.notes.len(), word)?;
            }
            Step::Decide { decision, note } if !self.notes.is_empty() => {
                self.decide(decision, note % self.notes.len())?;
            }
            Step::Restart => self.shelf.restart()?,
            Step::Change { .. } | Step::Decide { .. } => {}
        }
        let Some(note) = self.notes.last() else {
            return Ok(());
        };
        let shown = note.canonical.as_ref().is_some_and(|(_, canonical)| canonical == word);
        let waits = note.waiting.as_ref().is_some_and(|waiting| waiting.word == word);
        if shown || waits {
            self.shelf.ensure_seen(By::Agent, word, shown, "right after it was written")?;
        }
        Ok(())
    }

    fn change(&mut self, by: By, index: usize, word: &str) -> Judgement {
        let note = &mut self.notes[index];
        let revised = note.waiting.as_ref().filter(|_| by == By::Agent);
        let version = revised.map(|waiting| waiting.version).or(note.version());
        let arguments = change(&note.id, version.unwrap_or(1), word);
        let written = self.shelf.write(by, Tool::Update, &arguments)?;
        let Some(version) = version else {
            let why = "which is not part of the library, and that only its author may change while it waits";
            return match written {
                Ok(_) => Err(fail(format!("note {} was changed, {why}", note.id))),
                Err(_) => Ok(()),
            };
        };
        let written = written.map_err(|why| why.of_valid(&arguments))?;
        ensure(written.version > note.version().unwrap_or(0), || {
            format!("the version after {version} is {}", written.version)
        })?;
        if by == By::Person {
            let written = made(written)?;
            note.canonical = Some((written.version, word.to_owned()));
        } else {
            let instance = written.instance()?.to_owned();
            let base = match &note.waiting {
                Some(waiting) if waiting.base.is_none() => None,
                _ => note.version(),
            };
            note.waiting = Some(Waiting {
                instance,
                version: written.version,
                word: word.to_owned(),
                base,
                is_sent_back: false,
            });
        }
        Ok(())
    }

    fn decide(&mut self, decision: Decision, index: usize) -> Judgement {
        let note = &mut self.notes[index];
        let Some(waiting) = note.waiting.clone() else {
            return Ok(());
        };
        let may = match decision {
            Decision::Approve => !waiting.is_sent_back && waiting.base == note.version(),
            // The author of one that was sent back may never return.
            Decision::Reject => true,
            Decision::Revise => !waiting.is_sent_back,
        };
        let outcome = self.shelf.decide(decision, &[], &waiting.instance)?;
        ensure(outcome.is_ok() == may, || {
            let is = if may { "may" } else { "must not" };
            let said = outcome.err().unwrap_or_else(|| "done".into());
            format!("a person {is} {decision} {waiting:?} of {note:?}, but the decision {said}")
        })?;
        match decision {
            _ if !may => {}
            Decision::Approve => {
                note.canonical = Some((waiting.version, waiting.word));
                note.waiting = None;
            }
            Decision::Reject => note.waiting = None,
            Decision::Revise => {
                note.waiting = Some(Waiting { is_sent_back: true, ..waiting });
            }
        }
        Ok(())
    }

    /// Compares the whole library with the model, after `many` words were written.
    fn compare(&mut self, many: usize) -> Judgement {
        let canonical = self.notes.iter().filter_map(|note| note.canonical.as_ref());
        let words: BTreeSet<String> = canonical.map(|(_, word)| word.clone()).collect();
        for number in 0..many {
            let word = word(number);
            let should = words.contains(&word);
            self.shelf.ensure_seen(By::Person, &word, should, "at the end")?;
        }
        let (answer, file) = self.shelf.export(By::Person, &json!({}))?;
        let document: Value = serde_json::from_slice(&file).unwrap_or_default();
        let exported = document["notes"].as_array().cloned().unwrap_or_default();
        ensure(exported.len() == words.len(), || {
            format!("the export has {} notes, and the library {}: {answer}", exported.len(), words.len())
        })?;
        for note in self.notes.iter().filter_map(|note| {
            let (version, word) = note.canonical.as_ref()?;
            Some((&note.id, version, word))
        }) {
            let (id, version, word) = note;
            let found = exported.iter().find(|it| it["id"] == id.as_str());
            let is_right = found.is_some_and(|it| {
                it["version"] == *version
                    && it["content"].as_str().is_some_and(|content| content.contains(word.as_str()))
            });
            ensure(is_right, || {
                format!("version {version} of note {id}, with `{word}`, is exported as {found:?}")
            })?;
        }
        Ok(())
    }
}

/// Returns the model of a created note.
fn note(by: By, word: &str, written: Written) -> Result<Note, Stop> {
    if by == By::Person {
        let Written { id, version, .. } = made(written)?;
        return Ok(Note { id, canonical: Some((version, word.to_owned())), waiting: None });
    }
    let waiting = Waiting {
        instance: written.instance()?.to_owned(),
        version: written.version,
        word: word.to_owned(),
        base: None,
        is_sent_back: false,
    };
    Ok(Note { id: written.id, canonical: None, waiting: Some(waiting) })
}
