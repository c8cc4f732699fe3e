//! URLs: the issuer's, and the public URL of this server.

use std::{fmt, net::IpAddr, str::FromStr};

use hyper::Uri;

/// Prefix of the path of a resource's metadata (RFC 9728, section 3).
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The reason that a URL can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Not a URL, or one with a user name, query or fragment.
    #[error(
        "`{0}` is not the URL of a server; write it like `https://notes.example`, without user name, query and fragment"
    )]
    Form(String),
    /// Unencrypted over a network.
    #[error("`{0}` is not encrypted; use `https`, or `http` on this machine")]
    Clear(String),
    /// It has a path.
    #[error("`{0}` has a path; leave it out: libraries are at `/mcp`")]
    Path(String),
}

/// Parses the URL of a server that may receive secrets: `https`, or `http` on this machine.
pub(super) fn safe(text: &str) -> Result<Uri, UrlError> {
    let bad = || UrlError::Form(text.into());
    let uri: Uri = text.parse().map_err(|_| bad())?;
    let authority = uri.authority().ok_or_else(bad)?;
    if authority.as_str().contains('@') || text.contains('#') || authority.host().is_empty() {
        return Err(bad());
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_here(authority.host()) => Ok(uri),
        Some("http") => Err(UrlError::Clear(text.into())),
        _ => Err(bad()),
    }
}

/// Returns true if the host is this machine.
fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The issuer of tokens, exactly as named in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer(String);

impl Issuer {
    /// Returns the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Issuer {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        match safe(text)?.query() {
            None => Ok(Self(text.into())),
            Some(_) => Err(UrlError::Form(text.into())),
        }
    }
}

/// The public URL of this server: scheme, host and port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: String,
    authority: String,
}

impl PublicUrl {
    /// Returns the host, with the port unless it is the default.
    pub fn host(&self) -> &str {
        &self.authority
    }

    /// Returns the URI of the resource at `path`, the audience of its tokens.
    pub fn resource(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// Returns the URL of the metadata of the resource at `path`.
    pub fn metadata(&self, path: &str) -> String {
        format!("{self}{WELL_KNOWN}{path}")
    }
}

impl FromStr for PublicUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let uri = safe(text)?;
        if uri.path() != "/" {
            return Err(UrlError::Path(text.into()));
        }
        if uri.query().is_some() {
            return Err(UrlError::Form(text.into()));
        }
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let usual = if scheme == "https" { ":443" } else { ":80" };
        let authority = authority.strip_suffix(usual).unwrap_or(authority);
        Ok(Self { scheme: scheme.into(), authority: authority.to_ascii_lowercase() })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

/// Returns true if two URIs are equal, ignoring case in scheme and host.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let parts = |text: &str| {
        let begins = text.find("://").map_or(0, |at| at + 3);
        let ends = text[begins..].find('/').map_or(text.len(), |at| begins + at);
        let (name, path) = if begins == 0 { ("", text) } else { text.split_at(ends) };
        (name.to_ascii_lowercase(), path.to_owned())
    };
    parts(one) == parts(other)
}
