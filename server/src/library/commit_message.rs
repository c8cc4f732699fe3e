//! The message of a commit of ours, which is its log entry: a subject for people and trailers for programs.
//!
//! Every value is one line and says what it says: whatever could end a line, pose as another trailer or turn the text
//! around on a screen is escaped, so that no path, summary or client can forge an entry. [`Record::parse`] gives back
//! exactly what [`Record::render`] was given.

use std::fmt::Write;

use chrono::{DateTime, SecondsFormat, Utc};

/// The operation of commits that record bytes which a person left uncommitted.
pub(super) const EXTERNAL: &str = "external";

const LONGEST_SUBJECT: usize = 100;

/// What a commit of ours says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// What was done, in one word.
    pub(super) operation: String,
    /// The document, relative to the top of the repository (not of the library).
    pub(super) path: String,
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
}

impl Record {
    /// The commit message.
    pub(super) fn render(&self) -> String {
        let mut message = shortened(&escaped(&format!("{}: {}", self.operation, self.path)));
        message.push_str("\n\n");
        let time = self.time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let lines = [
            ("Operation", Some(&self.operation)),
            ("Path", Some(&self.path)),
            ("Tool", self.tool.as_ref()),
            ("Client", self.client.as_ref()),
            ("Time", Some(&time)),
            ("Summary", Some(&self.summary)),
            ("Key", self.key.as_ref()),
            ("Request", self.request.as_ref()),
        ];
        for (name, value) in lines {
            if let Some(value) = value {
                let _ = writeln!(message, "Tabellion-{name}: {}", escaped(value));
            }
        }
        message
    }

    /// The record in a commit message; `None` when it is not one of ours.
    pub(super) fn parse(message: &str) -> Option<Self> {
        let trailers = message.trim_end().rsplit("\n\n").next()?;
        let value = |name: &str| {
            let mut lines = trailers
                .lines()
                .filter_map(|line| line.strip_prefix("Tabellion-"));
            let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            unescaped(rest.strip_prefix(' ').unwrap_or(rest))
        };
        Some(Self {
            operation: value("Operation")?,
            path: value("Path")?,
            tool: value("Tool"),
            client: value("Client"),
            time: DateTime::parse_from_rfc3339(&value("Time")?).ok()?.to_utc(),
            summary: value("Summary")?,
            key: value("Key"),
            request: value("Request"),
        })
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
    c.is_control() || (c.is_whitespace() && c != ' ') || crate::path::is_invisible(c)
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
