//! Searches with filters, and their expected hits.

use std::collections::BTreeSet;

use super::{
    hit::{Hit, hits},
    server::{ALL, CODE, Server},
};
use tabellion_conformance::checks::prelude::*;

/// A search with filters, and the condition on its hits.
pub(super) struct Question {
    pub(super) arguments: Value,
    pub(super) passes: Box<dyn Fn(&Hit) -> bool>,
}

impl Question {
    /// A hit's member that must have a value.
    pub(super) fn member(member: &'static str, value: &str) -> Self {
        let (arguments, value) = (json!({ "filters": [format!("{member}:{value}")] }), value.to_owned());
        Self { arguments, passes: Box::new(move |hit| hit.all[member] == value.as_str()) }
    }

    pub(super) fn paths(pattern: &'static str) -> Self {
        let glob = glob::Pattern::new(pattern).expect("the pattern is valid");
        Self {
            arguments: json!({ "filters": [format!("path:{pattern}")] }),
            passes: Box::new(move |hit| glob.matches(&hit.file_path)),
        }
    }

    pub(super) fn extensions(extensions: &'static [&'static str]) -> Self {
        let is_one = |hit: &Hit, all: &[&str]| {
            let extension = hit.file_path.rsplit('.').next().unwrap_or_default();
            all.iter().any(|it| it.trim_start_matches('.') == extension)
        };
        Self {
            arguments: json!({ "extensions": extensions }),
            passes: Box::new(move |hit| is_one(hit, extensions)),
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        let mut arguments = self.arguments;
        for (name, value) in other.arguments.as_object().into_iter().flatten() {
            match (arguments[name].as_array_mut(), value.as_array()) {
                (Some(all), Some(more)) => all.extend(more.iter().cloned()),
                _ => arguments[name] = value.clone(),
            }
        }
        let (one, two) = (self.passes, other.passes);
        Self { arguments, passes: Box::new(move |hit| one(hit) && two(hit)) }
    }

    /// Returns the arguments of a search.
    fn search(&self, query: &str, limit: u64) -> Value {
        let mut asked = self.arguments.clone();
        asked["query"] = query.into();
        asked["limit"] = limit.into();
        asked
    }

    /// Returns true if a hit may be part of an unfiltered hit: the matching definition in it.
    fn is_of_definitions(&self) -> bool {
        let filters = self.arguments["filters"].as_array().into_iter().flatten();
        filters.filter_map(Value::as_str).any(|filter| filter.starts_with("kind:"))
    }

    /// Searches for definitions, with and without a limit. Each hit must pass and overlap one of `all`, and each of `all` that passes must
    /// contain a hit.
    fn holds_in_part(&self, server: &mut Server<'_, '_>, query: &str, all: &[Hit]) -> Judgement {
        for limit in [ALL, 3] {
            let asked = self.search(query, limit);
            let answer = server.must(CODE, &asked)?;
            let found = hits(&answer);
            let wrong =
                found.iter().find(|hit| !(self.passes)(hit) || !all.iter().any(|other| hit.overlaps(other)));
            ensure(wrong.is_none(), || {
                format!("the search by `{asked}` has a hit that does not pass: {wrong:?}")
            })?;
            let is_missing =
                |hit: &&Hit| (self.passes)(hit) && !found.iter().any(|other| hit.overlaps(other));
            let missing = all.iter().find(is_missing).filter(|_| limit == ALL);
            ensure(missing.is_none(), || format!("the search by `{asked}` has no hit in {missing:?}"))?;
            let total = answer["total"].as_u64().unwrap_or_default();
            let counts = found.len() as u64 == total.min(limit) && answer["count"] == found.len();
            ensure(counts, || {
                format!("the search by `{asked}` has {} hits, and counts {}", found.len(), answer["count"])
            })?;
        }
        Ok(())
    }

    /// Searches with the filters, with and without a limit. The hits must be the passing ones of `all`.
    pub(super) fn holds(&self, server: &mut Server<'_, '_>, query: &str, all: &[Hit]) -> Judgement {
        if self.is_of_definitions() {
            return self.holds_in_part(server, query, all);
        }
        let right: BTreeSet<_> = all.iter().filter(|hit| (self.passes)(hit)).map(Hit::place).collect();
        for limit in [ALL, 3] {
            let asked = self.search(query, limit);
            let answer = server.must(CODE, &asked)?;
            let found = hits(&answer);
            let wrong = found.iter().find(|hit| !right.contains(&hit.place()));
            ensure(wrong.is_none(), || {
                format!("the search by `{asked}` has a hit that does not pass: {wrong:?}")
            })?;
            let many = right.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
            ensure(found.len() == many && answer["count"] == many && answer["total"] == right.len(), || {
                format!(
                    "the search by `{asked}` has {} hits, counts {} of {}, but {} chunks pass",
                    found.len(),
                    answer["count"],
                    answer["total"],
                    right.len()
                )
            })?;
        }
        Ok(())
    }
}
