//! The origin of a call by its headers and key, and the headers that browsers may send.

use serde_json::{Value, json};

use super::{Limits, Server, call, status};
use crate::keys::KeyFile;

/// Returns the origin that the server derives from these header lines.
async fn told(server: &Server, headers: &str) -> Value {
    let call = call("tell_origin", "");
    let (first, rest) = call.split_once("\r\n").unwrap();
    let said = server.says(format!("{first}\r\n{headers}{rest}").as_bytes()).await;
    assert_eq!(status(&said), "200", "{said}");
    let (_, body) = said.split_once("\r\n\r\n").unwrap();
    let answer: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{said}"));
    let told = answer["result"]["structuredContent"]["text"].as_str();
    serde_json::from_str(told.unwrap_or_else(|| panic!("{said}"))).unwrap()
}

#[tokio::test]
async fn headers_that_a_contract_reads_reach_it_and_no_others() {
    let server = Server::new(Limits::default()).await;
    for (headers, expected) in [
        ("", json!([])),
        ("X-Writer: Ada\r\nCookie: secret\r\n", json!([["X-Writer", "Ada"]])),
        ("x-shift: night\r\nX-OTHER: x\r\n", json!([["X-Shift", "night"]])),
        ("X-Writer: Ada\r\nX-Writer:\r\n", json!([["X-Writer", "Ada"], ["X-Writer", ""]])),
        ("X-Writer: J\u{f6}rg\r\n", json!([["X-Writer", "J\u{f6}rg"]])),
    ] {
        let told = told(&server, headers).await;
        assert_eq!((&told["headers"], &told["http"]), (&expected, &json!(true)), "{headers}");
        assert_eq!(told["holder"], Value::Null);
    }
    server.end().await;
}

#[tokio::test]
async fn the_holder_of_a_key_is_its_address_or_else_its_name() {
    for (email, expected) in [(Some("ada@example.com"), "ada@example.com"), (None, "Ada")] {
        let create =
            |file: &KeyFile| file.create("Ada", email, vec!["read".parse().unwrap()]).unwrap().reveal();
        let (server, key) = Server::with_keys(Limits::default(), create).await;
        let told = told(&server, &format!("X-API-Key: {key}\r\n")).await;
        assert_eq!(told["holder"], expected);
        assert!(!told.to_string().contains(&key), "{told}");
        server.end().await;
    }
}

#[tokio::test]
async fn pages_may_send_the_headers_that_contracts_read() {
    let server = Server::new(Limits::default()).await;
    let said = server
        .says(b"OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(status(&said), "204", "{said}");
    let allowed = said.lines().find_map(|line| line.strip_prefix("access-control-allow-headers: "));
    let allowed: Vec<_> = allowed.expect("it is said").split(", ").collect();
    for name in ["authorization", "mcp-session-id", "x-author", "x-shift", "x-writer"] {
        assert_eq!(allowed.iter().filter(|allowed| **allowed == name).count(), 1, "{name}: {allowed:?}");
    }
    assert!(!allowed.contains(&"x-other"), "{allowed:?}");
    server.end().await;
}
