//! `provenance` as contracts write it.

use indexmap::IndexMap;
use serde::Deserialize;
use tabellion_runtime::spec::{AlsoIf, Discovery, MissingProvenance, ProvenancePlace, ProvenanceType};

/// The fields of provenance, and the answer to a call that lacks some.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Name of the field that identifies the caller's session.
    pub session: Option<&'static str>,
    /// The fields by name, in the order in which they are kept.
    pub fields: IndexMap<&'static str, ProvenanceField>,
    /// Names of the fields that a call needs, in the order in which errors list them.
    pub required: Vec<&'static str>,
    /// Further fields that some calls need.
    #[serde(default)]
    pub also_if: Vec<AlsoIf>,
    /// The answer to a call that lacks a field.
    pub missing: MissingProvenance,
}

/// A field of provenance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProvenanceField {
    /// Type of its values.
    #[serde(rename = "type")]
    pub kind: ProvenanceType,
    /// Keys of a request's `_meta`.
    #[serde(borrow, default)]
    pub keys: Vec<&'static str>,
    /// HTTP headers.
    #[serde(default)]
    pub headers: Vec<&'static str>,
    /// Other sources.
    #[serde(default)]
    pub from: Vec<ProvenancePlace>,
    /// The server's discovery of a missing value.
    pub discover: Option<Discovery>,
    /// The value if there is no other.
    pub default: Option<ProvenanceDefault>,
}

/// The value of a field that has no other source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProvenanceDefault {
    /// The time. Always `true`.
    Now(bool),
    /// True if the call has the named field.
    Present(&'static str),
}

impl Provenance {
    /// Returns true if an implementation supplies the provenance bound to a session.
    pub(super) fn asks_sessions(&self) -> bool {
        let is_bound = |field: &ProvenanceField| field.from.contains(&ProvenancePlace::Bound);
        self.session.is_some() && self.fields.values().any(is_bound)
    }
}
