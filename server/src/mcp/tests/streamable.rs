//! What HTTP has beside messages: statuses, sessions, streams that break, and limits. Time stands still where it matters.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use http_body_util::BodyExt as _;
use hyper::{Request, Response, StatusCode, body::Bytes};
use serde_json::{Value, json};
use tabellion_schemas::Contract;

use super::{
    client::adapter,
    contract::{Memory, NOTES, RPC},
    page::{Page, URI},
};
use crate::{
    keys::{Access, Grant, Holder, KeyFile, Ring, Standing},
    mcp::{
        ApprovalPolicy,
        streamable::{Body, Endpoint, Limits},
    },
    rates::{Budget, Rate, Rates},
};

const BOTH: &str = "application/json, text/event-stream";

struct Place {
    notes: Arc<Memory>,
    endpoint: Arc<Endpoint>,
    /// Who calls, and what they may do.
    grant: Option<Arc<Grant>>,
    /// How often they may.
    budget: Option<Budget>,
}

/// Whoever is called so, with these scopes.
fn grant(name: &str, scopes: &[&str]) -> Option<Arc<Grant>> {
    let holder = Arc::new(Holder {
        id: format!("id of {name}"),
        name: name.into(),
        email: format!("{name}@example.org"),
        scopes: scopes.iter().map(|scope| scope.parse().unwrap()).collect(),
    });
    let standing = Standing::Until(SystemTime::now() + Duration::from_secs(3600));
    Some(Arc::new(holder.at("", standing).unwrap()))
}

/// What came back, without its body's end.
struct Said {
    status: StatusCode,
    session: Option<String>,
    retry_after: Option<String>,
    is_stream: bool,
    body: Body,
}

impl Said {
    /// The body, if it is whole.
    async fn json(self) -> Value {
        let body = self.body.collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap_or_default()
    }

    /// Whether a stream goes on with a line that says no more than that it does.
    async fn next_is_a_sign_of_life(&mut self) -> bool {
        let frame = self.body.frame().await.unwrap().unwrap();
        frame.into_data().unwrap().starts_with(b":")
    }

    /// The next event of a stream: its id and its message.
    async fn event(&mut self) -> Option<(String, Value)> {
        let frame = self.body.frame().await?.unwrap().into_data().unwrap();
        let text = std::str::from_utf8(&frame).unwrap();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let id = field("id: ").unwrap_or_default().to_owned();
        let data = field("data: ").map_or(Value::Null, |data| serde_json::from_str(data).unwrap());
        Some((id, data))
    }
}

impl Place {
    fn new(limits: Limits) -> Self {
        let notes = Memory::new(&NOTES);
        let contracts: Vec<Arc<dyn Contract>> = vec![notes.clone(), Memory::new(&RPC), Page::new()];
        let adapter = adapter(contracts, ApprovalPolicy::default());
        Self {
            notes,
            endpoint: Arc::new(Endpoint::new(adapter, limits)),
            grant: None,
            budget: None,
        }
    }

    /// The same server, as somebody else sees it.
    fn by(&self, grant: Option<Arc<Grant>>) -> Self {
        Self {
            notes: self.notes.clone(),
            endpoint: self.endpoint.clone(),
            grant,
            budget: self.budget.clone(),
        }
    }

