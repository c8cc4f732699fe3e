//! Lints of gates: clauses and operations name each other, and every clause has an example that breaks it alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tabellion_runtime::{
    gates::{self, fill_defaults},
    schema::compile,
    spec::GateTime,
};

use super::read::{Clause, GateExample, Placed, clauses, clauses_of, facts};
use crate::{
    algebra,
    contract::{Contract, Side, Tool},
    problem::Problem,
    schema, views,
};

/// Members of the facts that are known before the method is called.
const BEFORE: &[&str] = &["tool", "request", "names", "caller"];
/// Members that are known only after it.
const AFTER: &[&str] = &["answer", "target", "plan", "export"];

/// Checks that gates, clauses and operations name each other.
pub(super) fn names(contract: &Contract, problems: &mut Vec<Problem>) {
    if contract.spec.gates.is_empty() && contract.spec.gate_members.is_some() {
        problems.push(contract.document.problem(
            "/gateMembers",
            "the contract has no gates",
            "add `gates`, or remove it",
        ));
    }
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    for Placed { gate, clause, at } in clauses(contract) {
        if let Some(other) = ids.insert(clause.id, gate) {
            problems.push(contract.document.problem(
                format!("{at}/id"),
                format!("gate `{other}` has a clause `{}` too", clause.id),
                "give each clause an id of its own",
            ));
        }
        for (i, label) in clause.tools.iter().enumerate() {
            let at = format!("{at}/tools/{i}");
            let (message, help) = match contract.operation(label) {
                None => {
                    (format!("there is no operation `{label}`"), "write `tool`, or `tool/operation`".into())
                }
                Some(tool) if !tool.spec.gates.contains(&gate) => (
                    format!("`{label}` does not have the gate `{gate}`"),
                    format!("add `\"{gate}\"` to its `gates`, or remove it here"),
                ),
                Some(_) => continue,
            };
            problems.push(contract.document.problem(at, message, help));
        }
    }
    for tool in contract.operations() {
        for (i, gate) in tool.spec.gates.iter().enumerate() {
            let label = tool.label();
            let has_clause = clauses_of(contract, tool).any(|placed| placed.gate == *gate);
            let (message, help) = if !contract.spec.gates.contains_key(gate) {
                let all: Vec<_> = contract.spec.gates.keys().copied().collect();
                let help = match &*all {
                    [] => format!("add `gates` with `{gate}` to contract.json, or remove it here"),
                    all => format!("the gates are {}", all.join(", ")),
                };
                (format!("there is no gate `{gate}`"), help)
            } else if !has_clause {
                (
                    format!("gate `{gate}` has no clause for `{label}`"),
                    format!("add `\"{label}\"` to the `tools` of a clause, or remove the gate here"),
                )
            } else {
                continue;
            };
            problems.push(tool.document.problem(format!("/gates/{i}"), message, help));
        }
    }
}

/// Checks the schemas and the examples of clauses.
pub(super) fn schemas(contract: &Contract, problems: &mut Vec<Problem>) {
    for placed in clauses(contract) {
        let before = problems.len();
        names_known_facts(contract, &placed, problems);
        if problems.len() == before {
            excludes_something(contract, &placed, problems);
        }
        examples(contract, &placed, problems);
    }
}

/// Checks that a schema names facts that exist when it is judged. A misspelt fact would never be checked.
fn names_known_facts(contract: &Contract, placed: &Placed<'_>, problems: &mut Vec<Problem>) {
    let mut named = BTreeSet::new();
    facts_in(&placed.clause.schema, &mut named);
    let is_after = placed.clause.at == GateTime::After;
    for name in named {
        let is_late = AFTER.contains(&name.as_str());
        if BEFORE.contains(&name.as_str()) || (is_late && is_after) {
            continue;
        }
        let (message, help) = if is_late {
            (format!("`{name}` is not known before the method is called"), "set `at` to `after`".into())
        } else {
            let all = [BEFORE, AFTER].concat().join(", ");
            (format!("`{name}` is no fact"), format!("the facts are {all}"))
        };
        let at = format!("{}/schema", placed.at);
        problems.push(contract.document.problem(at, message, help));
    }
}

/// Adds the names of the top-level members that a schema mentions.
fn facts_in(schema: &Value, named: &mut BTreeSet<String>) {
    let properties = schema["properties"].as_object().into_iter().flatten();
    named.extend(properties.map(|(name, _)| name.clone()));
    let required = schema["required"].as_array().into_iter().flatten();
    named.extend(required.filter_map(|name| name.as_str().map(str::to_owned)));
    for (step, child) in schema::children(schema) {
        if matches!(step[0].as_str(), "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else") {
            facts_in(child, named);
        }
    }
}

