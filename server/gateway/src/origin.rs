//! Origins of requests: the transport's data about them, apart from their content.

use std::sync::Arc;

use serde_json::{Map, Value};
use tabellion_runtime::{CallOrigin, ContractSpec, Transport, auth::REASON, token_bucket::seconds};
use tracing::Span;

use crate::{
    access::{Access, Budget, Grant},
    error::CallError,
};

/// Suffix of the made-up e-mail addresses of keys without one.
const MADE_UP: &str = ".localhost";
/// Maximum length of a client's name and of its version, in bytes. The longest of known clients have 40.
const MAX_CLIENT_BYTES: usize = 256;

/// The origin of a request over HTTP.
#[derive(Debug, Clone)]
pub struct RequestOrigin {
    /// Name of the request in the log.
    pub request: Arc<str>,
    /// Caller and permissions; `None` without authentication, which permits everything.
    pub grant: Option<Arc<dyn Grant>>,
    /// The endpoint's URL for clients.
    pub url: Option<Arc<str>>,
    /// The headers of its HTTP request that a contract reads.
    pub headers: Arc<[(String, String)]>,
    /// Budget of the caller; `None` if requests are not limited.
    pub budget: Option<Arc<dyn Budget>>,
}

impl RequestOrigin {
    /// Returns the span of the request's lines in the log. It is at the highest level, so that it exists with any filter of the log.
    pub fn span(&self) -> Span {
        let caller = self.grant.as_ref().map(|grant| grant.identity().to_string());
        tracing::error_span!("request", id = %self.request, caller)
    }

    /// Counts a request.
    ///
    /// # Errors
    /// If the caller has exhausted its budget.
    pub fn count(&self, access: Access) -> Result<(), CallError> {
        match self.budget.as_ref().map(|budget| budget.take(access)) {
            Some(Err(wait)) => Err(CallError::TooMany { limit: access, seconds: seconds(wait) }),
            _ => Ok(()),
        }
    }
}

/// A client's name and version, cut to a length that can be stored with sessions and written into commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Client {
    /// Returns the client with this name and version, as it reported them.
    pub fn new(name: &str, version: &str) -> Self {
        let cut = |text: &str| text[..text.floor_char_boundary(MAX_CLIENT_BYTES)].to_owned();
        Self { name: cut(name), version: cut(version) }
    }
}

/// The caller of a request, and its origin.
#[derive(Debug, Clone)]
pub struct Requester<'a> {
    /// Its origin; `None` on standard input and output.
    pub origin: Option<&'a RequestOrigin>,
    /// The client program, as it reported itself.
    pub client: Option<Client>,
    /// The request's metadata: conditions, keys and provenance, by their names in MCP's `_meta`.
    pub meta: &'a Map<String, Value>,
}

impl Requester<'_> {
    /// Returns the caller's permissions; `None` without authentication.
    pub(crate) fn grant(&self) -> Option<&Arc<dyn Grant>> {
        self.origin?.grant.as_ref()
    }

    /// Returns the name under which the caller is counted; `None` if callers are not distinguished.
    pub(crate) fn counted_as(&self) -> Option<&Arc<str>> {
        let budget = self.origin?.budget.as_ref();
        budget.map(|budget| budget.caller())
    }

    /// Returns the origin of the request, without the part that all requests of its client share.
    pub(crate) fn call_origin(&self) -> CallOrigin {
        let meta = Arc::new(self.meta.clone());
        let Some(origin) = self.origin else {
            return CallOrigin { meta, ..CallOrigin::default() };
        };
        let holder = origin.grant.as_ref().map(|grant| holder(&**grant));
        CallOrigin {
            transport: Transport::Http,
            url: origin.url.clone(),
            meta,
            headers: origin.headers.clone(),
            holder: holder.map(Arc::from),
            ..CallOrigin::default()
        }
    }

    /// Checks that the caller has the scope that a request needs. Contracts with roles check their callers themselves.
    ///
    /// # Errors
    /// If the scope is missing.
    pub fn allow(&self, contract: &ContractSpec, access: Access) -> Result<(), CallError> {
        if contract.auth.is_some() {
            return Ok(());
        }
        let Some(grant) = self.grant().filter(|grant| !grant.allows(contract.id, access)) else {
            return Ok(());
        };
        Err(forbidden(&grant.author().name, contract, access.as_str()))
    }
}

/// Returns the refusal of a caller whose key or token lacks the scope `needed`.
pub(crate) fn forbidden(name: &str, contract: &ContractSpec, needed: &str) -> CallError {
    let message = format!(
        "{name} may not do this: it needs a key or a token with the scope `{needed}:{}`",
        contract.id
    );
    let data = [("scope", needed), (REASON, "scope")].map(|(key, value)| (key.to_owned(), value.into()));
    CallError::Forbidden { message, data: Map::from_iter(data) }
}

/// Returns the shown name of the holder of a key or a token: the address, or the name if there is no address.
pub(crate) fn holder(grant: &dyn Grant) -> String {
    let author = grant.author();
    if author.email.ends_with(MADE_UP) { author.name } else { author.email }
}
