//! The router: the handler of each path, and the layers that a request passes first.
//!
//! ```text
//! log ─┬─ /healthz, /readyz
//!      └─ guard ─┬─ /page
//!                ├─ /.well-known/oauth-protected-resource…
//!                ├─ /mcp/exports/ID, /mcp/NAME/exports/ID
//!                ├─ /hooks/git, /hooks/NAME/git
//!                ├─ REST's description
//!                └─ authenticate ─┬─ /metrics
//!                                 ├─ /mcp, /mcp/NAME
//!                                 ├─ REST, all paths below these
//!                                 └─ 404
//! ```
//!
//! A new route belongs to the innermost group, [`authenticated`], unless clients without credentials need it. Layers are in
//! [`layers`].

use std::{net::IpAddr, sync::Arc, time::SystemTime};

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
    downloads,
    layers::{self, ClientAddress, RequestId},
    metrics,
    response::{self, ErrorResponse},
    site::Site,
    upload::Room,
};
use crate::{
    oauth::WELL_KNOWN,
    rates::{self, CallerBudget},
};
use tabellion_gateway::{Budget, Grant};
use tabellion_rest::{Refusal, RestRequest};
use tabellion_runtime::spec::RestOperation;

/// Path that reports that the process answers.
const ALIVE: &str = "/healthz";
/// Path that reports that the server accepts calls.
const READY: &str = "/readyz";
/// Metrics for Prometheus.
const METRICS: &str = "/metrics";

/// Returns the service that answers every request of `site`. A request needs a [`ClientAddress`] among its extensions.
pub(super) fn router(site: Arc<Site>) -> Router {
    let guard = from_fn_with_state(site.clone(), layers::guard);
    let log = from_fn_with_state(site.clone(), layers::log);
    let open = unauthenticated(&site).merge(downloads(&site)).merge(hooks(&site)).merge(page(&site));
    let guarded = open.merge(authenticated(&site)).layer(guard);
    let mut router = Router::new().route(ALIVE, any(alive)).route(READY, any(ready)).merge(guarded);
    for path in site.mounts.keys() {
        router = router.merge(rest(&site, path));
    }
    router.layer(from_fn(layers::mcp_refusals)).layer(log).with_state(site)
}

/// Routes for clients that have no credentials yet: the issuer of each library's tokens (RFC 9728). The path of the only
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

/// Routes of downloads. Their URLs are credentials.
fn downloads(site: &Arc<Site>) -> Router<Arc<Site>> {
    let mut router = Router::new();
    for (path, mount) in &site.mounts {
        let Some(place) = mount.downloads.as_ref().map(|downloads| downloads.path()) else {
            continue;
        };
        let of: Arc<str> = path.as_str().into();
        let refusals = from_fn_with_state((site.clone(), of.clone()), layers::rest_refusals);
        let download =
            move |site, id, query, method, asked| downloads::download(of, site, id, query, method, asked);
        router = router.route(&format!("{path}{place}"), any(download).layer(refusals));
    }
    router
}

/// Routes of webhooks, whose requests are signed.
fn hooks(site: &Arc<Site>) -> Router<Arc<Site>> {
    let mut router = Router::new();
    for (path, mount) in site.mounts.iter().filter(|(_, mount)| mount.hook.is_some()) {
        let of: Arc<str> = path.as_str().into();
        let place = match &*mount.name {
            "" => "/hooks/git".to_owned(),
            name => format!("/hooks/{name}/git"),
        };
        let answer = any(move |site, address, request| hooked(of, site, address, request));
        router = router.route(&place, answer.layer(from_fn(layers::only_post)));
    }
    router
}

/// Routes of the page in the browser, which has separate credentials.
fn page(site: &Arc<Site>) -> Router<Arc<Site>> {
    let page = site.page.as_ref().map(|page| page.router.clone());
    let receive = from_fn_with_state(site.clone(), layers::receive);
    page.unwrap_or_default().layer(receive).with_state(())
}

/// Routes of the contract over REST that is mounted at `path`. Refusals by layers have the form of the contract's errors.
fn rest(site: &Arc<Site>, path: &str) -> Router<Arc<Site>> {
    let path: Arc<str> = path.into();
    let mut router = Router::new();
    let rest = site.mounts.get(&*path).and_then(|mount| mount.rest.as_ref());
    // Downloads have separate routes, which require no key.
    let endpoints = rest.map(|rest| rest.endpoints()).into_iter().flatten();
    let endpoints = endpoints.filter(|endpoint| endpoint.is != RestOperation::Download);
    let endpoints = endpoints.map(|endpoint| (endpoint.path, endpoint.is != RestOperation::OpenApi));
    // Paths without an endpoint are refused by the contract, too.
    let mut routed = vec![];
    for (place, needs_credentials) in endpoints.chain(rest.map(|_| ("/{*other}", true))) {
        if routed.contains(&place) {
            continue;
        }
        routed.push(place);
        let of = path.clone();
        let mut answer =
            any(move |site, address, name, caller, request| ask(of, site, address, name, caller, request))
                .layer(from_fn(layers::head_as_get));
        if needs_credentials {
            answer = answer.layer(from_fn_with_state(site.clone(), layers::authenticate));
        }
        let guard = from_fn_with_state(site.clone(), layers::guard);
        let refusals = from_fn_with_state((site.clone(), path.clone()), layers::rest_refusals);
        router = router.route(&format!("{path}{place}"), answer.layer(guard).layer(refusals));
    }
    router
}

