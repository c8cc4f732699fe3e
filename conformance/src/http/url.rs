//! URLs of servers: `http://host:port/path`.

use std::fmt;

/// A URL with the scheme `http`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Host name or address.
    pub host: String,
    /// Port; 80 by default.
    pub port: u16,
    /// Path with the query, if any.
    pub path: String,
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// If the text is not a URL, or has another scheme.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").ok_or_else(|| {
            if text.starts_with("https://") {
                format!(
                    "`{text}`: TLS is not supported; give the server's plain `http://` address, or a tunnel's"
                )
            } else {
                format!("`{text}` must begin with `http://`")
            }
        })?;
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        // An IPv6 address is in brackets and contains colons.
        let split = authority.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
        let (host, port) = match split {
            Some((host, port)) => {
                let port = port.parse().ok().filter(|port| *port > 0);
                let port = port.ok_or_else(|| format!("`{text}` has an invalid port"))?;
                (host, port)
            }
            None => (authority, 80),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_plain = |it: char| it.is_ascii_graphic() && it != '@';
        if host.is_empty() || !host.chars().all(is_plain) || !path.chars().all(|it| it.is_ascii_graphic()) {
            return Err(format!("`{text}` is not `http://host:port/path`"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
        })
    }

    /// Returns the URL of a path below this one's, such as `/tools`, without its query; this one if it is empty.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        if path.is_empty() {
            return self.clone();
        }
        let own = self.path.split('?').next().unwrap_or_default();
        Self { path: format!("{}{path}", own.trim_end_matches('/')), ..self.clone() }
    }

    /// Returns host and port, as in the `Host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        for (text, authority, path) in [
            ("http://127.0.0.1:8000/mcp", "127.0.0.1:8000", "/mcp"),
            ("http://localhost/mcp/?a=b#c", "localhost:80", "/mcp/?a=b"),
            ("http://localhost:1", "localhost:1", "/"),
            ("http://localhost:1?a", "localhost:1", "/?a"),
            ("http://[::1]:8000/", "[::1]:8000", "/"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.authority().as_str(), url.path.as_str()), (authority, path));
        }
    }

    #[test]
    fn paths_are_below() {
        for (text, path, expected) in [
            ("http://a/mcp", "/tools", "/mcp/tools"),
            ("http://a/mcp/?b=c", "/tools", "/mcp/tools"),
            ("http://a", "/tools", "/tools"),
            ("http://a/mcp?b=c", "", "/mcp?b=c"),
        ] {
            assert_eq!(Url::parse(text).unwrap().below(path).path, expected);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "localhost:8000",
            "https://localhost/mcp",
            "http://",
            "http://:80/",
            "http://localhost:0/",
            "http://localhost:x/",
            "http://a b/",
            "http://user@localhost/",
            "http://localhost/a b",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }
}
