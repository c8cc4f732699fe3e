//! Requests over REST: their endpoints, the layers before these, and the form of refusals.

use serde_json::{Value, json};

use super::{Limits, Server, get, key, status};

/// A request that posts `body`, with further headers.
fn post(path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The status, a header, and the JSON of a response.
struct Said {
    status: u16,
    head: String,
    body: Value,
}

impl Said {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
    }
}

async fn said(server: &Server, request: &str) -> Said {
    let said = server.says(request.as_bytes()).await;
    let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
    Said {
        status: status(&said).parse().unwrap(),
        head: head.to_owned(),
        body: serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {said}")),
    }
}

#[tokio::test]
async fn calls_are_answered_with_what_they_are_over_mcp() {
    let server = Server::new(Limits::default()).await;
    let text = r#"{"text":"x"}"#;
    let changes_nothing = |name: &str| {
        let why =
            format!("`{name}` is for calls that change something, which this one does not: leave it out");
        json!({ "error": { "code": "INVALID_REQUEST", "message": why } })
    };
    for (tool, headers, body, status, expected) in [
        ("echo", "", text, 200, json!({ "tool": "echo", "status": "success", "result": { "text": "x" } })),
        (
            "keep",
            "Idempotency-Key: k1\r\nIf-Match: \"b0\"\r\n",
            text,
            200,
            json!({ "result": { "text": "x" } }),
        ),
        ("keep", "If-Match: b0\r\n", text, 200, json!({ "result": { "text": "x" } })),
        ("keep", "If-None-Match: *\r\n", text, 200, json!({ "result": { "text": "x" } })),
        (
            "refuse",
            "",
            text,
            404,
            json!({ "error": { "code": "NOT_FOUND", "message": "no such note", "details": { "path": "x" }, "violations": [] } }),
        ),
        ("echo", "", r#"{"text":1}"#, 422, json!({ "error": { "code": "INVALID_REQUEST" } })),
        ("echo", "", "{}", 422, json!({ "error": { "code": "INVALID_REQUEST" } })),
        ("echo", "", "[]", 400, json!({ "error": { "code": "INVALID_REQUEST" } })),
        ("echo", "", "{", 400, json!({ "error": { "code": "INVALID_REQUEST" } })),
        ("echo", "", r#"{"text":"x","text":"y"}"#, 400, json!({ "error": { "code": "INVALID_REQUEST" } })),
        ("wait", "", text, 429, json!({ "error": { "code": "TOO_OFTEN" } })),
        ("nothing", "", text, 404, json!({ "error": { "code": "NOT_FOUND" } })),
        ("ec%68o", "", text, 404, json!({ "error": { "code": "NOT_FOUND" } })),
        ("breach", "", text, 500, json!({ "error": {} })),
        ("keep", "If-Match: *\r\n", text, 400, json!({ "error": {} })),
        ("keep", "If-Match: W/\"b0\"\r\n", text, 400, json!({ "error": {} })),
        ("keep", "If-Match: \"a\", \"b\"\r\n", text, 400, json!({ "error": {} })),
        ("keep", "If-Match: \"a\"\r\nIf-None-Match: *\r\n", text, 400, json!({ "error": {} })),
        ("keep", "If-None-Match: \"a\"\r\n", text, 400, json!({ "error": {} })),
        (
            "keep",
            "Idempotency-Key: two words\r\n",
            text,
            422,
            json!({ "error": {
                "code": "INVALID_REQUEST",
                "message": "`Idempotency-Key` must be 1 to 255 printable ASCII characters without spaces",
            } }),
        ),
        ("echo", "Idempotency-Key: k1\r\n", text, 422, changes_nothing("Idempotency-Key")),
        ("echo", "If-Match: \"b0\"\r\n", text, 422, changes_nothing("If-Match")),
        ("echo", "If-None-Match: *\r\n", text, 422, changes_nothing("If-None-Match")),
        ("keep", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", text, 400, json!({ "error": {} })),
    ] {
        let path = format!("/mcp/tools/{tool}/execute");
        let said = said(&server, &post(&path, headers, body)).await;
        assert_eq!(said.status, status, "{tool} {headers}{body}: {}", said.body);
        assert_eq!(said.header("content-type"), Some("application/json"));
        assert_eq!(said.header("etag"), (tool == "keep" && status == 200).then_some("\"b1\""));
        assert_eq!(said.header("retry-after"), (status == 429).then_some("7"));
        has(&said.body, &expected);
    }
    assert_eq!(server.notes.stored_texts(), ["x", "x", "x"]);
    server.end().await;
}

/// Checks that a value contains the expected members.
#[track_caller]
fn has(value: &Value, expected: &Value) {
    match expected {
        Value::Object(members) => {
            for (key, expected) in members {
                has(&value[key], expected);
            }
            assert!(value.is_object(), "{value}");
        }
        expected => assert_eq!(value, expected),
    }
}

#[tokio::test]
async fn the_client_is_the_first_product_of_the_user_agent() {
    let server = Server::new(Limits::default()).await;
    for agent in ["User-Agent: curl/8.5.0 (x)\r\n", "User-Agent: Mozilla\r\n", ""] {
        let request = post("/mcp/tools/echo/execute", agent, r#"{"text":"x"}"#);
        assert_eq!(said(&server, &request).await.status, 200);
    }
    assert_eq!(server.notes.clients(), [Some("curl/8.5.0".to_owned()), None, None]);
    server.end().await;
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_in_the_form_of_errors() {
    let limits = Limits { body: 100, ..Limits::default() };
    let (server, keys) =
        Server::with_keys(limits, |file| ["read", "write@others"].map(|scope| key(file, scope))).await;
    let [key, stranger] = keys.map(|key| format!("X-API-Key: {key}\r\n"));
    let (keep, text) = ("/mcp/tools/keep/execute", r#"{"text":"x"}"#);
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(100));
    let list = |headers: &str| get("/mcp/tools").replace("Connection:", &format!("{headers}Connection:"));
    let attacker = list("Origin: http://attacker.example\r\n");
    let challenge = Some("www-authenticate");
    for (request, status, header, reason) in [
        (list(""), 401, challenge, Some("missing")),
        (list("X-API-Key: guess\r\n"), 401, challenge, Some("bad")),
        (list(&stranger), 403, challenge, Some("scope")),
        (attacker, 403, None, Some("origin")),
        (post(keep, "", text), 401, challenge, Some("missing")),
        (post(keep, &key, text), 403, challenge, Some("scope")),
        (post(keep, &key, &long), 413, None, Some("too_large")),
        (post(keep, &key, "{"), 400, None, Some("malformed")),
        (post(&format!("{keep}?dryrun=true"), &key, text), 400, None, Some("malformed")),
        (get("/mcp/openapi.json?x"), 400, None, Some("malformed")),
        (post("/mcp/tools/no/execute", &key, text), 404, None, Some("not_found")),
        (post(keep, &key, text).replace("application/json", "text/plain"), 415, None, Some("media_type")),
        (list("").replace("/tools", "/tools/"), 401, challenge, Some("missing")),
        (list(&key).replace("/tools", "/tools/"), 404, None, Some("not_found")),
        (list(&key).replace("/tools", "/tools/keep"), 404, None, Some("not_found")),
        (post("/mcp/executions", &key, text), 404, None, Some("not_found")),
        (post("/mcp/tools", &key, text), 405, Some("allow"), Some("method")),
        (get(keep).replace("Connection:", &format!("{key}Connection:")), 405, Some("allow"), Some("method")),
        (post(keep, "Content-Encoding: gzip\r\n", text), 415, None, Some("media_type")),
        (post("/mcp/openapi.json", "", text), 405, Some("allow"), Some("method")),
    ] {
        let said = said(&server, &request).await;
        assert_eq!(said.status, status, "{request}: {}", said.body);
        assert!(said.body["error"]["message"].is_string(), "{request}: {}", said.body);
        assert_eq!(said.body["error"]["details"]["reason"].as_str(), reason, "{request}");
        assert!(said.body.get("jsonrpc").is_none(), "{request}: {}", said.body);
        assert!(said.header("x-request-id").is_some(), "{request}: {}", said.head);
        if let Some(header) = header {
            assert!(said.header(header).is_some(), "{request}: {}", said.head);
        }
    }
    assert_eq!(server.notes.stored_texts(), Vec::<String>::new());
    let head = server.says(get("/mcp/openapi.json").replacen("GET", "HEAD", 1).as_bytes()).await;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    // MCP has its own form.
    let mcp = said(&server, &get("/mcp")).await;
    assert!((mcp.status, mcp.body["jsonrpc"].as_str()) == (401, Some("2.0")));
    server.end().await;
}

#[tokio::test]
async fn tools_are_listed_and_described_as_they_are() {
    let server = Server::new(Limits::default()).await;
    let listed = said(&server, &get("/mcp/tools")).await.body;
    let names: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(listed["count"], names.len());
    assert!(names.contains(&&json!("echo")));
    let described = said(&server, &get("/mcp/openapi.json")).await.body;
    assert_eq!(described["openapi"], "3.1.0");
    for name in names {
        let path = format!("/tools/{}/execute", name.as_str().unwrap());
        assert_eq!(&described["paths"][&path]["post"]["operationId"], name);
    }
    server.end().await;
}
