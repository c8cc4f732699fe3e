//! Values that differ between two runs of the same calls: ids, times, durations, sizes, and the places of files.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// Ids (UUIDs), times (RFC 3339), hashes, and beginnings of ids in a text, as names of files have them.
static OWN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = "(?i)(?P<id>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\
                   |(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+))\
                   |(?P<hash>[0-9a-f]{40,}|\\b[0-9a-f]{8}\\b)";
    Regex::new(pattern).expect("it is a pattern")
});

/// Ends of the names of numbers that are measured.
const MEASURED: [&str; 2] = ["_ms", "_bytes"];

/// The ids of one run, in the order in which they turned up.
#[derive(Debug, Default)]
pub(super) struct Ids {
    seen: Vec<String>,
    /// True if all ids have the same number: for texts in an order that ids may have decided.
    is_blind: bool,
}

impl Ids {
    /// Returns ids that have the same number, all of them.
    pub(super) fn all_alike() -> Self {
        Self { seen: Vec::new(), is_blind: true }
    }

    /// Returns a text with `<id 1>` for the first id of the run, and so on: equal texts mean that the same things are named.
    pub(super) fn text(&mut self, text: &str) -> String {
        // The content at a URL is not compared, and the URL contains the run's folder, port and signature.
        if text.starts_with("http://") || text.starts_with("https://") || text.starts_with("file://") {
            return "<url>".to_owned();
        }
        let own = |found: &Captures<'_>| {
            if found.name("time").is_some() {
                return "<time>".to_owned();
            }
            let Some(id) = found.name("id") else {
                return "<hash>".to_owned();
            };
            format!("<id {}>", self.number(&id.as_str().to_lowercase()))
        };
        OWN.replace_all(text, own).into_owned()
    }

    fn number(&mut self, id: &str) -> usize {
        if self.is_blind {
            return 0;
        }
        let known = self.seen.iter().position(|it| it == id);
        1 + known.unwrap_or_else(|| {
            self.seen.push(id.to_owned());
            self.seen.len() - 1
        })
    }

    /// Returns a value with each text replaced as by [`text`](Self::text), and measured numbers replaced by zero. Items of lists are
    /// ordered by their texts, since ids may decide their order.
    pub(super) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => {
                let mut items: Vec<_> = items.iter().map(|item| self.value(item)).collect();
                items.sort_by_key(ToString::to_string);
                items.into()
            }
            Value::Object(members) => {
                let one = |(name, value): (&String, &Value)| {
                    let is_measured = value.is_number() && MEASURED.iter().any(|end| name.ends_with(end));
                    let value = if is_measured { 0.into() } else { self.value(value) };
                    (name.clone(), value)
                };
                members.iter().map(one).collect()
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runs_are_alike_if_they_name_the_same_things() {
        let run = |one: &str, other: &str, time: &str| {
            json!([
                { "id": one, "note": format!("{one} and {other}"), "at": time, "took_ms": time.len(), "n": 2 },
                { "id": other, "file": format!("file:///tmp/{one}") },
            ])
        };
        let [a, b] = ["6f1f0c0e-6d0b-4d5f-9a53-1f2b3c4d5e6f", "0b9e8d7c-6b5a-4938-8271-605f4e3d2c1b"];
        let first = Ids::default().value(&run(a, b, "2026-11-25T22:00:00Z"));
        let second = Ids::default().value(&run(b, a, "2026-11-25T22:00:00.123+01:00"));
        assert_eq!(first, second);
        let other = Ids::default().value(&run(a, a, "2026-11-25T22:00:00Z"));
        assert_ne!(first, other);
        assert_eq!(Ids::all_alike().text(a), Ids::all_alike().text(b));
    }
}
