//! Contracts over REST. Declaring endpoints is sufficient: here a contract without them declares some.

use std::{path::Path, sync::Arc};

use http_body_util::BodyExt as _;
use hyper::{Request, Response, body::Bytes};
use serde_json::{Value, json};
use tabellion_contracts::{braindrive_markdown::CONTRACT, brainforge};
use tabellion_gateway::{Access, ApprovalPolicy, Gateway, Grant, Intake, Offer};
use tabellion_mcp::{
    Adapter, ServerInfo,
    streamable::{Endpoint, Limits},
};
use tabellion_rest::{Rest, RestRequest};
use tabellion_runtime::{
    Agent, Answer, Author, BoxFuture, CallContext, Contract, ContractSpec, Identity, Rejection, schema,
    spec::{ErrorStatus, RestEndpoint, RestMethod, RestOperation, ScopeWord},
};

use crate::support::{Library, contract, stateless};

const fn status(error: &'static str, status: u16) -> ErrorStatus {
    ErrorStatus { error, reason: None, status }
}

const fn endpoint(method: RestMethod, path: &'static str, is: RestOperation) -> RestEndpoint {
    RestEndpoint { method, path, is, ..RestEndpoint::NEW }
}

/// The contract's keys for REST, in addition to its own.
static FACE: ContractSpec = ContractSpec {
    rest: &[
        endpoint(RestMethod::Post, "/call/{tool}", RestOperation::ToolExecute),
        endpoint(RestMethod::Get, "/api.json", RestOperation::OpenApi),
    ],
    statuses: &[
        status("INVALID_PARAMS", 422),
        status("NOT_FOUND", 404),
        status("CONFLICT", 409),
        status("IO_ERROR", 500),
    ],
    ..CONTRACT
};

/// The contract with its face.
struct Faced(Arc<dyn Contract>);

impl Contract for Faced {
    fn spec(&self) -> &'static ContractSpec {
        &FACE
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        self.0.call(call, tool, arguments)
    }
}

/// Serves a contract that declares endpoints.
fn rest(contract: Arc<dyn Contract>, offer: Offer) -> Arc<Rest> {
    let gateway = Gateway::new(vec![contract], offer, ApprovalPolicy::default());
    let gateway = Arc::new(gateway.expect("no names clash"));
    let rest = Rest::new(gateway, Arc::new(Intake::new(256)), None);
    Arc::new(rest.expect("it declares endpoints"))
}

/// Sends a request of JSON.
async fn send(
    rest: &Arc<Rest>,
    grant: Option<Arc<dyn Grant>>,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Bytes,
) -> Response<Bytes> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .header("content-length", body.len());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body).expect("a request");
    let path = path.split('?').next().unwrap_or_default().into();
    rest.answer(RestRequest { path, request, name: "r1".into(), grant, budget: None }).await
}

/// Returns the status, the ETag and the body of the answer to a request.
async fn ask(
    rest: &Arc<Rest>,
    (is, tool): (RestOperation, &str),
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Option<String>, Value) {
    let asked = FACE.endpoint(is).expect("it is in the face");
    let (method, path) = (asked.method.to_string(), asked.path_with(&[tool]));
    let response = send(rest, None, (&method, &path), headers, body.to_string().into()).await;
    let etag = response.headers().get("etag");
    let etag = etag.map(|etag| etag.to_str().expect("it is ASCII").to_owned());
    (response.status().as_u16(), etag, serde_json::from_slice(response.body()).expect("JSON"))
}

