//! Gates as contracts write them, and the facts that their clauses judge.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};
use tabellion_runtime::spec::{self, Asks, GateTime, Severity};

use crate::{
    contract::{Contract, Side, Tool},
    views,
};

/// A gate: one principle, in clauses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Gate {
    pub description: Option<&'static str>,
    pub clauses: Vec<Clause>,
}

/// A rule on the facts of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Clause {
    pub id: &'static str,
    pub tools: Vec<&'static str>,
    pub at: GateTime,
    pub asks: Option<Asks>,
    pub severity: Severity,
    pub issue: &'static str,
    pub actionable: &'static str,
    pub schema: Value,
    pub examples: Vec<GateExample>,
}

/// An example of facts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct GateExample {
    pub name: &'static str,
    pub facts: Value,
    pub breaks: bool,
    pub documents: Option<IndexMap<&'static str, &'static str>>,
}

/// The name of a gate, one of its clauses, and the location of the clause in `contract.json`.
pub(super) struct Placed<'a> {
    pub(super) gate: &'a str,
    pub(super) clause: &'a Clause,
    pub(super) at: String,
}

pub(super) fn clauses(contract: &Contract) -> impl Iterator<Item = Placed<'_>> {
    contract.spec.gates.iter().flat_map(|(gate, it)| {
        let clauses = it.clauses.iter().enumerate();
        clauses.map(move |(i, clause)| Placed { gate, clause, at: format!("/gates/{gate}/clauses/{i}") })
    })
}

/// Returns the clauses of an operation's gates that apply to it.
pub(super) fn clauses_of<'a>(contract: &'a Contract, tool: &'a Tool) -> impl Iterator<Item = Placed<'a>> {
    let label = tool.label();
    let gates = &tool.spec.gates;
    clauses(contract)
        .filter(move |placed| gates.contains(&placed.gate) && placed.clause.tools.contains(&label))
}

/// Returns the schema of the facts of an operation's calls.
pub(super) fn facts(tool: &Tool, at: GateTime) -> Value {
    let text = json!({ "type": "string" });
    let mut properties = json!({
        "tool": { "const": tool.label() },
        "request": views::enforced(tool.schema(Side::Input)),
        "names": { "type": "array", "items": text },
        "caller": {
            "type": "object",
            "required": ["roles"],
            "properties": {
                "kind": { "enum": spec::CallerKind::ALL },
                "roles": { "type": "array", "items": text },
                "identity": text,
                "agent": { "type": "object", "properties": { "name": text, "version": text } },
            },
        },
    });
    let mut required = vec!["tool", "request", "caller"];
    if at == GateTime::After {
        properties["answer"] = views::enforced(tool.schema(Side::Output));
        required.push("answer");
    }
    json!({ "type": "object", "required": required, "properties": properties })
}
