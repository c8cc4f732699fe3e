//! Retention of calls: executions and sessions.

use serde::Deserialize;

/// Retention of executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionsSpec {
    /// Number of seconds that an execution is stored.
    pub keep_seconds: u32,
    /// Number of seconds that its result is stored.
    pub result_seconds: u32,
}

/// The sessions of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionsSpec {
    /// Maximum number of active sessions of one caller.
    pub most: u32,
    /// Age in seconds at which a session ends.
    pub seconds: u32,
    /// Seconds without a call after which a session ends.
    pub idle_seconds: u32,
    /// Name of the error for a session that is not one of the caller's active ones.
    pub expired: &'static str,
}
