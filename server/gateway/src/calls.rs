//! Statistics of tool calls: count, outcomes and durations.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tabellion_runtime::{Answer, Rejection};

/// Upper bounds of the duration histogram's buckets, in seconds.
pub const BOUNDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Statistics of all calls since the start, by tool, or by operation (`tool/name`) if a tool has several.
#[derive(Debug, Default)]
pub struct Calls(Mutex<BTreeMap<&'static str, Tally>>);

/// Statistics of one tool's calls.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Tally {
    /// Number of calls by outcome: `ok`, `input_required` (a person is asked), or an error's name.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Number of calls in each bucket of [`BOUNDS`]; not cumulative.
    pub within: [u64; BOUNDS.len()],
    /// Sum of all durations.
    pub total: Duration,
}

impl Tally {
    /// Returns the number of calls.
    pub fn count(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

impl Calls {
    /// Returns the statistics of each tool that was called.
    pub fn tallies(&self) -> BTreeMap<&'static str, Tally> {
        self.table().clone()
    }

    /// Counts a call of `tool`. Calls of unknown tools are not counted, because their names are unbounded.
    pub(crate) fn count(&self, tool: &'static str, outcome: &Result<Answer, Rejection>, duration: Duration) {
        let outcome = match outcome {
            Ok(_) => "ok",
            Err(Rejection::Declared(error)) => error.name,
            Err(Rejection::InputRequired(_)) => "input_required",
            Err(_) => "INTERNAL_ERROR",
        };
        let mut table = self.table();
        let tally = table.entry(tool).or_default();
        *tally.outcomes.entry(outcome).or_default() += 1;
        tally.total += duration;
        let seconds = duration.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            tally.within[bucket] += 1;
        }
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<&'static str, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
