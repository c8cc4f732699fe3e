//! Random requests over REST: each is answered, with a status that blames the right side, and in one form.

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::Value;

use super::{Limits, Server, get, status};

/// A request of a malicious client.
#[derive(Debug, Clone)]
struct Odd {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl Odd {
    fn bytes(&self) -> Vec<u8> {
        let mut head =
            format!("{} /mcp{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let body = self.body.as_deref().unwrap_or_default();
        if self.body.is_some() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        format!("{head}\r\n{body}").into_bytes()
    }
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "tools",
            "execute",
            "echo",
            "keep",
            "openapi.json",
            "executions",
            "sessions",
            "..",
            ".",
            "%2e%2e",
            "%2F",
            "%00",
            "",
        ])
        .prop_map(String::from),
        "[a-z0-9%._~-]{0,12}",
        "(%[0-9a-f]{2}){1,4}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    let below = vec(segment(), 0..5)
        .prop_map(|segments| segments.iter().map(|it| format!("/{it}")).collect::<String>());
    let query = option::of("[a-z0-9=&%_-]{0,20}");
    prop_oneof![
        3 => select(vec!["/tools", "/tools/echo/execute", "/tools/keep/execute", "/tools/none/execute", "/openapi.json"])
            .prop_map(String::from),
        2 => below,
    ]
    .prop_flat_map(move |path| {
        query.clone().prop_map(move |query| match query {
            Some(query) => format!("{path}?{query}"),
            None => path.clone(),
        })
    })
}

fn headers() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let names = vec![
        "Content-Type",
        "If-Match",
        "If-None-Match",
        "Idempotency-Key",
        "Prefer",
        "X-Session-Id",
        "Accept",
        "Authorization",
        "X-API-Key",
        "Origin",
        "Transfer-Encoding",
        "User-Agent",
        "MCP-Protocol-Version",
        "Mcp-Session-Id",
    ];
    let values = prop_oneof![
        select(vec![
            "application/json",
            "application/json; charset=utf-8",
            "text/plain",
            "*",
            "\"b0\"",
            "b0",
            "k1",
            "respond-async",
            "wait=1",
            "wait=-1",
            "https://evil.example",
            "2026-07-28",
            "Bearer x",
            "a, b",
        ])
        .prop_map(String::from),
        "[ -~]{0,24}",
    ];
    // `Transfer-Encoding` would require a chunked body.
    let all = vec((select(names), values), 0..6);
    all.prop_map(|headers| headers.into_iter().filter(|(name, _)| *name != "Transfer-Encoding").collect())
}

fn body() -> impl Strategy<Value = Option<String>> {
    option::of(prop_oneof![
        select(vec![
            r#"{"text":"x"}"#,
            r#"{"text":"x","text":"y"}"#,
            "{}",
            "[]",
            "null",
            "{",
            "",
            "\u{feff}{}",
            r#"{"text":1e999}"#,
            r#"{"text":"\ud800"}"#,
        ])
        .prop_map(String::from),
        "[ -~]{0,40}",
        "\\[{0,300}",
    ])
}

fn odd() -> impl Strategy<Value = Odd> {
    let methods =
        select(vec!["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "MADE-UP"]);
    (methods, path(), headers(), body()).prop_map(|(method, path, headers, body)| Odd {
        method,
        path,
        headers,
        body,
    })
}

/// Returns true if a path is that of an endpoint, by its segments alone.
fn is_endpoint(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<_> = path.split('/').skip(1).collect();
    matches!(segments[..], ["tools"] | ["openapi.json"])
        || matches!(segments[..], ["tools", tool, "execute"] if !tool.is_empty())
}

fn judge(odd: &Odd, said: &str) -> Result<(), TestCaseError> {
    let status: u16 = status(said).parse().map_err(|_| TestCaseError::fail(format!("no status: {said}")))?;
    prop_assert!(status < 500, "the server says that it was its own fault: {said}");
    let (head, body) = said.split_once("\r\n\r\n").unwrap_or((said, ""));
    prop_assert!(!head.contains("evil.example"), "{said}");
    if status < 400 || odd.method == "HEAD" || !is_endpoint(&odd.path) {
        return Ok(());
    }
    let body: Result<Value, _> = serde_json::from_str(body);
    let Ok(body) = body else {
        // Invalid HTTP is refused before it has a path.
        prop_assert!(status == 400, "{said}");
        return Ok(());
    };
    let error = &body["error"];
    prop_assert!(error["code"].is_string() && error["message"].is_string(), "{said}");
    prop_assert!(error["details"].is_object() && error["violations"].is_array(), "{said}");
    Ok(())
}

#[test]
fn each_request_is_answered_in_one_form() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(Server::new(Limits::default()));
    let config = ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() };
    proptest!(config, |(odd in odd())| {
        let said = runtime.block_on(server.says(&odd.bytes()));
        judge(&odd, &said)?;
    });
    let alive = runtime.block_on(server.says(get("/healthz").as_bytes()));
    assert_eq!(status(&alive), "200");
    runtime.block_on(server.end());
}
