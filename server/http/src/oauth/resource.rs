//! Names of servers: of the issuer, and of this server as the world knows it.

use std::{fmt, net::IpAddr, str::FromStr};

use hyper::Uri;

/// Where a resource's metadata is (RFC 9728, section 3): before the resource's own path.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Why a text is no URL that can be used here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// Not a URL, or one with parts that have no place here.
    #[error(
        "`{0}` is no URL of a server; write it as in `https://notes.example`, with no name, query or fragment"
    )]
    Form(String),
    /// In the clear over a network.
    #[error("`{0}` would be spoken to in the clear; only `https` is safe, or `http` on this machine")]
    Clear(String),
    /// With a path, where none may be.
    #[error("`{0}` has a path; leave it out: libraries are at `/mcp`")]
    Path(String),
}

/// A URL of another server, at which secrets are safe: `https`, or on the same machine.
pub(super) fn safe(text: &str) -> Result<Uri, BadUrl> {
    let bad = || BadUrl::Form(text.into());
    let uri: Uri = text.parse().map_err(|_| bad())?;
    let authority = uri.authority().ok_or_else(bad)?;
    if authority.as_str().contains('@') || text.contains('#') || authority.host().is_empty() {
        return Err(bad());
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_here(authority.host()) => Ok(uri),
        Some("http") => Err(BadUrl::Clear(text.into())),
        _ => Err(bad()),
    }
}

/// Whether that is this machine's name for itself.
fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The issuer of tokens, exactly as tokens name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer(String);

impl Issuer {
    /// Its URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Issuer {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        match safe(text)?.query() {
            None => Ok(Self(text.into())),
            Some(_) => Err(BadUrl::Form(text.into())),
        }
    }
}

/// How the world calls this server: scheme, host and port, in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: String,
    authority: String,
}

impl PublicUrl {
    /// The host, with the port if that is not the usual one.
    pub fn host(&self) -> &str {
        &self.authority
    }

    /// The URI of what is at `path`, which tokens for it name.
    pub fn at(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// Where it is said which tokens are good for what is at `path`.
    pub fn metadata(&self, path: &str) -> String {
        format!("{self}{WELL_KNOWN}{path}")
    }
}

impl FromStr for PublicUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let uri = safe(text)?;
        if uri.path() != "/" {
            return Err(BadUrl::Path(text.into()));
        }
        if uri.query().is_some() {
            return Err(BadUrl::Form(text.into()));
        }
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let usual = if scheme == "https" { ":443" } else { ":80" };
        let authority = authority.strip_suffix(usual).unwrap_or(authority);
        Ok(Self {
            scheme: scheme.into(),
            authority: authority.to_ascii_lowercase(),
        })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

/// Whether both name the same: exactly, but for capital letters in a URI's scheme and host.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let parts = |text: &str| {
        let begins = text.find("://").map_or(0, |at| at + 3);
        let ends = text[begins..].find('/').map_or(text.len(), |at| begins + at);
        let (name, path) = if begins == 0 {
            ("", text)
        } else {
            text.split_at(ends)
        };
        (name.to_ascii_lowercase(), path.to_owned())
    };
    parts(one) == parts(other)
}
