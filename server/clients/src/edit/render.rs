//! New entries as text.

use serde::Serialize as _;
use serde_json::{
    Value,
    ser::{PrettyFormatter, Serializer},
};

/// Returns a value as JSON on one line, which is also a value of YAML and, for strings and lists of them, of TOML.
pub(super) fn compact(value: &Value) -> String {
    escaped(&value.to_string())
}

/// Returns a value as JSON on several lines, all but the first with `indent`, in steps of `unit`.
pub(super) fn pretty(value: &Value, indent: &str, unit: &str, newline: &str) -> String {
    let mut bytes = vec![];
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    let text = written.ok().and_then(|()| String::from_utf8(bytes).ok());
    let text = text.unwrap_or_else(|| value.to_string());
    escaped(&text).replace('\n', &[newline, indent].concat())
}

/// Returns the lines of a value as YAML in block style, without indentation before the first.
pub(super) fn yaml(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) if !members.is_empty() => members
            .iter()
            .flat_map(|(name, value)| nested(&[&key(name), ":"].concat(), value, "  "))
            .collect(),
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .flat_map(|item| {
                let mut lines = yaml(item);
                for (number, line) in lines.iter_mut().enumerate() {
                    line.insert_str(0, if number == 0 { "- " } else { "  " });
                }
                lines
            })
            .collect(),
        _ => vec![compact(value)],
    }
}

/// Returns a value in block style after `head`: on its line if it is a scalar or empty, else below it.
pub(super) fn nested(head: &str, value: &Value, unit: &str) -> Vec<String> {
    let lines = yaml(value);
    let is_block = value.as_object().is_some_and(|map| !map.is_empty())
        || value.as_array().is_some_and(|list| !list.is_empty());
    if is_block {
        let below = lines.iter().map(|line| [unit, line].concat());
        [head.to_owned()].into_iter().chain(below).collect()
    } else {
        vec![format!("{head} {}", lines.concat())]
    }
}

/// Returns a value of TOML on one line.
pub(super) fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{} = {}", key(name), toml(value));
            let members: Vec<_> = members.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => compact(other),
    }
}

/// Returns a key of YAML or TOML, in quotes if necessary.
pub(super) fn key(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    // In YAML, `y`, `no`, `true` and the like, and numbers, are not strings.
    let is_word =
        name.len() > 5 || ["name", "type", "args", "cmd", "env", "envs", "url", "uri"].contains(&name);
    if is_word && name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_plain) {
        name.into()
    } else {
        compact(&Value::String(name.into()))
    }
}

/// Returns JSON in which the characters that TOML or YAML refuse in a string are escaped.
fn escaped(json: &str) -> String {
    let is_refused = |c: char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_refused(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}
