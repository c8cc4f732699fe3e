//! A table of measurements, for people and for programs.

use std::{fmt, time::Duration};

use serde_json::{Value, json};

use crate::measure::percentile;

/// Measurements of one library.
pub(super) struct Table {
    title: String,
    rows: Vec<Row>,
    notes: Vec<(&'static str, String)>,
}

/// A measured operation, and its peer.
pub(super) struct Row {
    what: &'static str,
    ours: Vec<Duration>,
    peer: Option<(&'static str, &'static str, Vec<Duration>)>,
}

impl Table {
    pub(super) fn new(title: String) -> Self {
        Self { title, rows: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn add(&mut self, mut row: Row) {
        row.ours.sort_unstable();
        if let Some((_, _, times)) = &mut row.peer {
            times.sort_unstable();
        }
        self.rows.push(row);
    }

    pub(super) fn note(&mut self, what: &'static str, value: String) {
        self.notes.push((what, value));
    }

    /// Returns all figures, in microseconds.
    pub(super) fn to_json(&self) -> Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "what": row.what,
                    "ours": spread(&row.ours),
                    "peer": row.peer.as_ref().map(|(name, aim, times)| {
                        json!({ "name": name, "aim": aim, "times": spread(times), "ratio": row.ratio() })
                    }),
                })
            })
            .collect();
        let notes: serde_json::Map<_, _> =
            self.notes.iter().map(|(what, value)| ((*what).to_owned(), value.clone().into())).collect();
        json!({ "on": self.title, "rows": rows, "notes": notes })
    }
}

impl Row {
    /// Creates a row that is compared to `peer`; `aim` is the intended ratio.
    pub(super) fn new(what: &'static str, peer: &'static str, aim: &'static str) -> Self {
        Self { what, ours: Vec::new(), peer: Some((peer, aim, Vec::new())) }
    }

    /// Creates a row without a peer.
    pub(super) fn alone(what: &'static str) -> Self {
        Self { what, ours: Vec::new(), peer: None }
    }

    pub(super) fn ours(&mut self, time: Duration) {
        self.ours.push(time);
    }

    pub(super) fn peer(&mut self, time: Duration) {
        if let Some((_, _, times)) = &mut self.peer {
            times.push(time);
        }
    }

    /// Returns our median divided by the peer's.
    fn ratio(&self) -> Option<f64> {
        let (_, _, times) = self.peer.as_ref()?;
        Some(percentile(&self.ours, 50)?.as_secs_f64() / percentile(times, 50)?.as_secs_f64())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### {}\n", self.title)?;
        writeln!(f, "| what | min | median | p99 | beside | its median | its p99 | ratio | aim |")?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|")?;
        for row in &self.rows {
            let shown = |share| percentile(&row.ours, share).map_or("-".to_owned(), shown);
            write!(f, "| {} | {} | {} | {} |", row.what, shown(0), shown(50), shown(99))?;
            match &row.peer {
                Some((name, aim, times)) => {
                    let its = |share| percentile(times, share).map_or("not found".to_owned(), self::shown);
                    let ratio = row.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}×"));
                    writeln!(f, " {name} | {} | {} | {ratio} | {aim} |", its(50), its(99))?;
                }
                None => writeln!(f, " | | | | |")?,
            }
        }
        for (what, value) in &self.notes {
            writeln!(f, "| {what} | | {value} | | | | | | |")?;
        }
        Ok(())
    }
}

fn spread(times: &[Duration]) -> Value {
    let micros = |share| percentile(times, share).map(|time| time.as_secs_f64() * 1e6);
    json!({ "count": times.len(), "min": micros(0), "median": micros(50), "p99": micros(99) })
}

fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros if micros < 1000 => format!("{micros} µs"),
        micros => format!("{:.1} ms", micros as f64 / 1000.0),
    }
}
