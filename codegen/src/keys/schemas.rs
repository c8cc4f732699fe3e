//! `inputSchema`, `outputSchema` and `rules`: the schemas of requests and responses.
//!
//! `lint::keywords` checks the form of schemas before any key, and `rust::schemas` writes them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Key, ToolOf};
use crate::{
    algebra,
    changes::Changes,
    contract::{Contract, Side, Tool},
    lint::{rules, values},
    pointer,
    problem::Problem,
    sample, schema, views,
};

/// A clause that tool files use by its id.
#[derive(Debug, Clone, Deserialize)]
pub struct NamedRule {
    pub message: &'static str,
    pub schema: Value,
}

pub(super) struct Schemas;

impl Key for Schemas {
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for authored in contract.schemas() {
            rules::satisfiable(&authored, problems);
            values::defaults(&authored, problems);
        }
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let (old, new) = (old.tool, new.tool);
        if old.rows.is_some() && new.rows.is_some() {
            // They follow from the entity, whose changes are compared field by field.
            return;
        }
        self::values(changes, Side::Input, old, new);
        defaults(changes, old, new);
        self::values(changes, Side::Output, old, new);
    }
}

/// Compares sets: requests must remain valid, and responses must have been possible before.
fn values(changes: &mut Changes<'_>, side: Side, old: &Tool, new: &Tool) {
    let (kept, other) = match side {
        Side::Input => (old, new),
        Side::Output => (new, old),
    };
    let narrow = views::enforced(kept.schema(side));
    let wide = views::enforced(other.schema(side));
    if narrow != wide {
        let (breaks, unproved, widens) = match side {
            Side::Input => (
                "rejects requests that were valid",
                "it can't be proved that every request that was valid still is",
                "more requests are valid",
            ),
            Side::Output => (
                "can return responses that were impossible before",
                "it can't be proved that every response was possible before",
                "fewer responses may come",
            ),
        };
        match (algebra::covers(&wide, &narrow), algebra::covers(&narrow, &wide)) {
            (Some(true), Some(true)) => {}
            (Some(true), _) => return changes.compatible(widens),
            (decided, _) => {
                let example = sample::between(side, &narrow, &wide, [kept, other]);
                let what = match (&example, algebra::difference(&narrow, &wide)) {
                    (Some(_), _) => breaks.into(),
                    (None, Some(lost)) if decided == Some(false) => format!("{breaks}, namely {lost}"),
                    (None, _) => unproved.into(),
                };
                return changes.push(true, what, example);
            }
        }
    }
    if old.schema(side) != new.schema(side) {
        changes.compatible(match side {
            Side::Input => "the schema of requests changed, but not what it accepts",
            Side::Output => "the schema of responses changed, but not what it accepts",
        });
    }
}

/// A request without a value must keep its meaning.
fn defaults(changes: &mut Changes<'_>, old: &Tool, new: &Tool) {
    let [before, after] = [old, new].map(|tool| {
        let mut defaults = BTreeMap::new();
        collect(tool.schema(Side::Input), "", &mut defaults);
        defaults
    });
    for (at, default) in before {
        match after.get(&at) {
            Some(now) if *now == default => {}
            Some(now) => changes.breaking(format!("the default of `{at}` changed from {default} to {now}")),
            None => changes.breaking(format!("the default of `{at}`, {default}, was removed")),
        }
    }
}

fn collect<'a>(schema: &'a Value, at: &str, defaults: &mut BTreeMap<String, &'a Value>) {
    if let Some(default) = schema.get("default") {
        defaults.insert(at.into(), default);
    }
    for (step, part) in schema::parts(schema) {
        let step = step.last().cloned().unwrap_or_default();
        collect(part, &pointer::push(at, &step), defaults);
    }
}
