//! Queries with their labels, and reading JSON lines.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::Path,
};

use serde::{Deserialize, de::DeserializeOwned};

use xtask::Outcome;

#[derive(Default)]
pub(super) struct Query {
    pub(super) id: String,
    pub(super) text: String,
    /// For reports; empty if there are none.
    pub(super) category: String,
    /// Ids that are right.
    pub(super) relevant: BTreeSet<String>,
    /// Files that are right, in place of ids.
    pub(super) labels: Vec<Label>,
    /// True if an id has its session before a colon, which is judged too.
    pub(super) has_sessions: bool,
}

/// A file that is right, or a range of its lines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Label {
    File(String),
    Lines { path: String, start_line: u32, end_line: u32 },
}

impl Label {
    /// Returns true if a result, `path` or `path:first-last`, is in it: the path ends in the label's, and the lines overlap if both
    /// have some.
    fn is_hit(&self, result: &str) -> bool {
        let (path, lines) = split(result);
        let (own, own_lines) = match self {
            Self::File(path) => (path, None),
            Self::Lines { path, start_line, end_line } => (path, Some((*start_line, *end_line))),
        };
        let is_path =
            path.strip_suffix(own.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        let overlap = lines
            .zip(own_lines)
            .is_none_or(|((first, last), (own_first, own_last))| first <= own_last && own_first <= last);
        is_path && overlap
    }
}

fn split(result: &str) -> (&str, Option<(u32, u32)>) {
    let range = result.rsplit_once(':').and_then(|(path, range)| {
        let (first, last) = range.split_once('-')?;
        Some((path, (first.parse().ok()?, last.parse().ok()?)))
    });
    range.map_or((result, None), |(path, lines)| (path, Some(lines)))
}

impl Query {
    /// Returns the ids to judge: found ones, and right ones. For files, a label is hit by the first result in it, several labels
    /// that the same result hits count once, and each result takes a rank.
    pub(super) fn judged(&self, found: &[String]) -> (Vec<String>, BTreeSet<String>) {
        if self.labels.is_empty() {
            return (found.to_vec(), self.relevant.clone());
        }
        let mut hit: HashSet<usize> = HashSet::new();
        let judge = |(place, result): (usize, &String)| {
            let labels = self.labels.iter().enumerate();
            let new = labels.filter(|(number, label)| !hit.contains(number) && label.is_hit(result));
            let new: Vec<usize> = new.map(|(number, _)| number).collect();
            hit.extend(&new);
            new.first().map_or(format!("miss {place}"), usize::to_string)
        };
        let found = found.iter().enumerate().map(judge).collect();
        (found, (0..self.labels.len()).map(|number| number.to_string()).collect())
    }
}

/// Reads a file with an object in each line.
pub(super) fn lines<T: DeserializeOwned>(path: &Path) -> Outcome<Vec<T>> {
    let text = fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let rows = (1..).zip(text.lines()).map(|(number, line)| {
        serde_json::from_str(line).map_err(|error| format!("`{}`:{number}: {error}", path.display()).into())
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_judged_as_the_benchmark_does() {
        let lines = Label::Lines { path: "b.rs".into(), start_line: 10, end_line: 20 };
        let query = Query {
            labels: vec![Label::File("src/a.rs".into()), lines, Label::File("a.rs".into())],
            ..Query::default()
        };
        for (found, expected) in [
            ("src/a.rs:1-9 src/a.rs:9-20", "0 miss 1"),
            ("b.rs:1-9 b.rs:20-30", "miss 0 1"),
            ("b.rs xsrc/a.rs", "1 2"),
            ("x/ba.rs a.rs:1-2", "miss 0 2"),
            ("", ""),
        ] {
            let found: Vec<String> = found.split_whitespace().map(String::from).collect();
            let (judged, relevant) = query.judged(&found);
            assert_eq!((judged.join(" "), relevant.len()), (expected.into(), 3), "{found:?}");
        }
    }
}
