//! `tabellion serve`: its arguments.

use std::{net::SocketAddr, path::PathBuf};

use clap::{
    Args, ValueEnum,
    builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser as _},
};
use tabellion_http::{
    keys::Scope,
    oauth::{Issuer, PublicUrl},
    rates::Rate,
};
use tabellion_library::ExternalPolicy;
use tabellion_mcp::{ApprovalMode, Offer};

use crate::{
    contracts,
    serve::{HttpOptions, OAuthOptions, Options, libraries::Named},
};

/// What to serve.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder of the library; it and its git repository are made where they are missing. With --http there may be several:
    /// those with a name are served at `/mcp/NAME`
    #[arg(
        long = "library",
        value_name = "[NAME=]DIR",
        env = "BRAINDRIVE_LIBRARY_PATH",
        required = true,
        value_parser = OsStringValueParser::new().try_map(Named::parse)
    )]
    libraries: Vec<Named>,

    /// Contract to serve; may be repeated
    #[arg(
        long = "contract",
        value_name = "NAME",
        default_value = contracts::default(),
        value_parser = PossibleValuesParser::new(contracts::names())
    )]
    contracts: Vec<String>,

    /// The one document of contracts that work on one, relative to the library
    #[arg(long, value_name = "PATH")]
    document: Option<String>,

    /// Offer only the tools that change nothing, and refuse all others
    #[arg(long)]
    read_only: bool,

    /// What to do with calls that need a person's approval
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Approval::Prompt)]
    approval: Approval,

    /// Tools that need a person's approval though their contract asks for none: the person is shown the difference
    #[arg(
        long,
        value_name = "TOOL",
        value_delimiter = ',',
        conflicts_with = "read_only"
    )]
    approve: Vec<String>,

    /// What to do with a file that was changed outside of the server and not committed, before changing it
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = External::Adopt)]
    external: External,

    /// Serve over HTTP at this address, at `/mcp`, until interrupted or terminated; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT")]
    http: Option<SocketAddr>,

    /// With --http: serve on standard input and output as well, and until their client is gone
    #[arg(long, requires = "http")]
    stdio: bool,

    /// Serve over HTTP only those who have one of the keys in this file, which `tabellion key create` makes. Without it,
    /// only loopback addresses are served
    #[arg(long, value_name = "FILE", requires = "http")]
    keys: Option<PathBuf>,

    /// Serve over HTTP those who have an access token (a JWT) of this OAuth 2 authorization server, which is its `iss`
    #[arg(
        long,
        value_name = "URL",
        requires = "http",
        requires = "oauth_jwks",
        requires = "public_url"
    )]
    oauth_issuer: Option<Issuer>,

    /// The keys that the authorization server signs with (a JWK Set): a file, which is read again when it changes, or a URL
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer")]
    oauth_jwks: Option<String>,

    /// What else than the library's URL a token may be for (`aud`), where the authorization server can't say that; may be
    /// repeated
    #[arg(long = "oauth-audience", value_name = "TEXT", requires = "oauth_issuer")]
    oauth_audiences: Vec<String>,

    /// What clients are asked to get a token for, to begin with; may be repeated, as for an authorization server that holds
    /// them for ever to the scope that they register for first
    #[arg(
        long = "oauth-scope",
        value_name = "SCOPE",
        default_value = "read",
        requires = "oauth_issuer"
    )]
    oauth_scopes: Vec<Scope>,

    /// Speak TLS over HTTP, with the certificates in this file (PEM, the server's own first), which is read again when it
    /// changes
    #[arg(long, value_name = "FILE", requires = "http", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// How often in a minute each caller over HTTP may look at something; `off` is as often as they like. 6000 for those
    /// with a key or a token, if not given
    #[arg(long, value_name = "N|off", requires = "http")]
    read_rate: Option<Rate>,

    /// How often in a minute each caller over HTTP may change something; `off` is as often as they like. 600 for those with a
    /// key or a token, if not given
    #[arg(long, value_name = "N|off", requires = "http")]
    write_rate: Option<Rate>,

    /// How the world calls the server, as in `https://notes.example`: libraries are at this and their path
    #[arg(long, value_name = "URL", requires = "http")]
    public_url: Option<PublicUrl>,

    /// A name, with or without a port, that the server is called by over HTTP, beside its own address; may be repeated
    #[arg(long = "allow-host", value_name = "HOST", requires = "http")]
    hosts: Vec<String>,

    /// Origin of pages that may use the server from a browser, as in `https://app.example`; may be repeated
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    origins: Vec<String>,
}

/// What to do with uncommitted bytes of a file that is about to be changed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum External {
    /// Record them in a commit of their own first
    Adopt,
    /// Refuse the change as a conflict
    Refuse,
}

/// What to do with calls that need a person's approval.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Approval {
    /// Let the client ask its person; where it can't, refuse the call
    Prompt,
    /// Let the client ask its person; where it can't, grant the call
    Auto,
    /// Refuse the call without asking anybody
    Deny,
}

impl From<Arguments> for Options {
    fn from(arguments: Arguments) -> Self {
        let oauth = arguments.oauth_issuer.zip(arguments.oauth_jwks);
        let oauth = oauth.map(|(issuer, jwks)| OAuthOptions {
            issuer,
            jwks,
            audiences: arguments.oauth_audiences,
            scopes: arguments.oauth_scopes,
        });
        let http = arguments.http.map(|address| HttpOptions {
            address,
            stdio: arguments.stdio,
            keys: arguments.keys,
            oauth,
            tls: arguments.tls_cert.zip(arguments.tls_key),
            read_rate: arguments.read_rate,
            write_rate: arguments.write_rate,
            public_url: arguments.public_url,
            hosts: arguments.hosts,
            origins: arguments.origins,
        });
        Self {
            libraries: arguments.libraries,
            contracts: arguments.contracts,
            document: arguments.document,
            offer: if arguments.read_only {
                Offer::ReadOnly
            } else {
                Offer::Everything
            },
            approval: match arguments.approval {
                Approval::Prompt => ApprovalMode::Prompt,
                Approval::Auto => ApprovalMode::Auto,
                Approval::Deny => ApprovalMode::Deny,
            },
            approve: arguments.approve,
            external: match arguments.external {
                External::Adopt => ExternalPolicy::Adopt,
                External::Refuse => ExternalPolicy::Refuse,
            },
            http,
        }
    }
}
