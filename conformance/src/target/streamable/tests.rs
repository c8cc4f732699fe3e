use std::{
    io::{Read, Write},
    net::TcpListener,
    thread::JoinHandle,
};

use super::*;
use crate::Target;

/// Starts a server that answers connections in sequence with these texts; returns the requests.
fn server(answers: Vec<String>) -> (Target, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in [String::from("HTTP/1.1 405 No\r\n\r\n")].into_iter().chain(answers) {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut some) = (Vec::new(), [0; 4096]);
            // Every request of these tests is shorter, and arrives in one read.
            let read = stream.read(&mut some).unwrap();
            request.extend_from_slice(&some[..read]);
            asked.push(String::from_utf8(request).unwrap());
            stream.write_all(answer.as_bytes()).unwrap();
        }
        asked
    });
    let patience = Duration::from_secs(20);
    let url = Url::parse(&url).unwrap();
    let mut target = Target::connect(url, Era::Session, patience).unwrap();
    target.patience = patience;
    (target, server)
}

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn events(more: &str, events: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{more}\r\n{events}")
}

const BEGUN: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{}}}"#;

#[test]
fn a_session_is_opened_resumed_and_ended() {
    let begun = format!(": hello\n\nid: 0\ndata:\n\ndata: {BEGUN}\n\n");
    let (mut target, server) = server(vec![
        events("mcp-session-id: s1\r\n", &begun),
        answer("202 Accepted", ""),
        // The server disconnects before the answer.
        events("", "retry: 1\nid: seven\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"),
        events("", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n"),
        answer("200 OK", ""),
    ]);
    assert!(target.initialize("2025-11-25").unwrap().get("result").is_some());
    assert_eq!(target.session_id().as_deref(), Some("s1"));
    let answer = target.request("tools/list", json!({})).unwrap();
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
    target.close().unwrap();
    let asked = server.join().unwrap();
    let session = "Mcp-Session-Id: s1\r\nMCP-Protocol-Version: 2025-06-18\r\n";
    assert!(asked[1].starts_with("POST") && !asked[1].contains("Mcp-Session-Id"));
    for (request, begin, holds) in [
        (&asked[2], "POST /mcp ", "notifications/initialized"),
        (&asked[3], "POST /mcp ", "Accept: application/json, text/event-stream\r\n"),
        (&asked[4], "GET /mcp ", "Last-Event-ID: seven\r\n"),
        (&asked[5], "DELETE /mcp ", "\r\n\r\n"),
    ] {
        let is_right = request.starts_with(begin) && request.contains(session) && request.contains(holds);
        assert!(is_right, "{request}");
    }
}

#[test]
fn a_refusal_by_status_becomes_an_error() {
    let no_id = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}"#;
    for (said, code, text) in [
        (answer("413 Payload Too Large", "<html>"), None, "HTTP 413 Payload Too Large, and `<html>`"),
        (answer("400 Bad Request", no_id), Some(-32600), "no session"),
        (
            answer("202 Accepted\r\nContent-Type: application/json", ""),
            None,
            "HTTP 202 Accepted, and nothing",
        ),
        (events("", ": nothing\n\n"), None, "with a stream that ended"),
    ] {
        let (mut target, server) = server(vec![said]);
        let answer = target.request("tools/list", json!({})).unwrap();
        assert_eq!((answer["id"].as_i64(), answer["error"]["code"].as_i64()), (Some(1), code));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(text), "{message}");
        server.join().unwrap();
    }
}

#[test]
fn a_truncated_answer_is_an_error() {
    for said in [
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"",
        "HTTP/1.1 200 OK\r\nContent-Ty",
        "",
    ] {
        let (mut target, server) = server(vec![said.to_owned()]);
        let answer = target.request("tools/list", json!({}));
        assert!(matches!(answer, Err(WireError::Closed)), "{answer:?}");
        server.join().unwrap();
    }
}

#[test]
fn names_are_encoded_as_the_specification_shows() {
    for (value, header) in [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ] {
        assert_eq!(encoded(value), header);
    }
}
