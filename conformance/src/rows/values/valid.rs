//! Valid values of a field.

use regex::Regex;
use serde_json::Value;
use tabellion_runtime::spec::{FieldSpec, FieldType, Range, TextRule};

use super::{MAX_INTEGER, pascal};
use crate::rows::client;

/// Maximum number of characters of an id.
pub(super) const MAX_ID: usize = 128;
/// Maximum number of characters of a reference to a row that need not be there.
pub(super) const MAX_LOOSE: usize = 256;

/// Returns true if a field can have the value.
pub fn is_valid(field: &FieldSpec, value: &Value) -> bool {
    if value.is_null() {
        return field.optional;
    }
    if has_nul(value) {
        return false;
    }
    let is_within = |text: &str, min, max| (min..=max).contains(&text.chars().count());
    let whole = value
        .as_i64()
        .or_else(|| value.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 1e15).map(|it| it as i64));
    let is_whole = |min: i64, max: i64| {
        whole.is_some_and(|whole| (min.max(-MAX_INTEGER)..=max.min(MAX_INTEGER)).contains(&whole))
    };
    match field.kind {
        FieldType::Ref(_) if field.loose => value.as_str().is_some_and(|text| is_within(text, 1, MAX_LOOSE)),
        FieldType::Id | FieldType::Ref(_) => value.as_str().is_some_and(is_id),
        FieldType::Text { min, max } => value.as_str().is_some_and(|text| {
            is_within(text, min, max) && field.text.iter().all(|rule| keeps(*rule, text))
        }),
        FieldType::Integer { min, max } => is_whole(min, max),
        FieldType::Number => {
            let is_exact = value.is_f64() || value.as_i64().is_some_and(|it| it.abs() <= MAX_INTEGER);
            value.is_number() && is_exact
        }
        FieldType::Boolean => value.is_boolean(),
        FieldType::Enum(words) => value.as_str().is_some_and(|given| {
            words.contains(&given) || field.pascal_case && words.iter().any(|word| pascal(word) == given)
        }),
        FieldType::Time | FieldType::Now(_) => {
            is_whole(i64::MIN, i64::MAX)
                && match field.range {
                    Some(Range::AfterNow) => whole.is_some_and(|time| time > client::now()),
                    Some(Range::UntilNow) => whole.is_some_and(|time| time <= client::now()),
                    None => true,
                }
        }
        FieldType::Json => true,
        FieldType::List { max, max_chars } => value.as_array().is_some_and(|items| {
            let fits = |item: &Value| item.as_str().is_some_and(|text| is_within(text, 0, max_chars));
            items.len() <= max && items.iter().all(fits)
        }),
        FieldType::Next(_) | FieldType::Seq => is_whole(0, i64::MAX),
        FieldType::Secret { .. } => false,
    }
}

/// Returns true if a text keeps a rule.
fn keeps(rule: TextRule, text: &str) -> bool {
    let json = || serde_json::from_str::<Value>(text).ok();
    match rule {
        TextRule::NotBlank => text.chars().any(|letter| !letter.is_whitespace()),
        TextRule::MaxBytes(max) => text.len() <= max,
        TextRule::Pattern(pattern) => Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text)),
        TextRule::Email => is_email(text),
        TextRule::JsonValue => json().is_some(),
        TextRule::JsonObject => json().is_some_and(|value| value.is_object()),
        TextRule::JsonTexts => json().is_some_and(|value| {
            let items = value.as_array();
            items.is_some_and(|items| items.iter().all(Value::is_string))
        }),
    }
}

/// Returns true if a text is an email address of the plainest form.
fn is_email(text: &str) -> bool {
    let is_plain = |part: &str| {
        let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
        !part.is_empty() && part.bytes().all(is_of_it)
    };
    text.split_once('@').is_some_and(|(name, host)| is_plain(name) && is_plain(host))
}

/// Returns true if a text is an id.
pub fn is_id(text: &str) -> bool {
    let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(is_of_id)
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}
