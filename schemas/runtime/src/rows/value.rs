//! Values of fields: their validity, and their canonical form in the store.

use serde_json::{Number, Value};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::{
    error::RowError,
    text::{self, pascal},
};
use crate::spec::{FieldSpec, FieldType};

/// The largest integer that all JSON implementations represent exactly.
const MAX_INTEGER: i64 = (1 << 53) - 1;
const MAX_ID_CHARS: usize = 128;
/// Maximum number of characters of a reference to a row that may be absent.
pub const MAX_LOOSE_CHARS: usize = 256;
/// Maximum number of characters of a slug.
const MAX_SLUG_CHARS: usize = 63;

/// Returns `value` in the stored form of `field`.
///
/// # Errors
/// If the field can't have the value.
pub fn checked(field: &FieldSpec, value: Value) -> Result<Value, RowError> {
    let problem = match judged(field, value) {
        Ok(value) => return Ok(value),
        Err(problem) => problem,
    };
    Err(RowError::Value { field: field.name.into(), problem })
}

fn judged(field: &FieldSpec, value: Value) -> Result<Value, String> {
    if value.is_null() {
        return if field.optional { Ok(value) } else { Err("can't be null".into()) };
    }
    if has_nul(&value) {
        return Err("contains the character U+0000, which no text can have".into());
    }
    match field.kind {
        FieldType::Ref(_) if field.loose => text(value, 1, MAX_LOOSE_CHARS),
        FieldType::Id | FieldType::Ref(_) => id(value),
        FieldType::Text { min, max } => {
            let value = text(value, min, max)?;
            text::check(field.text, value.as_str().unwrap_or_default())?;
            Ok(value)
        }
        FieldType::Integer { min, max } => integer(&value, min.max(-MAX_INTEGER), max.min(MAX_INTEGER)),
        FieldType::Time | FieldType::Now(_) => integer(&value, -MAX_INTEGER, MAX_INTEGER),
        FieldType::Next(_) | FieldType::Seq => integer(&value, 0, MAX_INTEGER),
        FieldType::Number => number(&value),
        FieldType::Boolean if value.is_boolean() => Ok(value),
        FieldType::Boolean => Err("must be true or false".into()),
        FieldType::Enum(words) => match value.as_str() {
            Some(word) if words.contains(&word) => Ok(value),
            Some(given) if field.pascal_case => {
                let word = words.iter().find(|word| pascal(word) == given);
                let word = word.ok_or_else(|| format!("must be one of {}", words.join(", ")))?;
                Ok((*word).into())
            }
            _ => Err(format!("must be one of {}", words.join(", "))),
        },
        FieldType::Json => Ok(value),
        FieldType::List { max, max_chars } => list(value, max, max_chars),
        FieldType::Secret { .. } => Err("is made by the server".into()),
    }
}

fn id(value: Value) -> Result<Value, String> {
    let is_id = value.as_str().is_some_and(|id| {
        let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(is_of_id)
    });
    if is_id {
        Ok(value)
    } else {
        Err("must be an id: 1 to 128 of the characters A-Z a-z 0-9 . _ : -".into())
    }
}

fn text(value: Value, min: usize, max: usize) -> Result<Value, String> {
    let Some(text) = value.as_str() else {
        return Err("must be a text".into());
    };
    // A character has at most four bytes, so that a much too long text is not counted through.
    let count = if text.len() / 4 > max { text.len() / 4 } else { text.chars().count() };
    if (min..=max).contains(&count) {
        return Ok(value);
    }
    Err(format!("must have {min} to {max} characters"))
}

/// Returns the slug of a text: its ASCII letters, without accents and in lower case, and its digits, with one `-` for all else between them.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for char in text.nfd().filter(|char| !is_combining_mark(*char)) {
        if char.is_ascii_alphanumeric() {
            slug.push(char.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(MAX_SLUG_CHARS);
    slug.trim_end_matches('-').to_owned()
}

fn integer(value: &Value, min: i64, max: i64) -> Result<Value, String> {
    let whole = value.as_f64().filter(|number| number.fract() == 0.0);
    let whole = whole.filter(|number| number.abs() <= MAX_INTEGER as f64);
    let number = value.as_i64().or(whole.map(|number| number as i64));
    match number.filter(|number| (min..=max).contains(number)) {
        Some(number) => Ok(number.into()),
        None => Err(format!("must be an integer from {min} to {max}")),
    }
}

fn number(value: &Value) -> Result<Value, String> {
    let is_exact = value.is_f64() || value.as_i64().is_some_and(|whole| whole.abs() <= MAX_INTEGER);
    let exact = |number: &f64| is_exact && number.is_finite();
    let number = value.as_f64().filter(exact).ok_or("must be a number")?;
    // Negative zero has no stored form of its own.
    let number = if number == 0.0 { 0.0 } else { number };
    Number::from_f64(number).map(Value::Number).ok_or_else(|| "must be a number".into())
}

fn list(value: Value, max: usize, max_chars: usize) -> Result<Value, String> {
    let Some(items) = value.as_array() else {
        return Err("must be a list of texts".into());
    };
    if items.len() > max {
        return Err(format!("must have at most {max} texts"));
    }
    for item in items {
        text(item.clone(), 0, max_chars).map_err(|problem| format!("has an item that {problem}"))?;
    }
    Ok(value)
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}
