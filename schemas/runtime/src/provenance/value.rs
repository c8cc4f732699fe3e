//! The values of fields of provenance, in the spellings of requests, headers and configurations.

use serde_json::Value;

use crate::spec::ProvenanceType;

/// Maximum length of a text, in bytes. It is stored with every change.
const MAX_BYTES: usize = 1024;

/// A value from a source.
#[derive(Debug, PartialEq)]
pub(super) enum SourceValue {
    /// It is of the field's type.
    Value(Value),
    /// It is empty: `null`, or a blank text.
    Blank,
    /// It is of a different type, or too long.
    Unfit(String),
}

/// Reads a value of a field of this type. Integers and booleans can be spelt as text, as in headers.
pub(super) fn read(kind: ProvenanceType, value: &Value) -> SourceValue {
    match (kind, value) {
        (_, Value::Null) => SourceValue::Blank,
        (_, Value::String(text)) => of_text(kind, text),
        (ProvenanceType::Integer, Value::Number(number)) => {
            let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
            match number.as_i64().or_else(|| float().map(|float| float as i64)) {
                Some(integer) => SourceValue::Value(integer.into()),
                None => unfit(kind),
            }
        }
        (ProvenanceType::Boolean, Value::Bool(_)) => SourceValue::Value(value.clone()),
        _ => unfit(kind),
    }
}

/// Integers below this are exact as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads the text of a header, or of JSON.
pub(super) fn of_text(kind: ProvenanceType, text: &str) -> SourceValue {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return SourceValue::Blank;
    }
    match kind {
        ProvenanceType::String if text.len() > MAX_BYTES => {
            SourceValue::Unfit(format!("is longer than {MAX_BYTES} bytes"))
        }
        ProvenanceType::String if text.contains('\0') => SourceValue::Unfit("has a NUL character".into()),
        ProvenanceType::String => SourceValue::Value(text.into()),
        ProvenanceType::Integer => match trimmed.parse::<i64>() {
            Ok(integer) => SourceValue::Value(integer.into()),
            Err(_) => unfit(kind),
        },
        ProvenanceType::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "1" => SourceValue::Value(true.into()),
            "false" | "0" => SourceValue::Value(false.into()),
            _ => unfit(kind),
        },
    }
}

fn unfit(kind: ProvenanceType) -> SourceValue {
    SourceValue::Unfit(
        match kind {
            ProvenanceType::String => "must be a text",
            ProvenanceType::Integer => "must be an integer",
            ProvenanceType::Boolean => "must be true or false",
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_read_by_the_type_of_its_field() {
        use ProvenanceType::{Boolean, Integer, String};
        let long = "x".repeat(MAX_BYTES + 1);
        for (kind, value, expected) in [
            (String, json!("a b"), Some(json!("a b"))),
            (String, json!(7), None),
            (String, json!(["a"]), None),
            (String, json!("a\0b"), None),
            (String, json!(long), None),
            (Integer, json!(1_700_000_000), Some(json!(1_700_000_000))),
            (Integer, json!(1.7e9), Some(json!(1_700_000_000))),
            (Integer, json!(" -5 "), Some(json!(-5))),
            (Integer, json!(1.5), None),
            (Integer, json!(1e300), None),
            (Integer, json!(u64::MAX), None),
            (Integer, json!("soon"), None),
            (Integer, json!(true), None),
            (Boolean, json!(false), Some(json!(false))),
            (Boolean, json!("True"), Some(json!(true))),
            (Boolean, json!("0"), Some(json!(false))),
            (Boolean, json!(1), None),
            (Boolean, json!("yes"), None),
        ] {
            let found = match read(kind, &value) {
                SourceValue::Value(value) => Some(value),
                SourceValue::Unfit(_) => None,
                SourceValue::Blank => panic!("{value} is not blank"),
            };
            assert_eq!(found, expected, "{kind}: {value}");
        }
        for kind in ProvenanceType::ALL {
            for blank in [json!(null), json!(""), json!(" \t\u{a0}\n")] {
                assert_eq!(read(*kind, &blank), SourceValue::Blank, "{kind}: {blank}");
            }
        }
    }
}
