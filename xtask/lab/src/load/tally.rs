//! The results of all calls, and of their changes.

use std::{collections::HashSet, fs, path::Path, time::Duration};

use super::{caller::Caller, shared::SHARED};
use xtask::Outcome;

use crate::measure::{percentile, processor_time, resident};

/// The header of the table; each row is a [`Tally`].
pub(super) const HEAD: &str = "\
| server | calls/s | reads: median, p99, longest | changes/s | changes: median, p99, longest | refused | lost | processor, a call | memory: at first, half way, at the end |
|---|---|---|---|---|---|---|---|---|";

/// The memory and the processor time that a process uses.
#[derive(Debug)]
pub(super) struct Usage {
    process: u32,
    /// Resident memory at the beginning, half way and at the end, in megabytes; `None` if unknown.
    memory: [Option<f64>; 3],
    /// Processor time of all its threads, until the beginning and then until the end.
    processor: Option<Duration>,
}

impl Usage {
    pub(super) fn begins(process: u32) -> Self {
        Self { process, memory: [resident(process), None, None], processor: processor_time(process) }
    }

    /// Measures once, when first called.
    pub(super) fn is_half_way(&mut self) {
        self.memory[1] = self.memory[1].or_else(|| resident(self.process));
    }

    pub(super) fn ends(&mut self) {
        self.memory[2] = resident(self.process);
        let before = self.processor.take();
        self.processor = before.and_then(|before| processor_time(self.process)?.checked_sub(before));
    }
}

/// The results of the calls over one transport.
#[derive(Debug)]
pub(super) struct Tally {
    seconds: f64,
    reads: Vec<Duration>,
    changes: Vec<Duration>,
    errors: Vec<String>,
    /// Acknowledged changes that are missing or duplicated.
    lost: Vec<String>,
    usage: Usage,
}

impl Tally {
    /// Counts the calls, and looks for acknowledged changes on disk.
    pub(super) fn count(callers: Vec<Caller>, usage: Usage, library: &Path, seconds: u64) -> Outcome<Self> {
        let shared = fs::read_to_string(library.join(SHARED))?;
        let all: Vec<_> = shared.split_inclusive('\n').collect();
        let there: HashSet<_> = all.iter().copied().collect();
        let mut tally = Self {
            seconds: seconds as f64,
            reads: Vec::new(),
            changes: Vec::new(),
            errors: Vec::new(),
            lost: Vec::new(),
            usage,
        };
        if there.len() != all.len() {
            tally.lost.push(format!("{} lines came twice", all.len() - there.len()));
        }
        for caller in callers {
            if let Some((path, text)) = caller.acknowledged()
                && fs::read_to_string(library.join(&path))? != text
            {
                tally.lost.push(path);
            }
            let missing = caller.added.iter().filter(|line| !there.contains(line.as_str()));
            tally.lost.extend(missing.cloned());
            tally.reads.extend(caller.reads);
            tally.changes.extend(caller.changes);
            tally.errors.extend(caller.errors);
        }
        tally.reads.sort_unstable();
        tally.changes.sort_unstable();
        Ok(tally)
    }

    pub(super) fn row(&self, name: &str) -> String {
        let memory = self
            .usage
            .memory
            .map(|megabytes| megabytes.map_or_else(|| "?".to_owned(), |megabytes| format!("{megabytes:.0}")));
        let calls = (self.reads.len() + self.changes.len()) as f64;
        let processor = self.usage.processor.unwrap_or_default().as_secs_f64() * 1000.0 / calls;
        format!(
            "| {name} | {:.0} | {} | {:.0} | {} | {} | {} | {processor:.2} ms | {} MB |",
            calls / self.seconds,
            spread(&self.reads),
            self.changes.len() as f64 / self.seconds,
            spread(&self.changes),
            self.errors.len(),
            self.lost.len(),
            memory.join(", ")
        )
    }

    /// Returns the first failure of each kind.
    pub(super) fn faults(&self) -> impl Iterator<Item = String> {
        let refused = self.errors.first().map(|error| format!("refused: {error}"));
        let lost = self.lost.first().map(|lost| format!("lost: {lost}"));
        refused.into_iter().chain(lost)
    }
}

fn spread(times: &[Duration]) -> String {
    let shown = |share| {
        let time = percentile(times, share).unwrap_or_default();
        format!("{:.1}", time.as_secs_f64() * 1000.0)
    };
    format!("{}, {}, {} ms", shown(50), shown(99), shown(100))
}
