//! Checks of `Host` and `Origin`, as a protection from foreign web pages.
//!
//! Any web page can make a browser send requests to a server on the same machine and, with a domain that resolves there
//! (DNS rebinding), also read the answers. `Host` carries the name by which the server was called, `Origin` the page that
//! called it. Both must be allowed.

use std::net::SocketAddr;

use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{HOST, HeaderValue, ORIGIN},
    http::uri::Authority,
};

use tabellion_rest::Refusal;

/// The error of an invalid `--allow-host` or `--allow-origin`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// Not a host.
    #[error("`--allow-host {0}` is not a host; give a name or an address, with or without `:PORT`")]
    Host(String),
    /// Not an origin.
    #[error("`--allow-origin {0}` is not an origin; write it as browsers do, such as `https://app.example`")]
    Origin(String),
}

/// The allowed hosts and origins.
#[derive(Debug)]
pub struct Guard {
    hosts: Vec<Host>,
    origins: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let (name, is_name) =
            (authority.host(), |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        let is_host = name.starts_with('[') || (!name.is_empty() && name.bytes().all(is_name));
        if authority.as_str().contains('@') || !is_host {
            return None;
        }
        let port = authority.as_str()[authority.host().len()..].strip_prefix(':');
        Some(Self {
            name: authority.host().to_ascii_lowercase(),
            port: port.map(str::parse).transpose().ok()?,
        })
    }

    fn from_address(address: SocketAddr) -> Option<Self> {
        Self::parse(&SocketAddr::new(address.ip(), 0).to_string()).map(|host| Self { port: None, ..host })
    }
}

impl Guard {
    /// Checks that `hosts` and `origins` are valid.
    ///
    /// # Errors
    /// If one is not.
    pub fn check(hosts: &[String], origins: &[String]) -> Result<(), GuardError> {
        Self::new(([0, 0, 0, 0], 0).into(), hosts, origins).map(|_| ())
    }

    /// Allows the address that a server listens on, `hosts` and `origins`; for a loopback address also `localhost` and the
    /// other loopback names.
    ///
    /// # Errors
    /// If a host or an origin is invalid.
    pub fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Result<Self, GuardError> {
        let local = ["localhost", "127.0.0.1", "[::1]"].map(Host::parse);
        let local = local.into_iter().filter(|_| address.ip().is_loopback()).map(Ok::<_, GuardError>);
        let own = Some(address).filter(|it| !it.ip().is_unspecified()).map(|it| Ok(Host::from_address(it)));
        let others = hosts.iter().map(|host| {
            let parsed = Host::parse(host);
            parsed.map(Some).ok_or_else(|| GuardError::Host(host.clone()))
        });
        let known: Result<Vec<_>, _> = local.chain(own).chain(others).collect();
        let origins = origins.iter().map(|origin| {
            let parsed = normal(origin);
            parsed.ok_or_else(|| GuardError::Origin(origin.clone()))
        });
        Ok(Self {
            hosts: known?.into_iter().flatten().collect(),
            origins: origins.collect::<Result<_, _>>()?,
        })
    }

    /// Checks the headers of a request. Returns the origin of the page that sent it, if any, for CORS.
    ///
    /// # Errors
    /// 400 without exactly one valid `Host`, 403 if the host or the origin is not allowed.
    pub fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refusal> {
        let host = self.host(uri, headers)?;
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(None);
        };
        let text = origin.to_str().ok().and_then(normal);
        let is_known = text.is_some_and(|text| self.origins.contains(&text) || is_from(&text, &host));
        if is_known && origins.next().is_none() {
            return Ok(Some(origin.clone()));
        }
        let why =
            "pages of this origin are not served; the operator can start the server with `--allow-origin`";
        Err(Refusal::new(StatusCode::FORBIDDEN, why).because("origin"))
    }

    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<Host, Refusal> {
        let mut hosts = headers.get_all(HOST).iter().map(HeaderValue::to_str);
        let host = match (hosts.next(), hosts.next()) {
            (Some(Ok(host)), None) => Host::parse(host),
            _ => None,
        };
        let target = uri.authority().map(|authority| Host::parse(authority.as_str()));
        let host = host.filter(|host| target.is_none_or(|target| target.as_ref() == Some(host)));
        let host = host.ok_or_else(|| {
            Refusal::new(StatusCode::BAD_REQUEST, "send exactly one `Host` header with a valid host")
        })?;
        let is_known = self
            .hosts
            .iter()
            .any(|known| known.name == host.name && known.port.is_none_or(|port| host.port == Some(port)));
        if is_known {
            return Ok(host);
        }
        let why = format!(
            "`{}` is not served here; the operator can start the server with `--allow-host {0}`",
            host.name.escape_debug()
        );
        Err(Refusal::new(StatusCode::FORBIDDEN, why).because("host"))
    }
}

/// Returns an origin as browsers write it: in lower case, without the default port of its scheme.
fn normal(origin: &str) -> Option<String> {
    if origin == "null" {
        return Some(origin.into());
    }
    let (scheme, rest) = origin.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let host = Host::parse(rest)?;
    Some(written(&scheme, &host))
}

