//! Serves libraries and rows over HTTP, and optionally one client on standard input and output.

use std::{collections::BTreeMap, convert::Infallible, error::Error, net::SocketAddr, sync::Arc};

use futures_util::FutureExt as _;
use tokio::{runtime::Handle, sync::oneshot};

use super::{HttpOptions, Opened, libraries};
use crate::page::{self, Door, Kept, LibrarySource, RowsSource, ServedLibrary};
use tabellion_gateway::ReviewPlace;
use tabellion_http::{
    self as http, Credentials, Guard, Hook, HookSecret, LibraryCounts, Mount, OAuth, RemoteCounts, Site,
    keys::{KeyFile, KeyRing},
    oauth::{PollingLimits, Source, Tokens},
    rates::RatePerMinute,
    tls::Certificates,
};
use tabellion_library::Library;
use tabellion_mcp::{self as mcp, streamable};
use tabellion_pack::Packs;
use tabellion_page::{self as browser, Page};
use tabellion_platform as platform;
use tabellion_platform::parent::Parent;
use tabellion_runtime::ContractSpec;
use tabellion_upkeep::console::say;

/// The place for people's decisions if no page is served.
pub(super) const REVIEW_COMMAND: ReviewPlace = ReviewPlace::Command("tabellion review --web");

/// The accepted credentials and the certificates.
pub(super) struct Access {
    credentials: Credentials,
    certificates: Option<Arc<Certificates>>,
    /// The secret of webhooks.
    hook: Option<Arc<HookSecret>>,
}

impl Access {
    /// Reads the files that the options name. Called before a library is opened, so that a wrong option creates nothing.
    pub(super) fn new(options: &HttpOptions) -> Result<Self, Box<dyn Error>> {
        let credentials = credentials(options)?;
        if credentials.keys.is_none() && credentials.oauth.is_none() {
            check_address(options.address)?;
        }
        let pair = options.tls.clone();
        let certificates = pair.map(|(certificates, key)| Certificates::new(certificates, key));
        let hook = options.hook_secret.as_ref().map(|file| {
            let secret = HookSecret::read(file);
            secret.map_err(|error| format!("--hook-secret: `{}`: {error}", file.display()))
        });
        Ok(Self {
            credentials,
            certificates: certificates.transpose()?.map(Arc::new),
            hook: hook.transpose()?.map(Arc::new),
        })
    }
}

/// Serves the `opened` libraries and rows over HTTP until the process is asked to end. With `--stdio`, also
/// serves standard input and output, and ends when that client disconnects. The page shows the reviews and cards of `packs`.
pub(super) async fn serve(
    options: &HttpOptions,
    access: Access,
    opened: Vec<Opened>,
    parent: Parent,
    packs: Packs,
) -> Result<(), Box<dyn Error>> {
    let Access { credentials, certificates, hook } = access;
    let limits = limits(options, &credentials);
    let scheme = if certificates.is_some() { "https" } else { "http" };
    let ending = platform::asked_to_end()?;
    let listener = http::listen(options.address).await?;
    let address = listener.local_addr()?;
    let public = options.public_url.iter().map(|url| url.host().to_owned());
    let hosts: Vec<_> = options.hosts.iter().cloned().chain(public).collect();
    let guard = Guard::new(address, &hosts, &options.origins)?;
    let tokens = credentials.oauth.as_ref().map(|oauth| oauth.tokens.clone());
    let refreshing = tokens.map(|tokens| tokio::spawn(async move { tokens.keep_fresh().await }));
    let beside = opened.first().filter(|_| options.stdio);
    let beside = beside.map(|opened| opened.adapter.for_another());
    let base = base(options, scheme, address);
    for opened in &opened {
        let place = options.page.then(|| {
            let library = opened.name.as_ref().map(|name| format!("/@{name}"));
            ReviewPlace::Url(format!("{base}{}{}/review/", browser::BASE, library.unwrap_or_default()))
        });
        opened.adapter.gateway().set_review_place(place.unwrap_or(REVIEW_COMMAND));
    }
    let page = options
        .page
        .then(|| page(&opened, packs, &credentials, scheme == "https" || base.starts_with("https")));
    let page = page.transpose()?;
    let mounts = opened.into_iter().map(|opened| mount(opened, &base, hook.as_ref()));
    let mounts: BTreeMap<_, _> = mounts.collect();
    for path in mounts.keys() {
        say(format_args!("listening on {scheme}://{address}{path}"));
    }
    if let Some(page) = &page {
        say(match credentials.keys {
            Some(_) => format!("people sign in at {base}{}", browser::BASE),
            None => format!(
                "people sign in by a link that holds once: {base}{}",
                page.link(Door::new(None, super::local_caller(None), None).local(), browser::BASE)
            ),
        });
    }
    let site = Site::new(guard, credentials, mounts, limits).with_page(page.as_ref().map(page::mounted));
    let (running, gone) = oneshot::channel::<Infallible>();
    let ending = ending.shared();
    let until = async {
        tokio::select! {
            _ = gone => {}
            () = ending.clone() => {}
        }
    };
    let on_stdio = async {
        let served = match beside {
            None => {
                ending.clone().await;
                Ok(())
            }
            Some(adapter) => {
                let until = async {
                    tokio::select! {
                        () = parent.gone() => {}
                        () = ending.clone() => {}
                    }
                };
                mcp::serve_stdio(adapter, until).await
            }
        };
        drop(running);
        served
    };
    let over_http = http::serve(listener, site.into(), certificates, until);
    let (served, ()) = tokio::join!(on_stdio, over_http);
    if let Some(refreshing) = refreshing {
        refreshing.abort();
    }
    Ok(served?)
}

