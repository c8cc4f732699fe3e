//! HTTP apart from messages: statuses, sessions, broken streams and limits. Time is paused if it matters.

mod callers;
mod limits;
mod statuses;
mod streams;

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::{Request, Response, StatusCode, body::Bytes};
use serde_json::{Value, json};
use tabellion_runtime::{
    Author, Contract, Identity,
    token_bucket::{Rate, RateLimiter},
};
use tokio::time::Instant;

use super::page::Page;
use crate::{
    streamable::{Body, Endpoint, Limits},
    testing::{Memory, NOTES, RPC, adapter},
};
use tabellion_gateway::{Access, ApprovalPolicy, Budget, Grant};

const BOTH: &str = "application/json, text/event-stream";

struct TestServer {
    notes: Arc<Memory>,
    endpoint: Arc<Endpoint>,
    /// Permissions of the caller.
    grant: Option<Arc<dyn Grant>>,
    /// Budget of the caller.
    budget: Option<Arc<dyn Budget>>,
}

/// A grant of these scopes, each `ACCESS` or `ACCESS:CONTRACT`, until it is revoked.
#[derive(Debug)]
struct TestGrant {
    name: &'static str,
    identity: Identity,
    scopes: Vec<(Access, Option<String>)>,
    is_valid: AtomicBool,
}

impl TestGrant {
    fn new(name: &'static str, scopes: &[&str]) -> Self {
        let parse = |scope: &&str| {
            let (access, contract) = match scope.split_once(':') {
                Some((access, contract)) => (access, Some(contract.to_owned())),
                None => (*scope, None),
            };
            let all = [Access::Read, Access::Write];
            (all.into_iter().find(|it| it.as_str() == access).unwrap(), contract)
        };
        Self {
            name,
            identity: Identity::key(name),
            scopes: scopes.iter().map(parse).collect(),
            is_valid: AtomicBool::new(true),
        }
    }

    fn revoke(&self) {
        self.is_valid.store(false, Ordering::Relaxed);
    }
}

impl Grant for TestGrant {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn author(&self) -> Author {
        Author { name: self.name.into(), email: format!("{}@example.org", self.name) }
    }

    fn allows(&self, contract: &str, access: Access) -> bool {
        let mut scopes = self.scopes.iter();
        scopes.any(|(may, only)| *may >= access && only.as_deref().is_none_or(|only| only == contract))
    }

    fn is_valid(&self) -> bool {
        self.is_valid.load(Ordering::Relaxed)
    }
}

fn grant(name: &'static str, scopes: &[&str]) -> Option<Arc<dyn Grant>> {
    Some(Arc::new(TestGrant::new(name, scopes)))
}

/// A number of reads and writes per minute.
#[derive(Debug)]
struct TestBudget {
    caller: Arc<str>,
    reads: RateLimiter,
    writes: RateLimiter,
}

impl TestBudget {
    fn per_minute(caller: &str, reads: u32, writes: u32) -> Option<Arc<dyn Budget>> {
        let a_minute = |times| {
            RateLimiter::new(Rate { times: NonZeroU32::new(times).unwrap(), within: Duration::from_secs(60) })
        };
        Some(Arc::new(Self { caller: caller.into(), reads: a_minute(reads), writes: a_minute(writes) }))
    }
}

impl Budget for TestBudget {
    fn caller(&self) -> &Arc<str> {
        &self.caller
    }

    fn take(&self, access: Access) -> Result<(), Duration> {
        let limit = match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        };
        limit.take(&self.caller, Instant::now().into_std())
    }
}

/// A response without its remaining body.
struct TestResponse {
    status: StatusCode,
    session: Option<String>,
    retry_after: Option<String>,
    is_stream: bool,
    body: Body,
}

impl TestResponse {
    /// Returns the body as JSON.
    async fn json(self) -> Value {
        let body = self.body.collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap_or_default()
    }

    /// Returns true if the next line of a stream is a keep-alive comment.
    async fn next_is_keep_alive(&mut self) -> bool {
        let frame = self.body.frame().await.unwrap().unwrap();
        frame.into_data().unwrap().starts_with(b":")
    }

    /// Returns the next event of a stream: its id and its message.
    async fn event(&mut self) -> Option<(String, Value)> {
        let frame = self.body.frame().await?.unwrap().into_data().unwrap();
        let text = std::str::from_utf8(&frame).unwrap();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let id = field("id: ").unwrap_or_default().to_owned();
        let data = field("data: ").map_or(Value::Null, |data| serde_json::from_str(data).unwrap());
        Some((id, data))
    }
}

impl TestServer {
    fn new(limits: Limits) -> Self {
        let notes = Memory::new(&NOTES);
        let contracts: Vec<Arc<dyn Contract>> = vec![notes.clone(), Memory::new(&RPC), Page::new()];
        let adapter = adapter(contracts, ApprovalPolicy::default());
        Self { notes, endpoint: Arc::new(Endpoint::new(adapter, limits)), grant: None, budget: None }
    }

    /// Returns the same server for another caller.
    fn by(&self, grant: Option<Arc<dyn Grant>>) -> Self {
        Self {
            notes: self.notes.clone(),
            endpoint: self.endpoint.clone(),
            grant,
            budget: self.budget.clone(),
        }
    }

    async fn send(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> TestResponse {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let has = |wanted: &str| headers.iter().any(|(name, _)| *name == wanted);
        if has("mcp-session-id") && !has("mcp-protocol-version") {
            request = request.header("mcp-protocol-version", "2025-11-25");
        }
        let body: Bytes = match body {
            Value::Null => Bytes::new(),
            body => body.to_string().into(),
        };
        let response: Response<Body> = self
            .endpoint
            .answer(request.body(body).unwrap(), "test".into(), self.grant.clone(), self.budget.clone())
            .await;
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
        TestResponse {
            status: response.status(),
            session: header("mcp-session-id").map(str::to_owned),
            retry_after: header("retry-after").map(str::to_owned),
            is_stream: header("content-type") == Some("text/event-stream"),
            body: response.into_body(),
        }
    }

    async fn post(&self, session: &str, message: Value) -> TestResponse {
        let headers = [("accept", BOTH), ("content-type", "application/json"), ("mcp-session-id", session)];
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

    /// Posts a stateless call.
    async fn alone(&self, id: u64, tool: &str, text: &str) -> TestResponse {
        self.stateless(call(id, tool, text)).await
    }

    /// Posts a stateless request.
    async fn stateless(&self, mut message: Value) -> TestResponse {
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
        self.endpoint.intake().close();
        self.endpoint.intake().idle().await;
    }
}

fn call(id: u64, tool: &str, text: &str) -> Value {
    let params = json!({ "name": tool, "arguments": { "text": text } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn text(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]["text"]
}
