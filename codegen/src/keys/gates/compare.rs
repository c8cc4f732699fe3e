//! Classifies changes of gates: a call that passed them must still pass.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tabellion_runtime::schema::compile;

use super::read::{Clause, Placed, clauses, clauses_of, facts};
use crate::{
    algebra,
    changes::Changes,
    contract::{Contract, Tool},
    keys::ToolOf,
    views,
};

pub(super) fn contract(changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
    let has_gates = |contract: &Contract| !contract.spec.gates.is_empty();
    if has_gates(old) && has_gates(new) && old.spec.gate_members != new.spec.gate_members {
        changes.breaking("the names under which clients find gates changed");
    }
    for Placed { gate, clause, .. } in clauses(old) {
        let texts = |clause: &Clause| (clause.severity, clause.issue, clause.actionable);
        let after = clauses(new).find(|placed| placed.gate == gate && placed.clause.id == clause.id);
        if after.is_some_and(|after| texts(after.clause) != texts(clause)) {
            changes.compatible(format!("clause `{}` says something else", clause.id));
        }
    }
}

/// Compares the clauses that calls of one operation must satisfy, by their ids.
pub(super) fn tool(changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
    let [before, after] = [old, new].map(|of| {
        let clauses = clauses_of(of.contract, of.tool);
        clauses.map(|placed| (placed.clause.id, placed.clause)).collect::<BTreeMap<_, _>>()
    });
    for (id, clause) in &after {
        let was = before.get(id);
        if was.is_some_and(|was| is_same(was, clause)) {
            continue;
        }
        if let Some(was) = was.filter(|was| was.asks.is_none() && clause.asks.is_some()) {
            // Calls that were refused now wait.
            if algebra::covers(&views::bare(&clause.schema), &views::bare(&was.schema)) == Some(true) {
                changes.compatible(format!("clause `{id}` asks for a review, and no longer refuses"));
                continue;
            }
        }
        let passed = before.values().filter(|was| refuses_what(clause, was));
        let passed: Vec<_> = passed.map(|was| views::bare(&was.schema)).collect();
        let effect = match clause.asks {
            None => "refuses",
            Some(_) => "asks for a review of",
        };
        let mut all = vec![facts(old.tool, clause.at)];
        all.extend(passed);
        match algebra::covers(&views::bare(&clause.schema), &json!({ "allOf": all })) {
            Some(true) => changes.compatible(match was {
                Some(_) => format!("clause `{id}` {effect} fewer calls"),
                None => format!("clause `{id}` {effect} no more calls than others did"),
            }),
            _ => changes.push(
                true,
                match was {
                    Some(_) => format!("clause `{id}` {effect} more calls"),
                    None => format!("clause `{id}` {effect} calls that passed before"),
                },
                example(old.tool, &before, clause),
            ),
        }
    }
    for id in before.keys().filter(|id| !after.contains_key(*id)) {
        changes.compatible(format!("clause `{id}` was removed"));
    }
}

/// Returns true if calls refused by `old` do not count as having passed, for a comparison with `new`.
fn refuses_what(new: &Clause, old: &Clause) -> bool {
    old.asks.is_none() || new.asks.is_some()
}

fn is_same(old: &Clause, new: &Clause) -> bool {
    old.schema == new.schema && old.asks == new.asks
}

/// Returns the facts of a call that passed before and no longer does, if a clause's example has such facts.
fn example(tool: &Tool, before: &BTreeMap<&str, &Clause>, clause: &Clause) -> Option<Value> {
    let label = tool.label();
    let examples = clause.examples.iter().map(|example| &example.facts);
    let passes = |facts: &&Value| {
        before
            .values()
            .filter(|was| refuses_what(clause, was))
            .all(|was| compile(&views::bare(&was.schema)).is_ok_and(|schema| schema.is_valid(facts)))
    };
    let breaks =
        |facts: &&Value| compile(&views::bare(&clause.schema)).is_ok_and(|schema| !schema.is_valid(facts));
    let mut lost = examples.filter(|facts| facts["tool"] == *label).filter(breaks).filter(passes);
    lost.next().cloned()
}
