//! `gates`: rules of conduct, as schemas of the facts of a call, and which operations they are for.

mod compare;
mod emit;
mod lint;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};
use tabellion_runtime::{
    FailureKind,
    spec::{self, Asks, GateTime, Severity},
};

use super::{Emitted, EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Side, Tool},
    problem::Problem,
    views,
};

/// A gate: one principle, in clauses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Gate {
    /// The principle, for people.
    pub description: Option<String>,
    /// The clauses.
    pub clauses: Vec<Clause>,
}

/// What the facts of a call must satisfy.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Clause {
    /// Stable id.
    pub id: String,
    /// Labels of the operations that it is for.
    pub tools: Vec<String>,
    /// When it is judged.
    pub at: GateTime,
    /// What it asks for instead of refusing the call.
    pub asks: Option<Asks>,
    /// How grave a violation is.
    pub severity: Severity,
    /// What is wrong.
    pub issue: String,
    /// What the caller can do.
    pub actionable: String,
    /// The schema of the facts.
    pub schema: Value,
    /// Facts that satisfy it, and facts that break it.
    pub examples: Vec<GateExample>,
}

/// An example of facts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct GateExample {
    /// What it shows.
    pub name: String,
    /// The facts.
    pub facts: Value,
    /// Whether they break the clause.
    pub breaks: bool,
    /// Documents among which a call leads to these facts.
    pub documents: Option<IndexMap<String, String>>,
}

/// The name of a gate, one of its clauses, and the location of that in `contract.json`.
struct Placed<'a> {
    gate: &'a str,
    clause: &'a Clause,
    at: String,
}

/// Returns the clauses of a contract.
fn clauses(contract: &Contract) -> impl Iterator<Item = Placed<'_>> {
    contract.spec.gates.iter().flat_map(|(gate, it)| {
        let clauses = it.clauses.iter().enumerate();
        clauses.map(move |(i, clause)| Placed {
            gate,
            clause,
            at: format!("/gates/{gate}/clauses/{i}"),
        })
    })
}

/// Returns the clauses of an operation's gates that are for it.
fn clauses_of<'a>(contract: &'a Contract, tool: &'a Tool) -> impl Iterator<Item = Placed<'a>> {
    let label = tool.label();
    let gates = &tool.spec.gates;
    clauses(contract).filter(move |placed| {
        gates.iter().any(|gate| gate == placed.gate) && placed.clause.tools.iter().any(|tool| *tool == label)
    })
}

/// Returns the schema of the facts of an operation's calls.
fn facts(tool: &Tool, at: GateTime) -> Value {
    let text = json!({ "type": "string" });
    let mut properties = json!({
        "tool": { "const": tool.label() },
        "request": views::enforced(tool.schema(Side::Input)),
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

pub(super) struct Gates;

impl Key for Gates {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        lint::names(contract, problems);
    }

    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        lint::schemas(contract, problems);
    }

    fn failures(&self, tool: &Tool) -> &'static [FailureKind] {
        if tool.spec.gates.is_empty() {
            &[]
        } else {
            &[FailureKind::Violation]
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        compare::contract(changes, old, new);
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        compare::tool(changes, old, new);
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        emit::contract(contract)
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        emit::tool(tool)
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        emit::fill(contract, table);
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        emit::fill_tool(tool, entry);
    }
}

/// Gives each operation the gates that it names.
pub(crate) fn resolve(gates: &IndexMap<String, Gate>, tools: &mut [Tool]) {
    for tool in tools {
        let named = gates.iter().filter(|(name, _)| tool.spec.gates.contains(name));
        tool.spec.passed = named.map(|(name, gate)| (name.clone(), gate.clone())).collect();
        resolve(gates, &mut tool.parts);
    }
}
