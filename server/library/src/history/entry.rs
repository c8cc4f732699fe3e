//! Entries of the log.

use chrono::{DateTime, Utc};
use gix::ObjectId;

use super::super::commit_message::{EXTERNAL, Record};

/// An entry of the log: a change made by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Commit id.
    pub commit: String,
    /// The operation, in one word.
    pub operation: String,
    /// The documents, at least one, relative to the library.
    pub paths: Vec<String>,
    /// Number of further documents outside the library.
    pub outside: usize,
    /// Name of the called tool.
    pub tool: String,
    /// The client's name and version, if known.
    pub client: Option<String>,
    /// Time, to the millisecond.
    pub time: DateTime<Utc>,
    /// Summary in one line.
    pub summary: String,
    /// Id of the call's execution, if calls are recorded.
    pub execution: Option<String>,
    /// The caller's identity as text, if it was known.
    pub caller: Option<String>,
    /// The caller's idempotency key.
    pub(in super::super) key: Option<String>,
    /// Digest of the request that carried the key.
    pub(in super::super) request: Option<String>,
}

impl LogEntry {
    /// Returns the entry of the commit `id`, if it belongs to the library at `prefix`.
    pub(super) fn from_record(id: ObjectId, record: Record, prefix: &str) -> Option<Self> {
        // The first document determines the library.
        if !is_entry(&record) || !record.paths[0].starts_with(prefix) {
            return None;
        }
        let paths = record.paths.iter().filter_map(|path| path.strip_prefix(prefix));
        let paths: Vec<_> = paths.map(ToOwned::to_owned).collect();
        Some(Self {
            commit: id.to_string(),
            outside: record.paths.len() - paths.len(),
            paths,
            operation: record.operation,
            tool: record.tool?,
            client: record.client,
            time: record.time,
            summary: record.summary,
            caller: record.caller,
            execution: record.call.map(|call| call.execution),
            key: record.key,
            request: record.request,
        })
    }
}

/// Returns true if a commit of ours is a log entry of some library.
pub(super) fn is_entry(record: &Record) -> bool {
    record.operation != EXTERNAL && record.tool.is_some()
}
