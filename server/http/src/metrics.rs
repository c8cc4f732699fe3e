//! Metrics in the text format 0.0.4 of Prometheus. Labels are names of tools and libraries only, never text from clients or
//! documents.

use std::fmt::{Display, Write as _};

use super::mount::Mount;
use tabellion_gateway::calls::BOUNDS;

/// The media type of the text.
pub(super) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Labels of [`RemoteCounts::pushes`](super::RemoteCounts::pushes) and, except for the second one, of [`RemoteCounts::fetches`](super::RemoteCounts::fetches).
const OUTCOMES: [&str; 3] = ["done", "refused", "unanswered"];

/// A text under construction.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// A metric of each library: name, kind, help and value.
type LibraryMetric = (&'static str, &'static str, &'static str, fn(&Mount) -> u64);

const LIBRARY_METRICS: [LibraryMetric; 5] = [
    ("tabellion_commits_total", "counter", "Changes that were published, each with a commit.", |mount| {
        (mount.counts)().commits
    }),
    (
        "tabellion_conflicts_total",
        "counter",
        "Changes that were planned again because another change was published first.",
        |mount| (mount.counts)().conflicts,
    ),
    (
        "tabellion_recoveries_total",
        "counter",
        "Interrupted changes that were completed or undone.",
        |mount| (mount.counts)().recoveries,
    ),
    ("tabellion_requests_in_flight", "gauge", "Requests that are being answered.", |mount| {
        mount.endpoint.intake().in_flight() as u64
    }),
    ("tabellion_sessions", "gauge", "Open sessions.", |mount| mount.endpoint.sessions() as u64),
];

/// Renders the metrics of all `mounts`, and the numbers of rate-limited requests by kind.
pub(super) fn text<'a>(mounts: impl Iterator<Item = &'a Mount> + Clone, refused: &[(&str, u64)]) -> String {
    let mut text = Text::default();
    let (calls, took) = ("tabellion_calls_total", "tabellion_call_seconds");
    let tallies = || {
        let all = mounts.clone();
        all.flat_map(|mount| {
            mount.endpoint.gateway().calls().tallies().into_iter().map(move |it| (mount, it))
        })
    };
    text.family(calls, "counter", "Calls of tools, by outcome.");
    for (mount, (tool, tally)) in tallies() {
        for (outcome, count) in &tally.outcomes {
            let labels: [(_, &dyn Display); 3] =
                [("library", &mount.name), ("tool", &tool), ("outcome", outcome)];
            text.sample(calls, &labels, count);
        }
    }
    text.family(took, "histogram", "Duration of calls of tools, in seconds.");
    for (mount, (tool, tally)) in tallies() {
        let labels: [(_, &dyn Display); 2] = [("library", &mount.name), ("tool", &tool)];
        let mut sum = 0;
        for (bound, count) in BOUNDS.iter().zip(tally.within) {
            sum += count;
            text.sample(&format!("{took}_bucket"), &[labels[0], labels[1], ("le", bound)], sum);
        }
        let all = tally.count();
        text.sample(&format!("{took}_bucket"), &[labels[0], labels[1], ("le", &"+Inf")], all);
        text.sample(&format!("{took}_sum"), &labels, tally.total.as_secs_f64());
        text.sample(&format!("{took}_count"), &labels, all);
    }
    for (name, kind, help, number) in LIBRARY_METRICS {
        text.family(name, kind, help);
        for mount in mounts.clone() {
            text.sample(name, &[("library", &mount.name)], number(mount));
        }
    }
    let (pushes, fetches, ahead) =
        ("tabellion_pushes_total", "tabellion_fetches_total", "tabellion_commits_ahead");
    let remotes = mounts.clone().filter_map(|mount| Some((&mount.name, (mount.counts)().remote?)));
    let remotes: Vec<_> = remotes.collect();
    text.family(pushes, "counter", "Pushes to the library's remote, by outcome.");
    for (name, counts) in &remotes {
        for (outcome, count) in OUTCOMES.iter().zip(counts.pushes) {
            text.sample(pushes, &[("library", name), ("outcome", outcome)], count);
        }
    }
    text.family(fetches, "counter", "Fetches from the library's remote, by outcome.");
    for (name, counts) in &remotes {
        for (outcome, count) in [OUTCOMES[0], OUTCOMES[2]].iter().zip(counts.fetches) {
            text.sample(fetches, &[("library", name), ("outcome", outcome)], count);
        }
    }
    text.family(ahead, "gauge", "Commits that the library's remote does not have, at most 1,000.");
    for (name, counts) in &remotes {
        text.sample(ahead, &[("library", name)], counts.ahead);
    }
    let waits = "tabellion_rate_limited_total";
    text.family(waits, "counter", "Requests that were rejected by a rate limit, by kind.");
    for (what, count) in refused {
        text.sample(waits, &[("of", what)], count);
    }
    text.0
}
