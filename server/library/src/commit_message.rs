//! The message of a commit of ours, which is its log entry: a subject for people and trailers for programs.
//!
//! Every value is one line and says what it says: whatever could end a line, pose as another trailer or turn the text
//! around on a screen is escaped, so that no path, summary or client can forge an entry. [`Record::parse`] gives back
//! exactly what [`Record::render`] was given.

use std::fmt::Write;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};

/// The operation of commits that record bytes which a person left uncommitted.
pub(super) const EXTERNAL: &str = "external";

const LONGEST_SUBJECT: usize = 100;

/// What a commit of ours says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// What was done, in one word.
    pub(super) operation: String,
    /// The documents, at least one, relative to the top of the repository (not of the library).
    pub(super) paths: Vec<String>,
    /// Name of the tool that was called; none for [`EXTERNAL`].
    pub(super) tool: Option<String>,
    /// The client's name and version, where it gave them.
    pub(super) client: Option<String>,
    /// When, to the millisecond.
    pub(super) time: DateTime<Utc>,
    /// What was done, in one line.
    pub(super) summary: String,
    /// The caller's idempotency key.
    pub(super) key: Option<String>,
    /// Digest of the request that carried the key.
    pub(super) request: Option<String>,
    /// What the tool wanted to be kept, if it wanted something.
    pub(super) noted: Option<Noted>,
}

/// What a tool wanted to be kept of its change. It counts only for a commit that makes just that change: one that
/// somebody amended or put elsewhere has other contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    /// The details.
    pub(super) details: Map<String, Value>,
    /// Ids of each document's content before and after, in the order of the record's paths.
    pub(super) contents: Vec<Contents>,
}

/// Ids of a document's content before and after a change; `None` where there is no document.
pub(super) type Contents = [Option<String>; 2];

/// Stands for the content of a document that is not there.
const NO_CONTENT: &str = "-";

fn render_contents(contents: &Contents) -> String {
    let [before, after] = contents
        .each_ref()
        .map(|side| side.as_deref().unwrap_or(NO_CONTENT));
    format!("{before} {after}")
}

fn parse_contents(text: &str) -> Option<Contents> {
    let (before, after) = text.split_once(' ')?;
    Some([before, after].map(|side| Some(side.to_owned()).filter(|side| side != NO_CONTENT)))
}

impl Record {
    /// Returns the commit message.
    pub(super) fn render(&self) -> String {
        let subject = match &self.paths[..] {
            [path] => format!("{}: {path}", self.operation),
            paths => format!("{}: {} and {} more", self.operation, paths[0], paths.len() - 1),
        };
        let mut message = shortened(&escaped(&subject));
        message.push_str("\n\n");
        let mut add = |name: &str, value: &str| {
            let _ = writeln!(message, "Tabellion-{name}: {}", escaped(value));
        };
        add("Operation", &self.operation);
        self.paths.iter().for_each(|path| add("Path", path));
        let time = self.time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let optional = [
            ("Tool", self.tool.as_ref()),
            ("Client", self.client.as_ref()),
            ("Time", Some(&time)),
            ("Summary", Some(&self.summary)),
            ("Key", self.key.as_ref()),
            ("Request", self.request.as_ref()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                add(name, value);
            }
        }
        if let Some(noted) = &self.noted {
            add("Details", &Value::Object(noted.details.clone()).to_string());
            noted
                .contents
                .iter()
                .for_each(|contents| add("Contents", &render_contents(contents)));
        }
        message
    }

    /// Returns the record in a commit message; `None` when it is not one of ours.
    pub(super) fn parse(message: &str) -> Option<Self> {
        let trailers = message.trim_end().rsplit("\n\n").next()?;
        let values = |name: &str| {
            let lines = trailers
                .lines()
                .filter_map(|line| line.strip_prefix("Tabellion-"));
            let values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let values = values.map(|rest| unescaped(rest.strip_prefix(' ').unwrap_or(rest)));
            values.collect::<Option<Vec<String>>>()
        };
        let value = |name: &str| values(name)?.into_iter().next();
        let paths = values("Path").filter(|paths| !paths.is_empty())?;
        let noted = || {
            let contents: Option<Vec<_>> = values("Contents")?
                .iter()
                .map(|text| parse_contents(text))
                .collect();
            Some(Noted {
                details: serde_json::from_str(&value("Details")?).ok()?,
                contents: contents.filter(|contents| contents.len() == paths.len())?,
            })
        };
        Some(Self {
            operation: value("Operation")?,
            tool: value("Tool"),
            client: value("Client"),
            time: DateTime::parse_from_rfc3339(&value("Time")?).ok()?.to_utc(),
            summary: value("Summary")?,
            key: value("Key"),
            request: value("Request"),
            noted: noted(),
            paths,
        })
    }

    /// Returns the contents of the document at `path` before and after the change, where the tool wanted details kept.
    pub(super) fn contents_of(&self, path: &str) -> Option<&Contents> {
        let at = self.paths.iter().position(|other| other == path)?;
        self.noted.as_ref()?.contents.get(at)
    }
}

/// `text` on one line, without blanks at its ends and without anything that can't be seen.
fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let last = text.chars().count().saturating_sub(1);
    for (at, c) in text.chars().enumerate() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            ' ' if at == 0 || at == last => line.push_str("\\u{20}"),
            c if hides(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}

/// Whether `c` ends a line, is a blank other than the space, can't be seen, or turns the text around.
fn hides(c: char) -> bool {
    c.is_control() || (c.is_whitespace() && c != ' ') || tabellion_runtime::text::is_invisible(c)
}

/// What [`escaped`] was given; `None` for what it never makes.
fn unescaped(line: &str) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match rest.next()? {
            '\\' => '\\',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (number, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                rest = after.chars();
                char::from_u32(u32::from_str_radix(number, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(text)
}

fn shortened(subject: &str) -> String {
    if subject.chars().count() <= LONGEST_SUBJECT {
        return subject.to_owned();
    }
    subject.chars().take(LONGEST_SUBJECT - 1).chain(['…']).collect()
}

#[cfg(test)]
#[path = "tests/commit_message.rs"]
mod tests;
