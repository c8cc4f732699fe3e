//! URLs of servers.

use super::{super::resource::is_same, *};

#[test]
fn secrets_are_sent_only_to_safe_urls() {
    for (text, expected) in [
        ("https://notes.example", Some("https://notes.example/mcp")),
        ("https://notes.example/", Some("https://notes.example/mcp")),
        ("https://notes.example:443", Some("https://notes.example/mcp")),
        ("http://localhost:80", Some("http://localhost/mcp")),
        ("HTTPS://Notes.Example:8443", Some("https://notes.example:8443/mcp")),
        ("http://localhost:8000", Some("http://localhost:8000/mcp")),
        ("http://127.0.0.1:8000", Some("http://127.0.0.1:8000/mcp")),
        ("http://[::1]:8000", Some("http://[::1]:8000/mcp")),
        ("http://notes.example", None),
        ("http://127.0.0.1.example", None),
        ("https://notes.example/path", None),
        ("https://notes.example?query", None),
        ("https://notes.example#fragment", None),
        ("https://user@notes.example", None),
        ("ftp://notes.example", None),
        ("notes.example", None),
        ("https://", None),
        ("", None),
    ] {
        let url = text.parse::<PublicUrl>().map(|url| url.resource("/mcp"));
        assert_eq!(url.as_deref().ok(), expected, "{text}: {url:?}");
    }
    for (text, fine) in [
        ("https://login.example/tenant", true),
        ("http://localhost:9000/", true),
        ("http://login.example", false),
        ("https://login.example?tenant", false),
        ("login.example", false),
    ] {
        let issuer = text.parse::<Issuer>();
        assert_eq!(issuer.as_ref().map(Issuer::as_str).ok(), fine.then_some(text), "{text}");
    }
}

#[test]
fn only_scheme_and_host_ignore_case() {
    for (one, other, same) in [
        ("https://notes.example/mcp", "HTTPS://Notes.Example/mcp", true),
        ("https://notes.example", "https://NOTES.example", true),
        ("https://notes.example/mcp", "https://notes.example/MCP", false),
        ("https://notes.example/mcp", "https://notes.example/mcp/", false),
        ("https://notes.example/mcp", "https://notes.example/mcp/a", false),
        ("https://notes.example/mcp", "http://notes.example/mcp", false),
        ("https://notes.example", "https://notes.example.attacker.example", false),
        ("api", "API", false),
        ("api", "api", true),
    ] {
        assert_eq!(is_same(one, other), same, "{one} {other}");
    }
}
