//! Permissions of keys and tokens.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Credentials, KEYS, Limits, OAuth, Server, call, get, key, status};
use crate::{
    keys::{KeyFile, KeyRing},
    oauth::{
        PollingLimits, Source, Tokens,
        tests::authority::{Authority, ISSUER, claims},
    },
    rates::RatePerMinute,
};

#[tokio::test]
async fn a_request_without_a_key_is_rejected() {
    let scopes = ["write", "read", "write@plans", "write"];
    let create = |file: &KeyFile| scopes.map(|scope| key(file, scope));
    let (server, [writer, reader, stranger, gone]) = Server::with_keys(Limits::default(), create).await;
    let file = KeyFile::new(server.folder.path().join(KEYS));
    file.revoke(gone.split('_').nth(1).unwrap()).unwrap();
    let bearer = |key: &str| format!("Authorization: Bearer {key}\r\n");
    for (expected, headers) in [
        ("401", String::new()),
        ("401", "Authorization: Bearer\r\n".into()),
        ("401", bearer("guess")),
        ("401", bearer(&gone)),
        ("401", format!("Authorization: Basic {writer}\r\n")),
        ("401", format!("Cookie: key={writer}\r\n")),
        ("400", bearer(&writer) + &bearer(&writer)),
        ("400", format!("{}X-API-Key: {writer}\r\n", bearer(&reader))),
        ("403", bearer(&reader)),
        ("403", bearer(&stranger)),
        ("200", bearer(&writer)),
        ("200", format!("authorization: bearer {writer}\r\n")),
        ("200", format!("X-API-Key: {writer}\r\n")),
    ] {
        let bytes = call("keep", "x").replace("Accept:", &format!("{headers}Accept:"));
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{headers}{said}");
        let challenge = said.contains("www-authenticate: Bearer ");
        assert_eq!(challenge, ["401", "403"].contains(&expected), "{said}");
        for key in [&writer, &reader, &stranger, &gone] {
            assert!(!said.contains(&key[25..]), "{said}");
        }
    }
    // Credentials in the URL are rejected, before any caller is identified.
    for (query, expected) in [("key", "401"), ("access_token", "400"), ("a=b&access_token", "400")] {
        let in_url = call("keep", "x").replace("/mcp ", &format!("/mcp?{query}={writer} "));
        assert_eq!(status(&server.says(in_url.as_bytes()).await), expected, "{query}");
    }
    let nowhere = call("keep", "x").replace("/mcp ", "/secret ");
    assert_eq!(status(&server.says(nowhere.as_bytes()).await), "401");
    for (path, headers, expected) in [
        ("/metrics", String::new(), "401"),
        ("/metrics", bearer(&reader), "200"),
        ("/healthz", String::new(), "200"),
        ("/readyz", String::new(), "200"),
    ] {
        let asked = get(path).replace("Connection:", &format!("{headers}Connection:"));
        assert_eq!(status(&server.says(asked.as_bytes()).await), expected, "{path}");
    }
    assert_eq!(server.notes.stored_texts(), ["x"; 3]);
    // While the file can't be read, no key is known to be invalid.
    std::fs::write(file.path(), "{").unwrap();
    for (expected, headers) in [("503", bearer(&writer)), ("401", bearer("guess")), ("401", String::new())] {
        let bytes = call("keep", "x").replace("Accept:", &format!("{headers}Accept:"));
        assert_eq!(status(&server.says(bytes.as_bytes()).await), expected, "{headers}");
    }
    for (path, expected) in [("/readyz", "503"), ("/healthz", "200")] {
        assert_eq!(status(&server.says(get(path).as_bytes()).await), expected, "{path}");
    }
    server.end().await;
}

/// Access tokens for `https://notes.example`, signed with the keys at `jwks`.
fn oauth(jwks: &str) -> OAuth {
    let source = Source::new(jwks, PollingLimits::default()).unwrap();
    OAuth {
        tokens: Arc::new(Tokens::new(ISSUER.parse().unwrap(), vec![], source)),
        url: "https://notes.example".parse().unwrap(),
        first: ["read", "write:notes"].map(|scope| scope.parse().unwrap()).into(),
    }
}

