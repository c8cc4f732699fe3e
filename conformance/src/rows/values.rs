//! Values of fields: plain ones, unusual ones, and such that a field can't have.

use regex::Regex;
use serde_json::{Number, Value, json};
use tabellion_runtime::spec::{FieldSpec, FieldType, Range, TextRule};

use super::client;

/// The largest integer that all JSON implementations agree on.
const MAX_INTEGER: i64 = (1 << 53) - 1;
/// Maximum number of characters of an id.
const MAX_ID: usize = 128;
/// Maximum number of characters of a reference to a row that need not be there.
const MAX_LOOSE: usize = 256;
/// Maximum number of characters of a slug.
const MAX_SLUG: usize = 63;
/// A time that is past whenever the suite runs; [`FUTURE`] is not.
const PAST: i64 = 1_700_000_000;
/// See [`PAST`].
const FUTURE: i64 = 4_102_444_800;
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
        FieldType::Text { .. } if !field.text.is_empty() => of_form(field, number),
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
        FieldType::Time | FieldType::Now(_) => {
            let from = if field.range == Some(Range::AfterNow) {
                FUTURE
            } else {
                PAST
            };
            (from + number as i64).into()
        }
        FieldType::Json => json!({ "number": number, "list": [1, 2.5, null, "x"] }),
        FieldType::List { max, max_chars } => {
            let text: String = format!("{number}").chars().take(max_chars).collect();
            vec![text; 2.min(max)].into()
        }
        FieldType::Next(_) | FieldType::Seq => (number as i64 + 1).into(),
        FieldType::Secret { .. } => Value::Null,
    }
}

/// Returns the `number`-th text of the form that a field requires.
fn of_form(field: &FieldSpec, number: usize) -> Value {
    let forms = [
        format!("{} {number}", field.name),
        format!("{}{number}@example.org", field.name),
        format!("a{number}"),
        format!("{number:08x}"),
        format!("{number:064x}"),
        format!("[\"{number}\"]"),
        format!("{{\"number\":{number}}}"),
    ];
    let mut texts = forms.into_iter().map(Value::from);
    let first = texts.next().unwrap_or_default();
    let fitting = texts.find(|text| is_valid(field, text));
    if is_valid(field, &first) {
        return first;
    }
    fitting.unwrap_or(first)
}

/// Returns a word of an enumeration in PascalCase: `InProgress` for `in_progress`.
pub fn pascal(word: &str) -> String {
    let mut is_first = true;
    let letters = word.chars().filter_map(|letter| {
        if letter == '_' {
            is_first = true;
            return None;
        }
        Some(if std::mem::take(&mut is_first) {
            letter.to_ascii_uppercase()
        } else {
            letter
        })
    });
    letters.collect()
}

/// Returns the slug of a text: its ASCII letters and digits, in lower case, with one `-` for all that is between them.
pub fn slug(text: &str) -> String {
    let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    let whole = parts.join("-").to_ascii_lowercase();
    let cut: String = whole.chars().take(MAX_SLUG).collect();
    cut.trim_end_matches('-').to_owned()
}

/// Returns a random value that a field can have: from few values, so that they meet, and at limits.
pub fn random(field: &FieldSpec, dice: &mut fastrand::Rng) -> Value {
    if field.optional && dice.u8(..5) == 0 {
        return Value::Null;
    }
    let few = dice.usize(..4);
    match field.kind {
        FieldType::Text { .. } if !field.text.is_empty() => {
            let text = Value::from(TEXTS[dice.usize(..TEXTS.len())]);
            if dice.bool() && is_valid(field, &text) {
                text
            } else {
                plain(field, few)
            }
        }
        FieldType::Enum(words) if field.pascal_case && dice.u8(..4) == 0 => {
            pascal(words[few % words.len()]).into()
        }
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
    text.split_once('@')
        .is_some_and(|(name, host)| is_plain(name) && is_plain(host))
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
    #[test]
    fn values_keep_the_rules_of_texts_and_times() {
        use TextRule::{Email, JsonObject, JsonTexts, JsonValue, MaxBytes, NotBlank, Pattern};
        let text = FieldType::Text {
            min: 1,
            max: usize::MAX,
        };
        let mut dice = fastrand::Rng::with_seed(1);
        let of = |rules: &'static [TextRule]| FieldSpec {
            text: rules,
            ..FieldSpec::new("f", text)
        };
        let at = |range| FieldSpec {
            range: Some(range),
            ..FieldSpec::new("f", FieldType::Time)
        };
        for (field, good, bad) in [
            (of(&[NotBlank]), json!(" é "), json!(" \n")),
            (of(&[MaxBytes(4)]), json!("éé"), json!("ééa")),
            (
                of(&[Pattern("^[0-9a-f]{7,64}$")]),
                json!("0123456"),
                json!("0123456g"),
            ),
            (of(&[Email]), json!("a.b@localhost"), json!("a b@c.d")),
            (of(&[JsonValue]), json!(" 1 "), json!("1 2")),
            (of(&[JsonObject]), json!("{\"a\":[]}"), json!("1")),
            (of(&[JsonTexts]), json!("[\"a\"]"), json!("[\"a\",1]")),
            (at(Range::AfterNow), json!(FUTURE), json!(client::now())),
            (at(Range::UntilNow), json!(PAST), json!(client::now() + 100)),
            (
                FieldSpec {
                    loose: true,
                    ..FieldSpec::new("f", KINDS[1])
                },
                json!("a b/ü"),
                json!(""),
            ),
            (
                FieldSpec {
                    pascal_case: true,
                    ..FieldSpec::new("f", FieldType::Enum(&["in_progress", "open"]))
                },
                json!("InProgress"),
                json!("In_progress"),
            ),
        ] {
            assert!(is_valid(&field, &good), "{field:?} {good}");
            assert!(!is_valid(&field, &bad), "{field:?} {bad}");
            for number in 0..20 {
                for value in [plain(&field, number), random(&field, &mut dice)] {
                    assert!(is_valid(&field, &value), "{field:?} {value}");
                }
            }
            assert!(wrong(&field).len() > 2, "{field:?}");
        }
    }

    #[test]
    fn a_slug_has_letters_and_digits_alone() {
        for (text, expected) in [
            ("My name!", "my-name"),
            ("  --A__b 1é2", "a-b-1-2"),
            ("日本", ""),
            (&"ab".repeat(40), &"ab".repeat(40)[..63]),
            (&format!("{}- x", "a".repeat(62)), &"a".repeat(62)),
        ] {
            assert_eq!(slug(text), expected);
        }
    }
}