    async fn send(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> Said {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body: Bytes = match body {
            Value::Null => Bytes::new(),
            body => body.to_string().into(),
        };
        let response: Response<Body> = self
            .endpoint
            .answer(
                request.body(body).unwrap(),
                "test".into(),
                self.grant.clone(),
                self.budget.clone(),
            )
            .await;
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
        Said {
            status: response.status(),
            session: header("mcp-session-id").map(str::to_owned),
            retry_after: header("retry-after").map(str::to_owned),
            is_stream: header("content-type") == Some("text/event-stream"),
            body: response.into_body(),
        }
    }

    /// Posts a message in a session.
    async fn post(&self, session: &str, message: Value) -> Said {
        let headers = [
            ("accept", BOTH),
            ("content-type", "application/json"),
            ("mcp-session-id", session),
        ];
        self.send("POST", &headers, &message).await
    }

    /// Opens a session.
    async fn open(&self) -> String {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let headers = [("accept", BOTH), ("content-type", "application/json")];
        let said = self.send("POST", &headers, &message).await;
        said.session.expect("a session")
    }

    /// Posts a call that stands for itself.
    async fn alone(&self, id: u64, tool: &str, text: &str) -> Said {
        self.stateless(call(id, tool, text)).await
    }

    /// Posts a request that stands for itself.
    async fn stateless(&self, mut message: Value) -> Said {
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let method = message["method"].as_str().unwrap().to_owned();
        let params = &message["params"];
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.unwrap_or_default().to_owned();
        let headers = [
            ("accept", BOTH),
            ("content-type", "application/json"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", &*method),
            ("mcp-name", &*name),
        ];
        self.send("POST", &headers, &message).await
    }

    async fn end(&self) {
        self.endpoint.end();
        self.endpoint.idle().await;
    }
}

fn call(id: u64, tool: &str, text: &str) -> Value {
    let params = json!({ "name": tool, "arguments": { "text": text } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn text(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]["text"]
}

#[tokio::test]
async fn what_http_says_wrongly_is_refused() {
    let place = Place::new(Limits::default());
    let session = place.open().await;
    let own = ("mcp-session-id", session.as_str());
    let (both, json_) = (("accept", BOTH), ("content-type", "application/json"));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let reply = json!({ "jsonrpc": "2.0", "id": 9, "result": {} });
    let new = ("mcp-protocol-version", "2026-07-28");
    for (status, method, headers, body) in [
        (200, "POST", &[both, json_, own][..], &ping),
        (202, "POST", &[both, json_, own], &note),
        (202, "POST", &[both, json_, own], &reply),
        (406, "POST", &[json_, own], &ping),
        (406, "POST", &[("accept", "application/json"), json_, own], &ping),
        (415, "POST", &[both, own], &ping),
        (415, "POST", &[both, ("content-type", "text/plain"), own], &ping),
        (400, "POST", &[both, json_, own], &json!([])),
        (400, "POST", &[both, json_], &note),
        (400, "POST", &[both, json_], &call(1, "keep", "x")),
        (404, "POST", &[both, json_, ("mcp-session-id", "guess")], &ping),
        (404, "POST", &[both, json_, ("mcp-session-id", "guess")], &note),
        (400, "POST", &[both, json_, own, own], &ping),
        (
            400,
            "POST",
            &[both, json_, own, ("mcp-protocol-version", "1999-01-01")],
            &ping,
        ),
        (405, "PUT", &[both, json_, own], &ping),
        (405, "PATCH", &[both, json_, own], &ping),
        (406, "GET", &[("accept", "application/json"), own], &Value::Null),
        (400, "GET", &[both], &Value::Null),
        (404, "GET", &[both, ("mcp-session-id", "guess")], &Value::Null),
        (405, "GET", &[both, new], &Value::Null),
        (
            400,
            "GET",
            &[both, own, ("last-event-id", "nonsense")],
            &Value::Null,
        ),
        (405, "DELETE", &[new, own], &Value::Null),
        (400, "DELETE", &[], &Value::Null),
        (404, "DELETE", &[("mcp-session-id", "guess")], &Value::Null),
        (204, "DELETE", &[own], &Value::Null),
        (404, "DELETE", &[own], &Value::Null),
        (404, "POST", &[both, json_, own], &ping),
        (404, "GET", &[both, own], &Value::Null),
    ] {
        let said = place.send(method, headers, body).await;
        assert_eq!(said.status, status, "{method} {headers:?} {body}");
    }
    assert_eq!(place.notes.kept(), [""; 0]);
    place.end().await;
}

#[tokio::test]
async fn without_a_session_the_methods_of_sessions_are_not_found() {
    let place = Place::new(Limits::default());
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "no/such/method",
    ] {
        let said = place
            .stateless(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }))
            .await;
        assert_eq!((said.status.as_u16(), method), (404, method));
        assert_eq!(said.json().await["error"]["code"], -32601, "{method}");
    }
    place.end().await;
}

#[tokio::test]
async fn an_id_is_free_again_when_it_has_its_answer() {
    let place = Place::new(Limits::default());
    let session = place.open().await;
    let slow = place.post(&session, call(1, "slow", "a"));
    let others = async {
        place.notes.has_begun(1).await;
        let again = place.post(&session, call(1, "keep", "b")).await;
        assert_eq!(again.status, 400);
        assert_eq!(again.json().await["error"]["code"], -32600);
        // Of another session, it is another id.
        let other = place.open().await;
        let other = place.post(&other, call(1, "keep", "c")).await;
        assert_eq!(text(&other.json().await), "c");
        place.notes.open(1);
    };
    let (slow, ()) = tokio::join!(slow, others);
    assert_eq!(text(&slow.json().await), "a");
    let again = place.post(&session, call(1, "keep", "d")).await;
    assert_eq!(text(&again.json().await), "d");
    assert_eq!(place.notes.kept(), ["c", "a", "d"]);
    place.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_goes_on_where_it_was() {
    let place = Place::new(Limits::default());
    let session = place.open().await;
    let mut stream = place.post(&session, call(1, "slow", "a")).await;
    assert!(stream.is_stream, "what takes long is answered with a stream");
    let (first, nothing) = stream.event().await.unwrap();
    assert_eq!(nothing, Value::Null);
    drop(stream);
    place.notes.open(1);
    // The answer comes while nobody listens, and can be read more than once.
    for _ in 0..2 {
        let headers = [
            ("accept", "text/event-stream"),
            ("mcp-session-id", &*session),
            ("last-event-id", &*first),
        ];
        let mut again = place.send("GET", &headers, &Value::Null).await;
        assert_eq!(again.event().await.unwrap().1, Value::Null);
        let (_, answer) = again.event().await.unwrap();
        assert_eq!(text(&answer), "a");
        assert_eq!(again.event().await, None);
    }
    // What was read, and what never was, has nothing to read.
    for last in ["1-1", "77-0"] {
        let headers = [
            ("accept", "text/event-stream"),
            ("mcp-session-id", &*session),
            ("last-event-id", last),
        ];
        let mut again = place.send("GET", &headers, &Value::Null).await;
        while let Some((_, message)) = again.event().await {
            assert_eq!(message, Value::Null, "{last}");
        }
    }
    assert_eq!(place.notes.kept(), ["a"]);
    place.end().await;
}

#[tokio::test]
async fn a_call_in_a_session_goes_on_when_its_client_hangs_up() {
    let place = Place::new(Limits::default());
    let session = place.open().await;
    tokio::select! {
        _ = place.post(&session, call(1, "slow", "a")) => panic!("it waits"),
        () = place.notes.has_begun(1) => {}
    }
    place.notes.open(1);
    place.end().await;
    assert_eq!(place.notes.kept(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_stands_for_itself_is_cancelled_when_its_client_hangs_up() {
    // Before there is anything to read, and afterwards.
    for after in [Duration::from_millis(100), Duration::from_secs(10)] {
        let place = Place::new(Limits::default());
        let reading = async {
            let mut said = place.alone(1, "count", "1000000").await;
            while said.event().await.is_some() {}
        };
        let _ = tokio::time::timeout(after, reading).await;
        place.end().await;
        let kept = place.notes.kept();
        assert!(
            matches!(&*kept, [kept] if kept.starts_with("cancelled at ")),
            "{after:?}: {kept:?}"
        );
    }
}

#[tokio::test]
async fn more_requests_than_there_may_be_are_turned_away() {
    let place = Place::new(Limits {
        in_flight: 2,
        ..Limits::default()
    });
    let session = place.open().await;
    let slow = async {
        let first = place.post(&session, call(1, "slow", "a"));
        let second = place.alone(1, "slow", "a");
        tokio::join!(first, second)
    };
    let others = async {
        place.notes.has_begun(2).await;
        for said in [
            place.post(&session, call(3, "keep", "x")).await,
            place.alone(3, "keep", "x").await,
        ] {
            assert_eq!(said.status, 503);
            assert_eq!(said.json().await["id"], 3);
        }
        place.notes.open(2);
    };
    let ((first, second), ()) = tokio::join!(slow, others);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    // Their places are free again, as soon as their handlers are done.
    let all = place.endpoint.idle();
    all.await;
    assert_eq!(place.post(&session, call(3, "keep", "b")).await.status, 200);
    assert_eq!(place.notes.kept(), ["a", "a", "b"]);
    place.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_too_many_sessions_the_one_ends_that_was_idle_longest() {
    let place = Place::new(Limits {
        sessions: 2,
        ..Limits::default()
    });
    let ping = || json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let (first, second) = (place.open().await, place.open().await);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(place.post(&first, ping()).await.status, 200);
    let third = place.open().await;
    for (session, status) in [(&first, 200), (&second, 404), (&third, 200)] {
        assert_eq!(place.post(session, ping()).await.status, status);
    }
    // One that is listened to is in use.
    let listen = async |session: &str| {
        let headers = [("accept", BOTH), ("mcp-session-id", session)];
        place.send("GET", &headers, &Value::Null).await
    };
    let held = [listen(&first).await, listen(&third).await];
    let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } } });
    let headers = [("accept", BOTH), ("content-type", "application/json")];
    assert_eq!(place.send("POST", &headers, &message).await.status, 503);
    drop(held);
    assert_eq!(place.send("POST", &headers, &message).await.status, 200);
    place.end().await;
}

#[tokio::test]
async fn at_the_end_what_is_in_flight_is_finished_and_nothing_is_begun() {
    let place = Place::new(Limits::default());
    let session = place.open().await;
    let slow = async {
        let in_session = place.post(&session, call(1, "slow", "a"));
        let alone = place.alone(1, "slow", "a");
        tokio::join!(in_session, alone)
    };
    let ending = async {
        place.notes.has_begun(2).await;
        place.endpoint.end();
        for said in [
            place.post(&session, call(2, "keep", "x")).await,
            place.alone(2, "keep", "x").await,
        ] {
            assert_eq!(said.status, 503);
        }
        place.notes.open(2);
        place.endpoint.idle().await;
    };
    let ((first, second), ()) = tokio::join!(slow, ending);
    assert_eq!(text(&first.json().await), "a");
    assert_eq!(text(&second.json().await), "a");
    assert_eq!(place.notes.kept(), ["a", "a"]);
}

#[tokio::test]
async fn a_key_is_good_for_what_its_scopes_say() {
    let request = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let subscriptions = json!({ "notifications": { "resourceSubscriptions": [URI] } });
    for (scope, allowed) in [
        ("read", &["list", "echo", "page"][..]),
        ("write", &["list", "echo", "keep", "page"]),
        ("read:notes", &["list", "echo"]),
        ("write:notes", &["list", "echo", "keep"]),
        ("write:page", &["list", "page"]),
        ("read:nothing", &["list"]),
    ] {
        let place = Place::new(Limits::default()).by(grant("Ada", &[scope]));
        let session = place.open().await;
        for (name, request) in [
            ("list", request("tools/list", json!({}))),
            ("echo", call(1, "echo", "x")),
            ("keep", call(1, "keep", "x")),
            ("page", request("resources/read", json!({ "uri": URI }))),
        ] {
            let expected = if allowed.contains(&name) { 200 } else { 403 };
            for said in [
                place.stateless(request.clone()).await,
                place.post(&session, request.clone()).await,
            ] {
                assert_eq!(said.status, expected, "{name} with {scope}");
                let answer = said.json().await;
                assert_eq!(answer["error"]["code"] == 403, expected == 403, "{answer}");
            }
        }
        let may_read = allowed.contains(&"page");
        let subscribe = place.post(&session, request("resources/subscribe", json!({ "uri": URI })));
        assert_eq!(subscribe.await.status == 200, may_read, "{scope}");
        let listen = place.stateless(request("subscriptions/listen", subscriptions.clone()));
        assert_eq!(listen.await.status == 200, may_read, "{scope}");
        let kept = if allowed.contains(&"keep") {
            vec!["x", "x"]
        } else {
            vec![]
        };
        assert_eq!(place.notes.kept(), kept, "{scope}");
        place.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_too_often_waits_and_changes_nothing() {
    let rates = Arc::new(Rates::new(Rate::a_minute(6), Rate::a_minute(2)));
    let mut place = Place::new(Limits::default());
    let session = place.open().await;
    place.budget = Some(Budget::new(rates.clone(), "ada"));
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for (in_session, request, expected) in [
        (false, call(1, "keep", "a"), 200),
        (true, call(1, "keep", "b"), 200),
        (false, call(1, "keep", "c"), 429),
        (true, call(1, "keep", "d"), 429),
        (false, call(1, "echo", "x"), 200),
        (true, call(1, "no_such_tool", "x"), 200),
        (false, list.clone(), 200),
        (true, list.clone(), 200),
        (false, call(1, "echo", "x"), 200),
        (true, call(1, "echo", "x"), 200),
        (false, call(1, "echo", "x"), 429),
        (true, list, 429),
    ] {
        let said = match in_session {
            true => place.post(&session, request.clone()).await,
            false => place.stateless(request.clone()).await,
        };
        assert_eq!(said.status, expected, "{request}");
        let wait = said.retry_after.clone().and_then(|wait| wait.parse().ok());
        let answer = said.json().await;
        let named = answer["error"]["data"]["retryAfterSeconds"].as_u64();
        assert_eq!((wait, named.is_some()), (named, expected == 429), "{answer}");
    }
    assert_eq!(place.notes.kept(), ["a", "b"]);
    assert_eq!(rates.refused(Access::Write), 2);
    // Somebody else does as they like, and so does everybody after a while.
    let mut other = place.by(None);
    other.budget = Some(Budget::new(rates, "bert"));
    assert_eq!(other.alone(1, "keep", "d").await.status, 200);
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(place.alone(1, "keep", "e").await.status, 200);
    assert_eq!(place.alone(1, "keep", "f").await.status, 429);
    assert_eq!(place.notes.kept(), ["a", "b", "d", "e"]);
}

#[tokio::test]
async fn a_contract_that_wants_the_caller_to_wait_says_so_by_the_status_where_errors_are_errors() {
    let mut place = Place::new(Limits::default());
    let session = place.open().await;
    let rates = Arc::new(Rates::new(Rate::OFF, Rate::OFF));
    place.budget = Some(Budget::new(rates, "ada"));
    for (tool, in_session, expected, at) in [
        ("wait", true, 200, "/result/_meta/tabellion~1error"),
        ("wait", false, 200, "/result/_meta/tabellion~1error"),
        ("wait_rpc", true, 429, "/error"),
        ("wait_rpc", false, 429, "/error"),
    ] {
        let said = match in_session {
            true => place.post(&session, call(1, tool, "x")).await,
            false => place.stateless(call(1, tool, "x")).await,
        };
        let wait = said.retry_after.clone();
        assert_eq!(said.status, expected, "{tool}");
        assert_eq!(wait.as_deref(), (expected == 429).then_some("7"), "{tool}");
        let answer = said.json().await;
        let error = answer.pointer(at).expect("an error");
        let data = json!({ "retryAfterSeconds": 7, "who": "ada" });
        assert_eq!(
            (&error["code"], &error["data"]),
            (&json!(-32005), &data),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_session_is_its_owners() {
    let place = Place::new(Limits::default());
    let (ada, bert) = (
        place.by(grant("Ada", &["write"])),
        place.by(grant("Bert", &["write"])),
    );
    let session = ada.open().await;
    let own = [("accept", BOTH), ("mcp-session-id", &*session)];
    for other in [&bert, &place] {
        assert_eq!(other.post(&session, call(1, "keep", "x")).await.status, 404);
        assert_eq!(other.send("GET", &own, &Value::Null).await.status, 404);
        assert_eq!(other.send("DELETE", &own, &Value::Null).await.status, 404);
    }
    assert_eq!(ada.post(&session, call(1, "keep", "a")).await.status, 200);
    assert_eq!(ada.send("DELETE", &own, &Value::Null).await.status, 204);
    assert_eq!(place.notes.kept(), ["a"]);
    place.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_soon_after_its_reader_may_no_longer_read() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = KeyFile::at(folder.path().join("keys.json"));
    let key = file.create("Ada", None, vec!["write".parse().unwrap()]).unwrap();
    let ring = Arc::new(Ring::new(file.clone()).unwrap());
    let holder = ring.holder(&key.reveal()).unwrap();
    let good = holder.at("", Standing::Key(ring)).unwrap();
    let expired = holder.at("", Standing::Until(SystemTime::now())).unwrap();
    let subscriptions = json!({ "notifications": { "resourceSubscriptions": [URI] } });
    let listen =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": subscriptions });
    let place = Place::new(Limits::default());
    for (grant, is_good) in [(good, true), (expired, false)] {
        let place = place.by(Some(Arc::new(grant)));
        let session = place.open().await;
        let own = [("accept", BOTH), ("mcp-session-id", &*session)];
        let mut streams = [
            place.send("GET", &own, &Value::Null).await,
            place.stateless(listen.clone()).await,
        ];
        let mut called = place.post(&session, call(1, "slow", "a")).await;
        if is_good {
            for stream in &mut streams {
                assert!(stream.is_stream);
                while !stream.next_is_a_sign_of_life().await {}
            }
            file.revoke(key.id()).unwrap();
        }
        let ended = async {
            for mut stream in streams {
                while stream.body.frame().await.is_some() {}
            }
        };
        // They are looked at every 15 seconds, one after the other.
        let ended = tokio::time::timeout(Duration::from_secs(40), ended).await;
        assert!(ended.is_ok(), "{is_good}");
        // What they asked when they could is answered all the same.
        assert!(called.is_stream);
        if !is_good {
            continue;
        }
        place.notes.open(1);
        while let Some((_, message)) = called.event().await {
            assert!(message.is_null() || *text(&message) == "a", "{message}");
        }
        assert_eq!(place.notes.kept(), ["a"]);
    }
}

#[tokio::test]
async fn an_approval_is_good_for_who_asked_for_it() {
    let place = Place::new(Limits::default());
    let (ada, bert) = (
        place.by(grant("Ada", &["write"])),
        place.by(grant("Bert", &["write"])),
    );
    let question = ada.alone(1, "append", "two").await.json().await;
    let mut repeated = call(2, "append", "two");
    repeated["params"]["requestState"] = question["result"]["requestState"].clone();
    repeated["params"]["inputResponses"] = json!({ "approval": { "action": "accept" } });
    assert!(repeated["params"]["requestState"].is_string(), "{question}");
    let refused = bert.stateless(repeated.clone()).await.json().await;
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("requestState"), "{refused}");
    let done = ada.stateless(repeated).await.json().await;
    assert!(done["result"]["structuredContent"].is_object(), "{done}");
    place.end().await;
}
