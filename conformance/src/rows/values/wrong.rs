//! Values that a field can't have.

use serde_json::{Number, Value, json};
use tabellion_runtime::spec::{FieldSpec, FieldType, TextRule};

use super::{
    FUTURE, HUGE, HUGE_TEXT, MAX_INTEGER, PAST, is_valid,
    valid::{MAX_ID, MAX_LOOSE},
};

/// Returns values that a field can't have, each with its name.
pub fn wrong(field: &FieldSpec) -> Vec<(&'static str, Value)> {
    let big = |text: &str| text.parse::<Number>().map_or(Value::Null, Value::Number);
    let mut all = vec![];
    if !field.optional {
        all.push(("null", Value::Null));
    }
    match field.kind {
        FieldType::Ref(_) if field.loose => all.extend([
            ("an empty id", json!("")),
            ("an id with a NUL", json!("a\0")),
            ("an id that is too long", json!("x".repeat(MAX_LOOSE + 1))),
            ("a number", json!(1)),
        ]),
        FieldType::Id | FieldType::Ref(_) => all.extend([
            ("an empty id", json!("")),
            ("an id with a blank", json!("a b")),
            ("an id with a NUL", json!("a\0")),
            ("an id with other letters", json!("é")),
            ("an id that is too long", json!("x".repeat(MAX_ID + 1))),
            ("a number", json!(1)),
        ]),
        FieldType::Text { min, max } => {
            all.extend([
                ("a text with a NUL", json!(format!("a\0{}", "x".repeat(min)))),
                ("a number", json!(1)),
                ("a list", json!(["a"])),
            ]);
            if min > 0 {
                all.push(("a text that is too short", "é".repeat(min - 1).into()));
            }
            if max < HUGE {
                all.push(("a text that is too long", "é".repeat(max + 1).into()));
                all.push((HUGE_TEXT, "x".repeat(HUGE).into()));
            }
            for rule in field.text {
                all.push(match rule {
                    TextRule::NotBlank => ("white space alone", json!(" \n\u{3000}")),
                    TextRule::MaxBytes(max) => ("too many bytes", "é".repeat(max / 2 + 1).into()),
                    TextRule::Pattern(_) => ("a text of another form", json!("?!")),
                    TextRule::Email => ("no email address", json!("no-address")),
                    TextRule::JsonValue => ("no JSON", json!("{")),
                    TextRule::JsonObject => ("the JSON of a list", json!("[]")),
                    TextRule::JsonTexts => ("the JSON of a list of numbers", json!("[1]")),
                });
            }
        }
        FieldType::Integer { min, max } => {
            all.extend([
                ("a fraction", json!(0.5)),
                ("a text", json!("1")),
                ("2^53", json!(MAX_INTEGER + 1)),
                ("-2^53", json!(-MAX_INTEGER - 1)),
                ("2^64", big("18446744073709551616")),
                ("1e300", json!(1e300)),
            ]);
            if min > -MAX_INTEGER {
                all.push(("a number below the minimum", (min - 1).into()));
            }
            if max < MAX_INTEGER {
                all.push(("a number above the maximum", (max + 1).into()));
            }
        }
        FieldType::Number => all.extend([
            ("a text", json!("1.5")),
            ("2^53 + 1", json!(MAX_INTEGER + 2)),
            ("a boolean", json!(true)),
        ]),
        FieldType::Boolean => all.extend([("1", json!(1)), ("a text", json!("true"))]),
        FieldType::Enum(words) => all.extend([
            ("another word", json!("no such word")),
            ("capital letters", words[0].to_uppercase().into()),
            ("a number", json!(0)),
        ]),
        FieldType::Time | FieldType::Now(_) => all.extend([
            ("a date", json!("2026-01-01T00:00:00Z")),
            ("2^53", json!(MAX_INTEGER + 1)),
            ("a fraction", json!(0.5)),
            ("a time that is past", PAST.into()),
            ("a time to come", FUTURE.into()),
        ]),
        FieldType::Json => all.push(("a NUL in a text", json!({ "a": ["\0"] }))),
        FieldType::List { max, max_chars } => {
            all.extend([
                ("a text", json!("a")),
                ("a list of numbers", json!([1])),
                ("a NUL in a list", json!(["\0"])),
            ]);
            if max < 10_000 {
                all.push(("a list that is too long", vec!["a"; max + 1].into()));
            }
            if max > 0 && max_chars < HUGE {
                all.push(("an item that is too long", vec!["é".repeat(max_chars + 1)].into()));
            }
        }
        FieldType::Next(_) => all.extend([("a text", json!("1")), ("a fraction", json!(1.5))]),
        FieldType::Seq | FieldType::Secret { .. } => {}
    }
    all.retain(|(_, value)| !is_valid(field, value));
    all
}
