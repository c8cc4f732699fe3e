//! `provenance`: where calls come from, as fields with the places that they are read from, and which tools need or keep it.

mod compare;
pub(crate) mod emit;
mod lint;

use indexmap::IndexMap;
use serde::Deserialize;
use tabellion_runtime::spec::{self, Discovery, ProvenancePlace, ProvenanceType, ProvenanceUse};

use super::{Emitted, EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    leak::{leaked, list},
    problem::Problem,
};

/// The fields of provenance, and what is answered to a call that lacks some.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Name of the field that identifies the caller's session.
    pub session: Option<String>,
    /// The fields by name, in the order in which they are kept.
    pub fields: IndexMap<String, ProvenanceField>,
    /// Names of the fields that a call needs, in the order in which they are missed.
    pub required: Vec<String>,
    /// Further fields that some calls need.
    #[serde(default)]
    pub also_if: Vec<AlsoIf>,
    /// The answer to a call that lacks one.
    pub missing: MissingProvenance,
}

/// A field of provenance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProvenanceField {
    /// Type of its values.
    #[serde(rename = "type")]
    pub kind: ProvenanceType,
    /// Keys of a request's `_meta`.
    #[serde(default)]
    pub keys: Vec<String>,
    /// HTTP headers.
    #[serde(default)]
    pub headers: Vec<String>,
    /// Where else it may come from.
    #[serde(default)]
    pub from: Vec<ProvenancePlace>,
    /// What the server may discover in place of it.
    pub discover: Option<Discovery>,
    /// Its value if nothing else has one.
    pub default: Option<ProvenanceDefault>,
}

/// Further fields of calls that have `true` for one field.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AlsoIf {
    /// Name of the field that is true.
    pub field: String,
    /// Names of the fields that such a call needs.
    pub then: Vec<String>,
}

/// The answer to a call without the provenance that its tool requires.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct MissingProvenance {
    /// Name in the error table.
    pub error: String,
    /// The sentence.
    pub message: String,
}

/// The value of a field that is nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProvenanceDefault {
    /// The time. Always `true`.
    Now(bool),
    /// Whether the call has the named field.
    Present(String),
}

impl Provenance {
    /// Returns whether an implementation is asked what is bound to a session.
    fn asks_sessions(&self) -> bool {
        let is_bound = |field: &ProvenanceField| field.from.contains(&ProvenancePlace::Bound);
        self.session.is_some() && self.fields.values().any(is_bound)
    }
}

pub(super) struct CallProvenance;

impl Key for CallProvenance {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        lint::lint(contract, problems);
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        compare::contract(
            changes,
            old.spec.provenance.as_ref(),
            new.spec.provenance.as_ref(),
        );
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
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
            let fields = provenance
                .fields
                .iter()
                .map(|(name, field)| spec::ProvenanceField {
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
                also_if: list(provenance.also_if.iter().map(|also| spec::AlsoIf {
                    field: leaked(&also.field),
                    then: texts(&also.then),
                })),
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

/// Returns the word of a tool's use as contracts spell it.
fn word(used: ProvenanceUse) -> &'static str {
    match used {
        ProvenanceUse::Required => "required",
        ProvenanceUse::Kept => "kept",
    }
}
