//! Answers that the client has already: `If-None-Match` of requests that read (RFC 9110, section 13.1.2).

use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{ETAG, HeaderValue},
};

/// Returns true if one of the values of `If-None-Match` names `etag`.
pub fn is_known<'v>(values: impl IntoIterator<Item = &'v HeaderValue>, etag: &[u8]) -> bool {
    let values = values.into_iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == etag)
}

/// Returns the response without its body, as 304, if the client has it already.
pub(super) fn unless_known(response: Response<Bytes>, known: &[HeaderValue]) -> Response<Bytes> {
    match response.headers().get(ETAG).filter(|etag| is_known(known, etag.as_bytes())) {
        None => response,
        Some(etag) => {
            let mut unmodified = Response::new(Bytes::new());
            *unmodified.status_mut() = StatusCode::NOT_MODIFIED;
            unmodified.headers_mut().insert(ETAG, etag.clone());
            unmodified
        }
    }
}
