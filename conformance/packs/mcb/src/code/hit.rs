//! Hits of a search, and the rules for them.

use std::collections::BTreeMap;

use tabellion_conformance::checks::prelude::*;

/// A hit of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) file_path: String,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) content: String,
    pub(super) score: f64,
    /// The whole entry of the answer.
    pub(super) all: Value,
}

pub(super) fn hits(answer: &Value) -> Vec<Hit> {
    let line = |value: &Value| value.as_u64().and_then(|line| usize::try_from(line).ok());
    let results = answer["results"].as_array().into_iter().flatten();
    let hit = |hit: &Value| Hit {
        file_path: hit["file_path"].as_str().unwrap_or_default().replace('\\', "/"),
        start: line(&hit["start_line"]).unwrap_or_default(),
        end: line(&hit["end_line"]).unwrap_or_default(),
        content: hit["content"].as_str().unwrap_or_default().to_owned(),
        score: hit["score"].as_f64().unwrap_or(f64::NAN),
        all: hit.clone(),
    };
    results.map(hit).collect()
}

impl Hit {
    /// Returns the identity of a chunk: collection, branch, path and lines.
    pub(super) fn place(&self) -> (String, String, String, usize, usize) {
        let text = |name: &str| self.all[name].as_str().unwrap_or_default().to_owned();
        (text("collection"), text("branch"), self.file_path.clone(), self.start, self.end)
    }

    /// Returns true if both have lines of the same text.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let (collection, branch, path, start, end) = self.place();
        let of = other.place();
        (collection, branch, path) == (of.0, of.1, of.2) && start <= of.4 && of.3 <= end
    }

    /// Returns true if it is in this file of the tree.
    pub(super) fn is_in(&self, path: &str) -> bool {
        let before = self.file_path.strip_suffix(path);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// Fails unless the hit is in one of these files, and its content is that of its lines.
    pub(super) fn is_of(&self, texts: &BTreeMap<&str, String>, query: &str, when: &str) -> Judgement {
        let file = texts.iter().find(|(path, _)| self.is_in(path));
        let Some((path, text)) = file else {
            return Err(fail(format!(
                "{when}, `{query}` finds `{}`, which is not among the files",
                self.file_path
            )));
        };
        let lines: Vec<_> = text.lines().collect();
        let (first, last) = (self.start, self.end);
        ensure(1 <= first && first <= last && last <= lines.len(), || {
            format!("{when}, a hit in `{path}` has the lines {first} to {last} of {}", lines.len())
        })?;
        ensure(lines[first - 1..last].join("\n").contains(self.content.trim_matches('\n')), || {
            format!(
                "{when}, a hit in `{path}` has a content that its lines {first} to {last} do not have: {:?}",
                self.content
            )
        })
    }
}
