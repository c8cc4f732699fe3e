//! Values of fields: plain ones, unusual ones, and such that a field can't have.

use serde_json::{Number, Value, json};
use tabellion_runtime::spec::{FieldSpec, FieldType};

/// The largest integer that all JSON implementations agree on.
const MAX_INTEGER: i64 = (1 << 53) - 1;
/// Maximum number of characters of an id.
const MAX_ID: usize = 128;
/// Length of a text that no field expects, in characters.
const HUGE: usize = 8 << 20;

/// Name of the wrong value of that length.
pub const HUGE_TEXT: &str = "8 MiB of text";

/// Texts of many kinds, all of which are ordinary texts for a server.
pub const TEXTS: &[&str] = &[
    "A",
    "a",
    "B",
    " A ",
    "Ünïcödé",
    "U\u{308}ni\u{308}",
    "ß",
    "İ",
    "🙂 👩‍👩‍👧",
    "日本語",
    "עברית \u{202e}x",
    "a\nb\r\nc\td",
    "'; DROP TABLE issues; --",
    "\"quoted\" `and` \\ %_*?",
    "{\"a\":1}",
    "null",
    "0",
    "\u{feff}\u{200b}\u{fffd}\u{10ffff}",
    "\u{1}\u{7f}\u{85}\u{2028}",
];

/// Returns the `number`-th of the plain values of a field; different numbers give different values where a field has enough of them.
pub fn plain(field: &FieldSpec, number: usize) -> Value {
    match field.kind {
        FieldType::Id | FieldType::Ref(_) => format!("id-{number}").into(),
        FieldType::Text { min, max } => {
            let mut text = format!("{} {number}", field.name);
            while text.chars().count() < min {
                text.push('x');
            }
            let skipped = text.chars().count().saturating_sub(max);
            text.chars().skip(skipped).collect::<String>().into()
        }
        FieldType::Integer { min, max } => {
            let (min, max) = (min.max(-MAX_INTEGER), max.min(MAX_INTEGER));
            let from = if min <= 0 && max > 0 { 0 } else { min };
            let span = max.saturating_sub(from).saturating_add(1).max(1);
            (from + (number as i64 % span)).into()
        }
        FieldType::Number => json!(number as f64 + 0.5),
        FieldType::Boolean => (number % 2 == 1).into(),
        FieldType::Enum(words) => words[number % words.len()].into(),
        FieldType::Time | FieldType::Now(_) => (1_700_000_000 + number as i64).into(),
        FieldType::Json => json!({ "number": number, "list": [1, 2.5, null, "x"] }),
        FieldType::List { max, max_chars } => {
            let text: String = format!("{number}").chars().take(max_chars).collect();
            vec![text; 2.min(max)].into()
        }
        FieldType::Next(_) | FieldType::Seq => (number as i64 + 1).into(),
        FieldType::Secret { .. } => Value::Null,
    }
}

/// Returns a random value that a field can have: from few values, so that they meet, and at limits.
pub fn random(field: &FieldSpec, dice: &mut fastrand::Rng) -> Value {
    if field.optional && dice.u8(..5) == 0 {
        return Value::Null;
    }
    let few = dice.usize(..4);
    match field.kind {
        FieldType::Text { min, max } => {
            let text = TEXTS[dice.usize(..TEXTS.len())];
            let count = text.chars().count();
            let limits = [min, max.min(600)];
            match dice.u8(..12) {
                0 => "é".repeat(limits[dice.usize(..2)]).into(),
                1..=6 if (min..=max).contains(&count) => text.into(),
                _ => plain(field, few),
            }
        }
        FieldType::Integer { min, max } if dice.u8(..4) == 0 => {
            let (min, max) = (min.max(-MAX_INTEGER), max.min(MAX_INTEGER));
            [min, max][dice.usize(..2)].into()
        }
        FieldType::Number => {
            let all = [
                0.0,
                -1.0,
                1.0,
                0.1,
                1e-300,
                -1.7e300,
                9_007_199_254_740_991.0,
                2.5e-3,
            ];
            json!(all[dice.usize(..all.len())])
        }
        FieldType::Json => {
            let all = [
                json!({}),
                json!([]),
                json!("text"),
                json!(false),
                json!([1, 1.5, { "a": [null], "": "é" }]),
                json!({ "b": 1, "a": { "c": -2 } }),
                json!(0),
            ];
            all[dice.usize(..all.len())].clone()
        }
        FieldType::List { max, max_chars } => {
            let many = dice.usize(..=3.min(max));
            let item = |_| {
                let text = TEXTS[dice.usize(..TEXTS.len())];
                Value::from(text.chars().take(max_chars).collect::<String>())
            };
            (0..many).map(item).collect()
        }
        _ => plain(field, few),
    }
}

