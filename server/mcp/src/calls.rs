//! Calls of tools in numbers: how many there were, what became of them, and how long they took.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tabellion_runtime::{Answer, Rejection};

/// The bounds of what is told of durations, in seconds.
pub const BOUNDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// All calls since the start, by tool.
#[derive(Debug, Default)]
pub struct Calls(Mutex<BTreeMap<&'static str, Tally>>);

/// The calls of one tool.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Tally {
    /// How many had each outcome: `ok`, `input_required` (a person is asked), or the name of an error.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// How many took no longer than each of [`BOUNDS`], and longer than the one before.
    pub within: [u64; BOUNDS.len()],
    /// How long all of them took.
    pub total: Duration,
}

impl Tally {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

impl Calls {
    /// The tools that were called, and how that went.
    pub fn tallies(&self) -> BTreeMap<&'static str, Tally> {
        self.table().clone()
    }

    /// A call of `tool` had this outcome and took so long. There is no end to names that no tool has: those aren't
    /// counted.
    pub(super) fn count(&self, tool: &'static str, outcome: &Result<Answer, Rejection>, took: Duration) {
        let outcome = match outcome {
            Ok(_) => "ok",
            Err(Rejection::Declared(error)) => error.name,
            Err(Rejection::InputRequired(_)) => "input_required",
            Err(_) => "INTERNAL_ERROR",
        };
        let mut table = self.table();
        let tally = table.entry(tool).or_default();
        *tally.outcomes.entry(outcome).or_default() += 1;
        tally.total += took;
        let seconds = took.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            tally.within[bucket] += 1;
        }
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<&'static str, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