/// Returns the beginning of the URLs by which clients reach the server at `address`. Behind a proxy only the operator knows it.
fn base(options: &HttpOptions, scheme: &str, address: SocketAddr) -> String {
    match (&options.public_url, options.hosts.first()) {
        (Some(url), _) => url.to_string(),
        // No client connects to the address of all interfaces.
        (None, Some(host)) if address.ip().is_unspecified() => {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = if has_port { String::new() } else { format!(":{}", address.port()) };
            format!("{scheme}://{host}{port}")
        }
        (None, _) => format!("{scheme}://{address}"),
    }
}

/// Returns the accepted credentials.
fn credentials(options: &HttpOptions) -> Result<Credentials, Box<dyn Error>> {
    let keys = options.keys.as_ref().map(|file| KeyRing::new(KeyFile::new(file)));
    let oauth = match (&options.oauth, &options.public_url) {
        (Some(oauth), Some(url)) => {
            let source = Source::new(&oauth.jwks, PollingLimits::default())?;
            let tokens = Tokens::new(oauth.issuer.clone(), oauth.audiences.clone(), source);
            Some(OAuth { tokens: Arc::new(tokens), url: url.clone(), first: oauth.scopes.clone() })
        }
        _ => None,
    };
    Ok(Credentials { keys: keys.transpose()?.map(Arc::new), oauth })
}

/// Default limit of reading calls for callers with a key or a token. Agents stay far below it; it prevents a
/// runaway agent from starving the others.
const READS: RatePerMinute = RatePerMinute::a_minute(6000);
/// Default limit of changing calls for callers with a key or a token.
const WRITES: RatePerMinute = RatePerMinute::a_minute(600);

/// Returns the rate limits. Without authentication only loopback is served, so they default to off.
fn limits(options: &HttpOptions, credentials: &Credentials) -> http::Limits {
    let is_open = credentials.keys.is_none() && credentials.oauth.is_none();
    let default = |rate| if is_open { RatePerMinute::OFF } else { rate };
    http::Limits {
        reads: options.read_rate.unwrap_or(default(READS)),
        writes: options.write_rate.unwrap_or(default(WRITES)),
        ..http::Limits::default()
    }
}

/// Refuses an address that is not loopback if no authentication is configured.
fn check_address(address: SocketAddr) -> Result<(), String> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(format!(
        "`--http {address}` can be reached from other machines, and would let them change what is served. Require \
         keys (`--keys FILE`) or access tokens (`--oauth-issuer URL`), or listen on 127.0.0.1"
    ))
}

