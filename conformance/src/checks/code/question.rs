//! Searches with filters, and what they must find.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    hit::{Hit, hits},
    server::{ALL, CODE, Server},
};
use crate::judgement::{Judgement, ensure};

/// A search with filters, and which hits pass.
pub(super) struct Question {
    pub(super) arguments: Value,
    pub(super) passes: Box<dyn Fn(&Hit) -> bool>,
}

impl Question {
    /// A hit's member that must have a value.
    pub(super) fn member(member: &'static str, value: &str) -> Self {
        let (arguments, value) = (
            json!({ "filters": [format!("{member}:{value}")] }),
            value.to_owned(),
        );
        Self {
            arguments,
            passes: Box::new(move |hit| hit.all[member] == value.as_str()),
        }
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
        Self {
            arguments,
            passes: Box::new(move |hit| one(hit) && two(hit)),
        }
    }

    /// Searches with the filters, with and without a limit. The hits must be those of `all` that pass.
    ///
    /// # Errors
    /// The failure.
    pub(super) fn holds(&self, server: &mut Server<'_, '_>, query: &str, all: &[Hit]) -> Judgement {
        let right: BTreeSet<_> = all
            .iter()
            .filter(|hit| (self.passes)(hit))
            .map(Hit::place)
            .collect();
        for limit in [ALL, 3] {
            let mut asked = self.arguments.clone();
            asked["query"] = query.into();
            asked["limit"] = limit.into();
            let answer = server.must(CODE, &asked)?;
            let found = hits(&answer);
            let wrong = found.iter().find(|hit| !right.contains(&hit.place()));
            ensure(wrong.is_none(), || {
                format!("the search by `{asked}` has a hit that does not pass: {wrong:?}")
            })?;
            let many = right.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
            ensure(
                found.len() == many && answer["count"] == many && answer["total"] == right.len(),
                || {
                    format!(
                        "the search by `{asked}` has {} hits, counts {} of {}, but {} chunks pass",
                        found.len(),
                        answer["count"],
                        answer["total"],
                        right.len()
                    )
                },
            )?;
        }
        Ok(())
    }
}
