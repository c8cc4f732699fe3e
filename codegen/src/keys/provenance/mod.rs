//! `provenance`: the origin of calls, as fields with their sources, and the tools that need or keep it.

mod compare;
pub(crate) mod emit;
mod lint;
mod read;

use tabellion_runtime::spec;

pub use self::read::{AlsoIf, MissingProvenance, Provenance, ProvenanceDefault, ProvenanceField};
use super::{Emitted, EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    leak::{leaked, list},
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

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        tool.spec.provenance.map(emit::tool).unwrap_or_default()
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.provenance = contract.spec.provenance.as_ref().map(|provenance| {
            let texts = |texts: &[String]| list(texts.iter().map(|text| leaked(text)));
            let fields = provenance.fields.iter().map(|(name, field)| spec::ProvenanceField {
                name: leaked(name),
                kind: field.kind,
                keys: texts(&field.keys),
                headers: texts(&field.headers),
                from: list(field.from.iter().copied()),
                discover: field.discover,
                default: field.default.as_ref().map(|default| match default {
                    ProvenanceDefault::Now(_) => spec::ProvenanceDefault::Now,
                    ProvenanceDefault::Present(other) => spec::ProvenanceDefault::Present(leaked(other)),
                }),
            });
            let spec = spec::ProvenanceSpec {
                fields: list(fields),
                session: provenance.session.as_deref().map(leaked),
                required: texts(&provenance.required),
                also_if: list(
                    provenance
                        .also_if
                        .iter()
                        .map(|also| spec::AlsoIf { field: leaked(&also.field), then: texts(&also.then) }),
                ),
                missing: spec::MissingProvenance {
                    error: leaked(&provenance.missing.error),
                    message: leaked(&provenance.missing.message),
                },
            };
            &*Box::leak(Box::new(spec))
        });
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.provenance = tool.spec.provenance;
    }
}
