//! Responses that handlers return.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;

use tabellion_mcp::streamable::Refusal;

/// A refused request, as its response. Handlers and layers return it as the error of a `Result`.
#[derive(Debug)]
pub(super) struct ErrorResponse(Refusal);

impl From<Refusal> for ErrorResponse {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        hyper::Response::from(self.0).map(Body::new)
    }
}

/// Returns a response of plain text.
pub(super) fn text(status: StatusCode, text: &'static str) -> Response {
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    (status, [(CONTENT_TYPE, media)], text).into_response()
}

/// Returns a response of JSON, with status 200.
pub(super) fn json(value: &Value) -> Response {
    let media = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, media)], value.to_string()).into_response()
}
