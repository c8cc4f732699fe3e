//! The provenance of calls, for contracts that require it.

use serde_json::{Map, Value};
use tabellion_runtime::{
    provenance::PROVENANCE,
    spec::{ProvenanceField, ProvenanceSpec, ProvenanceType},
};

/// The first value of a field of time.
const FIRST_TIME: usize = 1_700_000_000;

/// The values of fields by their names.
pub type Fields = Map<String, Value>;

/// Returns a value of a field that no other number has; of a boolean field, always false.
pub fn value(field: &ProvenanceField, number: usize) -> Value {
    match field.kind {
        ProvenanceType::String => format!("{}-{number}", field.name.replace('_', "-")).into(),
        ProvenanceType::Integer => (FIRST_TIME + number).into(),
        ProvenanceType::Boolean => false.into(),
    }
}

/// Returns values of all fields that no other number has.
pub fn complete(spec: &ProvenanceSpec, number: usize) -> Fields {
    let fields = spec.fields.iter();
    fields.map(|field| (field.name.to_owned(), value(field, number))).collect()
}

/// Returns a request's `_meta` with these fields, each under its first key.
pub fn meta(spec: &ProvenanceSpec, fields: &Fields) -> Map<String, Value> {
    let said = spec.fields.iter().filter_map(|field| {
        let value = fields.get(field.name)?;
        Some((first_key(field).to_owned(), value.clone()))
    });
    said.collect()
}

/// Returns `_meta` with values of all fields; empty if the contract has no provenance.
pub fn full_meta(spec: Option<&ProvenanceSpec>, number: usize) -> Map<String, Value> {
    spec.map(|spec| meta(spec, &complete(spec, number))).unwrap_or_default()
}

/// Returns true if `_meta` contains any provenance.
pub fn is_said(spec: &ProvenanceSpec, meta: &Map<String, Value>) -> bool {
    let mut keys = spec.fields.iter().flat_map(|field| field.keys);
    meta.contains_key(PROVENANCE) || keys.any(|key| meta.contains_key(*key))
}

/// Returns the key of `_meta` under which calls give a field.
pub fn first_key(field: &ProvenanceField) -> &'static str {
    field.keys.first().copied().unwrap_or(field.name)
}
