//! What is served at which path.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CONTENT_TYPE, HeaderValue, VARY,
    },
    http::request::Parts,
};

use super::{
    Credentials, Guard, Limits,
    credentials::{self, Caller},
    metrics::{self, LibraryCounts},
    upload::Uploads,
};
use crate::rates::{self, CallerBudget, Failures, Rates};
use tabellion_mcp::{
    Access, Grant,
    streamable::{Body, Endpoint, Refusal},
};

/// The header with a request's name in the log. A client may choose it.
const REQUEST: &str = "x-request-id";
const LONGEST_NAME: usize = 64;
/// What pages of known origins may send and read.
const METHODS: &str = "GET, POST, DELETE";
const HEADERS: &str = "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, x-api-key, x-request-id";
const READABLE: &str = "mcp-session-id, retry-after, www-authenticate, x-request-id";

/// Whether the process answers. Whoever asks need not know by which name it is called.
const ALIVE: &str = "/healthz";
/// Whether it takes calls.
const READY: &str = "/readyz";
/// What it has done.
const METRICS: &str = "/metrics";

/// One library, as it is served.
pub struct Mount {
    /// What it is called; empty where it is the only one.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// What it has done.
    pub counts: Box<dyn Fn() -> LibraryCounts + Send + Sync>,
    /// Its MCP.
    pub endpoint: Endpoint,
}

/// Everything that one server has.
pub struct Site {
    guard: Guard,
    credentials: Credentials,
    mounts: BTreeMap<String, Mount>,
    uploads: Uploads,
    rates: Arc<Rates>,
    failures: Failures,
    pub(super) limits: Limits,
    /// The number of the next request that has no name of its own.
    next: AtomicU64,
}

/// What is known of who makes a request.
struct Seen {
    from: IpAddr,
    /// The page that it comes from, if it comes from one.
    page: Option<HeaderValue>,
    caller: Option<Caller>,
}

impl Site {
    /// Serves each of `mounts` at its path, to whom `guard` admits, and whose `credentials` are good.
    pub fn new(
        guard: Guard,
        credentials: Credentials,
        mounts: BTreeMap<String, Mount>,
        limits: Limits,
    ) -> Self {
        let mut start = [0; 8];
        getrandom::fill(&mut start).expect("the system gives random bytes");
        Self {
            guard,
            credentials,
            mounts,
            uploads: Uploads::new(limits),
            rates: Arc::new(Rates::new(limits.reads, limits.writes)),
            failures: Failures::new(limits.failures),
            limits,
            next: AtomicU64::new(u64::from_be_bytes(start)),
        }
    }

    /// Takes no more calls.
    pub(super) fn end(&self) {
        self.mounts.values().for_each(|mount| mount.endpoint.end());
    }

    /// Waits until no call is in flight.
    pub(super) async fn idle(&self) {
        for mount in self.mounts.values() {
            mount.endpoint.idle().await;
        }
    }