#[tokio::test]
async fn a_request_without_a_token_is_told_where_to_get_one() {
    let (authority, mut made) = (Authority::new(), None);
    let server = Server::with(Limits::default(), |folder| {
        let (jwks, keys) = (folder.join("jwks.json"), KeyFile::new(folder.join(KEYS)));
        std::fs::write(&jwks, authority.keys().to_string()).unwrap();
        let key = keys.create("Bert", None, vec!["write".parse().unwrap()]).unwrap();
        made = Some(key.reveal());
        Credentials {
            keys: Some(Arc::new(KeyRing::new(keys).unwrap())),
            oauth: Some(oauth(jwks.to_str().unwrap())),
        }
    })
    .await;
    let key = made.unwrap();
    let metadata = "resource_metadata=\"https://notes.example/.well-known/oauth-protected-resource/mcp\"";
    let token = |aud: &str, scope: &str| authority.token(&claims(aud, scope));
    let here = "https://notes.example/mcp";
    let good = token(here, "write");
    let mut old = claims(here, "write");
    old["exp"] = 0.into();
    let bearer = |text: &str| format!("Authorization: Bearer {text}\r\n");
    for (expected, challenge, headers) in [
        ("401", "Bearer realm=\"tabellion\", scope=\"read write:notes\"", String::new()),
        ("401", "invalid_token", bearer("nonsense")),
        ("401", "invalid_token", bearer(&authority.token(&old))),
        ("401", "invalid_token", bearer(&token("https://other.example/mcp", "write"))),
        ("401", "invalid_token", bearer(&Authority::new().token(&claims(here, "write")))),
        ("401", "invalid_token", format!("X-API-Key: {good}\r\n")),
        ("401", "invalid_token", bearer(&key.replace("tbl_", "tbl_0"))),
        ("403", "error=\"insufficient_scope\", scope=\"read write:notes\"", bearer(&token(here, "openid"))),
        ("403", "error=\"insufficient_scope\", scope=\"write\"", bearer(&token(here, "read"))),
        ("400", "", bearer(&good) + &bearer(&good)),
        ("200", "", bearer(&good)),
        ("200", "", bearer(&token("HTTPS://Notes.example/mcp", "read write@notes"))),
        ("200", "", bearer(&key)),
        ("200", "", format!("X-API-Key: {key}\r\n")),
    ] {
        let bytes = call("keep", "x").replace("Accept:", &format!("{headers}Accept:"));
        let said = server.says(bytes.as_bytes()).await;
        assert_eq!(status(&said), expected, "{headers}{said}");
        let asked = said.lines().find(|line| line.starts_with("www-authenticate: "));
        assert_eq!(asked.is_some(), !challenge.is_empty(), "{said}");
        if let Some(asked) = asked {
            assert!(asked.contains(challenge) && asked.contains(metadata), "{headers}{asked}");
        }
        assert!(!said.contains(&good[40..]), "{said}");
    }
    assert_eq!(server.notes.stored_texts(), ["x"; 4]);
    for nowhere in ["/secret", "/mcp/%22", "/mcp/\""] {
        let said = server.says(get(nowhere).as_bytes()).await;
        assert!(!said.contains("resource_metadata") && !said.contains("secret"), "{said}");
    }
    let in_url = call("keep", "y").replace("/mcp ", &format!("/mcp?access_token={good} "));
    let said = server.says(in_url.as_bytes()).await;
    assert!(status(&said) == "400" && said.contains("invalid_request"), "{said}");

    for (path, expected) in [
        ("/.well-known/oauth-protected-resource/mcp", "200"),
        ("/.well-known/oauth-protected-resource", "200"),
        ("/.well-known/oauth-protected-resource/other", "404"),
        ("/.well-known/oauth-protected-resourcemcp", "404"),
        ("/.well-known/oauth-authorization-server", "401"),
    ] {
        let said = server.says(get(path).as_bytes()).await;
        assert_eq!(status(&said), expected, "{path}: {said}");
        if expected == "200" {
            let body: Value = serde_json::from_str(said.split("\r\n\r\n").nth(1).unwrap()).unwrap();
            assert_eq!(body["resource"], here);
            assert_eq!(body["authorization_servers"], json!([ISSUER]));
            assert_eq!(body["scopes_supported"], json!(["read", "write", "review"]));
            assert_eq!(body["bearer_methods_supported"], json!(["header"]));
        }
    }
    let elsewhere = get("/.well-known/oauth-protected-resource").replace("localhost", "attacker.example");
    assert_eq!(status(&server.says(elsewhere.as_bytes()).await), "403");
    server.end().await;
}

