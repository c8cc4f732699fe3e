//! Refusals of requests before they reach a contract: a status, and the cause as a JSON-RPC error.

use std::{sync::Arc, time::Duration};

use hyper::{
    Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER},
};
use rmcp::{
    ErrorData, RoleServer,
    model::{JsonRpcMessage, RequestId},
    service::TxJsonRpcMessage,
};
use tabellion_runtime::token_bucket::seconds;

use super::body::Body;
use crate::message::Refused;

/// A refused request.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    id: Option<RequestId>,
    // Boxed because errors carry details, and refusals are passed by value.
    error: Box<ErrorData>,
    /// The reason in one word, if there is one.
    reason: Option<&'static str>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// Refuses an invalid request. `why` contains the remedy.
    pub fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self::with(status, ErrorData::invalid_request(why.into(), None))
    }

    /// Refuses because of load; `why` names the cause. The client may retry soon.
    pub fn busy(why: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, why);
        refusal.header(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// Refuses a caller that exceeded a limit, which `why` names. The client may retry after `wait`.
    pub fn too_many(why: impl Into<String>, wait: Duration) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, why);
        refusal.header(RETRY_AFTER, seconds(wait).into())
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Sets the reason in one word, for programs.
    #[must_use]
    pub fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Returns the cause and the remedy.
    fn why(&self) -> Why {
        Why {
            message: (*self.error.message).into(),
            reason: self.reason,
        }
    }

    /// Refuses a method other than `allowed`.
    pub fn method_not_allowed(allowed: &'static str) -> Self {
        let refusal = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("only {allowed} is served here"),
        );
        refusal.header(ALLOW, HeaderValue::from_static(allowed))
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Refuses with this error.
    pub(super) fn with(status: StatusCode, error: ErrorData) -> Self {
        Self {
            status,
            id: None,
            error: error.into(),
            reason: None,
            headers: vec![],
        }
    }

    /// Sets the id of the refused request.
    pub(super) fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.id = id;
        self
    }
}

/// Response extension: the reason of the refusal, for layers that give the response another form.
#[derive(Debug, Clone)]
pub struct Why {
    /// A sentence for people.
    pub message: Arc<str>,
    /// The reason in one word, for programs, if there is one.
    pub reason: Option<&'static str>,
}

impl From<Refused> for Refusal {
    fn from((id, error): Refused) -> Self {
        Self::with(StatusCode::BAD_REQUEST, *error).with_id(id)
    }
}

impl From<Refusal> for Response<Body> {
    fn from(refusal: Refusal) -> Self {
        let why = refusal.why();
        let message: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::error(*refusal.error, refusal.id);
        let text = serde_json::to_vec(&message).expect("an error is JSON");
        let mut response = Self::new(Body::whole(text));
        response.extensions_mut().insert(why);
        *response.status_mut() = refusal.status;
        response.headers_mut().extend(refusal.headers);
        let media = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, media);
        response
    }
}
