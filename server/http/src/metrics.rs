//! Metrics in Prometheus's text format 0.0.4: numbers and the names of tools and libraries, but no text of clients or people.

use std::fmt::{Display, Write as _};

use super::site::Mount;
use tabellion_mcp::calls::BOUNDS;

/// Media type of the metrics.
pub(super) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Counters of a library since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct LibraryCounts {
    /// Published changes, one commit each.
    pub commits: u64,
    /// Changes that were planned again because another change was published first.
    pub conflicts: u64,
    /// Interrupted changes that were completed or undone.
    pub recoveries: u64,
}

/// The text under construction.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(key, value)| format!("{key}=\"{value}\""))
            .collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// A metric of a library: name, kind, help text, and how to read it.
type Number = (&'static str, &'static str, &'static str, fn(&Mount) -> u64);

const NUMBERS: [Number; 5] = [
    (
        "tabellion_commits_total",
        "counter",
        "Published changes, one commit each.",
        |mount| (mount.counts)().commits,
    ),
    (
        "tabellion_conflicts_total",
        "counter",
        "Changes planned again because another change was published first.",
        |mount| (mount.counts)().conflicts,
    ),
    (
        "tabellion_recoveries_total",
        "counter",
        "Interrupted changes that were completed or undone.",
        |mount| (mount.counts)().recoveries,
    ),
    (
        "tabellion_requests_in_flight",
        "gauge",
        "Requests in flight.",
        |mount| mount.endpoint.in_flight() as u64,
    ),
    ("tabellion_sessions", "gauge", "Open sessions.", |mount| {
        mount.endpoint.sessions() as u64
    }),
];

/// Returns the metrics of all `mounts`, and the number of refusals by kind of rate limit.
pub(super) fn text<'a>(mounts: impl Iterator<Item = &'a Mount> + Clone, refused: &[(&str, u64)]) -> String {
    let mut text = Text::default();
    let (calls, took) = ("tabellion_calls_total", "tabellion_call_seconds");
    let tallies = || {
        let all = mounts.clone();
        all.flat_map(|mount| {
            mount
                .endpoint
                .calls()
                .tallies()
                .into_iter()
                .map(move |it| (mount, it))
        })
    };
    text.family(calls, "counter", "Tool calls by outcome.");
    for (mount, (tool, tally)) in tallies() {
        for (outcome, count) in &tally.outcomes {
            let labels: [(_, &dyn Display); 3] =
                [("library", &mount.name), ("tool", &tool), ("outcome", outcome)];
            text.sample(calls, &labels, count);
        }
    }
    text.family(took, "histogram", "Duration of tool calls.");
    for (mount, (tool, tally)) in tallies() {
        let labels: [(_, &dyn Display); 2] = [("library", &mount.name), ("tool", &tool)];
        let mut sum = 0;
        for (bound, count) in BOUNDS.iter().zip(tally.within) {
            sum += count;
            text.sample(
                &format!("{took}_bucket"),
                &[labels[0], labels[1], ("le", bound)],
                sum,
            );
        }
        let all = tally.count();
        text.sample(
            &format!("{took}_bucket"),
            &[labels[0], labels[1], ("le", &"+Inf")],
            all,
        );
        text.sample(&format!("{took}_sum"), &labels, tally.total.as_secs_f64());
        text.sample(&format!("{took}_count"), &labels, all);
    }
    for (name, kind, help, number) in NUMBERS {
        text.family(name, kind, help);
        for mount in mounts.clone() {
            text.sample(name, &[("library", &mount.name)], number(mount));
        }
    }
    let waits = "tabellion_rate_limited_total";
    text.family(waits, "counter", "Requests refused by a rate limit, by kind.");
    for (what, count) in refused {
        text.sample(waits, &[("of", what)], count);
    }
    text.0
}
