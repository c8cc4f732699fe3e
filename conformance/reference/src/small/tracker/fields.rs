//! The values that the fields of the tracker's entities can have.

use serde_json::{Value, json};
use tabellion_runtime::spec::{EntitySpec, FieldSpec, FieldType};

use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// The example of `tabellion-codegen`.
#[path = "../../../../../codegen/examples/tracker/generated/tracker.rs"]
#[rustfmt::skip]
#[allow(dead_code, reason = "the service needs a store that this server does not have")]
pub(super) mod generated;

const LAST: i64 = (1 << 53) - 1;

/// Returns true if updates can't set a field.
pub(super) fn is_fixed(entity: &EntitySpec, field: &FieldSpec) -> bool {
    field.is_fixed() || entity.org_field() == Some(field.name)
}

/// Returns the value of a field if none is given, as JSON; it is required without one.
pub(super) fn default(field: &FieldSpec) -> Option<&'static str> {
    field.default.or(field.optional.then_some("null"))
}

/// Returns a value of a field in its only form.
///
/// # Errors
/// If the field can't have it.
pub(super) fn checked(field: &FieldSpec, value: &Value) -> Result<Value, Refusal> {
    if value.is_null() && field.optional {
        return Ok(Value::Null);
    }
    let whole = value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64);
    let whole = value.as_i64().or(whole.filter(|_| !value.is_u64()));
    let is_whole = |min: i64, max: i64| whole.is_some_and(|whole| (min..=max).contains(&whole));
    let right = match field.kind {
        FieldType::Id | FieldType::Ref(_) => value.as_str().is_some_and(is_id),
        FieldType::Text { min, max } => {
            value.as_str().is_some_and(|text| (min..=max).contains(&text.chars().count()))
        }
        FieldType::Integer { min, max } => is_whole(min, max),
        FieldType::Time => is_whole(-LAST, LAST),
        FieldType::Next(_) => is_whole(0, LAST),
        FieldType::Number => {
            let is_exact = value.as_i64().is_none_or(|whole| whole.abs() <= LAST) && !value.is_u64();
            let is_small = value.as_i64().is_some_and(|whole| whole.abs() <= LAST);
            value.is_number() && (is_exact || is_small || is(Mutant::RoundsNumbers))
        }
        _ => !value.is_null(),
    };
    if !right || has_nul(value) && !is(Mutant::TakesNul) {
        let message = if is(Mutant::NamesNoField) {
            "a value is wrong".to_owned()
        } else {
            format!("`{}` can't have this value", field.name)
        };
        return Err((-32602, message));
    }
    Ok(match field.kind {
        FieldType::Integer { .. } | FieldType::Time | FieldType::Next(_) => json!(whole),
        FieldType::Number => json!(value.as_f64()),
        _ => value.clone(),
    })
}

fn is_id(text: &str) -> bool {
    let is_of_id = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    (1..=128).contains(&text.len()) && text.chars().all(is_of_id)
}

fn has_nul(value: &Value) -> bool {
    // In the text of a value, a NUL is escaped; so is a backslash before it.
    let text = value.to_string();
    text.match_indices("\\u0000").any(|(at, _)| {
        let before = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        before % 2 == 0
    })
}
