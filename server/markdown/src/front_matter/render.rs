//! Values as YAML that readers of YAML 1.1 and 1.2 understand alike.

use serde_json::Value;

/// The quoting of a string that a new one takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// No quotes, if the string permits it.
    Plain,
    Single,
    Double,
}

/// Indentation of a value below its key.
pub(super) const UNIT: &str = "  ";

/// Returns the lines of a key and its value in block style.
pub(super) fn member(key: &str, value: &Value) -> Vec<String> {
    let head = format!("{}:", self::key(key));
    if !is_block(value) {
        return vec![format!("{head} {}", flow(value, Quotes::Plain))];
    }
    let below = lines(value).into_iter().map(|line| [UNIT, &line].concat());
    [head].into_iter().chain(below).collect()
}

/// Returns the lines of a list or map that is not empty in block style, and the one line of any other value.
pub(super) fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) if is_block(value) => {
            members.iter().flat_map(|(key, value)| member(key, value)).collect()
        }
        Value::Array(items) if is_block(value) => items.iter().flat_map(item).collect(),
        _ => vec![flow(value, Quotes::Plain)],
    }
}

/// Returns the lines of an item of a list in block style.
pub(super) fn item(value: &Value) -> Vec<String> {
    let mut lines = lines(value);
    for (number, line) in lines.iter_mut().enumerate() {
        line.insert_str(0, if number == 0 { "- " } else { UNIT });
    }
    lines
}

/// Returns true for a value that has separate lines in block style.
pub(super) fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Returns a value on one line.
pub(super) fn flow(value: &Value, quotes: Quotes) -> String {
    match value {
        Value::String(text) => string(text, quotes),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| flow(item, quotes)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", self::key(key), flow(value, quotes));
            let members: Vec<_> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

fn key(key: &str) -> String {
    string(key, Quotes::Plain)
}

fn string(text: &str, quotes: Quotes) -> String {
    match quotes {
        Quotes::Plain if is_plain(text) => text.into(),
        Quotes::Single if !text.contains(is_escaped) => format!("'{}'", text.replace('\'', "''")),
        _ => quoted(text),
    }
}

/// Returns true if the text without quotes is read as this string, even within brackets.
fn is_plain(text: &str) -> bool {
    if is_uuid(text) || is_time(text) {
        return true;
    }
    const WORDS: [&str; 12] =
        ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "none"];
    text.starts_with(char::is_alphabetic)
        && !text.ends_with([' ', ':'])
        && !text.contains(is_escaped)
        && !text.contains([',', '[', ']', '{', '}'])
        && [": ", " #"].iter().all(|mark| !text.contains(mark))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn is_uuid(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

/// Returns true for the form of a time in RFC 3339, which readers know without quotes.
fn is_time(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        0..19 => byte.is_ascii_digit(),
        _ => byte.is_ascii_digit() || b".:+-Z".contains(&byte),
    };
    text.len() >= 20 && text.bytes().enumerate().all(is_right)
}

/// Returns a string in double quotes. All of JSON's escapes are YAML's too.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    let mut quoted = String::with_capacity(json.len());
    for c in json.chars() {
        if is_escaped(c) {
            quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            quoted.push(c);
        }
    }
    quoted
}

/// Returns true for a character that YAML permits only as an escape, or takes for a line break.
fn is_escaped(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
