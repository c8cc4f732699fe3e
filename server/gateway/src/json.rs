//! A strict JSON reader.
//!
//! serde_json keeps the last of two equal keys, so a check of the first could be bypassed; here duplicate keys are an error.
//! serde_json's own limit of 128 bounds the depth, and `MAX_VALUES` the number of values, before any further one is made: a
//! value takes up to a hundred times the memory of its text.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// Maximum number of values within a value. The largest that a contract needs has a few ten thousand.
const MAX_VALUES: usize = 100_000;

const LARGE_INTEGER: &str = "an integer has more than 64 bits, and would lose digits; send it as a text";

/// Parses one JSON value.
///
/// # Errors
/// [`is_data`](serde_json::Error::is_data) if an object has a duplicate key, an integer has more than 64 bits, or there are more than
/// `MAX_VALUES`; otherwise the text is not JSON in UTF-8.
pub fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let (left, has_large) = (Cell::new(MAX_VALUES), Cell::new(false));
    let value = Strict { left: &left, has_large: &has_large }.deserialize(&mut json)?;
    json.end()?;
    if has_large.get() && has_large_integer(text) {
        return Err(serde_json::Error::custom(LARGE_INTEGER));
    }
    Ok(value)
}

/// Returns true if a JSON text has an integer of nineteen digits or more, with no point or exponent.
fn has_large_integer(text: &[u8]) -> bool {
    let (mut in_text, mut escaped) = (false, false);
    let outside = text.split(|byte| {
        let is_quote = *byte == b'"' && !escaped;
        escaped = in_text && *byte == b'\\' && !escaped;
        in_text ^= is_quote;
        in_text || is_quote || b",:[]{} \r\n\t".contains(byte)
    });
    let digits = |token: &[u8]| token.strip_prefix(b"-").unwrap_or(token).to_vec();
    outside.map(digits).any(|token| token.len() >= 19 && token.iter().all(u8::is_ascii_digit))
}

/// Returns the remedy for a text that is JSON by its grammar but fails with `error`; `None` if the error names its own remedy.
pub fn advice(text: &[u8], error: &serde_json::Error) -> Option<&'static str> {
    if error.is_data() {
        return (error.to_string() == LARGE_INTEGER).then_some(LARGE_INTEGER);
    }
    std::str::from_utf8(text).ok()?;
    // Skips values without recursion, and without decoding numbers and strings.
    serde_json::from_slice::<IgnoredAny>(text).ok()?;
    let said = error.to_string();
    Some(if said.starts_with("recursion limit exceeded") {
        "values are nested more than 127 deep; send fewer levels, or the inner ones as a text"
    } else if said.starts_with("number out of range") {
        "a number is larger than a 64-bit float can be; send it as a text"
    } else {
        "a text has half of a surrogate pair, such as `\\ud800` alone; send both halves, or the character itself in UTF-8"
    })
}

/// Returns the `id` of a message that can't be parsed, if it precedes the error, or if the error is only in a string's
/// escapes, its encoding, or the depth.
pub fn readable_id(text: &[u8]) -> Option<Value> {
    let mut id = None;
    // Ignores errors: `id` is set if it was read before.
    let _ = IdOnly(&mut id).deserialize(&mut serde_json::Deserializer::from_slice(text));
    id
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    /// Number of values that may follow.
    left: &'a Cell<usize>,
    /// Set if a number is out of the range of 64-bit integers.
    has_large: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            let why = format!("a message has at most {MAX_VALUES} values");
            return Err(D::Error::custom(why));
        };
        self.left.set(left);
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        if value.abs() >= i64::MAX as f64 {
            self.has_large.set(true);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = vec![];
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.insert(key, members.next_value_seed(self)?).is_some() {
                return Err(A::Error::custom("an object has the same key twice"));
            }
        }
        Ok(object.into())
    }
}

/// Reads a message's `id` and skips the rest, without recursion and without decoding strings.
struct IdOnly<'a>(&'a mut Option<Value>);

impl<'de> DeserializeSeed<'de> for IdOnly<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdOnly<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(key) = members.next_key::<String>()? {
            if key != "id" {
                members.next_value::<IgnoredAny>()?;
            } else if std::mem::replace(&mut seen, true) {
                *self.0 = None;
                return Err(A::Error::custom("two ids"));
            } else {
                let (left, has_large) = (Cell::new(1), Cell::new(false));
                *self.0 = Some(members.next_value_seed(Strict { left: &left, has_large: &has_large })?);
            }
        }
        Ok(())
    }
}
