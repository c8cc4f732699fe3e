//! `tabellion serve`: its arguments.

use std::{
    env,
    ffi::OsString,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use clap::{
    Args,
    builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser as _},
};
use tabellion_gateway::{ApprovalMode, Offer};
use tabellion_http::{
    keys::Scope,
    oauth::{Issuer, PublicUrl},
    rates::RatePerMinute,
};
use tabellion_library::{CreateFolders, ExternalPolicy};
use tabellion_serve::{
    HttpOptions, OAuthOptions, Options,
    libraries::Named,
    provenance::{self, Discovery},
};

use super::arguments::words;
use crate::PACKS;

/// Environment variable with the folder of the library, or `NAME=DIR`, if the command line names none.
const LIBRARY: &str = "BRAINDRIVE_LIBRARY_PATH";

/// Returns the value of [`LIBRARY`].
fn in_environment() -> Option<OsString> {
    env::var_os(LIBRARY)
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder of the library, if not given with --library; without either, the environment variable BRAINDRIVE_LIBRARY_PATH
    /// names it. Contracts over rows alone need none
    #[arg(
        value_name = "DIR",
        conflicts_with = "libraries",
        value_parser = OsStringValueParser::new().try_map(Named::parse)
    )]
    folder: Option<Named>,

    /// Folder of the library; it and its git repository are created if missing. With --http there may be several: a library
    /// with a name (lower-case letters, digits, `-` and `_`) is served at `/mcp/NAME`. A folder with `=` in its name is written `./a=b`
    #[arg(
        long = "library",
        value_name = "[NAME=]DIR",
        value_parser = OsStringValueParser::new().try_map(Named::parse)
    )]
    libraries: Vec<Named>,

    /// Data folder, for contracts over rows; it is created if missing. If omitted: the environment variable TABELLION_DATA, else
    /// the system's place for the data of programs
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Folder of the host in which callers can name paths, for contracts over rows that read files; may be repeated. If omitted: the
    /// work tree around the working directory, or that directory if there is none; never the root, the home folder or a folder of the system
    #[arg(long = "workspace", value_name = "DIR")]
    workspaces: Vec<PathBuf>,

    /// Create all missing folders of a path, not only the last one
    #[arg(long)]
    create: bool,

    /// Contract to serve; may be repeated. Contracts over documents need a library
    #[arg(
        long = "contract",
        value_name = "NAME",
        default_value = PACKS.default_name(),
        value_parser = PossibleValuesParser::new(PACKS.names())
    )]
    contracts: Vec<String>,

    /// Document for contracts that work on one, relative to the library
    #[arg(long, value_name = "PATH")]
    document: Option<String>,

    /// Offer only tools that change nothing, and refuse all others
    #[arg(long)]
    read_only: bool,

    /// Treatment of calls that need a person's approval
    #[arg(long, value_name = "MODE", default_value = "prompt", value_parser = words(&[
        ("prompt", "The client asks its person; if the client can't, refuse the call", ApprovalMode::Prompt),
        ("auto", "The client asks its person; if the client can't, grant the call", ApprovalMode::Auto),
        ("deny", "Refuse the call without asking", ApprovalMode::Deny),
    ]))]
    approval: ApprovalMode,

    /// Tools that need a person's approval although their contract does not ask for it: the client shows the person the diff
    #[arg(long, value_name = "TOOL", value_delimiter = ',', conflicts_with = "read_only")]
    approve: Vec<String>,

    /// Treatment, before a change, of a file that was changed outside of the server and not committed
    #[arg(long, value_name = "POLICY", default_value = "adopt", value_parser = words(&[
        ("adopt", "Commit it first, in a commit of its own", ExternalPolicy::Adopt),
        ("refuse", "Refuse the change as a conflict", ExternalPolicy::Refuse),
    ]))]
    external: ExternalPolicy,

    /// Mode of operation, for contracts that have modes: which of their tools may be called. If omitted: the contract's environment
    /// variable, else per request the contract's header, else the default of the transport
    #[arg(long, value_name = "NAME")]
    mode: Option<String>,

    /// Role of the client on standard input and output, for contracts with roles. If omitted, it is an agent: what speaks MCP over
    /// a pipe is a program
    #[arg(long = "as", value_name = "ROLE")]
    role: Option<String>,

    /// Whether provenance that a call does not carry is discovered, for contracts that have provenance. If omitted: `discover` on
    /// standard input and output, `strict` over HTTP
    #[arg(long, value_name = "HOW", value_parser = words(&[
        ("strict", "Fields that a call does not carry, and that are not configured, are missing", Discovery::Strict),
        (
            "discover",
            "The server finds the others by itself: repository, person, machine, client",
            Discovery::Discover,
        ),
    ]))]
    provenance: Option<Discovery>,

    /// Serve over HTTP at this address, at `/mcp`, until interrupted or terminated. A port alone, and `localhost`, mean
    /// 127.0.0.1; port 0 chooses a free port
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = address)]
    http: Option<SocketAddr>,

    /// With --http: also serve a page for people's browsers, at `/page`, where they see, decide and undo. They sign in with their keys
    /// (--keys); without keys, by the link that is printed
    #[arg(long, requires = "http")]
    page: bool,

    /// With --http: also serve standard input and output, and stop when that client disconnects
    #[arg(long, requires = "http")]
    stdio: bool,

    /// With --http: accept only the API keys in this file, which `tabellion key create` writes. Without it, only loopback
    /// addresses are served
    #[arg(long, value_name = "FILE", requires = "http")]
    keys: Option<PathBuf>,

    /// With --http: take signed webhooks of a forge at `/hooks/git` (`/hooks/NAME/git`), which have a shared library fetched at once. The
    /// file holds the webhook's secret
    #[arg(long, value_name = "FILE", requires = "http")]
    hook_secret: Option<PathBuf>,

    /// With --http: accept access tokens (JWTs) of the OAuth 2 authorization server with this issuer identifier (`iss`)
    #[arg(long, value_name = "URL", requires = "http", requires = "oauth_jwks", requires = "public_url")]
    oauth_issuer: Option<Issuer>,

    /// Signing keys of the authorization server (a JWK Set): a file, which is read again when it changes, or a URL
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer")]
    oauth_jwks: Option<PathBuf>,

    /// Further accepted audience (`aud`) of access tokens, for authorization servers that can't issue tokens for the
    /// library's URL; may be repeated
    #[arg(long = "oauth-audience", value_name = "TEXT", requires = "oauth_issuer")]
    oauth_audiences: Vec<String>,

    /// Scope that clients are told to request first; may be repeated. For authorization servers that never grant a client
    /// more than the scopes requested at its registration
    #[arg(long = "oauth-scope", value_name = "SCOPE", default_value = "read", requires = "oauth_issuer")]
    oauth_scopes: Vec<Scope>,

    /// Serve HTTPS with the certificate chain in this file (PEM, the server's own certificate first), which is read again
    /// when it changes
    #[arg(long, value_name = "FILE", requires = "http", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Reading calls per minute for each HTTP caller; `off` for no limit. If omitted: 6000 with a key or a token, otherwise
    /// no limit
    #[arg(long, value_name = "N|off", requires = "http")]
    read_rate: Option<RatePerMinute>,

    /// Changing calls per minute for each HTTP caller; `off` for no limit. If omitted: 600 with a key or a token, otherwise
    /// no limit
    #[arg(long, value_name = "N|off", requires = "http")]
    write_rate: Option<RatePerMinute>,

    /// Public URL of the server, as in `https://notes.example`: libraries are at this URL followed by their path
    #[arg(long, value_name = "URL", requires = "http")]
    public_url: Option<PublicUrl>,

    /// Further accepted `Host`, with or without a port, beside the server's own address; may be repeated
    #[arg(long = "allow-host", value_name = "HOST", requires = "http")]
    hosts: Vec<String>,

    /// Origin of web pages that may call the server from a browser, as in `https://app.example`; may be repeated
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    origins: Vec<String>,
}

