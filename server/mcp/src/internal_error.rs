//! Errors of the server's own, which an operator must be able to find in the log.
//!
//! What a client is told of such an error does not tell its cause. Both carry the same id: the answer in its `data`, and the log in each
//! line of the call, among which the cause is.

use std::{
    fmt,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Value, json};
use tracing::Span;

/// Member of an error's `data` with the id.
const REQUEST_ID: &str = "requestId";
/// Member of an error's `data` that says which rule was broken, for programs.
const RULE: &str = "rule";
/// The rule of errors that break none that a client could keep.
const INTERNAL: &str = "internal";

/// The id of a request in the log, which no other request of this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestId(u64, u64);

impl RequestId {
    /// Returns the next one.
    pub(super) fn next() -> Self {
        static STARTED: LazyLock<u64> = LazyLock::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
            micros ^ (u64::from(std::process::id()) << 44)
        });
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Self(*STARTED, NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the span of the request's lines in the log.
    pub(super) fn span(self) -> Span {
        tracing::error_span!("request", id = %self)
    }

    /// Adds the id to an error of the server's own, and logs that it was sent; other errors stay as they are.
    pub(super) fn mark(self, what: &str, mut error: ErrorData) -> ErrorData {
        if error.code != ErrorCode::INTERNAL_ERROR {
            return error;
        }
        tracing::error!(request = %self, what, message = %error.message, "an internal error was answered");
        let data = error.data.get_or_insert_with(|| json!({}));
        if let Value::Object(data) = data {
            data.entry(RULE).or_insert_with(|| INTERNAL.into());
            data.insert(REQUEST_ID.into(), self.to_string().into());
        }
        error
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_errors_alone_carry_the_id() {
        let id = RequestId::next();
        let text = id.to_string();
        for (error, expected) in [
            (
                ErrorData::internal_error("x", None),
                json!({ "rule": "internal", "requestId": text }),
            ),
            (
                ErrorData::internal_error("x", Some(json!({ "rule": "busy", "retryAfterSeconds": 1 }))),
                json!({ "rule": "busy", "retryAfterSeconds": 1, "requestId": text }),
            ),
            (ErrorData::invalid_params("x", None), Value::Null),
        ] {
            assert_eq!(id.mark("tool", error).data.unwrap_or_default(), expected);
        }
        assert_ne!(RequestId::next(), id);
    }
}