/// Returns the page over the `opened` libraries and rows.
fn page(
    opened: &[Opened],
    packs: Packs,
    credentials: &Credentials,
    is_secure: bool,
) -> Result<Arc<Page>, Box<dyn Error>> {
    if credentials.keys.is_none() && credentials.oauth.is_some() {
        return Err(
            "`--page` lets people in by keys: add `--keys FILE`, which `tabellion key create` writes".into(),
        );
    }
    let library = opened.iter().find_map(|opened| opened.library.clone());
    let rows = || opened.iter().find_map(|opened| opened.folders.last().cloned());
    let kept = library.map(Kept::Library).or_else(|| rows().map(Kept::Rows));
    let door = Door::new(credentials.keys.clone(), super::local_caller(None), kept);
    let mut sources: Vec<Arc<dyn browser::data::Source>> = vec![];
    for opened in opened {
        let gateway = opened.adapter.gateway();
        let (over_rows, over_documents): (Vec<_>, Vec<_>) =
            gateway.catalog().contracts().partition(|spec| spec.rows.is_some());
        let runtime = Handle::current();
        if let (Some(library), Some(folder)) = (&opened.library, opened.folders.first()) {
            let mut tools = over_documents.iter().flat_map(|spec: &&ContractSpec| spec.tools);
            let reads_only = tools.any(|tool| gateway.catalog().withholds(tool.name));
            let served = ServedLibrary {
                name: opened.name.clone(),
                folder: folder.clone(),
                library: Arc::clone(library),
                contracts: over_documents,
                calls: gateway.call_store().cloned(),
            };
            let source = LibrarySource::new(served, packs, door.clone(), runtime.clone());
            sources.push(Arc::new(source.reading_only(reads_only)));
        }
        let shown = over_rows
            .iter()
            .find_map(|spec| Some((gateway.catalog().contract(spec.id)?, packs.cards(spec.id)?)));
        if let (Some((contract, cards)), Some(data)) = (shown, &opened.data) {
            sources.push(Arc::new(RowsSource::new(
                data.clone(),
                Arc::clone(contract),
                cards,
                packs,
                door.clone(),
                runtime,
            )?));
        }
    }
    Ok(Page::new(sources, door, is_secure))
}

/// Returns the endpoints at one path. `base` is the beginning of the server's URLs for clients.
fn mount(opened: Opened, base: &str, secret: Option<&Arc<HookSecret>>) -> (String, Mount) {
    let path = libraries::path(opened.name.as_deref());
    let endpoint = streamable::Endpoint::new(opened.adapter, streamable::Limits::default())
        .with_url(&format!("{base}{path}"));
    let shared = opened.library.as_ref().filter(|library| library.remote_settings().is_some());
    let hook = secret.zip(shared).map(|(secret, library)| {
        let (secret, library) = (Arc::clone(secret), Arc::clone(library));
        Hook { secret, fetch: Box::new(move || library.fetch_soon()) }
    });
    let library = opened.library.clone();
    let mount = Mount {
        name: opened.name.unwrap_or_default(),
        folders: opened.folders,
        is_reachable: Arc::new(move || {
            opened.rows.iter().all(|rows| rows.is_reachable()) && library.iter().all(|it| it.is_there())
        }),
        counts: match opened.library {
            Some(library) => counts(library),
            None => Box::new(LibraryCounts::default),
        },
        rest: Mount::rest(&endpoint),
        endpoint: Arc::new(endpoint),
        downloads: opened.downloads,
        hook,
    };
    (path, mount)
}

/// Returns a function that reads the counts of a library.
fn counts(library: Arc<Library>) -> Box<dyn Fn() -> LibraryCounts + Send + Sync> {
    let counts = library.counts();
    Box::new(move || LibraryCounts {
        commits: counts.commits(),
        conflicts: counts.conflicts(),
        recoveries: counts.recoveries(),
        remote: library.remote_state().map(|state| RemoteCounts {
            pushes: counts.pushes(),
            fetches: counts.fetches(),
            ahead: state.ahead as u64,
        }),
    })
}