/// Parses the address of `--http`. Names are not resolved, so `localhost` can't be an address that other machines reach.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = |port: &str| port.parse().ok().map(|port| (Ipv4Addr::LOCALHOST, port).into());
    let port = match text.split_once(':') {
        Some((name, port)) if name.eq_ignore_ascii_case("localhost") => port,
        _ => text,
    };
    text.parse().ok().or_else(|| local(port)).ok_or_else(|| {
        "write a port, as in `8000`, or an IP address with a port, as in `127.0.0.1:8000` or `[::1]:8000`"
            .into()
    })
}

impl TryFrom<Arguments> for Options {
    /// The problem with the environment.
    type Error = String;

    fn try_from(arguments: Arguments) -> Result<Self, String> {
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
            page: arguments.page,
            keys: arguments.keys,
            hook_secret: arguments.hook_secret,
            oauth,
            tls: arguments.tls_cert.zip(arguments.tls_key),
            read_rate: arguments.read_rate,
            write_rate: arguments.write_rate,
            public_url: arguments.public_url,
            hosts: arguments.hosts,
            origins: arguments.origins,
        });
        let mut libraries = arguments.libraries;
        libraries.extend(arguments.folder);
        let over_documents = |name: &String| PACKS.spec(name).is_some_and(|spec| spec.rows.is_none());
        if libraries.is_empty() && arguments.contracts.iter().any(over_documents) {
            let named = in_environment().map(Named::parse).transpose();
            libraries.extend(named.map_err(|wrong| format!("{LIBRARY}: {wrong}"))?);
        }
        Ok(Self {
            libraries,
            data: arguments.data,
            workspaces: arguments.workspaces,
            create: if arguments.create { CreateFolders::All } else { CreateFolders::Last },
            contracts: arguments.contracts,
            document: arguments.document,
            offer: if arguments.read_only { Offer::ReadOnly } else { Offer::Everything },
            approval: arguments.approval,
            approve: arguments.approve,
            role: arguments.role,
            external: arguments.external,
            environment: provenance::Options { mode: arguments.mode, discovery: arguments.provenance },
            http,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_name_service() {
        for (text, expected) in [
            ("8000", Some("127.0.0.1:8000")),
            ("0", Some("127.0.0.1:0")),
            ("localhost:8000", Some("127.0.0.1:8000")),
            ("LocalHost:8000", Some("127.0.0.1:8000")),
            ("127.0.0.1:8000", Some("127.0.0.1:8000")),
            ("[::1]:8000", Some("[::1]:8000")),
            ("0.0.0.0:8000", Some("0.0.0.0:8000")),
            ("localhost", None),
            ("localhost.:8000", None),
            ("localhost.example:8000", None),
            ("notes.example:8000", None),
            (":8000", None),
            ("65536", None),
            ("localhost:", None),
            ("", None),
        ] {
            let expected = expected.map(|address| address.parse().expect("an address"));
            assert_eq!(address(text).ok(), expected, "{text}");
        }
    }
}
