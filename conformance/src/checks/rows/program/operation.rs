//! The operations that programs call.

use tabellion_runtime::{
    ContractSpec, ToolSpec,
    spec::{Action, EntitySpec, RowOperation},
};

use super::spec;
use crate::{check::Bench, judgement::Stop, rows::requests};

/// The kinds of operations, in the order in which programs list them.
const ACTIONS: [Action; 5] = [Action::Create, Action::Update, Action::Delete, Action::Get, Action::List];

/// An operation that programs call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) entity: &'static EntitySpec,
    pub(super) action: Action,
    pub(super) tool: &'static ToolSpec,
    /// True if it is the first one that does this.
    pub(super) is_first: bool,
}

/// Returns the operations that the server has.
pub(super) fn all(bench: &Bench<'_>) -> Result<Vec<Operation>, Stop> {
    spec(bench)?;
    Ok(select(bench.subject.contract, |tool| bench.subject.adapter.has(tool, None)))
}

/// Returns the operations on rows of a contract that `has` is true of.
pub(super) fn select(contract: &ContractSpec, has: impl Fn(&ToolSpec) -> bool) -> Vec<Operation> {
    let mut all = Vec::new();
    for entity in requests::entities(contract) {
        for action in ACTIONS {
            let first = requests::find(contract, entity.name, action);
            let of = contract.operations().filter(|tool| {
                let does = |rows: RowOperation| rows.entity == entity.name && rows.action == action;
                tool.rows.is_some_and(does) && has(tool)
            });
            for tool in of {
                let is_first = first.is_some_and(|first| std::ptr::eq(first, tool));
                let is_of_other_tool = first.is_none_or(|first| first.name != tool.name);
                let is_own = tool.rows.is_some_and(|rows| !rows.set.is_empty());
                if is_first || is_of_other_tool || is_own {
                    all.push(Operation { entity, action, tool, is_first });
                }
            }
        }
    }
    all
}

/// Returns the entities whose rows can be created.
pub(super) fn created(operations: &[Operation]) -> Vec<&'static EntitySpec> {
    let creations = operations.iter().filter(|it| it.action == Action::Create && it.is_first);
    creations.map(|it| it.entity).collect()
}
