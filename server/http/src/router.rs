//! The router: which path has which handler, and which layers a request passes first.
//!
//! ```text
//! log ─┬─ /healthz, /readyz
//!      └─ guard ─┬─ /.well-known/oauth-protected-resource…
//!                ├─ /mcp/exports/ID, /mcp/NAME/exports/ID
//!                └─ authenticate ─┬─ /metrics
//!                                 ├─ /mcp, /mcp/NAME
//!                                 └─ 404
//! ```
//!
//! A new route belongs to the innermost group, [`authenticated`], unless clients without credentials need it. Layers are in
//! [`layers`].

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{Request, State},
    handler::Handler,
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, any},
};
use hyper::{
    Method, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};

use super::{
    credentials::Caller,
    downloads::{self, DOWNLOADS},
    layers::{self, ClientAddress, RequestId},
    metrics,
    response::{self, ErrorResponse},
    site::Site,
};
use crate::{
    oauth::WELL_KNOWN,
    rates::{self, CallerBudget},
};
use tabellion_mcp::{Grant, streamable::Refusal};

/// Whether the process answers.
const ALIVE: &str = "/healthz";
/// Whether the server takes calls.
const READY: &str = "/readyz";
/// Metrics for Prometheus.
const METRICS: &str = "/metrics";

/// Returns the service that answers every request of `site`. A request needs a [`ClientAddress`] among its extensions.
pub(super) fn router(site: Arc<Site>) -> Router {
    let guard = from_fn_with_state(site.clone(), layers::guard);
    let log = from_fn_with_state(site.clone(), layers::log);
    let open = unauthenticated(&site).merge(downloads(&site));
    let guarded = open.merge(authenticated(&site)).layer(guard);
    Router::new()
        .route(ALIVE, any(alive))
        .route(READY, any(ready))
        .merge(guarded)
        .layer(log)
        .with_state(site)
}

/// Routes for clients that have no credentials yet: where each library's tokens come from (RFC 9728). The path of the only
/// library may be left out.
fn unauthenticated(site: &Site) -> Router<Arc<Site>> {
    let Some(oauth) = &site.credentials.oauth else {
        return Router::new();
    };
    let metadata = |path| {
        let metadata = oauth.metadata(path);
        get_only(async move || response::json(&metadata))
    };
    let mut router = Router::new().route(&format!("{WELL_KNOWN}{{*unknown}}"), any(no_metadata));
    for path in site.mounts.keys() {
        router = router.route(&format!("{WELL_KNOWN}{path}"), metadata(path));
    }
    let mut paths = site.mounts.keys();
    match (paths.next(), paths.next()) {
        (Some(only), None) => router.route(WELL_KNOWN, metadata(only)),
        _ => router.route(WELL_KNOWN, any(no_metadata)),
    }
}

/// Routes of what can be downloaded. Their URLs are credentials.
fn downloads(site: &Site) -> Router<Arc<Site>> {
    let mut router = Router::new();
    for (path, _) in site.mounts.iter().filter(|(_, mount)| mount.downloads.is_some()) {
        let of: Arc<str> = path.as_str().into();
        let download = get_only(move |site, id, query| downloads::download(of, site, id, query));
        router = router.route(&format!("{path}/{DOWNLOADS}/{{id}}"), download);
    }
    router
}

/// Routes for callers whose credentials are valid, or for everyone where none are asked for.
fn authenticated(site: &Arc<Site>) -> Router<Arc<Site>> {
    let mut router = Router::new().route(METRICS, get_only(metrics));
    for path in site.mounts.keys() {
        router = router.route(path, any(library));
    }
    router
        .fallback(not_found)
        .layer(from_fn_with_state(site.clone(), layers::authenticate))
}

/// Routes GET to `handler`, and answers every other method with 405. axum's own `get` would take HEAD, too.
fn get_only<H, T>(handler: H) -> MethodRouter<Arc<Site>>
where
    H: Handler<T, Arc<Site>>,
    T: 'static,
{
    any(handler).layer(from_fn(layers::only_get))
}

async fn alive() -> Response {
    response::text(StatusCode::OK, "ok\n")
}

async fn ready(State(site): State<Arc<Site>>) -> Response {
    if site.is_ready() {
        response::text(StatusCode::OK, "ok\n")
    } else {
        response::text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}

async fn metrics(State(site): State<Arc<Site>>) -> Response {
    let text = metrics::text(site.mounts.values(), &site.refused());
    let media = HeaderValue::from_static(metrics::MEDIA);
    ([(CONTENT_TYPE, media)], text).into_response()
}

/// Answers an MCP request to the library that is mounted at the path.
async fn library(
    State(site): State<Arc<Site>>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    Extension(RequestId(id)): Extension<RequestId>,
    Extension(caller): Extension<Option<Caller>>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let Some(mount) = site.mounts.get(&path) else {
        return Err(not_found(State(site)).await);
    };
    let budget_of = match &caller {
        Some(caller) => caller.principal.id.as_str().into(),
        None => rates::address(address),
    };
    let grant = match caller {
        Some(caller) => {
            let grant = site.credentials.grant(caller, &path, &mount.name)?;
            Some(Arc::new(grant) as Arc<dyn Grant>)
        }
        None => None,
    };
    // The permit is held until the request is answered.
    let (body, _permit) = if head.method == Method::POST {
        let (body, permit) = site.uploads.receive(body).await?;
        (body, Some(permit))
    } else {
        (Bytes::new(), None)
    };
    let request = Request::from_parts(head, body);
    let budget = CallerBudget::new(site.rates.clone(), budget_of);
    let answer = mount.endpoint.answer(request, id, grant, Some(Arc::new(budget)));
    let mut response = answer.await;
    site.credentials.complete(response.headers_mut(), &path);
    Ok(response.map(axum::body::Body::new))
}

async fn not_found(State(site): State<Arc<Site>>) -> ErrorResponse {
    let paths: Vec<_> = site.mounts.keys().map(String::as_str).collect();
    let why = format!("nothing is served here, but at {}", paths.join(", "));
    Refusal::new(StatusCode::NOT_FOUND, why).into()
}

async fn no_metadata() -> ErrorResponse {
    Refusal::new(StatusCode::NOT_FOUND, "nothing is served at that path").into()
}
