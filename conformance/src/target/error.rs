//! Reasons why a target did not answer.

use std::{io, time::Duration};

/// Default timeout for an answer or an exit, after which a server counts as hung.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Reason why a target did not answer.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The process could not be started, or a pipe or connection broke.
    #[error("the server can't be reached: {0}")]
    Io(#[from] io::Error),
    /// The server closed its standard output, or a connection before it answered.
    #[error("the server closed its output")]
    Closed,
    /// No message arrived within this time.
    #[error("the server gave no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// A message is not JSON.
    #[error("the server sent a message that is not JSON: {0}")]
    NotJson(String),
    /// A message is not UTF-8.
    #[error("the server sent a message that is not UTF-8: {0}")]
    NotUtf8(String),
    /// So many messages arrived without a further request.
    #[error("the server sent {0} messages after the last request, and not the one that is waited for")]
    Flood(usize),
    /// The server does not listen at its URL.
    #[error("the server does not answer at {url}: {why}")]
    NotUp {
        /// URL.
        url: String,
        /// Reason.
        why: String,
    },
}
