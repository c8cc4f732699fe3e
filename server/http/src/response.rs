//! Responses that handlers return.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use hyper::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;

use tabellion_rest::Refusal;

/// A refused request. Handlers and layers return it as the error of a `Result`. Its response gets a body from [`with_body`].
#[derive(Debug)]
pub(super) struct ErrorResponse(Refusal);

impl From<Refusal> for ErrorResponse {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        response.headers_mut().extend(self.0.headers.iter().cloned());
        response.extensions_mut().insert(Arc::new(self.0));
        response
    }
}

/// Gives the response to a refused request its body, which is JSON.
pub(super) fn with_body(response: Response, body: impl FnOnce(&Refusal) -> Vec<u8>) -> Response {
    let (mut head, empty) = response.into_parts();
    let Some(refusal) = head.extensions.remove::<Arc<Refusal>>() else {
        return Response::from_parts(head, empty);
    };
    let media = HeaderValue::from_static("application/json");
    head.headers.insert(CONTENT_TYPE, media);
    Response::from_parts(head, body(&refusal).into())
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
