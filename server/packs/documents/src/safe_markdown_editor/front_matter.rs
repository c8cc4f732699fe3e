//! Reads a few well-known keys from a document's front matter, in YAML or TOML, one on each line.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveTime};

/// The values found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) created: Option<DateTime<FixedOffset>>,
}

/// Reads front matter including its fences. Of YAML and TOML, only lines `key: value` and `key = value` are understood.
pub(super) fn read(front_matter: &str) -> FrontMatter {
    let mut said = FrontMatter::default();
    let separator = if front_matter.starts_with("+++") { '=' } else { ':' };
    for line in front_matter.lines() {
        // An indented line belongs to the key above it.
        let Some((key, value)) = line.split_once(separator).filter(|_| !line.starts_with([' ', '\t', '#']))
        else {
            continue;
        };
        let value = unquoted(value.trim());
        match key.trim().to_ascii_lowercase().as_str() {
            "title" => said.title = text(value),
            "author" => said.author = text(value),
            "created" => said.created = moment(value),
            "date" => said.created = said.created.or(moment(value)),
            _ => {}
        }
    }
    said
}

fn text(value: &str) -> Option<String> {
    let is_more_than_text = value.starts_with(['[', '{', '|', '>', '&', '*', '!']);
    (!value.is_empty() && !is_more_than_text).then(|| value.to_owned())
}

/// Parses a time as in RFC 3339; a date is its first moment in UTC.
fn moment(value: &str) -> Option<DateTime<FixedOffset>> {
    let day = || {
        let day: NaiveDate = value.parse().ok()?;
        Some(day.and_time(NaiveTime::MIN).and_utc().fixed_offset())
    };
    DateTime::parse_from_rfc3339(value).ok().or_else(day)
}

fn unquoted(value: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_keys_are_read() {
        let said = |title: &str, author: &str, created: &str| FrontMatter {
            title: text(title),
            author: text(author),
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
            ("---\nauthor: [a, b]\nbook:\n  title: no\n# title: no\n---\n", said("", "", "")),
            (
                "+++\ntitle = \"A: b\"\ndate = 2024-02-03T04:05:06Z\n+++\n",
                said("A: b", "", "2024-02-03T04:05:06Z"),
            ),
            ("---\ncreated: yesterday\n---\n", said("", "", "")),
        ] {
            assert_eq!(read(front_matter), expected, "{front_matter:?}");
        }
    }
}