/// Routes for callers with valid credentials, or for all callers if none are required.
fn authenticated(site: &Arc<Site>) -> Router<Arc<Site>> {
    let mut router = Router::new().route(METRICS, get_only(metrics));
    for path in site.mounts.keys() {
        router = router.route(path, any(library));
    }
    router.fallback(not_found).layer(from_fn_with_state(site.clone(), layers::authenticate))
}

/// Routes GET and HEAD to `handler`, and answers every other method with 405.
fn get_only<H, T>(handler: H) -> MethodRouter<Arc<Site>>
where
    H: Handler<T, Arc<Site>>,
    T: 'static,
{
    any(handler).layer(from_fn(layers::only_get)).layer(from_fn(layers::head_as_get))
}

async fn alive() -> Response {
    response::text(StatusCode::OK, "ok\n")
}

async fn ready(State(site): State<Arc<Site>>) -> Response {
    if site.is_ready().await {
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
    let path = request.uri().path().to_owned();
    let Some(mount) = site.mounts.get(&path) else {
        return Err(not_found(State(site)).await);
    };
    // The permit is held until the request is answered.
    let (asked, _permit) = asked(&site, &path, address, caller, request).await?;
    let AuthorizedRequest { request, grant, budget } = asked;
    let mut response = mount.endpoint.answer(request, id, grant, Some(budget)).await;
    site.credentials.complete(response.headers_mut(), &path);
    Ok(response.map(axum::body::Body::new))
}

/// Answers a forge's request that reports a moved branch of the library at `path`.
async fn hooked(
    path: Arc<str>,
    State(site): State<Arc<Site>>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let Some(hook) = site.mounts.get(&*path).and_then(|mount| mount.hook.as_ref()) else {
        return Err(not_found(State(site)).await);
    };
    site.check_failures(address)?;
    let (head, body) = request.into_parts();
    let (body, _permit) = site.uploads.receive(body, &rates::address(address)).await?;
    if !hook.secret.signed(&head.headers, &body, SystemTime::now()) {
        site.count_failure(address);
        let why = "the request is not signed with the secret of this webhook";
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, why).into());
    }
    (hook.fetch)();
    Ok(response::text(StatusCode::ACCEPTED, "the branch is being fetched\n"))
}

/// Answers a request over REST to the library that is mounted at `path`.
async fn ask(
    path: Arc<str>,
    State(site): State<Arc<Site>>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    Extension(RequestId(name)): Extension<RequestId>,
    caller: Option<Extension<Option<Caller>>>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let Some(rest) = site.mounts.get(&*path).and_then(|mount| mount.rest.as_ref()) else {
        return Err(not_found(State(site)).await);
    };
    let below = request.uri().path().strip_prefix(&*path).unwrap_or_default();
    let below = below.to_owned();
    let caller = caller.and_then(|Extension(caller)| caller);
    let (asked, _permit) = asked(&site, &path, address, caller, request).await?;
    let AuthorizedRequest { request, grant, budget } = asked;
    let asked = RestRequest { path: below, request, name, grant, budget: Some(budget) };
    let mut response = rest.answer(asked).await;
    site.credentials.complete(response.headers_mut(), &path);
    Ok(response.map(axum::body::Body::from))
}

/// A received request, and its caller's permissions.
struct AuthorizedRequest {
    request: hyper::Request<Bytes>,
    grant: Option<Arc<dyn Grant>>,
    budget: Arc<dyn Budget>,
}

/// Receives a request to the library that is mounted at `path`. The permit is to be held until the request is answered.
async fn asked<'s>(
    site: &'s Site,
    path: &str,
    address: IpAddr,
    caller: Option<Caller>,
    request: Request,
) -> Result<(AuthorizedRequest, Option<Room<'s>>), Refusal> {
    let budget_of: Arc<str> = match &caller {
        Some(caller) => caller.principal.identity.to_string().into(),
        None => rates::address(address),
    };
    let name = site.mounts.get(path).map_or("", |mount| &mount.name);
    let grant = match caller {
        Some(caller) => {
            let grant = site.credentials.grant(caller, path, name)?;
            Some(Arc::new(grant) as Arc<dyn Grant>)
        }
        None => None,
    };
    let (head, body) = request.into_parts();
    let (body, permit) = if head.method == Method::POST {
        let (body, permit) = site.uploads.receive(body, &budget_of).await?;
        (body, Some(permit))
    } else {
        (Bytes::new(), None)
    };
    let asked = AuthorizedRequest {
        request: hyper::Request::from_parts(head, body),
        grant,
        budget: Arc::new(CallerBudget::new(site.rates.clone(), budget_of)),
    };
    Ok((asked, permit))
}

async fn not_found(State(site): State<Arc<Site>>) -> ErrorResponse {
    let paths: Vec<_> = site.mounts.keys().map(String::as_str).collect();
    let why = format!("nothing is served here, but at {}", paths.join(", "));
    Refusal::new(StatusCode::NOT_FOUND, why).into()
}

async fn no_metadata() -> ErrorResponse {
    Refusal::new(StatusCode::NOT_FOUND, "nothing is served at that path").into()
}
