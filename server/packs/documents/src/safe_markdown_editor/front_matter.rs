//! Reads a few well-known keys from a document's front matter, in YAML or TOML.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime};
use serde_json::{Map, Value};
use tabellion_markdown::{FrontMatter as Yaml, FrontMatterError};

/// The values found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) created: Option<DateTime<FixedOffset>>,
}

/// Reads front matter including its fences. Front matter that is neither YAML nor TOML has no values.
pub(super) fn read(front_matter: &str) -> FrontMatter {
    let values = match Yaml::parse(front_matter) {
        Ok(yaml) => yaml.values(),
        Err(FrontMatterError::Toml { .. }) => toml(front_matter),
        Err(_) => Map::new(),
    };
    let mut said = FrontMatter::default();
    for (key, value) in values {
        let value = text(&value);
        match key.to_ascii_lowercase().as_str() {
            "title" => said.title = value,
            "author" => said.author = value,
            "created" => said.created = value.as_deref().and_then(moment).or(said.created),
            "date" => said.created = said.created.or_else(|| moment(&value?)),
            _ => {}
        }
    }
    said
}

/// Returns the values between two lines `+++`, times as text.
fn toml(front_matter: &str) -> Map<String, Value> {
    let table: toml::Table =
        front_matter.trim_matches(['+', '\r', '\n', ' ', '\t']).parse().unwrap_or_default();
    let json = |value| match value {
        toml::Value::Datetime(time) => time.to_string().into(),
        value => serde_json::to_value(value).unwrap_or_default(),
    };
    table.into_iter().map(|(key, value)| (key, json(value))).collect()
}

/// Returns a value as text: a list of texts separated by commas, `None` for an empty text or a map.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => items.iter().filter_map(text).collect::<Vec<_>>().join(", "),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Parses a time as in RFC 3339, with `T` or blanks. One without a zone is in UTC, a date is its first moment.
fn moment(value: &str) -> Option<DateTime<FixedOffset>> {
    const ZONED: [&str; 3] =
        ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f %#z", "%Y-%m-%d %H:%M:%S%.f%#z"];
    const LOCAL: [&str; 4] =
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let zoned = ZONED.iter().find_map(|form| DateTime::parse_from_str(value, form).ok());
    let local = || LOCAL.iter().find_map(|form| NaiveDateTime::parse_from_str(value, form).ok());
    let day = || value.parse::<NaiveDate>().ok().map(|day| day.and_time(NaiveTime::MIN));
    zoned.or_else(|| local().or_else(day).map(|time| time.and_utc().fixed_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_keys_are_read() {
        let said = |title: &str, author: &str, created: &str| FrontMatter {
            title: text(&title.into()),
            author: text(&author.into()),
            created: moment(created),
        };
        for (front_matter, expected) in [
            ("", said("", "", "")),
            ("---\ntitle: A b\nauthor: 'C: d'\n---\n", said("A b", "C: d", "")),
            ("---\r\nTitle: \"A\"\r\n---\r\n", said("A", "", "")),
            ("---\ndate: 2024-02-03\n---\n", said("", "", "2024-02-03T00:00:00+00:00")),
            (
                "---\ndate: 2024-02-03\ncreated: 2020-01-02T03:04:05+02:00\n---\n",
                said("", "", "2020-01-02T03:04:05+02:00"),
            ),
            ("---\nauthor: [a, b]\nbook:\n  title: no\n# title: no\n---\n", said("", "a, b", "")),
            ("---\ntitle: It's # c\nauthor: 'O''Neil' # c\n---\n", said("It's", "O'Neil", "")),
            (
                "---\ntitle: \"a\\u00e9 \\\"q\\\"\"\ndate: 2024-02-03 # c\n---\n",
                said("a\u{e9} \"q\"", "", "2024-02-03T00:00:00Z"),
            ),
            ("---\ntitle: >-\n  Long\n  title\nauthor:\n  - a\n  - b\n---\n", said("Long title", "a, b", "")),
            ("---\ntitle: 2024\nauthor: {name: a}\n---\n", said("2024", "", "")),
            ("---\ntitle: a: b\nauthor: c\n---\n", said("", "", "")),
            ("+++\ntitle = 'A' # c\nauthor = [\"a\", \"b\"]\n+++\n", said("A", "a, b", "")),
            (
                "+++\ntitle = \"A: b\"\ndate = 2024-02-03T04:05:06Z\n+++\n",
                said("A: b", "", "2024-02-03T04:05:06Z"),
            ),
            ("---\ncreated: yesterday\n---\n", said("", "", "")),
            ("---\ncreated: 2024-01-02T03:04:05\n---\n", said("", "", "2024-01-02T03:04:05Z")),
            ("---\ncreated: 2024-01-02T03:04\n---\n", said("", "", "2024-01-02T03:04:00Z")),
            ("---\ncreated: 2024-01-02 03:04:05\n---\n", said("", "", "2024-01-02T03:04:05Z")),
            ("---\ncreated: 2024-01-02 03:04:05 +02:00\n---\n", said("", "", "2024-01-02T03:04:05+02:00")),
            ("+++\ncreated = 2024-01-02T03:04:05\n+++\n", said("", "", "2024-01-02T03:04:05Z")),
        ] {
            assert_eq!(read(front_matter), expected, "{front_matter:?}");
        }
    }
}
