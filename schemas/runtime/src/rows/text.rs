//! Constraints on a text, in addition to its length.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use jsonschema::Validator;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::{schema::compile, spec::TextRule};

/// Checks a text.
///
/// # Errors
/// The problem, as the rest of a sentence.
pub(super) fn check(rules: &[TextRule], text: &str) -> Result<(), String> {
    for rule in rules {
        match rule {
            TextRule::NotBlank if text.trim().is_empty() => return Err("can't be blank".into()),
            TextRule::MaxBytes(max) if text.len() > *max => {
                return Err(format!("can have at most {max} bytes"));
            }
            TextRule::Pattern(pattern) if !fits("pattern", pattern, text) => {
                return Err(format!("must match `{pattern}`"));
            }
            TextRule::Email if !fits("format", "email", text) => {
                return Err("must be an email address".into());
            }
            TextRule::JsonValue if !is_json::<IgnoredAny>(text) => {
                return Err("must be the text of a JSON value".into());
            }
            TextRule::JsonObject if !is_json::<BTreeMap<String, IgnoredAny>>(text) => {
                return Err("must be the text of a JSON object".into());
            }
            TextRule::JsonTexts if !is_json::<Vec<String>>(text) => {
                return Err("must be the text of a JSON array of texts".into());
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_json<T: DeserializeOwned>(text: &str) -> bool {
    let mut json = serde_json::Deserializer::from_str(text);
    T::deserialize(&mut json).is_ok() && json.end().is_ok()
}

/// Returns true if a text satisfies a keyword of JSON Schema, by the same rules as in schemas of requests.
fn fits(keyword: &'static str, value: &'static str, text: &str) -> bool {
    // A contract has a few patterns, which are compiled once.
    static VALIDATORS: Mutex<BTreeMap<(&str, &str), &'static Validator>> = Mutex::new(BTreeMap::new());
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validator = match validators.get(&(keyword, value)) {
        Some(validator) => *validator,
        None => {
            let Ok(validator) = compile(&json!({ keyword: value })) else {
                return false;
            };
            let validator = &*Box::leak(Box::new(validator));
            validators.insert((keyword, value), validator);
            validator
        }
    };
    drop(validators);
    validator.is_valid(&Value::from(text))
}

/// Returns a word of an enumeration in PascalCase: `InProgress` for `in_progress`.
pub fn pascal(word: &str) -> String {
    let part = |part: &str| {
        let mut chars = part.chars();
        let first = chars.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    word.split('_').map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_judged_by_each_rule() {
        use TextRule::{Email, JsonObject, JsonTexts, JsonValue, MaxBytes, NotBlank, Pattern};
        for (rule, good, bad) in [
            (NotBlank, vec!["a", " é "], vec!["", " ", "\u{3000}\n"]),
            (MaxBytes(4), vec!["", "éé"], vec!["ééé", "abcde"]),
            (Pattern("^[a-f]{2,3}$"), vec!["ab", "fff"], vec!["a", "abg", "abcd", "ab\n"]),
            (Email, vec!["a@b.co", "A.b@localhost"], vec!["a", "@b", "a b@c.d"]),
            (JsonValue, vec!["1", " null ", r#"{"a":[1]}"#, r#""x""#], vec!["", "{", "1 2", "NaN"]),
            (JsonObject, vec!["{}", r#"{"a":{"b":1}}"#], vec!["[]", "1", "{", "{} x"]),
            (JsonTexts, vec!["[]", r#"["a","b"]"#], vec!["{}", "[1]", r#"["a",1]"#, r#""a""#]),
        ] {
            for text in good {
                assert_eq!(check(&[rule], text), Ok(()), "{rule:?} {text:?}");
            }
            for text in bad {
                assert!(check(&[rule], text).is_err(), "{rule:?} {text:?}");
            }
        }
    }

    #[test]
    fn words_have_one_form_in_pascal_case() {
        for (word, form) in [("open", "Open"), ("in_progress", "InProgress"), ("needs_2_b", "Needs2B")] {
            assert_eq!(pascal(word), form);
        }
    }
}
