//! `provenance` as contracts write it.

use indexmap::IndexMap;
use serde::Deserialize;
use tabellion_runtime::spec::{AlsoIf, Discovery, MissingProvenance, ProvenancePlace, ProvenanceType};

/// The fields of provenance, and the answer to a call that lacks some.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    pub session: Option<&'static str>,
    pub fields: IndexMap<&'static str, ProvenanceField>,
    pub required: Vec<&'static str>,
    #[serde(default)]
    pub also_if: Vec<AlsoIf>,
    pub missing: MissingProvenance,
}

/// A field of provenance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProvenanceField {
    #[serde(rename = "type")]
    pub kind: ProvenanceType,
    #[serde(borrow, default)]
    pub keys: Vec<&'static str>,
    #[serde(default)]
    pub headers: Vec<&'static str>,
    #[serde(default)]
    pub from: Vec<ProvenancePlace>,
    pub discover: Option<Discovery>,
    pub default: Option<ProvenanceDefault>,
}

/// The value of a field that has no other source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProvenanceDefault {
    /// The time. Always `true`.
    Now(bool),
    Present(&'static str),
}

impl Provenance {
    /// Returns true if an implementation supplies the provenance bound to a session.
    pub(super) fn asks_sessions(&self) -> bool {
        let is_bound = |field: &ProvenanceField| field.from.contains(&ProvenancePlace::Bound);
        self.session.is_some() && self.fields.values().any(is_bound)
    }
}
