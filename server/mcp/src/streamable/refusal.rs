//! Requests that are refused before any contract hears of them: a status, and why, as JSON-RPC says it.

use std::time::Duration;

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
    // An error has its details with it, and a refusal is passed on by value.
    error: Box<ErrorData>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// A request that is wrong in itself. `why` says what to do.
    pub fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self::with(status, ErrorData::invalid_request(why.into(), None))
    }

    /// There is too much to do; `why` of what. The client may try again soon.
    pub fn busy(why: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, why);
        refusal.header(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// Too much was asked for; the client may try again after `wait`. `why` of what.
    pub fn too_many(why: impl Into<String>, wait: Duration) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, why);
        refusal.header(RETRY_AFTER, seconds(wait).into())
    }

    /// The status that says what is wrong.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The method is none of `allowed`.
    pub fn method_not_allowed(allowed: &'static str) -> Self {
        let refusal = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("only {allowed} is served here"),
        );
        refusal.header(ALLOW, HeaderValue::from_static(allowed))
    }

    /// The same, with one more header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// A refusal that is this error.
    pub(super) fn with(status: StatusCode, error: ErrorData) -> Self {
        Self {
            status,
            id: None,
            error: error.into(),
            headers: vec![],
        }
    }

    /// The same, of the request `id`.
    pub(super) fn of(mut self, id: Option<RequestId>) -> Self {
        self.id = id;
        self
    }
}

impl From<Refused> for Refusal {
    fn from((id, error): Refused) -> Self {
        Self::with(StatusCode::BAD_REQUEST, *error).of(id)
    }
}

impl From<Refusal> for Response<Body> {
    fn from(refusal: Refusal) -> Self {
        let message: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::error(*refusal.error, refusal.id);
        let text = serde_json::to_vec(&message).expect("an error is JSON");
        let mut response = Self::new(Body::whole(text));
        *response.status_mut() = refusal.status;
        response.headers_mut().extend(refusal.headers);
        let media = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, media);
        response
    }
}
