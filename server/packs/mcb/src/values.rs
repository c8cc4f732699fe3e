//! Helpers that read fields of a row, and fill fields from arguments, the data or the provenance.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tabellion_runtime::{Failure, Row, Violation, rows::RowError, text::composed};

use super::call::Provenance;

/// Adds an argument to the data, which may contain the same value.
///
/// # Errors
/// If the data contains a different value.
pub(super) fn join(data: &mut Row, field: &'static str, argument: Option<String>) -> Result<(), RowError> {
    let Some(argument) = argument else { return Ok(()) };
    match data.get(field) {
        Some(Value::String(given)) if *given != argument => Err(RowError::Conflicting { field }),
        _ => {
            data.insert(field.into(), argument.into());
            Ok(())
        }
    }
}

/// If neither an argument nor the data sets the field, takes it from the call's provenance.
pub(super) fn fall_back(data: &mut Row, field: &'static str, provenance: &Provenance) {
    if !data.contains_key(field)
        && let Some(value) = provenance.text(field)
    {
        data.insert(field.into(), value.into());
    }
}

/// Returns a required text of the data.
///
/// # Errors
/// If it is missing.
pub(super) fn required<'d>(data: &'d Row, field: &'static str) -> Result<&'d str, RowError> {
    let value = data.get(field).and_then(Value::as_str);
    value.ok_or(RowError::Missing { fields: vec![field] })
}

/// Drops `null` members: in a new row, absent and `null` mean the same.
pub(super) fn without_nulls(data: Row) -> Row {
    data.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Converts an enum value from PascalCase, which MCB's clients send, to snake_case.
pub(super) fn fold(data: &mut Row, field: &'static str) {
    if let Some(Value::String(word)) = data.get_mut(field) {
        *word = folded(word);
    }
}

/// Converts a PascalCase word to snake_case; other words are unchanged.
pub(super) fn folded(word: &str) -> String {
    let mut folded = String::new();
    for (at, letter) in word.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            folded.push('_');
        }
        folded.push(letter.to_ascii_lowercase());
    }
    folded
}

pub(super) fn text<'r>(row: &'r Row, field: &str) -> Option<&'r str> {
    row.get(field)?.as_str()
}

pub(super) fn integer(row: &Row, field: &str) -> Option<i64> {
    row.get(field)?.as_i64()
}

/// Returns a list of texts of a row.
pub(super) fn texts(row: &Row, field: &str) -> Vec<String> {
    let items = row.get(field).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

/// Returns the texts of `old`, then those of `new` that are not among them, each once. Texts with the same composed form are the same.
pub(super) fn joined(old: Vec<String>, new: Vec<String>) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut all: Vec<_> = old.into_iter().chain(new).collect();
    all.retain(|text| found.insert(composed(text).into_owned()));
    all
}

/// Deserialises named values into a type of the contract.
///
/// # Errors
/// If they do not match the type.
pub(super) fn typed<T: DeserializeOwned>(values: Map<String, Value>) -> Result<T, RowError> {
    serde_json::from_value(values.into())
        .map_err(|error| Failure::internal(format!("a stored row does not fit its answer: {error}")).into())
}

/// Returns fields of a row, each under its own name.
pub(super) fn picked(row: &Row, fields: &[&str]) -> Map<String, Value> {
    let value = |field: &&str| (String::from(*field), row.get(*field).cloned().unwrap_or_default());
    fields.iter().map(value).collect()
}

/// Returns the refusal of one value.
pub(super) fn invalid(rule: &'static str, pointer: &str, message: impl Into<String>) -> RowError {
    let violation = Violation { rule: rule.into(), pointer: pointer.into(), message: message.into() };
    Failure::violations(&[violation]).into()
}

/// Maximum number of values that a warning names.
pub(super) const MAX_NAMED: usize = 3;

/// Returns the first items of a list, and the number of the others.
pub(super) fn first(items: &[String], count: usize) -> Vec<String> {
    let more = items.len().saturating_sub(count);
    let more = (more > 0).then(|| format!("and {more} more"));
    items.iter().take(count).cloned().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_from_pascal_case() {
        let cases = [
            ("QualityGate", "quality_gate"),
            ("Code", "code"),
            ("code", "code"),
            ("quality_gate", "quality_gate"),
            ("", ""),
        ];
        for (word, expected) in cases {
            assert_eq!(folded(word), expected);
        }
    }

    #[test]
    fn joining_keeps_the_order_of_arrival_without_doubles() {
        let texts = |texts: &str| texts.split_whitespace().map(String::from).collect::<Vec<_>>();
        for (old, new, expected) in [("a b", "c a d c", "a b c d"), ("", "a a", "a"), ("a", "", "a")] {
            assert_eq!(joined(texts(old), texts(new)), texts(expected));
        }
    }
}
