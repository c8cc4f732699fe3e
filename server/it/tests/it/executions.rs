//! Executions, sessions and limits of `brainforge`, over both transports of the built server, and the audit of them.

use std::{io, path::Path, process::Command, thread, time::Duration};

use serde_json::{Map, Value, json};
use tabellion_conformance::{
    http::{Request, Response, Url},
    ledger,
    target::ANSWER_TIMEOUT,
};
use tempfile::TempDir;

use crate::{
    http::{Server, issuer, key},
    support::{TABELLION, ended},
};

/// The issuer of tokens, and the server's URL in them.
const ISSUER: &str = "https://login.example";
const AUDIENCE: &str = "http://localhost:8000";

/// A library with keys, which servers over HTTP share.
struct Shop {
    folder: TempDir,
}

/// A key of the library.
struct Key(String);

impl Shop {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    fn library(&self) -> std::path::PathBuf {
        self.folder.path().join("library")
    }

    fn key(&self, name: &str, arguments: &[&str]) -> Key {
        let file = self.folder.path().join("keys.json");
        let create = ["create", "--name", name, "--keys", file.to_str().expect("text")];
        Key(key(&[&create, arguments].concat()).trim().to_owned())
    }

    fn serve(&self) -> Server {
        self.serve_ahead(0)
    }

    /// Serves with a clock that is ahead by `seconds`.
    fn serve_ahead(&self, seconds: u64) -> Server {
        let mut command = self.server();
        command.arg("--keys").arg(self.folder.path().join("keys.json"));
        command.env("TABELLION_CLOCK_OFFSET", seconds.to_string());
        Server::start(&mut command)
    }

    /// Serves callers with tokens of an issuer with this key set.
    fn serve_tokens(&self, jwks: &str) -> Server {
        let file = self.folder.path().join("jwks.json");
        std::fs::write(&file, jwks).expect("written");
        let mut command = self.server();
        command.args(["--public-url", AUDIENCE, "--oauth-issuer", ISSUER, "--oauth-jwks"]);
        Server::start(command.arg(file))
    }

    fn server(&self) -> Command {
        let mut command = Command::new(TABELLION);
        command.args(["serve", "--contract", "brainforge", "--http", "127.0.0.1:0"]);
        command.arg("--library").arg(self.library());
        command
    }

    fn audit(&self, arguments: &[&str]) -> (bool, Vec<Value>) {
        audit(&self.library(), arguments)
    }
}

fn audit(library: &Path, arguments: &[&str]) -> (bool, Vec<Value>) {
    let mut command = Command::new(TABELLION);
    command.args(["audit", "--json"]).args(arguments).arg("--library").arg(library);
    let (code, lines, _) = ended(&mut command);
    let lines = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    (code == Some(0), lines.collect())
}

/// An answer over REST.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    fn text(&self, pointer: &str) -> &str {
        let text = self.body.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no {pointer} in {}", self.body))
    }
}

type Headers<'a> = &'a [(&'a str, &'a str)];

