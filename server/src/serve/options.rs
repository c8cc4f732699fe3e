//! The options of `tabellion serve`, independent of the command line.

use std::{net::SocketAddr, path::PathBuf};

use tabellion_gateway::{ApprovalMode, Offer};
use tabellion_http::{
    keys::Scope,
    oauth::{Issuer, PublicUrl},
    rates::RatePerMinute,
};
use tabellion_library::{CreateFolders, ExternalPolicy};

use super::libraries::Named;
use crate::provenance;

/// Libraries, contracts and clients to serve.
#[derive(Debug)]
pub(crate) struct Options {
    /// The libraries, for contracts over documents. Each has its own path over HTTP.
    pub(crate) libraries: Vec<Named>,
    /// The data folder, for contracts over rows, if it is named.
    pub(crate) data: Option<PathBuf>,
    /// The workspaces, for contracts over rows, if they are named.
    pub(crate) workspaces: Vec<PathBuf>,
    /// The missing folders to create.
    pub(crate) create: CreateFolders,
    /// Names of the contracts.
    pub(crate) contracts: Vec<String>,
    /// Document for contracts that work on one, relative to the library.
    pub(crate) document: Option<String>,
    /// The tools to offer.
    pub(crate) offer: Offer,
    /// Treatment of calls that need a person's approval.
    pub(crate) approval: ApprovalMode,
    /// Tools that need approval although their contract does not require it.
    pub(crate) approve: Vec<String>,
    /// Treatment of uncommitted bytes of a file before a change.
    pub(crate) external: ExternalPolicy,
    /// Role of the client on standard input and output.
    pub(crate) role: Option<String>,
    /// The mode of operation, and the discovery of provenance.
    pub(crate) environment: provenance::Options,
    /// Options for HTTP; `None` serves standard input and output only.
    pub(crate) http: Option<HttpOptions>,
}

/// Options for HTTP.
#[derive(Debug)]
pub(crate) struct HttpOptions {
    /// The address to listen on.
    pub(crate) address: SocketAddr,
    /// Set to serve standard input and output as well.
    pub(crate) stdio: bool,
    /// Set to serve a page for people's browsers.
    pub(crate) page: bool,
    /// File of the API keys that are accepted.
    pub(crate) keys: Option<PathBuf>,
    /// The accepted access tokens.
    pub(crate) oauth: Option<OAuthOptions>,
    /// Files of the certificates and of the private key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// Reading calls per minute of each caller.
    pub(crate) read_rate: Option<RatePerMinute>,
    /// Changing calls per minute of each caller.
    pub(crate) write_rate: Option<RatePerMinute>,
    /// The URL under which clients reach the server.
    pub(crate) public_url: Option<PublicUrl>,
    /// Further values of `Host` that are accepted.
    pub(crate) hosts: Vec<String>,
    /// The file with the secret of webhooks.
    pub(crate) hook_secret: Option<PathBuf>,
    /// Values of `Origin` that are accepted.
    pub(crate) origins: Vec<String>,
}

impl HttpOptions {
    /// Returns the options for an address alone: no credentials, no TLS.
    pub(crate) fn at(address: SocketAddr) -> Self {
        Self {
            address,
            stdio: false,
            page: false,
            keys: None,
            oauth: None,
            tls: None,
            read_rate: None,
            write_rate: None,
            public_url: None,
            hook_secret: None,
            hosts: vec![],
            origins: vec![],
        }
    }
}

/// The accepted access tokens.
#[derive(Debug)]
pub(crate) struct OAuthOptions {
    /// The authorization server.
    pub(crate) issuer: Issuer,
    /// File or URL of its JWK Set.
    pub(crate) jwks: String,
    /// Accepted values of `aud` in addition to the library's URL.
    pub(crate) audiences: Vec<String>,
    /// Scopes that clients are asked to request first.
    pub(crate) scopes: Vec<Scope>,
}
