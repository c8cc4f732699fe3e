//! The message of the library's own commits, which is the log entry: a subject for people and trailers for programs.
//!
//! Every value is on one line. Characters that could end a line, imitate another trailer or reverse the text on a screen are
//! escaped, so no path, summary or client name can forge an entry. [`Record::parse`] is the inverse of [`Record::render`].

use std::fmt::Write;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};

/// The operation of commits that record a person's uncommitted bytes.
pub(super) const EXTERNAL: &str = "external";

const MAX_SUBJECT_CHARACTERS: usize = 100;

/// The record in a commit message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// The operation, in one word.
    pub(super) operation: String,
    /// The documents, at least one, relative to the top of the repository (not of the library).
    pub(super) paths: Vec<String>,
    /// Name of the called tool; none for [`EXTERNAL`].
    pub(super) tool: Option<String>,
    /// The client's name and version, if known.
    pub(super) client: Option<String>,
    /// Time, to the millisecond.
    pub(super) time: DateTime<Utc>,
    /// Summary in one line.
    pub(super) summary: String,
    /// The caller's idempotency key, in its stored form.
    pub(super) key: Option<String>,
    /// Digest of the request that carried the key.
    pub(super) request: Option<String>,
    /// The caller, if it was known: an [`Identity`](tabellion_runtime::Identity) as text.
    pub(super) caller: Option<String>,
    /// The call that made the commit, if calls are recorded.
    pub(super) call: Option<RecordedCall>,
    /// Details that the tool records about its change, if any.
    pub(super) tool_details: Option<ToolDetails>,
}

/// Ids of the call in the record of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedCall {
    /// Id of the execution.
    pub(super) execution: String,
    /// Id of the session, if it had one.
    pub(super) session: Option<String>,
}

/// Details that a tool records about its change. They are valid only for a commit that makes just that change: an amended or
/// rebased commit has other contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolDetails {
    pub(super) details: Map<String, Value>,
    /// Content ids of each document before and after, in the order of the record's paths.
    pub(super) contents: Vec<Contents>,
}

/// Content ids of a document before and after a change; `None` if there is no document.
pub(super) type Contents = [Option<String>; 2];

/// Represents the content of a missing document.
const NO_CONTENT: &str = "-";

fn render_contents(contents: &Contents) -> String {
    let [before, after] = contents.each_ref().map(|side| side.as_deref().unwrap_or(NO_CONTENT));
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
        let call = self.call.as_ref();
        let optional = [
            ("Tool", self.tool.as_ref()),
            ("Client", self.client.as_ref()),
            ("Time", Some(&time)),
            ("Summary", Some(&self.summary)),
            ("Key", self.key.as_ref()),
            ("Request", self.request.as_ref()),
            ("Execution", call.map(|call| &call.execution)),
            ("Session", call.and_then(|call| call.session.as_ref())),
            ("Caller", self.caller.as_ref()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                add(name, value);
            }
        }
        if let Some(tool_details) = &self.tool_details {
            add("Details", &Value::Object(tool_details.details.clone()).to_string());
            tool_details.contents.iter().for_each(|contents| add("Contents", &render_contents(contents)));
        }
        message
    }

    /// Returns the record in a commit message; `None` if the commit is not the library's own.
    pub(super) fn parse(message: &str) -> Option<Self> {
        let trailers = message.trim_end().rsplit("\n\n").next()?;
        let values = |name: &str| {
            let lines = trailers.lines().filter_map(|line| line.strip_prefix("Tabellion-"));
            let values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let values = values.map(|rest| unescaped(rest.strip_prefix(' ').unwrap_or(rest)));
            values.collect::<Option<Vec<String>>>()
        };
        let value = |name: &str| values(name)?.into_iter().next();
        let paths = values("Path").filter(|paths| !paths.is_empty())?;
        let tool_details = || {
            let contents: Option<Vec<_>> =
                values("Contents")?.iter().map(|text| parse_contents(text)).collect();
            Some(ToolDetails {
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
            caller: value("Caller"),
            call: value("Execution").map(|execution| RecordedCall { execution, session: value("Session") }),
            tool_details: tool_details(),
            paths,
        })
    }

    /// Returns the contents of the document at `path` before and after the change, if the tool recorded details.
    pub(super) fn contents_of(&self, path: &str) -> Option<&Contents> {
        let at = self.paths.iter().position(|other| other == path)?;
        self.tool_details.as_ref()?.contents.get(at)
    }
}

/// Returns the message of a commit that merges the remote `from`. It is not a log entry.
pub(super) fn merge(from: &str, files: usize, conflicts: &[String], time: DateTime<Utc>) -> String {
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let mut message = shortened(&escaped(&format!("merge: {files} from {from}")));
    message.push_str("\n\nTabellion-Operation: merge\n");
    let _ = writeln!(message, "Tabellion-Time: {}", time.to_rfc3339_opts(SecondsFormat::Millis, true));
    for conflict in conflicts {
        let _ = writeln!(message, "Tabellion-Conflict: {}", escaped(conflict));
    }
    message
}

/// Returns `text` trimmed, on one line, and without invisible characters.
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

/// Returns true if `c` ends a line, is a blank other than the space, is invisible, or reverses the text.
fn hides(c: char) -> bool {
    c.is_control() || (c.is_whitespace() && c != ' ') || tabellion_runtime::text::is_invisible(c)
}

/// The inverse of [`escaped`]; `None` for text that it never produces.
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
    if subject.chars().count() <= MAX_SUBJECT_CHARACTERS {
        return subject.to_owned();
    }
    subject.chars().take(MAX_SUBJECT_CHARACTERS - 1).chain(['…']).collect()
}

#[cfg(test)]
#[path = "tests/commit_message.rs"]
mod tests;
