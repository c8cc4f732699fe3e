//! `provenance`: the origin of calls, as fields with their sources, and the tools that need or keep it.

mod compare;
pub(crate) mod emit;
mod lint;
mod read;

use tabellion_runtime::spec;

pub use self::read::{Provenance, ProvenanceDefault, ProvenanceField};
use super::{Emitted, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    leak::constant,
    problem::Problem,
};

pub(super) struct CallProvenance;

impl Key for CallProvenance {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        lint::lint(contract, problems);
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        compare::contract(changes, old.spec.provenance.as_ref(), new.spec.provenance.as_ref());
    }

    fn compare_any_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        compare::tool(changes, old.tool.spec.provenance, new.tool.spec.provenance);
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        match &contract.spec.provenance {
            Some(provenance) => emit::contract(contract, provenance),
            None => Emitted::default(),
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        let provenance = contract.spec.provenance.as_ref();
        table.provenance = provenance.map(|provenance| constant(emit::table(provenance)));
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.provenance = tool.spec.provenance;
    }
}