/// Returns the origin of pages that come from `host`, as browsers write it.
fn written(scheme: &str, host: &Host) -> String {
    match host.port.filter(|port| Some(*port) != usual(scheme)) {
        Some(port) => format!("{scheme}://{}:{port}", host.name),
        None => format!("{scheme}://{}", host.name),
    }
}

fn usual(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Returns true if the origin is `host` itself.
fn is_from(origin: &str, host: &Host) -> bool {
    ["http", "https"].iter().any(|scheme| written(scheme, host) == origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: &str = "127.0.0.1:8000";
    const OUTER: &str = "192.0.2.7:80";
    const ALL: &str = "0.0.0.0:80";

    /// The status of a request with these headers, for a server that listens at `address`.
    fn status(address: &str, hosts: &[&str], origins: &[&str], lines: &[(&'static str, &str)]) -> u16 {
        let owned = |texts: &[&str]| texts.iter().copied().map(String::from).collect::<Vec<_>>();
        let guard = Guard::new(address.parse().unwrap(), &owned(hosts), &owned(origins)).unwrap();
        let mut headers = HeaderMap::new();
        let mut uri = Uri::from_static("/mcp");
        for (name, value) in lines {
            match *name {
                "uri" => uri = value.parse().unwrap(),
                name => drop(headers.append(name, HeaderValue::from_str(value).unwrap())),
            }
        }
        match guard.admit(&uri, &headers) {
            Ok(_) => 200,
            Err(refusal) => refusal.status.as_u16(),
        }
    }

    #[test]
    fn only_allowed_host_names_are_served() {
        for (address, hosts, called, expected) in [
            (LOCAL, &[][..], "127.0.0.1:8000", 200),
            (LOCAL, &[], "localhost", 200),
            (LOCAL, &[], "LocalHost:1", 200),
            (LOCAL, &[], "[::1]:8000", 200),
            (LOCAL, &[], "localhost.", 403),
            (LOCAL, &[], "attacker.example", 403),
            (LOCAL, &[], "127.0.0.1.attacker.example:8000", 403),
            (LOCAL, &[], "localhost@attacker.example", 400),
            (LOCAL, &[], "localhost:", 400),
            (LOCAL, &[], "localhost:99999", 400),
            (LOCAL, &[], "local host", 400),
            (LOCAL, &[], "", 400),
            (LOCAL, &["notes.example"], "NOTES.example:443", 200),
            (LOCAL, &["notes.example:443"], "notes.example:443", 200),
            (LOCAL, &["notes.example:443"], "notes.example", 403),
            (OUTER, &[], "192.0.2.7", 200),
            (OUTER, &[], "localhost", 403),
            (ALL, &[], "0.0.0.0", 403),
            (ALL, &["notes.example"], "notes.example", 200),
        ] {
            let found = status(address, hosts, &[], &[("host", called)]);
            assert_eq!(found, expected, "{called} at {address}, {hosts:?}");
        }
    }

    #[test]
    fn a_request_has_exactly_one_host() {
        assert_eq!(status(LOCAL, &[], &[], &[]), 400);
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(status(LOCAL, &[], &[], &twice), 400);
        for (uri, expected) in [("http://localhost/mcp", 200), ("http://attacker.example/mcp", 400)] {
            let lines = [("uri", uri), ("host", "localhost")];
            assert_eq!(status(LOCAL, &[], &[], &lines), expected, "{uri}");
        }
    }

    #[test]
    fn pages_are_known() {
        for (origins, host, origin, expected) in [
            (&[][..], "localhost:8000", "http://localhost:8000", 200),
            (&[], "localhost:8000", "https://localhost:8000", 200),
            (&[], "localhost:8000", "http://127.0.0.1:8000", 403),
            (&[], "localhost:8000", "http://localhost:3000", 403),
            (&[], "localhost", "http://localhost", 200),
            (&[], "localhost:80", "http://localhost", 200),
            (&[], "localhost", "http://attacker.example", 403),
            (&[], "localhost", "https://localhost.attacker.example", 403),
            (&[], "localhost", "null", 403),
            (&[], "localhost", "localhost", 403),
            (&[], "localhost", "http://localhost/", 403),
            (&["null"], "localhost", "null", 200),
            (&["https://app.example:443"], "localhost", "HTTPS://App.example", 200),
            (&["https://app.example"], "localhost", "http://app.example", 403),
            (&["https://app.example"], "localhost", "https://app.example:8443", 403),
        ] {
            let found = status(LOCAL, &[], origins, &[("host", host), ("origin", origin)]);
            assert_eq!(found, expected, "{origin} to {host}, {origins:?}");
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "null")];
        assert_eq!(status(LOCAL, &[], &[], &twice), 403);
    }

    #[test]
    fn an_invalid_entry_is_rejected() {
        let bad = |hosts: &[&str], origins: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().copied().map(String::from).collect::<Vec<_>>();
            Guard::new(LOCAL.parse().unwrap(), &owned(hosts), &owned(origins)).unwrap_err()
        };
        for host in ["", "http://notes.example", "a b", "notes.example:x", "*"] {
            let found = bad(&[host], &[]);
            assert_eq!(found, GuardError::Host(host.into()));
        }
        for origin in ["", "app.example", "https://", "https://app.example/path"] {
            assert_eq!(bad(&[], &[origin]), GuardError::Origin(origin.into()));
        }
    }
}
