//! Requests that are refused before they are calls.

use std::time::Duration;

use hyper::{
    StatusCode,
    header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER},
};
use tabellion_runtime::token_bucket::seconds;

/// A refused HTTP request. The response gets its body from the protocol of the request's path.
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// A sentence with the cause and the remedy.
    pub message: String,
    /// The reason in one word, for programs, if there is one.
    pub reason: Option<&'static str>,
    /// Name of the exceeded limit, if one was.
    pub limit: Option<&'static str>,
    /// Headers of the response.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// Refuses an invalid request. `message` contains the remedy.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), reason: None, limit: None, headers: vec![] }
    }

    /// Refuses because of load; `message` names the cause. The client may retry soon.
    pub fn busy(message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, message);
        refusal.header(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// Refuses a caller that exceeded the limit of this name. The client may retry after `wait`.
    pub fn too_many(limit: &'static str, message: impl Into<String>, wait: Duration) -> Self {
        let refusal = Self { limit: Some(limit), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) };
        refusal.header(RETRY_AFTER, seconds(wait).into())
    }

    /// Refuses a method other than `allowed`.
    pub fn method_not_allowed(allowed: &str) -> Self {
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("only {allowed} is served here"));
        let allowed = HeaderValue::from_str(allowed).expect("methods are of letters");
        refusal.header(ALLOW, allowed)
    }

    /// Sets the reason in one word, for programs.
    #[must_use]
    pub fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}
