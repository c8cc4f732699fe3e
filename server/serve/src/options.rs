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
pub struct Options {
    /// The libraries, for contracts over documents. Each has its own path over HTTP.
    pub libraries: Vec<Named>,
    /// The data folder, for contracts over rows, if it is named.
    pub data: Option<PathBuf>,
    /// The workspaces, for contracts over rows, if they are named.
    pub workspaces: Vec<PathBuf>,
    /// The missing folders to create.
    pub create: CreateFolders,
    /// Names of the contracts.
    pub contracts: Vec<String>,
    /// Document for contracts that work on one, relative to the library.
    pub document: Option<String>,
    /// The tools to offer.
    pub offer: Offer,
    /// Treatment of calls that need a person's approval.
    pub approval: ApprovalMode,
    /// Tools that need approval although their contract does not require it.
    pub approve: Vec<String>,
    /// Treatment of uncommitted bytes of a file before a change.
    pub external: ExternalPolicy,
    /// Role of the client on standard input and output.
    pub role: Option<String>,
    /// The mode of operation, and the discovery of provenance.
    pub environment: provenance::Options,
    /// Options for HTTP; `None` serves standard input and output only.
    pub http: Option<HttpOptions>,
}

/// Options for HTTP.
#[derive(Debug)]
pub struct HttpOptions {
    /// The address to listen on.
    pub address: SocketAddr,
    /// Set to serve standard input and output as well.
    pub stdio: bool,
    /// Set to serve a page for people's browsers.
    pub page: bool,
    /// File of the API keys that are accepted.
    pub keys: Option<PathBuf>,
    /// The accepted access tokens.
    pub oauth: Option<OAuthOptions>,
    /// Files of the certificates and of the private key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Reading calls per minute of each caller.
    pub read_rate: Option<RatePerMinute>,
    /// Changing calls per minute of each caller.
    pub write_rate: Option<RatePerMinute>,
    /// The URL under which clients reach the server.
    pub public_url: Option<PublicUrl>,
    /// Further values of `Host` that are accepted.
    pub hosts: Vec<String>,
    /// The file with the secret of webhooks.
    pub hook_secret: Option<PathBuf>,
    /// Values of `Origin` that are accepted.
    pub origins: Vec<String>,
}

impl HttpOptions {
    /// Returns the options for an address alone: no credentials, no TLS.
    pub fn new(address: SocketAddr) -> Self {
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
pub struct OAuthOptions {
    /// The authorization server.
    pub issuer: Issuer,
    /// File or URL of its JWK Set.
    pub jwks: PathBuf,
    /// Accepted values of `aud` in addition to the library's URL.
    pub audiences: Vec<String>,
    /// Scopes that clients are asked to request first.
    pub scopes: Vec<Scope>,
}
