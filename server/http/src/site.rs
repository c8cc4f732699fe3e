//! The state of one server: mounts, limits, counters.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use hyper::{HeaderMap, StatusCode, Uri, header::HeaderValue};

use super::{
    Credentials, Guard, Limits,
    credentials::{self, Caller},
    mount::Mount,
    upload::Uploads,
};
use crate::rates::{Failures, Rates};
use tabellion_gateway::Access;
use tabellion_rest::Refusal;
use tabellion_runtime::downloads::Download;

const MAX_REQUEST_ID: usize = 64;

/// CORS: headers that pages of allowed origins may send, in addition to those of REST and of contracts.
const HEADERS: &str = "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, x-api-key, x-request-id";

/// Lifetime of the result of [`Site::are_reachable`].
const REACHED_FOR: Duration = Duration::from_secs(1);

/// A page in the browser, in addition to the mounts.
pub struct Page {
    /// Its routes. A request's extensions contain its client's [`IpAddr`], and its `Host` and `Origin` are allowed.
    pub router: axum::Router,
    /// Ends its streams, for the server's shutdown.
    pub end: Box<dyn Fn() + Send + Sync>,
}

/// The state of one server's router.
pub struct Site {
    pub(super) guard: Guard,
    pub(super) credentials: Credentials,
    /// By path.
    pub(super) mounts: BTreeMap<String, Mount>,
    pub(super) page: Option<Page>,
    /// The headers that pages of allowed origins may send.
    pub(super) allowed_headers: HeaderValue,
    pub(super) uploads: Uploads,
    pub(super) rates: Arc<Rates>,
    failures: Failures,
    pub(super) limits: Limits,
    /// The last result of [`Site::are_reachable`], with its time.
    reached: tokio::sync::Mutex<Option<(Instant, bool)>>,
    /// Id of the next request without one.
    next_id: AtomicU64,
}

impl Site {
    /// Returns true if the key that requested a download still exists, or if no key did.
    pub(super) fn is_valid(&self, download: &Download) -> bool {
        let key = download.key.as_ref();
        key.is_none_or(|key| self.credentials.keys.as_ref().is_some_and(|keys| keys.by_id(key).is_some()))
    }

    /// Serves each of `mounts` at its path, to clients that `guard` admits and that have valid `credentials`.
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
            allowed_headers: allowed_headers(
                mounts.values().flat_map(|mount| mount.endpoint.gateway().catalog().headers()),
            ),
            mounts,
            page: None,
            uploads: Uploads::new(limits),
            rates: Arc::new(Rates::new(limits.reads, limits.writes)),
            failures: Failures::new(limits.failures),
            limits,
            reached: tokio::sync::Mutex::default(),
            next_id: AtomicU64::new(u64::from_be_bytes(start)),
        }
    }

    /// Adds a page in the browser.
    #[must_use]
    pub fn with_page(self, page: Option<Page>) -> Self {
        Self { page, ..self }
    }

    /// Rejects calls from now on.
    pub(super) fn end(&self) {
        if let Some(page) = &self.page {
            (page.end)();
        }
        self.mounts.values().for_each(|mount| mount.endpoint.intake().close());
    }

    /// Waits until no call is in flight.
    pub(super) async fn idle(&self) {
        for mount in self.mounts.values() {
            mount.endpoint.intake().idle().await;
        }
    }

    /// Returns true if calls can be answered: all libraries and databases are available, and so are the keys that verify tokens.
    pub(super) async fn is_ready(&self) -> bool {
        let are_there = |mount: &Mount| mount.folders.iter().all(|folder| folder.is_dir());
        let mut mounts = self.mounts.values();
        mounts.all(|mount| mount.endpoint.intake().is_open() && are_there(mount))
            && self.credentials.are_ready()
            && self.are_reachable().await
    }

    /// Returns true if all mounts can be reached. Concurrent callers share one probe.
    async fn are_reachable(&self) -> bool {
        let mut reached = self.reached.lock().await;
        if let Some((at, are_reachable)) = *reached
            && at.elapsed() < REACHED_FOR
        {
            return are_reachable;
        }
        let probes = self.mounts.values().map(|mount| Arc::clone(&mount.is_reachable));
        let probes: Vec<_> = probes.collect();
        let asked = tokio::task::spawn_blocking(move || probes.iter().all(|is_reachable| is_reachable()));
        let are_reachable = asked.await.unwrap_or(false);
        *reached = Some((Instant::now(), are_reachable));
        are_reachable
    }

    /// Returns the caller of a request; `None` if no credentials are required.
    ///
    /// # Errors
    /// Those of [`Credentials::caller`], and 429 for an address that has sent too many invalid credentials lately.
    pub(super) async fn caller(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Option<Caller>, Refusal> {
        let are_sent = credentials::are_sent(headers);
        if are_sent {
            self.check_failures(address)?;
        }
        let caller = self.credentials.caller(uri, headers, &self.mounts).await;
        if let Err(refusal) = &caller
            && are_sent
            && refusal.status == StatusCode::UNAUTHORIZED
        {
            self.count_failure(address);
        }
        caller
    }

    /// Checks that an address may try credentials.
    ///
    /// # Errors
    /// 429, if it has sent too many invalid ones lately.
    pub(super) fn check_failures(&self, address: IpAddr) -> Result<(), Refusal> {
        let why = "too many invalid keys, tokens or signatures from your address; try again later";
        match self.failures.allow(address) {
            Err(wait) if self.limits.counts(address) => Err(Refusal::too_many("credentials", why, wait)),
            Err(_) | Ok(()) => Ok(()),
        }
    }

    /// Counts invalid credentials of an address.
    pub(super) fn count_failure(&self, address: IpAddr) {
        if self.limits.counts(address) {
            self.failures.count(address);
        }
    }

    /// Returns the numbers of rate-limited requests, by kind.
    pub(super) fn refused(&self) -> [(&'static str, u64); 3] {
        [
            ("read", self.rates.refused(Access::Read)),
            ("write", self.rates.refused(Access::Write)),
            ("credentials", self.failures.refused()),
        ]
    }

    /// Returns a request's id in the log: the client's own, or a new one if the client's is missing or unfit for a log.
    pub(super) fn request_id(&self, own: Option<&HeaderValue>) -> Arc<str> {
        let is_fit = |id: &&str| {
            let all = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=MAX_REQUEST_ID).contains(&id.len()) && id.bytes().all(all)
        };
        let own = own.and_then(|id| id.to_str().ok());
        match own.filter(is_fit) {
            Some(id) => id.into(),
            None => format!("{:016x}", self.next_id.fetch_add(1, Ordering::Relaxed)).into(),
        }
    }
}

/// Returns [`HEADERS`], those of REST, and those that contracts read.
fn allowed_headers<'a>(of_contracts: impl Iterator<Item = &'a str>) -> HeaderValue {
    let of_rest = tabellion_rest::REQUEST_HEADERS.into_iter();
    let names = of_contracts.map(str::to_ascii_lowercase);
    let names: BTreeSet<_> = names.chain(of_rest.map(str::to_owned)).collect();
    let all: Vec<_> = [HEADERS].into_iter().chain(names.iter().map(String::as_str)).collect();
    HeaderValue::from_str(&all.join(", ")).expect("names of headers are visible ASCII")
}
