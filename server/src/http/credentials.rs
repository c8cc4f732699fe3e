//! The key that a request comes with: in a header, and never in a URL, which is written down in many places.

use std::sync::Arc;

use hyper::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE},
};

use crate::{
    keys::{Grant, Holder, Ring},
    mcp::streamable::Refusal,
};

const API_KEY: &str = "x-api-key";
/// How a client is asked for a key.
const ASKED: &str = r#"Bearer realm="tabellion""#;
/// The same, when it came with one that is not good.
const REFUSED: &str = r#"Bearer realm="tabellion", error="invalid_token""#;
const NOT_HERE: &str = r#"Bearer realm="tabellion", error="insufficient_scope""#;

/// Whoever sends these headers.
///
/// # Errors
/// With 400 when there is more than one key, and with 401 when there is none that is good.
pub(super) fn holder(keys: &Ring, headers: &HeaderMap) -> Result<Arc<Holder>, Refusal> {
    let bearers = headers.get_all(AUTHORIZATION).iter().map(bearer);
    let others = headers.get_all(API_KEY).iter().map(|key| key.to_str().ok());
    let mut given = bearers.chain(others);
    let (first, second) = (given.next(), given.next());
    if second.is_some() {
        let why = "there is more than one key; send one, in `Authorization` or in `X-API-Key`";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
    }
    let Some(key) = first else {
        let why =
            "send a key as `Authorization: Bearer KEY`; the operator makes one with `tabellion key create`";
        return Err(unauthorized(ASKED, why));
    };
    let holder = key.and_then(|key| keys.holder(key));
    holder.ok_or_else(|| unauthorized(REFUSED, "this key is not good, or no longer"))
}

/// What `holder` may do in the library of this name.
///
/// # Errors
/// With 403 when that is nothing.
pub(super) fn grant(holder: &Arc<Holder>, library: &str) -> Result<Grant, Refusal> {
    holder.at(library).ok_or_else(|| {
        let why = format!("the key of {} is not good for this library", holder.name);
        let challenge = HeaderValue::from_static(NOT_HERE);
        Refusal::new(StatusCode::FORBIDDEN, why).header(WWW_AUTHENTICATE, challenge)
    })
}

/// The token of `Bearer TOKEN` (RFC 6750, section 2.1).
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}

fn unauthorized(challenge: &'static str, why: &str) -> Refusal {
    let challenge = HeaderValue::from_static(challenge);
    Refusal::new(StatusCode::UNAUTHORIZED, why).header(WWW_AUTHENTICATE, challenge)
}
