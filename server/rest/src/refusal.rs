//! Requests that are refused before they are calls.

use std::time::Duration;

use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue, RETRY_AFTER},
};
use tabellion_runtime::token_bucket::seconds;

/// A refused request. Its response has the form of the contract's errors.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// A sentence with the remedy.
    pub(super) message: String,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            headers: vec![],
        }
    }

    /// Refuses because of load. The client may retry soon.
    pub(super) fn busy(message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, message);
        refusal.header(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// Refuses a caller that has exhausted its budget.
    pub(super) fn too_many(wait: Duration) -> Self {
        let refusal = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests in a minute; try again later",
        );
        refusal.header(RETRY_AFTER, seconds(wait).into())
    }

    /// Adds a header.
    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}