fn send(
    server: &Server,
    key: &Key,
    (method, path): (&'static str, &str),
    headers: Headers<'_>,
    body: Option<Value>,
) -> io::Result<Response> {
    let url = server.url();
    let url = Url { path: format!("{}{path}", url.path), ..url };
    let mut request = Request::new(method).with("Authorization", &format!("Bearer {}", key.0));
    for (name, value) in headers {
        request = request.with(name, value);
    }
    if let Some(body) = body {
        request = request.with("Content-Type", "application/json");
        request.body = body.to_string().into_bytes();
    }
    request.send(&url, ANSWER_TIMEOUT)
}

fn ask(
    server: &Server,
    key: &Key,
    asked: (&'static str, &str),
    headers: Headers<'_>,
    body: Option<Value>,
) -> Answer {
    let mut response = send(server, key, asked, headers, body).expect("an answer");
    let body = response.bytes().expect("a body");
    Answer {
        status: response.status,
        headers: response.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }
}

fn create(server: &Server, key: &Key, title: &str, headers: Headers<'_>) -> Answer {
    let note = json!({
        "content": format!("# {title}\n\nMore than ten characters."),
        "note_type": "permanent",
        "metadata": { "title": title },
    });
    ask(server, key, ("POST", "/tools/create_note/execute"), headers, Some(note))
}

fn export(server: &Server, key: &Key, headers: Headers<'_>) -> Answer {
    let all = Some(json!({ "format": "json" }));
    ask(server, key, ("POST", "/tools/export_library/execute"), headers, all)
}

fn open(server: &Server, key: &Key) -> Answer {
    ask(server, key, ("POST", "/sessions"), &[], None)
}

fn fetch(server: &Server, key: &Key, execution: &str) -> Answer {
    let path = format!("/executions/{execution}?wait=20");
    ask(server, key, ("GET", &path), &[], None)
}

/// Creates a note as an agent, which waits for a reviewer; returns its review.
fn propose(server: &Server, agent: &Key, headers: Headers<'_>) -> Answer {
    let note = json!({ "content": "# Locks\n\nLocks are short.", "ai_justification": "asked to" });
    ask(server, agent, ("POST", "/tools/create_note/execute"), headers, Some(note))
}

#[test]
fn a_name_in_a_token_makes_no_caller_another() {
    let shop = Shop::new();
    let (jwks, sign) = issuer();
    let server = shop.serve_tokens(&jwks);
    let token = |more: Value| {
        let mut claims = json!({
            "iss": ISSUER, "aud": format!("{AUDIENCE}/mcp"), "exp": 9_999_999_999_u64, "client_id": "app", "scope": "write",
        });
        let more = more.as_object().expect("claims").clone();
        claims.as_object_mut().expect("claims").extend(more);
        Key(sign(&claims))
    };
    let ann = json!({ "sub": "s1", "email": "s1@example.com", "email_verified": true });
    let helper =
        token(json!({ "sub": "s1", "email": "s1@example.com", "email_verified": true, "agent": "helper@1" }));
    let ann = token(ann);
    let proposed = propose(&server, &helper, &[("Idempotency-Key", "k")]);
    let review = proposed.text("/result/review_workflow_id").to_owned();
    let note = proposed.text("/result/note_id").to_owned();
    let made = create(&server, &ann, "One", &[("Idempotency-Key", "k")]);
    let session = open(&server, &ann);
    let (execution, session) = (made.text("/execution_id"), session.text("/session_id"));
    let shown = format!("/workflows/instances/{review}");
    for claims in [
        json!({ "sub": "s2", "name": "s1@example.com" }),
        json!({ "sub": "s2", "name": "agent:helper/s1@example.com" }),
        json!({ "sub": "s2", "name": "s1@example.com", "agent": "helper@1" }),
        json!({ "sub": "s2", "preferred_username": "s1@example.com", "agent": "helper@1" }),
        json!({ "sub": "s2", "email": "s1@example.com", "agent": "helper@1" }),
        json!({ "sub": "S1", "name": "s1@example.com", "agent": "helper@1" }),
        json!({ "sub": "s1/app", "client_id": "", "agent": "helper@1" }),
        json!({ "sub": "s1;agent=helper", "name": "s1@example.com" }),
        json!({ "sub": "s1", "agent": "helper/../helper@1" }),
    ] {
        let other = token(claims.clone());
        let is_ann = claims["sub"] == "s1";
        let withdraw = json!({ "decision": "withdraw", "notes": "No." });
        let update = json!({ "note_id": note, "version": 1, "content": "# Other\n\nSomething else." });
        for (asked, body) in [
            (("POST", format!("{shown}/tasks/human_review/complete")), Some(withdraw)),
            (("POST", "/tools/update_note/execute".into()), Some(update)),
            (("GET", format!("/executions/{execution}")), None),
            (("DELETE", format!("/sessions/{session}")), None),
        ] {
            let answer = ask(&server, &other, (asked.0, &asked.1), &[], body);
            // Owners see the executions of all callers.
            let is_owner = claims.get("agent").is_none() && asked.0 == "GET";
            assert!(
                is_owner || answer.status >= 400,
                "{claims}: {asked:?} {}: {}",
                answer.status,
                answer.body
            );
        }
        let again = propose(&server, &other, &[("Idempotency-Key", "k")]);
        assert!(
            is_ann || again.status >= 400 || again.text("/result/note_id") != note,
            "{claims}: {}",
            again.body
        );
    }
    let reads = token(json!({ "sub": "s1", "scope": "read" }));
    let refused = create(&server, &reads, "Two", &[]);
    assert_eq!((refused.status, refused.text("/error/details/reason")), (403, "scope"), "{}", refused.body);
    let challenge = refused.header("www-authenticate").expect("a challenge");
    assert!(
        challenge.contains("error=\"insufficient_scope\", scope=\"write\", resource_metadata="),
        "{challenge}"
    );
    // Their own executions are still there, for them.
    let again = propose(&server, &helper, &[("Idempotency-Key", "k")]);
    assert_eq!(again.text("/result/note_id"), note);
    assert_eq!(fetch(&server, &ann, execution).status, 200);
    let ended = ask(&server, &ann, ("DELETE", &format!("/sessions/{session}")), &[], None);
    assert_eq!(ended.status, 200, "{}", ended.body);
    let (agree, said) = shop.audit(&["--check"]);
    assert!(agree, "{said:?}");
}

#[test]
fn a_call_goes_on_after_it_was_accepted() {
    let shop = Shop::new();
    let ann = shop.key("Ann", &["--scope", "write"]);
    let server = shop.serve();
    let accepted = create(&server, &ann, "Later", &[("Prefer", "respond-async")]);
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    assert_eq!(accepted.header("preference-applied"), Some("respond-async"));
    let id = accepted.text("/execution_id");
    let place = accepted.header("location").expect("a place");
    assert!(place.ends_with(&format!("/mcp/executions/{id}")), "{place}");
    let ended = fetch(&server, &ann, id);
    assert_eq!((ended.status, ended.text("/status")), (200, "success"));
    assert_eq!(ended.text("/result/status"), "created");
    let message = ledger::git(&shop.library(), &["log", "-1", "--format=%H%n%B"]).expect("a log");
    assert!(message.starts_with(ended.text("/commit")), "{message}");
    for trailer in [
        format!("Tabellion-Execution: {id}"),
        format!("Tabellion-Session: {}", ended.text("/session_id")),
        "Tabellion-Caller: api_key:".to_owned(),
    ] {
        assert!(message.contains(&trailer), "no {trailer} in {message}");
    }
}

#[test]
fn an_execution_is_its_callers_and_of_those_who_see_others() {
    let shop = Shop::new();
    let ann = shop.key("Ann", &["--scope", "write"]);
    let others = [
        (shop.key("Ann", &["--scope", "write", "--agent", "helper@1"]), 404),
        (shop.key("Bob", &["--scope", "read"]), 404),
        (shop.key("Eve", &["--scope", "review"]), 200),
        (shop.key("Max", &["--scope", "write"]), 200),
    ];
    let server = shop.serve();
    let id = create(&server, &ann, "Mine", &[]).text("/execution_id").to_owned();
    for (at, (key, status)) in others.iter().enumerate() {
        let found = fetch(&server, key, &id);
        assert_eq!(found.status, *status, "{at}: {}", found.body);
        assert_eq!(found.body.get("result"), None, "{at}: results are their callers'");
        if *status == 404 {
            // The same answer as for an execution that does not exist.
            let none = fetch(&server, key, "01a21501-196d-70b2-84af-0eb2ce2cfa58");
            assert_eq!((none.status, none.body), (404, found.body));
        }
        let cancelled = ask(&server, key, ("DELETE", &format!("/executions/{id}")), &[], None);
        assert_eq!(cancelled.status, 404, "only its caller may cancel it");
    }
    assert_eq!(fetch(&server, &ann, &id).text("/result/status"), "created");
    let ended = ask(&server, &ann, ("DELETE", &format!("/executions/{id}")), &[], None);
    assert_eq!((ended.status, ended.text("/error/details/reason")), (409, "finished"));
}

#[test]
fn an_execution_begun_over_mcp_is_seen_over_rest_and_by_the_audit() {
    let shop = Shop::new();
    let ann = shop.key("Ann", &["--scope", "write"]);
    let server = shop.serve();
    let mut target = server.connect_with(&ann.0);
    let query = json!({ "query": "nothing" });
    let answer = target.call("semantic_search", query, Map::new()).expect("an answer");
    let meta = &answer["result"]["_meta"];
    let id = meta["tabellion/execution"].as_str().expect("an execution");
    let found = fetch(&server, &ann, id);
    assert_eq!((found.status, found.text("/status")), (200, "success"));
    assert_eq!(found.body["session_id"], meta["tabellion/session"]);
    // The result of a call that only reads, and was answered, is not kept.
    assert_eq!(found.body.get("result"), None);
    let refused = target.call("create_note", json!({ "content": "" }), Map::new());
    assert_eq!(refused.expect("an answer")["result"]["isError"], true);
    let unjustified =
        json!({ "content": "# Note\n\nLong enough to be a note.", "note_type": "agent_generated" });
    let violating = target.call("create_note", unjustified, Map::new()).expect("an answer");
    assert_eq!(violating["result"]["isError"], true);
    let over_rest = create(&server, &ann, "Over REST", &[]);
    let (_, all) = shop.audit(&[]);
    let seen: Vec<_> =
        all.iter().map(|execution| (execution["tool"].as_str(), execution["status"].as_str())).collect();
    let expected = [
        ("semantic_search", "success"),
        ("create_note", "failed"),
        ("create_note", "failed"),
        ("create_note", "success"),
    ];
    assert_eq!(seen, expected.map(|(tool, status)| (Some(tool), Some(status))));
    assert_eq!(all[1]["error"]["code"], "MCP_INVALID_INPUT");
    assert_eq!(all[3]["commit"], over_rest.body["commit"]);
    for (failed, clause) in [(&all[1], None), (&all[2], Some("ai_content_is_justified"))] {
        let found = fetch(&server, &ann, failed["execution_id"].as_str().expect("an id"));
        let said = &found.body["constitutional_compliance"];
        assert_eq!(said["approved"], false, "{}", found.body);
        assert_eq!(said["violations"][0]["clause"].as_str(), clause, "{}", found.body);
    }
    for (filter, count) in [
        (&["--tool", "create_note"][..], 3),
        (&["--status", "failed"], 2),
        (&["--caller", "Ann"], 4),
        (&["--caller", "Bob"], 0),
        (&["--session", over_rest.text("/session_id")], 1),
        (&["--until", "2001-01-01T00:00:00Z"], 0),
        (&["--since", "2001-01-01T00:00:00Z", "-n", "2"], 2),
    ] {
        assert_eq!(shop.audit(filter).1.len(), count, "{filter:?}");
    }
    let (agree, said) = shop.audit(&["--check"]);
    assert!(agree, "{said:?}");
    assert_eq!(said[0]["commits"], 1);
}

#[test]
fn an_audit_finds_what_was_taken_away_and_what_was_added() {
    let shop = Shop::new();
    let ann = shop.key("Ann", &["--scope", "write"]);
    let server = shop.serve();
    for title in ["One", "Two"] {
        assert_eq!(create(&server, &ann, title, &[]).status, 200);
    }
    drop(server);
    assert!(shop.audit(&["--check"]).0);
    let git = |arguments: &[&str]| ledger::git(&shop.library(), arguments).expect("git");
    let head = git(&["rev-parse", "HEAD"]);
    git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert!(!shop.audit(&["--check"]).0, "a success has lost its commit");
    git(&["reset", "--quiet", "--hard", head.trim()]);
    assert!(shop.audit(&["--check"]).0);
    let message = git(&["log", "-1", "--format=%B"]);
    let message: Vec<_> = message.lines().filter(|line| !line.starts_with("Tabellion-Execution")).collect();
    git(&["commit", "--quiet", "--amend", "-m", &message.join("\n")]);
    assert!(!shop.audit(&["--check"]).0, "a commit has lost its execution");
}

#[test]
fn sessions_are_few_and_end_by_themselves() {
    let shop = Shop::new();
    let (ann, bob) = (shop.key("Ann", &["--scope", "write"]), shop.key("Bob", &["--scope", "write"]));
    let server = shop.serve();
    let opened: Vec<_> = (0..10).map(|_| open(&server, &ann)).collect();
    assert!(opened.iter().all(|answer| answer.status == 201));
    let first = opened[0].text("/session_id").to_owned();
    let eleventh = open(&server, &ann);
    assert_eq!(eleventh.status, 429);
    assert_eq!(eleventh.text("/error/details/limit"), "sessions");
    let wait: u64 = eleventh.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((3590..=3600).contains(&wait), "{wait}");
    assert_eq!(open(&server, &bob).status, 201, "others have their own");
    let session = format!("/sessions/{first}");
    let header = [("X-Session-Id", first.as_str())];
    for (key, method, status) in [(&bob, "PUT", 401), (&bob, "DELETE", 401), (&ann, "PUT", 200)] {
        assert_eq!(ask(&server, key, (method, &session), &[], None).status, status, "{method}");
    }
    let mine = create(&server, &ann, "Mine", &header);
    assert_eq!((mine.status, mine.text("/session_id")), (200, first.as_str()));
    assert_eq!(create(&server, &bob, "Foreign", &header).text("/error/code"), "MCP_SESSION_EXPIRED");
    // Executions outlive the server.
    drop(server);
    let server = shop.serve();
    assert_eq!(ask(&server, &ann, ("PUT", &session), &[], None).status, 200);
    assert_eq!(open(&server, &ann).status, 429);
    assert_eq!(ask(&server, &ann, ("DELETE", &session), &[], None).text("/status"), "terminated");
    assert_eq!(create(&server, &ann, "Late", &header).status, 401);
    assert_eq!(open(&server, &ann).status, 201);
    drop(server);
    let last = opened[1].text("/session_id");
    for (ahead, status) in [(3000, 200), (6000, 200), (9900, 401)] {
        let server = shop.serve_ahead(ahead);
        let renewed = ask(&server, &ann, ("PUT", &format!("/sessions/{last}")), &[], None);
        assert_eq!(renewed.status, status, "{ahead} s later: {}", renewed.body);
    }
}

#[test]
fn limits_hold_over_all_servers_of_a_library_and_for_each_session() {
    let shop = Shop::new();
    let ann = shop.key("Ann", &["--scope", "write"]);
    let servers = [shop.serve(), shop.serve()];
    let sessions = [0, 1].map(|_| open(&servers[0], &ann).text("/session_id").to_owned());
    for session in &sessions {
        let header = [("X-Session-Id", session.as_str())];
        for at in 0..10 {
            let answer = export(&servers[at % 2], &ann, &header);
            assert_eq!(answer.status, 200, "{at}: {}", answer.body);
        }
        for server in &servers {
            let answer = export(server, &ann, &header);
            assert_eq!((answer.status, answer.text("/error/code")), (429, "MCP_RATE_LIMIT_EXCEEDED"));
            let wait: u64 = answer.header("retry-after").expect("a time").parse().expect("seconds");
            assert!((300..=360).contains(&wait), "{wait}");
        }
    }
    drop(servers);
    let header = [("X-Session-Id", sessions[0].as_str())];
    // Used capacity is restored bit by bit.
    let later = shop.serve_ahead(400);
    assert_eq!(export(&later, &ann, &header).status, 200);
    assert_eq!(export(&later, &ann, &header).status, 429);
}

#[test]
fn what_a_killed_server_has_made_is_known_afterwards() {
    let shop = Shop::new();
    let ann = shop.key("Ann", &["--scope", "write"]);
    let mut acknowledged = 0;
    for round in 0..4_u64 {
        let server = shop.serve();
        let made = thread::scope(|scope| {
            let calls = scope.spawn(|| {
                let titles = (0..).map(|at| format!("Round {round}, note {at}"));
                // The limit of a minute leaves room for 50.
                let made = titles.take(10).map(|title| try_create(&server, &ann, &title));
                made.take_while(|answer| *answer == Some(200)).count()
            });
            thread::sleep(Duration::from_millis(150 + 90 * round));
            server.kill();
            calls.join().expect("no panic")
        });
        acknowledged += made;
        let (agree, said) = shop.audit(&["--check"]);
        assert!(agree, "{said:?}");
    }
    let (_, made) = shop.audit(&["--status", "success", "--tool", "create_note"]);
    assert!(acknowledged > 0 && made.len() >= acknowledged, "{} of {acknowledged}", made.len());
    let (_, open) = shop.audit(&["--status", "running"]);
    assert_eq!(open, [Value::Null; 0]);
}

/// Returns the status of a call, if the server lives to answer it.
fn try_create(server: &Server, key: &Key, title: &str) -> Option<u16> {
    let note = json!({ "content": "More than ten characters.", "note_type": "permanent", "metadata": { "title": title } });
    let response = send(server, key, ("POST", "/tools/create_note/execute"), &[], Some(note));
    response.ok().map(|response| response.status)
}