/// Checks that some calls of each operation satisfy the clause, and that not all do.
fn excludes_something(contract: &Contract, placed: &Placed<'_>, problems: &mut Vec<Problem>) {
    let Clause { tools, schema, at, .. } = placed.clause;
    let (clause, place) = (views::bare(schema), format!("{}/schema", placed.at));
    let all = tools.iter().filter_map(|label| contract.operation(label));
    for tool in all {
        let (facts, label) = (facts(tool, *at), tool.label());
        let both = serde_json::json!({ "allOf": [facts, clause] });
        let (message, help) = if algebra::is_empty(&both) {
            (
                format!("no call of `{label}` satisfies this clause"),
                "two of its conditions exclude each other: remove one",
            )
        } else if algebra::covers(&clause, &facts) == Some(true) {
            (
                format!("the clause excludes no call of `{label}`"),
                "remove the operation from the clause: its schema already forbids what the clause forbids",
            )
        } else {
            continue;
        };
        problems.push(contract.document.problem(place.as_str(), message, help));
    }
}

/// Checks the declaration of each example: it satisfies the clause, or breaks it and no other clause of the operation.
fn examples(contract: &Contract, placed: &Placed<'_>, problems: &mut Vec<Problem>) {
    let Placed { clause, at, .. } = placed;
    for (i, example) in clause.examples.iter().enumerate() {
        let wrong = match wrong(contract, clause, example) {
            None => continue,
            Some(wrong) => wrong,
        };
        let help = "correct the example, or the schemas";
        problems.push(contract.document.problem(format!("{at}/examples/{i}"), wrong, help));
    }
    for (breaks, what) in [(true, "breaks"), (false, "satisfies")] {
        if !clause.examples.iter().any(|example| example.breaks == breaks) {
            problems.push(contract.document.problem(
                format!("{at}/examples"),
                format!("no example {what} the clause"),
                format!("add facts with `\"breaks\": {breaks}`"),
            ));
        }
    }
}

/// Returns an example's fault, if it has one.
fn wrong(contract: &Contract, clause: &Clause, example: &GateExample) -> Option<String> {
    let label = example.facts["tool"].as_str().unwrap_or_default();
    let tool = contract.operation(label).filter(|_| clause.tools.contains(&label));
    let Some(tool) = tool else {
        return Some(format!("the clause is not for `{label}`"));
    };
    if let Some(wrong) = wrong_facts(contract, tool, clause, example) {
        return Some(wrong);
    }
    let mut facts = example.facts.clone();
    fill_defaults(&views::wire(tool.schema(Side::Input)), &mut facts["request"]);
    facts["names"] = gates::names(&facts["request"]).into();
    // A clause that only asks for a review is not violated.
    let counts = |other: &Clause| other.asks.is_none() || other.id == clause.id;
    let broken =
        clauses_of(contract, tool).filter(|other| other.clause.at == clause.at && counts(other.clause));
    let broken = broken.filter(|other| {
        compile(&views::bare(&other.clause.schema)).is_ok_and(|schema| !schema.is_valid(&facts))
    });
    let broken: Vec<_> = broken.map(|other| other.clause.id).collect();
    match (example.breaks, broken.contains(&clause.id)) {
        (true, false) => Some("it should break the clause, and satisfies it".into()),
        (false, true) => Some("it should satisfy the clause, and breaks it".into()),
        (true, true) if broken.len() > 1 => {
            let others: Vec<_> = broken.into_iter().filter(|id| *id != clause.id).collect();
            Some(format!("it should break the clause alone, and breaks `{}` too", others.join("`, `")))
        }
        _ => None,
    }
}

/// Returns the fault of an example's facts, if they are impossible.
fn wrong_facts(contract: &Contract, tool: &Tool, clause: &Clause, example: &GateExample) -> Option<String> {
    let facts = &example.facts;
    let is_valid = |side, value: &Value| {
        compile(&views::enforced(tool.schema(side))).is_ok_and(|schema| schema.is_valid(value))
    };
    if !is_valid(Side::Input, &facts["request"]) {
        return Some("`request` is no valid request".into());
    }
    match (clause.at, facts.get("answer")) {
        (GateTime::After, None) => return Some("`answer` is missing".into()),
        (GateTime::After, Some(answer)) if !is_valid(Side::Output, answer) => {
            return Some("`answer` is no valid response".into());
        }
        (GateTime::Before, _) => {
            if let Some(late) = AFTER.iter().find(|name| facts.get(**name).is_some()) {
                return Some(format!("`{late}` is not known before the method is called"));
            }
        }
        _ => {}
    }
    let auth = contract.spec.auth.as_ref()?;
    let roles = facts["caller"]["roles"].as_array().into_iter().flatten();
    let unknown = roles.filter_map(Value::as_str).find(|role| !auth.roles.contains_key(*role));
    unknown.map(|role| format!("there is no role `{role}`"))
}
