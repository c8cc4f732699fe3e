//! The layers that a request passes before its handler. [`router`](super::router) determines their order.

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::{
    Extension,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use hyper::{
    Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CONTENT_ENCODING, HeaderValue, VARY,
    },
};

use super::{
    credentials::Caller,
    rates,
    response::{self, ErrorResponse},
    site::Site,
    unread::Unread,
};
use tabellion_mcp::streamable::refused;
use tabellion_rest::Refusal;

/// The header with a request's id. A client may choose the id.
const REQUEST_ID: &str = "x-request-id";

/// CORS: methods that pages of allowed origins may send, and headers that they may read.
const METHODS: &str = "GET, POST, PUT, DELETE";
const READABLE: &str =
    "etag, location, mcp-session-id, preference-applied, retry-after, www-authenticate, x-request-id";

/// Request extension: the address of the client's end of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientAddress(pub(super) IpAddr);

/// Request extension: the request's id in the log.
#[derive(Debug, Clone)]
pub(super) struct RequestId(pub(super) Arc<str>);

/// Gives the request an id, writes the access log, and reads the rest of a rejected request.
pub(super) async fn log(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = site.request_id(request.headers().get(REQUEST_ID));
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let (head, body) = request.into_parts();
    let (body, unread) = Unread::watch(body);
    let mut request = Request::from_parts(head, body);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    unread.drain().await;
    let value = HeaderValue::from_str(&id).expect("an id is visible ASCII");
    response.headers_mut().insert(REQUEST_ID, value);
    let caller = response.extensions().get::<Caller>();
    // A stream is logged when it begins. Queries and headers may contain secrets and are never logged.
    tracing::info!(
        id = %id,
        method = %method,
        path = uri.path(),
        caller = caller.map(|caller| caller.principal.identity.to_string()),
        status = response.status().as_u16(),
        ms = begun.elapsed().as_millis() as u64,
        "answered"
    );
    response
}

/// Rejects requests with an unknown `Host` or `Origin`, and answers pages of allowed origins (CORS).
pub(super) async fn guard(
    State(site): State<Arc<Site>>,
    request: Request,
    next: Next,
) -> Result<Response, ErrorResponse> {
    let origin = site.guard.admit(request.uri(), request.headers())?;
    if let Some(encoding) = request.headers().get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity")
    {
        let why = format!("the body is encoded as {encoding:?}; send it without `Content-Encoding`");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why).because("media_type").into());
    }
    // A browser's preflight request carries no credentials, so it is answered here.
    let mut response = if request.method() == Method::OPTIONS {
        preflight(&site.allowed_headers)
    } else {
        next.run(request).await
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READABLE));
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
    Ok(response)
}

fn preflight(allowed: &HeaderValue) -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS)),
        (ACCESS_CONTROL_ALLOW_HEADERS, allowed.clone()),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Rejects requests without valid credentials, if credentials are required. Handlers find the caller as the extension
/// `Option<Caller>`; the access log finds it among the response's extensions.
pub(super) async fn authenticate(
    State(site): State<Arc<Site>>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    mut request: Request,
    next: Next,
) -> Result<Response, ErrorResponse> {
    let caller = site.caller(request.uri(), request.headers(), address).await?;
    request.extensions_mut().insert(caller.clone());
    let mut response = next.run(request).await;
    if let Some(caller) = caller {
        response.extensions_mut().insert(caller);
    }
    Ok(response)
}

/// Receives the body of a form, within the limits for all bodies, and adds the client's address to the request.
pub(super) async fn receive(
    State(site): State<Arc<Site>>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    request: Request,
    next: Next,
) -> Result<Response, ErrorResponse> {
    let (mut head, body) = request.into_parts();
    head.extensions.insert(address);
    if head.method != Method::POST {
        return Ok(next.run(Request::from_parts(head, body)).await);
    }
    // The permit is held until the request is answered.
    let (body, _permit) = site.uploads.receive(body, &rates::address(address)).await?;
    Ok(next.run(Request::from_parts(head, body.into())).await)
}

/// Gives refusals the form that a contract's errors have over REST: that of the library mounted at `path`.
pub(super) async fn rest_refusals(
    State((site, path)): State<(Arc<Site>, Arc<str>)>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    match site.mounts.get(&*path).and_then(|mount| mount.rest.as_ref()) {
        Some(rest) => response::with_body(response, |refusal| rest.refused(refusal).to_string().into()),
        None => response,
    }
}

/// Gives other refusals the form of MCP's.
pub(super) async fn mcp_refusals(request: Request, next: Next) -> Response {
    response::with_body(next.run(request).await, |refusal| refused(&refusal.message))
}

/// Answers every method but GET with 405. HEAD must have become GET.
pub(super) async fn only_get(request: Request, next: Next) -> Result<Response, ErrorResponse> {
    only(Method::GET, "GET, HEAD", request, next).await
}

/// Answers HEAD as GET. The body of the response is left out when it is written.
pub(super) async fn head_as_get(mut request: Request, next: Next) -> Response {
    if request.method() == Method::HEAD {
        *request.method_mut() = Method::GET;
    }
    next.run(request).await
}

/// Answers every method but POST with 405.
pub(super) async fn only_post(request: Request, next: Next) -> Result<Response, ErrorResponse> {
    only(Method::POST, "POST", request, next).await
}

async fn only(
    method: Method,
    name: &'static str,
    request: Request,
    next: Next,
) -> Result<Response, ErrorResponse> {
    if request.method() == method {
        Ok(next.run(request).await)
    } else {
        Err(Refusal::method_not_allowed(name).into())
    }
}
