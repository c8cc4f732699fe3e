//! Arbitrary bytes over lines and over HTTP: an answer or a clean end, never a panic, and only valid calls make changes.
//! `PROPTEST_CASES` sets the number of cases.

use std::{future, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use hyper::{Request, body::Bytes, header::HeaderValue};
use proptest::{prelude::*, sample::select, test_runner::TestCaseResult};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};

use crate::{
    serve,
    streamable::{Endpoint, Limits},
    testing::{Memory, NOTES, adapter},
};
use tabellion_gateway::{ApprovalPolicy, json};

const STATELESS: &str = "2026-07-28";

/// Valid messages of both eras.
fn messages() -> Vec<String> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = |tool: &str| json!({ "name": tool, "arguments": { "text": "x" }, "_meta": meta });
    let request = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let begin = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    [
        request("tools/call", call("keep")),
        request("tools/call", call("keep")),
        request("tools/call", call("echo")),
        request("tools/list", json!({ "_meta": meta })),
        request("initialize", begin),
        request("server/discover", json!({ "_meta": meta })),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
    ]
    .map(|message| message.to_string())
    .into()
}

/// A message with some bytes changed, removed, or composed of pieces.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), 0..3, any::<u8>());
    let edited = (select(messages()), prop::collection::vec(edit, 0..4)).prop_map(|(message, edits)| {
        let mut bytes = message.into_bytes();
        for (at, kind, byte) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    });
    let pieces = select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "null",
        "1e999",
        "-0",
        "\"id\"",
        "\"method\"",
        "\"params\"",
        "\"_meta\"",
        "\"jsonrpc\":\"2.0\"",
        "\"tools/call\"",
        "\"keep\"",
        "\\ud800",
        "\u{feff}",
        "\0",
        " ",
        "\r",
    ]);
    let pieced = prop::collection::vec(pieces, 0..30).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![4 => edited, 2 => pieced, 1 => prop::collection::vec(any::<u8>(), 0..300)]
}

/// Returns true if a message is a call that makes a change.
fn is_change(line: &[u8]) -> bool {
    let message = json::parse(line).unwrap_or_default();
    message["method"] == "tools/call" && message["params"]["name"] == "keep"
}

/// Runs a future in paused time.
fn run(what: impl Future<Output = TestCaseResult>) -> TestCaseResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(what)
}

async fn over_lines(lines: &[Vec<u8>]) -> TestCaseResult {
    let notes = Memory::new(&NOTES);
    let (mut near, far) = duplex(1 << 20);
    let (reader, writer) = split(far);
    let served =
        serve(reader, writer, adapter(vec![notes.clone()], ApprovalPolicy::default()), future::pending());
    let client = async {
        near.write_all(&lines.join(&b'\n')).await.unwrap();
        near.shutdown().await.unwrap();
        let mut said = vec![];
        near.read_to_end(&mut said).await.unwrap();
        said
    };
    let (served, said) = tokio::join!(served, client);
    prop_assert!(served.is_ok(), "{served:?}");
    for answer in said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let answer = json::parse(answer);
        prop_assert!(answer.as_ref().is_ok_and(|it| it["jsonrpc"] == "2.0"), "{answer:?}");
    }
    // An inserted byte may end a line.
    let text = lines.join(&b'\n');
    let changes = text.split(|byte| *byte == b'\n').filter(|line| is_change(line)).count();
    prop_assert!(notes.stored_texts().len() <= changes, "{:?}", notes.stored_texts());
    Ok(())
}

async fn over_http(method: &str, headers: &[(&'static str, Vec<u8>)], body: &[u8]) -> TestCaseResult {
    let notes = Memory::new(&NOTES);
    let adapter = adapter(vec![notes.clone()], ApprovalPolicy::default());
    let endpoint = Arc::new(Endpoint::new(adapter, Limits::default()));
    let mut request = Request::new(Bytes::copy_from_slice(body));
    *request.method_mut() = method.parse().unwrap();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            request.headers_mut().append(*name, value);
        }
    }
    let answered = AssertUnwindSafe(endpoint.answer(request, "test".into(), None, None)).catch_unwind().await;
    prop_assert!(answered.is_ok(), "it panics");
    let response = answered.unwrap();
    let status = response.status().as_u16();
    prop_assert!((200..500).contains(&status), "{status}");
    endpoint.intake().close();
    let said = response.into_body().collect().await.unwrap().to_bytes();
    let answer = json::parse(&said);
    if status != 202 && method == "POST" {
        prop_assert!(answer.as_ref().is_ok_and(|it| it["jsonrpc"] == "2.0"), "{status} {said:?}");
    }
    endpoint.intake().idle().await;
    let done = answer.is_ok_and(|answer| answer["result"]["isError"] == false) && is_change(body);
    prop_assert_eq!(notes.stored_texts().len(), usize::from(done), "{} {:?}", status, said);
    Ok(())
}

/// Valid headers, some of them missing, duplicated or changed.
fn headers() -> impl Strategy<Value = Vec<(&'static str, Vec<u8>)>> {
    let right = [
        ("accept", "*/*"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", STATELESS),
        ("mcp-method", "tools/call"),
        ("mcp-name", "keep"),
    ];
    let names = vec![
        "accept",
        "content-type",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
        "last-event-id",
        "origin",
    ];
    let values = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        select(vec![
            "application/json; q=0",
            "2025-11-25",
            "=?base64?a2VlcA==?=",
            "=?base64?",
            "1-1",
            "-",
            ",;=",
            "\""
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let kept = prop::collection::vec(prop::bool::weighted(0.95), right.len());
    let more = prop::collection::vec((select(names), values), 0..2);
    (kept, more).prop_map(move |(kept, more)| {
        let right = right.iter().zip(kept).filter(|(_, kept)| *kept);
        right.map(|((name, value), _)| (*name, value.as_bytes().to_vec())).chain(more).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_answered_or_end_the_service_well(lines in prop::collection::vec(line(), 0..6)) {
        run(over_lines(&lines))?;
    }

    #[test]
    fn any_request_is_answered(method in select(vec!["POST", "POST", "POST", "GET", "DELETE", "PUT"]), headers in headers(), body in line()) {
        run(over_http(method, &headers, &body))?;
    }
}

#[test]
fn messages_that_are_not_changed_are_served() {
    let headers = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"]
        .into_iter()
        .zip(["*/*", "application/json", STATELESS, "tools/call", "keep"].map(|it| it.as_bytes().to_vec()));
    let message = messages().remove(0).into_bytes();
    assert!(is_change(&message));
    run(over_http("POST", &headers.collect::<Vec<_>>(), &message)).unwrap();
}