/// Returns values that a field can't have, each with its name.
pub fn wrong(field: &FieldSpec) -> Vec<(&'static str, Value)> {
    let big = |text: &str| text.parse::<Number>().map_or(Value::Null, Value::Number);
    let mut all = vec![];
    if !field.optional {
        all.push(("null", Value::Null));
    }
    match field.kind {
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

/// Returns true if a field can have the value.
pub fn is_valid(field: &FieldSpec, value: &Value) -> bool {
    if value.is_null() {
        return field.optional;
    }
    if has_nul(value) {
        return false;
    }
    let is_within = |text: &str, min, max| (min..=max).contains(&text.chars().count());
    let whole = value.as_i64().or_else(|| {
        value
            .as_f64()
            .filter(|it| it.fract() == 0.0 && it.abs() < 1e15)
            .map(|it| it as i64)
    });
    let is_whole = |min: i64, max: i64| {
        whole.is_some_and(|whole| (min.max(-MAX_INTEGER)..=max.min(MAX_INTEGER)).contains(&whole))
    };
    match field.kind {
        FieldType::Id | FieldType::Ref(_) => value.as_str().is_some_and(is_id),
        FieldType::Text { min, max } => value.as_str().is_some_and(|text| is_within(text, min, max)),
        FieldType::Integer { min, max } => is_whole(min, max),
        FieldType::Number => {
            let is_exact = value.is_f64() || value.as_i64().is_some_and(|it| it.abs() <= MAX_INTEGER);
            value.is_number() && is_exact
        }
        FieldType::Boolean => value.is_boolean(),
        FieldType::Enum(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        FieldType::Time | FieldType::Now(_) => is_whole(i64::MIN, i64::MAX),
        FieldType::Json => true,
        FieldType::List { max, max_chars } => value.as_array().is_some_and(|items| {
            let fits = |item: &Value| item.as_str().is_some_and(|text| is_within(text, 0, max_chars));
            items.len() <= max && items.iter().all(fits)
        }),
        FieldType::Next(_) | FieldType::Seq => is_whole(0, i64::MAX),
        FieldType::Secret { .. } => false,
    }
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
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use tabellion_runtime::spec::{Next, OnDelete, Reference};

    use super::*;

    const KINDS: &[FieldType] = &[
        FieldType::Id,
        FieldType::Ref(Reference {
            to: "x",
            on_delete: OnDelete::Restrict,
            same: &[],
            acyclic: false,
        }),
        FieldType::Text { min: 1, max: 20 },
        FieldType::Text {
            min: 30,
            max: usize::MAX,
        },
        FieldType::Integer { min: 0, max: 3 },
        FieldType::Integer {
            min: i64::MIN,
            max: i64::MAX,
        },
        FieldType::Number,
        FieldType::Boolean,
        FieldType::Enum(&["open", "closed"]),
        FieldType::Time,
        FieldType::Json,
        FieldType::List { max: 3, max_chars: 5 },
        FieldType::Next(Next {
            within: &[],
            strict: true,
        }),
    ];

    #[test]
    fn values_are_what_they_are_said_to_be() {
        let mut dice = fastrand::Rng::with_seed(1);
        for kind in KINDS {
            let field = FieldSpec::new("f", *kind);
            for number in 0..20 {
                let plain = plain(&field, number);
                assert!(is_valid(&field, &plain), "{kind:?}: {plain}");
                let random = random(&field, &mut dice);
                assert!(is_valid(&field, &random), "{kind:?}: {random}");
            }
            let wrong = wrong(&field);
            assert!(wrong.len() > 1, "{kind:?}");
            for (what, value) in wrong {
                assert!(!is_valid(&field, &value), "{kind:?}: {what}");
            }
        }
    }
}
