//! Refusals of requests before they reach a contract: a status, and the cause as a JSON-RPC error.

use hyper::{
    Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER},
};
use rmcp::{
    ErrorData, RoleServer,
    model::{JsonRpcMessage, RequestId},
    service::TxJsonRpcMessage,
};

use super::body::Body;
use crate::message::Refused;

/// A refused request.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    id: Option<RequestId>,
    // Boxed because errors carry details, and refusals are passed by value.
    error: Box<ErrorData>,
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

    /// Refuses a method other than `allowed`.
    pub fn method_not_allowed(allowed: &'static str) -> Self {
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("only {allowed} is served here"));
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
        Self { status, id: None, error: error.into(), headers: vec![] }
    }

    /// Sets the id of the refused request.
    pub(super) fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.id = id;
        self
    }
}

impl From<Refused> for Refusal {
    fn from((id, error): Refused) -> Self {
        Self::with(StatusCode::BAD_REQUEST, *error).with_id(id)
    }
}

impl From<Refusal> for Response<Body> {
    fn from(refusal: Refusal) -> Self {
        let mut response = Self::new(Body::whole(text(*refusal.error, refusal.id)));
        *response.status_mut() = refusal.status;
        response.headers_mut().extend(refusal.headers);
        let media = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, media);
        response
    }
}

/// Returns the body of the response to a request that is refused before it reaches an endpoint. `why` contains the remedy.
pub fn refused(why: &str) -> Vec<u8> {
    text(ErrorData::invalid_request(why.to_owned(), None), None)
}

fn text(error: ErrorData, id: Option<RequestId>) -> Vec<u8> {
    let message: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::error(error, id);
    serde_json::to_vec(&message).expect("an error is JSON")
}
