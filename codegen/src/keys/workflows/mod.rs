//! `workflows`, and `pending` of operations: decisions by people and agents on waiting changes.

mod calls;
mod compare;
mod emit;
mod lint;
mod pending;
mod read;

use tabellion_runtime::spec;

pub use self::read::Workflow;
use super::{Emitted, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    problem::Problem,
};

pub(crate) use self::{calls::methods, emit::type_names};

pub(super) struct Workflows;

impl Key for Workflows {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for (id, workflow) in &contract.spec.workflows {
            lint::workflow(contract, id, workflow, problems);
        }
        calls::lint(contract, problems);
    }

    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in contract.operations() {
            pending::lint(contract, tool, problems);
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        compare::workflows(changes, old, new);
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        pending::compare(changes, old.tool, new.tool);
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        calls::emit(contract, emit::contract(&contract.spec.workflows))
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        emit::fill(&contract.spec.workflows, table);
        calls::fill(contract, table);
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        pending::fill(tool, entry);
    }
}