    /// Answers a request that comes from this address.
    pub(super) async fn answer(&self, request: Request<Incoming>, from: IpAddr) -> Response<Body> {
        let begun = Instant::now();
        let (head, body) = request.into_parts();
        let name = self.name(&head.headers);
        let mut seen = Seen {
            from,
            page: None,
            caller: None,
        };
        let answer = match self.health(&head) {
            Some(health) => Ok(health),
            None => self.admitted(&head, body, &name, &mut seen).await,
        };
        let mut response = answer.unwrap_or_else(Response::from);
        let headers = response.headers_mut();
        if let Some(page) = seen.page {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READABLE));
            headers.insert(VARY, HeaderValue::from_static("origin"));
        }
        let name_again = HeaderValue::from_str(&name).expect("it is of visible ASCII");
        headers.insert(REQUEST, name_again);
        // Of a stream, this is when it begins. What a query or a header holds is nobody's business.
        tracing::info!(
            id = %name,
            method = %head.method,
            path = head.uri.path(),
            caller = seen.caller.map(|caller| caller.holder.id.clone()),
            status = response.status().as_u16(),
            ms = begun.elapsed().as_millis() as u64,
            "answered"
        );
        response
    }

    /// Says whether the server is well, if that is what is asked.
    fn health(&self, head: &Parts) -> Option<Response<Body>> {
        let is_well = match head.uri.path() {
            ALIVE => true,
            READY => {
                let mut mounts = self.mounts.values();
                let are_well = mounts.all(|mount| mount.endpoint.is_open() && mount.folder.is_dir());
                are_well && self.credentials.are_ready()
            }
            _ => return None,
        };
        let mut response = text(if is_well { "ok\n" } else { "not ready\n" });
        if !is_well {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        Some(response)
    }

    /// Answers who may be answered. `seen` is set to what is known of who asks.
    async fn admitted(
        &self,
        head: &Parts,
        body: Incoming,
        name: &Arc<str>,
        seen: &mut Seen,
    ) -> Result<Response<Body>, Refusal> {
        seen.page = self.guard.admit(&head.uri, &head.headers)?;
        // A browser asks without the key whether a page may send it.
        if head.method == Method::OPTIONS {
            return Ok(options());
        }
        // Who has no token yet asks where to get one.
        if let Some(metadata) = self.credentials.metadata(head, &self.mounts) {
            return metadata;
        }
        seen.caller = self.caller(head, seen.from).await?;
        if head.uri.path() == METRICS {
            return match head.method {
                Method::GET => Ok(metrics::response(self.mounts.values(), &self.refused())),
                _ => Err(Refusal::method_not_allowed("GET")),
            };
        }
        self.route(head, body, name, seen).await
    }

    /// Who makes a request. From where too many were wrong about that, nobody is believed for a while.
    async fn caller(&self, head: &Parts, from: IpAddr) -> Result<Option<Caller>, Refusal> {
        let is_counted = credentials::are_sent(&head.headers)
            && (self.limits.local_failures || !from.to_canonical().is_loopback());
        if is_counted && let Err(wait) = self.failures.allow(from) {
            let why = "too many keys or tokens from your address were bad; try again later";
            return Err(Refusal::too_many(why, wait));
        }
        let caller = self.credentials.caller(head, &self.mounts).await;
        if let Err(refusal) = &caller
            && is_counted
            && refusal.status() == StatusCode::UNAUTHORIZED
        {
            self.failures.count(from);
        }
        caller
    }

    /// How often somebody was told to wait, by what for.
    fn refused(&self) -> [(&'static str, u64); 3] {
        [
            ("read", self.rates.refused(Access::Read)),
            ("write", self.rates.refused(Access::Write)),
            ("credentials", self.failures.refused()),
        ]
    }

    async fn route(
        &self,
        head: &Parts,
        body: Incoming,
        name: &Arc<str>,
        seen: &Seen,
    ) -> Result<Response<Body>, Refusal> {
        let path = head.uri.path();
        let mount = self.mounts.get(path).ok_or_else(|| {
            let paths: Vec<_> = self.mounts.keys().map(String::as_str).collect();
            let why = format!("nothing is served here, but at {}", paths.join(", "));
            Refusal::new(StatusCode::NOT_FOUND, why)
        })?;
        let who = match &seen.caller {
            Some(caller) => caller.holder.id.as_str().into(),
            None => rates::address(seen.from),
        };
        let grant = match seen.caller.clone() {
            Some(caller) => {
                let grant = self.credentials.grant(caller, path, &mount.name)?;
                Some(Arc::new(grant) as Arc<dyn Grant>)
            }
            None => None,
        };
        let (body, _room) = match head.method {
            Method::POST => {
                let (body, room) = self.uploads.receive(body).await?;
                (body, Some(room))
            }
            _ => (Bytes::new(), None),
        };
        let request = Request::from_parts(head.clone(), body);
        let budget = CallerBudget::new(self.rates.clone(), who);
        let answer = mount
            .endpoint
            .answer(request, name.clone(), grant, Some(Arc::new(budget)));
        let mut response = answer.await;
        self.credentials.complete(response.headers_mut(), path);
        Ok(response)
    }

    /// What the log calls a request.
    fn name(&self, headers: &HeaderMap) -> Arc<str> {
        let own = headers.get(REQUEST).and_then(|name| name.to_str().ok());
        let is_fine = |name: &&str| {
            let all = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(all)
        };
        match own.filter(is_fine) {
            Some(name) => name.into(),
            None => format!("{:016x}", self.next.fetch_add(1, Ordering::Relaxed)).into(),
        }
    }
}

fn text(text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

/// What a browser is told that asks whether a page may do what it wants to do. Which page that is has been looked at.
fn options() -> Response<Body> {
    let mut response = Response::new(Body::whole(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
