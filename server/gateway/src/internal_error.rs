//! The server's own errors, which an operator must be able to find in the log.
//!
//! The answer to the client does not reveal the cause of such an error. Answer and log contain the same id: the answer in its `data`, and
//! the log in each line of the call, one of which reports the cause.

use std::{
    fmt,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};
use tracing::Span;

/// Member of an error's `data` with the id.
const REQUEST_ID: &str = "requestId";
/// Member of an error's `data` with the broken rule, for programs.
const RULE: &str = "rule";
/// The rule of errors that a client can't avoid.
const INTERNAL: &str = "internal";

/// The id of a request in the log, unique on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestId(u64, u64);

impl RequestId {
    /// Returns the next one.
    pub(crate) fn next() -> Self {
        static STARTED: LazyLock<u64> = LazyLock::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
            micros ^ (u64::from(std::process::id()) << 44)
        });
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Self(*STARTED, NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the span of the request's lines in the log.
    pub(crate) fn span(self) -> Span {
        tracing::error_span!("request", id = %self)
    }

    /// Adds the id to the details of one of the server's own errors, and logs that it was sent.
    pub(crate) fn mark(self, name: &str, message: &str, data: &mut Map<String, Value>) {
        tracing::error!(request = %self, what = name, message, "an internal error was answered");
        data.entry(RULE).or_insert_with(|| INTERNAL.into());
        data.insert(REQUEST_ID.into(), self.to_string().into());
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marked_details_have_a_rule_and_the_id() {
        let id = RequestId::next();
        let text = id.to_string();
        for (data, expected) in [
            (json!({}), json!({ "rule": "internal", "requestId": text })),
            (
                json!({ "rule": "busy", "retryAfterSeconds": 1 }),
                json!({ "rule": "busy", "retryAfterSeconds": 1, "requestId": text }),
            ),
        ] {
            let mut data = data.as_object().cloned().unwrap_or_default();
            id.mark("tool", "x", &mut data);
            assert_eq!(Value::Object(data), expected);
        }
        assert_ne!(RequestId::next(), id);
    }
}