#[tokio::test]
async fn a_contract_that_declares_endpoints_is_served_there() {
    let library = Library::empty();
    let endpoint = rest(Arc::new(Faced(contract(library.root(), CONTRACT.id))), Offer::Everything);
    let execute = |tool| (RestOperation::ToolExecute, tool);
    let write = |text: &str| json!({ "path": "a.md", "content": text });
    let key = [("idempotency-key", "one")];
    let (status, _, made) = ask(&endpoint, execute("write_markdown"), &key, &write("# A\n")).await;
    assert_eq!((status, &made["status"]), (200, &json!("success")), "{made}");
    // An identical request is the same call.
    let (_, _, again) = ask(&endpoint, execute("write_markdown"), &key, &write("# A\n")).await;
    assert_eq!(again["result"], made["result"]);
    let (status, _, reused) = ask(&endpoint, execute("write_markdown"), &key, &write("# B\n")).await;
    assert_eq!((status, &reused["error"]["code"]), (409, &json!("CONFLICT")), "{reused}");
    // The version that was read is the condition of a change.
    let path = json!({ "path": "a.md" });
    let (status, etag, read) = ask(&endpoint, execute("read_markdown"), &[], &path).await;
    assert_eq!((status, &read["result"]["content"]), (200, &json!("# A\n")), "{read}");
    let etag = etag.expect("what is read has an ETag");
    let base = [("if-match", &*etag)];
    let (status, ..) = ask(&endpoint, execute("write_markdown"), &base, &write("# B\n")).await;
    assert_eq!(status, 200);
    let (status, _, stale) = ask(&endpoint, execute("write_markdown"), &base, &write("# C\n")).await;
    assert_eq!((status, &stale["error"]["code"]), (409, &json!("CONFLICT")), "{stale}");
    let (status, _, missing) =
        ask(&endpoint, execute("read_markdown"), &[], &json!({ "path": "b.md" })).await;
    assert_eq!((status, &missing["error"]["code"]), (404, &json!("NOT_FOUND")), "{missing}");
    let (status, _, outside) =
        ask(&endpoint, execute("read_markdown"), &[], &json!({ "path": "../b.md" })).await;
    assert_eq!((status, &outside["error"]["code"]), (422, &json!("INVALID_PARAMS")), "{outside}");
    let (_, _, described) = ask(&endpoint, (RestOperation::OpenApi, ""), &[], &json!({})).await;
    let paths = described["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), CONTRACT.tools.len() + 1);
    assert!(paths.contains_key("/call/write_markdown"));
    assert_eq!(std::fs::read_to_string(library.root().join("a.md")).expect("it is there"), "# B\n");
}

/// A caller with these scopes: a person, or an agent that acts for them.
#[derive(Debug)]
struct Holder {
    name: &'static str,
    identity: Identity,
    scope: ScopeWord,
    agent: Option<Agent>,
}

impl Holder {
    fn new(name: &'static str, scope: ScopeWord, agent: Option<Agent>) -> Self {
        Self { name, identity: Identity::key(name), scope, agent }
    }
}

impl Grant for Holder {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn author(&self) -> Author {
        Author { name: self.name.into(), email: format!("{}@example.org", self.name) }
    }

    fn agent(&self) -> Option<Agent> {
        self.agent.clone()
    }

    fn allows(&self, _: &str, access: Access) -> bool {
        access == Access::Read || self.scope == ScopeWord::Write
    }

    fn scopes(&self, _: &str) -> Vec<ScopeWord> {
        vec![self.scope]
    }

    fn is_valid(&self) -> bool {
        true
    }
}

/// The contract `brainforge` over a library, and the description of its endpoints.
struct Forge {
    rest: Arc<Rest>,
    described: Value,
}

impl Forge {
    fn open(root: &Path, offer: Offer) -> Self {
        let rest = rest(contract(root, brainforge::CONTRACT.id), offer);
        let described = rest.openapi();
        Self { rest, described }
    }

    /// Returns the status and the body of the answer to a request, which is checked against the description.
    async fn ask(
        &self,
        by: Option<Holder>,
        (method, path): (&str, &str),
        body: Option<Value>,
    ) -> (u16, Value) {
        let response = self.send(by, (method, path), &[], body).await;
        let path = path.split('?').next().unwrap_or_default();
        let status = response.status().as_u16();
        let body = response.into_body();
        let body = serde_json::from_slice(&body).expect("JSON");
        if let Some(schema) = self.schema(method, path, status) {
            let schema = schema::compile(&schema).expect("a schema");
            let wrong: Vec<_> = schema.iter_errors(&body).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{method} {path} {status}: {wrong:?}\n{body}");
        } else {
            assert!(matches!(status, 404 | 405 | 422), "{method} {path} {status} is not described");
        }
        (status, body)
    }

    async fn send(
        &self,
        by: Option<Holder>,
        asked: (&str, &str),
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Response<Bytes> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let grant = by.map(|by| Arc::new(by) as Arc<dyn Grant>);
        send(&self.rest, grant, asked, headers, body).await
    }

    /// Returns the schema of an answer, from the description.
    fn schema(&self, method: &str, path: &str, status: u16) -> Option<Value> {
        let paths = self.described["paths"].as_object()?;
        let fits = |template: &str| {
            let (mut template, mut path) = (template.split('/'), path.split('/'));
            loop {
                match (template.next(), path.next()) {
                    (None, None) => return true,
                    (Some(part), Some(value)) if part == value || part.starts_with('{') => {}
                    _ => return false,
                }
            }
        };
        let mut operations = paths.iter().filter(|(template, _)| fits(template));
        let operation = operations.find_map(|(_, path)| path.get(method.to_lowercase()))?;
        let mut response = &operation["responses"][status.to_string()];
        if let Some(reference) = response["$ref"].as_str() {
            response = self.described.pointer(reference.trim_start_matches('#'))?;
        }
        let mut schema = response["content"]["application/json"]["schema"].clone();
        schema.as_object_mut()?.insert("components".into(), self.described["components"].clone());
        Some(schema)
    }
}

#[tokio::test]
async fn workflows_are_listed_started_shown_and_completed() {
    let library = Library::empty();
    let forge = Forge::open(library.root(), Offer::Everything);
    let owner = || Some(Holder::new("ada", ScopeWord::Write, None));
    let reviewer = || Some(Holder::new("rita", ScopeWord::Review, None));
    let reader = || Some(Holder::new("bob", ScopeWord::Read, None));
    let agent = || Some(Holder::new("ada", ScopeWord::Write, Agent::parse("helper@1")));

    let (status, listed) = forge.ask(owner(), ("GET", "/workflows"), None).await;
    assert_eq!((status, &listed["count"]), (200, &json!(2)));
    for workflow in listed["workflows"].as_array().expect("workflows") {
        let bpmn = workflow["bpmn"].as_str().expect("BPMN");
        let id = workflow["workflow_id"].as_str().expect("an id");
        assert!(bpmn.contains(&format!("<process id=\"{id}\"")), "{bpmn}");
    }

    let start = ("POST", "/workflows/research_workflow/start");
    let topic = json!({ "parameters": { "topic": "locks" } });
    let (status, started) = forge.ask(agent(), start, Some(topic.clone())).await;
    assert_eq!(status, 201, "{started}");
    let id = started["instance_id"].as_str().expect("an id").to_owned();
    let shown = format!("/workflows/instances/{id}");
    let complete = |task: &str| format!("{shown}/tasks/{task}/complete");
    let (first, second) = (complete("topic_analysis"), complete("source_discovery"));
    let done = || Some(json!({ "decision": "done", "notes": "Looked.", "data": { "found": [1, null] } }));
    let other = format!("/workflows/instances/{}", "0".repeat(32));
    let note = || json!({ "content": "# Locks\n\nLocks are short.", "ai_justification": "asked to" });
    for (by, asked, body, status, reason) in [
        (None, start, Some(topic.clone()), 401, Some("missing")),
        (reader(), start, Some(topic.clone()), 403, Some("role")),
        (owner(), start, Some(json!({})), 422, None),
        (
            owner(),
            ("POST", "/workflows/agent_note_review/start"),
            Some(json!({})),
            422,
            Some("started_by_tool"),
        ),
        (owner(), ("POST", "/workflows/nothing/start"), Some(json!({})), 404, Some("not_found")),
        (owner(), ("GET", &other), None, 404, Some("not_found")),
        (
            owner(),
            start,
            Some(json!({ "workflow_id": "nothing", "parameters": { "topic": "x" } })),
            422,
            Some("invalid"),
        ),
        (reviewer(), ("POST", &first), done(), 403, Some("role")),
        (owner(), ("POST", &second), done(), 409, Some("not_ready")),
        (owner(), ("POST", &first), Some(json!({})), 422, None),
        (owner(), ("POST", &first), Some(json!({ "decision": "undone" })), 422, Some("decision")),
        (owner(), ("GET", "/workflows/instances?limit=101"), None, 422, None),
        (owner(), ("GET", "/workflows/instances?limit=ten"), None, 422, None),
        (owner(), ("GET", "/workflows/instances?mine=true&mine=true"), None, 400, Some("malformed")),
        (owner(), ("GET", "/workflows/instances?stat=active"), None, 400, Some("malformed")),
        (owner(), ("GET", &format!("{shown}?instance_id={id}")), None, 400, Some("malformed")),
        (owner(), ("GET", "/workflows?status=active"), None, 400, Some("malformed")),
        (owner(), ("GET", "/executions/e1?wiat=1"), None, 400, Some("malformed")),
        (owner(), ("GET", "/executions/e1?wait=1&w%61it=2"), None, 400, Some("malformed")),
        (owner(), ("POST", "/tools/create_note/execute?dryrun=true"), Some(note()), 400, Some("malformed")),
        (owner(), ("DELETE", "/sessions/s1?force"), None, 400, Some("malformed")),
        (owner(), ("DELETE", &shown), None, 405, Some("method")),
        (owner(), ("POST", "/tools/creat_note/execute"), Some(json!({})), 404, Some("not_found")),
    ] {
        let (found, body) = forge.ask(by, asked, body).await;
        assert_eq!(found, status, "{asked:?}: {body}");
        let details = &body["error"]["details"];
        let reason = reason.or(details["violations"][0]["rule"].as_str());
        assert_eq!(details["reason"].as_str(), reason, "{asked:?}: {body}");
    }
    let (status, completed) = forge.ask(agent(), ("POST", &first), done()).await;
    assert_eq!((status, &completed["state"]), (200, &json!("source_discovery")));
    let (_, after) = forge.ask(agent(), ("GET", &shown), None).await;
    assert_eq!(after, completed);
    let response = forge.send(reader(), ("GET", &shown), &[], None).await;
    let etag = response.headers()["etag"].to_str().expect("it is ASCII").to_owned();
    for (path, known, status) in [
        (&*shown, etag.clone(), 304),
        (&shown, format!("\"other\", W/{etag}"), 304),
        (&shown, "*".into(), 304),
        (&shown, "\"other\"".into(), 200),
        ("/workflows/instances", etag.clone(), 200),
        ("/tools", "*".into(), 200),
    ] {
        let response = forge.send(reader(), ("GET", path), &[("if-none-match", &known)], None).await;
        assert_eq!(response.status(), status, "{path} {known}");
        let etag_again = response.headers().get("etag").map(|etag| etag.as_bytes());
        assert_eq!(etag_again, (path == shown).then_some(etag.as_bytes()), "{path} {known}");
        assert_eq!(response.body().is_empty(), status == 304, "{path} {known}");
    }
    let query = "/workflows/instances?status=active&mine=true&limit=1&workflow_id=research%5Fworkflow";
    for (by, count) in [(agent(), 1), (owner(), 0)] {
        let (status, listed) = forge.ask(by, ("GET", query), None).await;
        assert_eq!((status, &listed["count"]), (200, &json!(count)), "{listed}");
    }

    // A proposal is decided at the URL that shows it.
    let (_, made) = forge.ask(agent(), ("POST", "/tools/create_note/execute"), Some(note())).await;
    let review = made["result"]["review_workflow_id"].as_str().expect("an id");
    let review = format!("/workflows/instances/{review}");
    let approve = json!({ "decision": "approve" });
    let complete = format!("{review}/tasks/human_review/complete");
    let (status, refused) = forge.ask(agent(), ("POST", &complete), Some(approve.clone())).await;
    assert_eq!(status, 403, "{refused}");
    let before = library.ledger().commits.len();
    let (status, approved) = forge.ask(reviewer(), ("POST", &complete), Some(approve)).await;
    assert_eq!((status, &approved["status"]), (200, &json!("completed")), "{approved}");
    assert_eq!(library.ledger().commits.len(), before + 1);
    let (_, again) = forge.ask(agent(), ("GET", &review), None).await;
    assert_eq!(again, approved);

    // A merge that a person has begun.
    std::fs::write(library.root().join(".git/MERGE_HEAD"), "0".repeat(40)).expect("written");
    let topic = Some(json!({ "parameters": { "topic": "locks" } }));
    let (status, refused) = forge.ask(owner(), start, topic).await;
    let details = json!({ "reason": "unavailable", "retry_after_seconds": 5 });
    assert_eq!((status, &refused["error"]["details"]), (503, &details), "{refused}");
}

#[test]
fn the_checked_in_description_is_served() {
    let library = Library::empty();
    let served = Forge::open(library.root(), Offer::Everything).described;
    let checked_in = include_str!("../../../../schemas/src/generated/brainforge.openapi.json");
    let mut checked_in: Value = serde_json::from_str(checked_in).expect("JSON");
    checked_in["servers"] = served["servers"].clone();
    assert_eq!(served.to_string(), checked_in.to_string());
}

#[tokio::test]
async fn what_endpoints_call_is_no_tool_of_mcp_and_changes_nothing_where_nothing_may_change() {
    let library = Library::empty();
    let forge = Forge::open(library.root(), Offer::ReadOnly);
    let owner = || Some(Holder::new("ada", ScopeWord::Write, None));
    let topic = json!({ "parameters": { "topic": "locks" } });
    let start = ("POST", "/workflows/research_workflow/start");
    let (status, refused) = forge.ask(owner(), start, Some(topic)).await;
    assert_eq!(status, 404, "{refused}");
    let paths = forge.described["paths"].as_object().expect("paths");
    assert!(!paths.contains_key(start.1) && paths.contains_key("/workflows/instances"));
    let (status, refused) = forge.ask(owner(), ("GET", "/toolz"), None).await;
    assert!(status == 404 && refused["error"]["message"].to_string().contains("/tools`"), "{refused}");
    let (status, listed) = forge.ask(owner(), ("GET", "/workflows/instances"), None).await;
    assert_eq!((status, &listed["count"]), (200, &json!(0)));

    let params = json!({ "name": "instance.list", "arguments": {}, "_meta": stateless(&json!({})) });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "instance.list")
        .body(Bytes::from(call.to_string()));
    let grant = owner().map(|by| Arc::new(by) as Arc<dyn Grant>);
    let info = ServerInfo { name: "forge".into(), version: "1".into(), instructions: None };
    let adapter = Adapter::over(forge.rest.gateway().clone(), info);
    let endpoint = Endpoint::new(adapter, Limits::default());
    let answer = endpoint.answer(request.expect("a request"), "r2".into(), grant, None).await;
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("unknown tool"), "{body}");
}
