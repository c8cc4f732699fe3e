//! Finds internals in the texts of errors: locations of the server's files, and details of its implementation.

use std::{path::Path, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

/// Patterns that an error must not match, each with its name.
static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let patterns = [
        (
            "a statement of SQL",
            r"\b(SELECT\s.+\sFROM\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|(CREATE|ALTER|DROP)\s+(UNIQUE\s+)?(TABLE|INDEX)\b|PRAGMA\s+\w)|\bselect\s+\*\s+from\s",
        ),
        (
            "a word of the database",
            r"(?i)\b(sqlite\w*|\w*sqlx?::\w+|constraint failed|no such (table|column)|disk image is malformed|database is locked|not a database)\b",
        ),
        (
            "an error of the operating system",
            r"(?i)\bos error\b|\bE(NOSPC|IO|ISDIR|NOTDIR|ACCES|NOENT|PERM)\b",
        ),
        ("the name of a type", r"\b[A-Za-z_]\w*(::[A-Za-z_]\w*)+"),
        ("the form of a value in memory", r"\b(Some|Ok|Err|Error|String)\(|\b(Os|Custom|Error|Failure)\s*\{"),
        ("a line of source", r"\b[\w/.-]+\.(rs|py|js|ts|go|java):\d+|Traceback \(most recent|panicked at"),
    ];
    let compiled = patterns.map(|(name, pattern)| (name, Regex::new(pattern).expect("a pattern")));
    compiled.into()
});

/// An absolute path.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[^\w/.~-])(/[\w.@+-]+(?:/[\w.@+-]+)+)").expect("a pattern"));

/// Names to search for in one server's errors.
pub(super) struct Leaks {
    /// Names of files and folders that only the server should know.
    pub(super) names: Vec<String>,
}

impl Leaks {
    /// Returns the first leak in a text, if any. The caller's own words, `said`, are no secret.
    pub(super) fn find(&self, text: &str, said: &Value) -> Option<String> {
        let mut text = text.to_owned();
        for known in words(said) {
            if known.chars().count() > 2 {
                text = text.replace(&known, "…");
            }
        }
        if let Some(name) = self.names.iter().find(|name| text.contains(*name)) {
            return Some(format!("the name `{name}`"));
        }
        let members = members(said);
        for found in PATH.captures_iter(&text) {
            let path = &found[1];
            let first = path[1..].split('/').next().unwrap_or_default();
            // A pointer into the arguments looks like a path, too.
            if !members.iter().any(|name| name == first) && Path::new("/").join(first).exists() {
                return Some(format!("the path `{path}`"));
            }
        }
        let found = PATTERNS.iter().find_map(|(name, pattern)| Some((name, pattern.find(&text)?)));
        found.map(|(name, found)| format!("{name}: `{}`", found.as_str().trim()))
    }
}

/// Returns all texts in an error, one a line.
pub(super) fn text_of(error: &Value) -> String {
    words(error).join("\n")
}

/// Returns the texts in a value.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(words).collect(),
        Value::Object(members) => members.values().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

/// Returns the names of members in a value.
fn members(value: &Value) -> Vec<String> {
    match value {
        Value::Array(all) => all.iter().flat_map(members).collect(),
        Value::Object(all) => {
            let below = all.values().flat_map(members);
            all.keys().cloned().chain(below).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaks_are_found_and_plain_words_are_not() {
        let leaks = Leaks { names: vec!["rows.db".to_owned()] };
        let said = json!({ "data": { "content": "see /usr/share/doc", "usr": 1 }, "sql": "DROP TABLE x" });
        for (text, expected) in [
            ("can't open /etc/ssl/private: refused", "the path `/etc/ssl/private`"),
            ("in rows.db: damaged", "the name `rows.db`"),
            ("INSERT INTO plans VALUES (?) failed", "a statement of SQL"),
            ("no such table: plans", "a word of the database"),
            ("No space left on device (os error 28)", "an error of the operating system"),
            ("std::io::Error", "the name of a type"),
            ("invalid: Err(\"x\")", "the form of a value in memory"),
            ("Os { code: 28 }", "the form of a value in memory"),
            ("panicked at src/main.rs:7", "a line of source"),
            ("internal error", ""),
            ("select one of these from the list", ""),
            ("/data/content: is not known here; choose from a/b or ./c/d", ""),
            ("/usr/share: is not known", ""),
            ("there is no `DROP TABLE x`, nor `see /usr/share/doc`", ""),
            ("update the row, then set it again", ""),
        ] {
            let found = leaks.find(text, &said).unwrap_or_default();
            assert!(
                found.starts_with(expected) && found.is_empty() == expected.is_empty(),
                "{text}: {found}"
            );
        }
    }
}
