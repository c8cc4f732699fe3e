//! The layer and the route that answer a request, and its line in the access log.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::set_global_default,
};

use super::{HEARD, HOOK_SECRET, Limits, Server, key, status};

/// Returns a server that requires a key, and a key that may read.
async fn server() -> (Server, String) {
    Server::with_keys(Limits::default(), |file| key(file, "read")).await
}

fn request(line: &str, headers: &str) -> String {
    let host = if headers.contains("Host: ") { "" } else { "Host: localhost\r\n" };
    format!("{line} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n")
}

#[tokio::test]
async fn layers_answer_in_their_order() {
    let (server, key) = server().await;
    let key = format!("X-API-Key: {key}\r\n");
    let hook = format!("X-Gitlab-Token: {HOOK_SECRET}\r\n");
    assert!(!server.folder.path().join(HEARD).exists());
    let (app, attacker) = ("Origin: https://app.example\r\n", "Origin: http://attacker.example\r\n");
    for (line, headers, expected, allow) in [
        // Probes pass before the guard.
        ("GET /healthz", "Host: attacker.example\r\n", "200", None),
        ("POST /readyz", attacker, "200", None),
        // The guard refuses before an answer can depend on credentials or paths.
        ("GET /mcp", "Host: attacker.example\r\n", "403", None),
        ("GET /nowhere", attacker, "403", None),
        ("OPTIONS /mcp", attacker, "403", None),
        // A preflight request needs no credentials.
        ("OPTIONS /mcp", app, "204", None),
        ("OPTIONS /nowhere", "", "204", None),
        // Credentials are required before an answer can reveal existing paths.
        ("GET /nowhere", "", "401", None),
        ("GET /mcp", app, "401", None),
        ("POST /metrics", "", "401", None),
        ("GET /.well-known/oauth-protected-resource/mcp", "", "401", None),
        // A webhook's request is signed instead.
        ("POST /hooks/notes/git", "Host: attacker.example\r\n", "403", None),
        ("POST /hooks/notes/git", "", "401", None),
        ("POST /hooks/notes/git", &key, "401", None),
        ("POST /hooks/notes/git", &hook, "202", None),
        ("GET /hooks/notes/git", &hook, "405", Some("POST")),
        ("POST /hooks/git", &hook, "401", None),
        // Then the route answers.
        ("GET /nowhere", &key, "404", None),
        ("GET /mcp/", &key, "404", None),
        ("GET /metrics", &key, "200", None),
        ("HEAD /metrics", &key, "200", None),
        ("POST /metrics", &key, "405", Some("GET, HEAD")),
        ("POST /mcp", "Content-Encoding: gzip\r\n", "415", None),
        ("PUT /mcp", &key, "405", Some("GET, POST, DELETE")),
        ("HEAD /mcp", &key, "405", Some("GET, POST, DELETE")),
    ] {
        let said = server.says(request(line, headers).as_bytes()).await;
        let head = said.split("\r\n\r\n").next().unwrap();
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
        };
        assert_eq!(status(&said), expected, "{line}\n{headers}{said}");
        assert_eq!(header("allow"), allow, "{line}\n{headers}{said}");
        assert!(header("x-request-id").is_some(), "{line}\n{headers}{said}");
        let allowed_origin = (headers == app).then_some("https://app.example");
        assert_eq!(header("access-control-allow-origin"), allowed_origin, "{line}\n{said}");
    }
    assert!(server.folder.path().join(HEARD).exists());
    server.end().await;
}

/// Collects the events of this crate, one per line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tabellion_http")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push_str(&(line.0 + "\n"));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn the_access_log_names_the_caller_and_no_secret() {
    // All tests write to it: these requests are found by their ids.
    let log = Log::default();
    set_global_default(log.clone()).unwrap();
    let (server, key) = server().await;
    let caller = format!("api_key:{}", key.split('_').nth(1).unwrap());
    let by_key = format!("X-API-Key: {key}\r\n");
    for (id, line, headers, expected) in [
        (
            "log-1",
            "GET /mcp?note=Confidential",
            by_key.as_str(),
            format!("method=GET path=\"/mcp\" caller={caller:?} status=406 "),
        ),
        (
            "log-2",
            "PUT /nowhere",
            &by_key,
            format!("method=PUT path=\"/nowhere\" caller={caller:?} status=404 "),
        ),
        ("log-3", "GET /mcp", "X-API-Key: Confidential\r\n", "method=GET path=\"/mcp\" status=401 ".into()),
        ("log-4", "GET /healthz", "", "method=GET path=\"/healthz\" status=200 ".into()),
    ] {
        let headers = format!("{headers}X-Request-Id: {id}\r\n");
        server.says(request(line, &headers).as_bytes()).await;
        let logged = log.0.lock().unwrap().clone();
        let of_request = logged.lines().filter(|line| line.contains(&format!("id={id} ")));
        let of_request: Vec<_> = of_request.collect();
        assert!(of_request.len() == 1 && of_request[0].contains(&expected), "{of_request:?}");
        assert!(!of_request[0].contains("Confidential") && !logged.contains(&key));
    }
    server.end().await;
}
