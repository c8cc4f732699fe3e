//! Schemas as sets of values: membership, emptiness, inclusion.

use jsonschema::{
    Draft, PatternOptions,
    canonical::{self, CanonicalSchema, Containment, Satisfiability},
};
use serde_json::Value;

/// Returns the set of values that satisfy `schema`.
pub(crate) fn set(schema: &Value) -> Result<CanonicalSchema, String> {
    canonical::options()
        .offline()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .canonicalize(schema)
        .map_err(|error| error.to_string())
}

/// Returns true if it is proved that no value satisfies `schema`.
pub(crate) fn is_empty(schema: &Value) -> bool {
    set(schema).is_ok_and(|set| set.satisfiability() == Satisfiability::No)
}

/// Returns true if every value of `inner` is one of `outer`; `None` if neither answer can be proved.
pub(crate) fn covers(outer: &Value, inner: &Value) -> Option<bool> {
    match set(outer).ok()?.covers(&set(inner).ok()?).ok()? {
        Containment::Yes => Some(true),
        Containment::No => Some(false),
        Containment::Unknown => None,
    }
}

/// Returns the values of `left` that are not in `right`, as a schema; `None` if they can't be expressed.
pub(crate) fn difference(left: &Value, right: &Value) -> Option<Value> {
    let mut schema = set(left).ok()?.subtract(&set(right).ok()?).ok()?.to_json_schema();
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
    }
    Some(schema)
}
