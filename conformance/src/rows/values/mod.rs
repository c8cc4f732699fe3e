//! Values of fields: plain ones, unusual ones, and such that a field can't have.

mod valid;
mod wrong;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use tabellion_runtime::spec::{FieldSpec, FieldType, Range};
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

pub use self::{
    valid::{is_id, is_valid},
    wrong::wrong,
};

/// The largest integer that all JSON implementations agree on.
const MAX_INTEGER: i64 = (1 << 53) - 1;
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
            let from = if field.range == Some(Range::AfterNow) { FUTURE } else { PAST };
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
        Some(if std::mem::take(&mut is_first) { letter.to_ascii_uppercase() } else { letter })
    });
    letters.collect()
}

/// Returns the slug of a text: its ASCII letters and digits, in lower case, with one `-` for all that is between them. Letters lose their
/// accents.
pub fn slug(text: &str) -> String {
    let plain: String = text.nfd().filter(|letter| !is_combining_mark(*letter)).collect();
    let parts = plain.split(|letter: char| !letter.is_ascii_alphanumeric());
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
            if dice.bool() && is_valid(field, &text) { text } else { plain(field, few) }
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
            let all = [0.0, -1.0, 1.0, 0.1, 1e-300, -1.7e300, 9_007_199_254_740_991.0, 2.5e-3];
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
