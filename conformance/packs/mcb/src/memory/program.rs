//! Random programs that store notes, as data.

use super::{
    ask::Caller,
    note::{PROJECTS, REPOS, Resource, SESSIONS, TAGS, TYPES},
};
use tabellion_conformance::checks::prelude::*;

/// Maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 150;

/// One step of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Store(Store),
    /// The clock goes on to the next second.
    Pause,
    Restart,
}

/// A note to store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Store {
    pub(super) by: Caller,
    pub(super) resource: Resource,
    pub(super) data: Map<String, Value>,
    /// Arguments that specify its project, repository or session.
    #[serde(default)]
    pub(super) place: Map<String, Value>,
}

/// Stored notes, and queries about them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct QuestionCase<Question> {
    pub(super) steps: Vec<Step>,
    pub(super) questions: Vec<Question>,
}

/// Parameters of programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mix {
    pub(super) resources: &'static [Resource],
    /// True if the same notes are stored again and again.
    pub(super) repeats: bool,
    pub(super) pauses: usize,
    pub(super) restarts: usize,
    pub(super) steps: usize,
}

impl Mix {
    /// All resources, without repeated notes.
    pub(super) const ALL: Self =
        Self { resources: &Resource::ALL, repeats: false, pauses: 0, restarts: 0, steps: 24 };

    pub(super) fn program(&self, dice: &mut fastrand::Rng) -> Vec<Step> {
        let store = |number| Step::Store(self.store(dice, number));
        let mut steps: Vec<_> = (0..self.steps).map(store).collect();
        let between = [(self.pauses, Step::Pause), (self.restarts, Step::Restart)];
        for (many, step) in between {
            for _ in 0..many {
                steps.insert(dice.usize(1..steps.len().max(2)), step.clone());
            }
        }
        steps
    }

    /// Returns cases with a program each.
    pub(super) fn cases(&self, bench: &Bench<'_>, what: &str, many: usize) -> Vec<Case> {
        let mut dice = bench.dice(what);
        let programs = (1..=many).map(|number| (number, self.program(&mut dice)));
        programs.map(|(number, steps)| Case::new(format!("program {number}"), steps)).collect()
    }

    /// Returns cases with a program and questions each.
    pub(super) fn questions<Question: Serialize>(
        &self,
        bench: &Bench<'_>,
        what: &str,
        many: usize,
        mut question: impl FnMut(&mut fastrand::Rng) -> Question,
    ) -> Vec<Case> {
        let mut dice = bench.dice(what);
        let case = |number| {
            let steps = self.program(&mut dice);
            let questions = (0..many).map(|_| question(&mut dice)).collect();
            Case::new(format!("program {number}"), QuestionCase { steps, questions })
        };
        (1..=bench.pick(3, 20)).map(case).collect()
    }

    fn store(&self, dice: &mut fastrand::Rng, number: usize) -> Store {
        let resource = self.resources[dice.usize(..self.resources.len())];
        let mut data = Map::new();
        let text = self.text(dice, number);
        let mut set = |name: &str, value: Value| drop(data.insert(name.to_owned(), value));
        match resource {
            Resource::Observation => {
                set("content", text.into());
                set("observation_type", one(dice, TYPES).into());
                for (name, words) in [("file_path", FILES), ("branch", BRANCHES), ("commit", COMMITS)] {
                    if dice.bool() {
                        set(name, one(dice, words).into());
                    }
                }
            }
            Resource::Execution => {
                let exit_code = dice.i64(0..3);
                set("command", text.into());
                set("exit_code", exit_code.into());
                set("duration_ms", dice.u64(..100_000).into());
                set("success", (exit_code == 0).into());
                set("execution_type", one(dice, &["test", "lint", "build", "ci"]).into());
                if dice.bool() {
                    set("coverage", json!(87.5));
                    set("files_affected", json!(["src/a.rs", "src/ä b.rs"]));
                    set("output_summary", "3 of 4 passed".into());
                    set("warnings_count", dice.u64(..9).into());
                    set("errors_count", 0.into());
                }
                if !self.repeats && dice.bool() {
                    set("execution_id", format!("run-{number}").into());
                }
            }
            Resource::QualityGate => {
                set("gate_name", text.chars().take(MAX_NAME_CHARS).collect::<String>().into());
                set("status", one(dice, &["passed", "failed", "warning", "skipped"]).into());
                if dice.bool() {
                    set("message", "coverage fell to 81 %".into());
                    set("timestamp", 1_700_000_000_i64.into());
                }
                if dice.bool() {
                    // It is kept only if this run is in the project.
                    set("execution_id", format!("run-{}", dice.usize(..=number)).into());
                }
            }
            Resource::ErrorPattern => {
                set("pattern_signature", text.into());
                set("description", one(dice, &["the lock is held", "out of cents"]).into());
                if self.repeats || dice.bool() {
                    set("category", one(dice, &["runtime", "test", "network"]).into());
                }
                if dice.bool() {
                    set("solutions", some(dice, &["wait", "try again", "ask"]));
                    set("affected_files", some(dice, FILES));
                }
            }
            Resource::Session => {
                set("session_id", one(dice, SESSIONS).into());
                set("topics", json!([text]));
                set("decisions", some(dice, &["cents it is", "no floats"]));
                set("next_steps", some(dice, &["measure", "ship"]));
                set("key_files", some(dice, FILES));
            }
        }
        if matches!(resource, Resource::Observation | Resource::ErrorPattern) {
            set("tags", some(dice, TAGS));
        }
        let mut store = Store { by: Caller(dice.usize(..Caller::MANY)), resource, data, place: Map::new() };
        let sides = [("project_id", PROJECTS), ("repo_id", REPOS), ("session_id", SESSIONS)];
        for (name, words) in sides {
            let of_session = resource == Resource::Session && name == "session_id";
            match dice.u8(..4) {
                0 if !of_session => drop(store.place.insert(name.into(), one(dice, words).into())),
                1 if !of_session => drop(store.data.insert(name.into(), one(dice, words).into())),
                _ => {}
            }
        }
        store
    }

    fn text(&self, dice: &mut fastrand::Rng, number: usize) -> String {
        if self.repeats {
            return one(dice, &["prices are cents", "Prices are cents", "the parser waits"]).to_owned();
        }
        let subject = one(dice, &["prices", "der Zähler", "память", "価格", "cafe\u{301}"]);
        let long = if dice.u8(..4) == 0 { " – ääää".repeat(dice.usize(1..40)) } else { String::new() };
        format!("{number} {subject} {}{long}", one(dice, &["are cents", "grow", "wait\nfor it"]))
    }
}

const FILES: &[&str] = &["src/a.rs", "docs/a b.md", "src/ä.rs"];
const BRANCHES: &[&str] = &["main", "topic/x"];
const COMMITS: &[&str] = &["0123abc", "feed5eed"];

fn one<'w>(dice: &mut fastrand::Rng, words: &[&'w str]) -> &'w str {
    words[dice.usize(..words.len())]
}

/// Returns a list of some of the words, in any order.
fn some(dice: &mut fastrand::Rng, words: &[&str]) -> Value {
    let mut words = words.to_vec();
    dice.shuffle(&mut words);
    words.truncate(dice.usize(..=words.len()));
    json!(words)
}
