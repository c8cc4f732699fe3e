//! `gates` and `gateMembers`: rules of conduct, as schemas of the facts of a call, with their operations, and the members that show them to
//! clients.

mod compare;
mod emit;
mod lint;
mod read;

use indexmap::IndexMap;
use tabellion_runtime::{FailureKind, spec};

pub use self::read::{Clause, Gate, GateExample};
use super::{Emitted, EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    problem::Problem,
};

pub(super) struct Gates;

impl Key for Gates {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        lint::names(contract, problems);
    }

    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        lint::schemas(contract, problems);
    }

    fn failures(&self, tool: &Tool) -> &'static [FailureKind] {
        if tool.spec.gates.is_empty() { &[] } else { &[FailureKind::Violation] }
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

/// Adds to each operation the gates that it names.
pub(crate) fn resolve(gates: &IndexMap<&'static str, Gate>, tools: &mut [Tool]) {
    for tool in tools {
        let named = gates.iter().filter(|(name, _)| tool.spec.gates.contains(name));
        tool.spec.passed = named.map(|(name, gate)| (*name, gate.clone())).collect();
        resolve(gates, &mut tool.parts);
    }
}