#[tokio::test]
async fn the_server_is_not_ready_without_the_issuers_keys() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let jwks = format!("http://{}/keys", silent.local_addr().unwrap());
    // Every connection is closed at once.
    tokio::spawn(async move { while silent.accept().await.is_ok() {} });
    let server =
        Server::with(Limits::default(), |_| Credentials { keys: None, oauth: Some(oauth(&jwks)) }).await;
    assert_eq!(status(&server.says(get("/readyz").as_bytes()).await), "503");
    assert_eq!(status(&server.says(get("/healthz").as_bytes()).await), "200");
    // The token may be valid, so the client should keep it.
    let token = Authority::new().token(&claims("https://notes.example/mcp", "write"));
    let bytes = call("keep", "x").replace("Accept:", &format!("Authorization: Bearer {token}\r\nAccept:"));
    let said = server.says(bytes.as_bytes()).await;
    assert!(status(&said) == "503" && said.contains("retry-after"), "{said}");
    assert_eq!(server.notes.stored_texts(), [""; 0]);
    server.end().await;
}

#[tokio::test]
async fn too_many_invalid_credentials_block_an_address_for_a_while() {
    for local_failures in [true, false] {
        let limits = Limits { failures: RatePerMinute::a_minute(1), local_failures, ..Limits::default() };
        let (server, good) = Server::with_keys(limits, |file| key(file, "write")).await;
        let said = async |key: &str| {
            let header = if key.is_empty() { String::new() } else { format!("X-API-Key: {key}\r\n") };
            let bytes = call("keep", "x").replace("Accept:", &format!("{header}Accept:"));
            let said = server.says(bytes.as_bytes()).await;
            assert_eq!(status(&said) == "429", said.contains("retry-after: "), "{said}");
            status(&said).to_owned()
        };
        // Requests without credentials, or with valid ones, are not counted.
        for key in ["", "", "", "", "", &good, &good, &good, &good, "a"] {
            let expected = if key == good { "200" } else { "401" };
            assert_eq!(said(key).await, expected, "{key}");
        }
        let believed = [said("d").await, said(&good).await, said("").await];
        let expected = if local_failures { ["429", "429", "401"] } else { ["401", "200", "401"] };
        assert_eq!(believed, expected);
        assert_eq!(server.notes.stored_texts().len(), if local_failures { 4 } else { 5 });
        server.end().await;
    }
}

#[tokio::test]
async fn a_rate_limited_caller_is_told_when_to_retry() {
    let limits = Limits { writes: RatePerMinute::a_minute(1), ..Limits::default() };
    let server = Server::new(limits).await;
    for (tool, expected) in [("keep", "200"), ("keep", "429"), ("echo", "200")] {
        let said = server.says(call(tool, "x").as_bytes()).await;
        assert_eq!(status(&said), expected, "{said}");
        assert_eq!(said.contains("\r\nretry-after: "), expected == "429", "{said}");
    }
    assert_eq!(server.notes.stored_texts(), ["x"]);
    let numbers = server.says(get("/metrics").as_bytes()).await;
    for line in ["{of=\"read\"} 0", "{of=\"write\"} 1", "{of=\"credentials\"} 0"] {
        assert!(numbers.contains(&format!("tabellion_rate_limited_total{line}\n")), "{numbers}");
    }
    server.end().await;
}
