//! What HTTP has beside messages: statuses, sessions, streams that break, and limits. Time stands still where it matters.

mod callers;
mod limits;
mod statuses;
mod streams;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use http_body_util::BodyExt as _;
use hyper::{Request, Response, StatusCode, body::Bytes};
use serde_json::{Value, json};
use tabellion_runtime::Contract;

use super::{
    client::adapter,
    contract::{Memory, NOTES, RPC},
    page::Page,
};
use crate::{
    keys::{Grant, Holder, Standing},
    mcp::{
        ApprovalPolicy,
        streamable::{Body, Endpoint, Limits},
    },
    rates::Budget,
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
