//! In-memory contracts for tests, implemented by hand: one for each error channel, and one that answers with the origin of calls.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    Annotations, Answer, Approval, BoxFuture, CallContext, Contract, ContractSpec, ErrorAnswer, ErrorChannel,
    ErrorSpec, Failure, Progress, Rejection, Schema, ToolSpec, Transport,
    spec::{
        ErrorStatus, MissingProvenance, ModesSpec, ProvenanceField, ProvenanceSpec, ProvenanceType,
        ProvenanceUse, RestEndpoint, RestMethod, RestOperation,
    },
};
use tokio::sync::{Semaphore, watch};

/// The reason that a lock is not poisoned.
const UNPOISONED: &str = "no call panics while it has the lock";

/// An in-memory contract that records its calls.
#[derive(Debug)]
pub struct Memory {
    spec: &'static ContractSpec,
    kept: Mutex<Vec<String>>,
    clients: Mutex<Vec<Option<String>>>,
    begun: watch::Sender<usize>,
    gate: Semaphore,
}

impl Memory {
    /// Returns a contract with this spec and no records.
    pub fn new(spec: &'static ContractSpec) -> Arc<Self> {
        Arc::new(Self {
            spec,
            kept: Mutex::default(),
            clients: Mutex::default(),
            begun: watch::Sender::new(0),
            gate: Semaphore::new(0),
        })
    }

    /// Returns the texts that mutations stored.
    pub fn stored_texts(&self) -> Vec<String> {
        self.kept.lock().expect(UNPOISONED).clone()
    }

    /// Returns the client of each call.
    pub fn clients(&self) -> Vec<Option<String>> {
        self.clients.lock().expect(UNPOISONED).clone()
    }

    /// Returns the number of calls that began.
    pub fn begun(&self) -> usize {
        *self.begun.borrow()
    }

    /// Waits until `calls` have begun.
    pub async fn has_begun(&self, calls: usize) {
        self.begun.subscribe().wait_for(|begun| *begun >= calls).await.expect("the contract has the sender");
    }

    /// Lets `calls` calls of `slow` continue.
    pub fn open(&self, calls: usize) {
        self.gate.add_permits(calls);
    }

    async fn answer(
        &self,
        call: &CallContext,
        tool: &'static str,
        arguments: Value,
    ) -> Result<Answer, Rejection> {
        let text = arguments["text"].as_str().unwrap_or_default().to_owned();
        match tool {
            "echo" | "echo_rpc" => {}
            "keep" => self.kept.lock().expect(UNPOISONED).push(text.clone()),
            "slow" => {
                self.gate.acquire().await.expect("the gate is never closed").forget();
                self.kept.lock().expect(UNPOISONED).push(text.clone());
            }
            // Reports a step every 30 ms, until it is cancelled or has made the number of steps in its text.
            "count" => {
                let steps: u64 = text.parse().expect("`text` is a number of steps");
                let stop = call.stop();
                for done in 1..=steps {
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    if stop() {
                        self.kept.lock().expect(UNPOISONED).push(format!("cancelled at {done}"));
                        break;
                    }
                    let (total, message) = (Some(steps), "counting".into());
                    call.progress(Progress { done, total, message });
                }
            }
            "panic" => panic!("a handler's defect: {text}"),
            "breach" => {
                return Err(Rejection::Breach { tool: "breach", detail: format!("breached with {text}") });
            }
            "refuse_size_rpc" => {
                return Err(declared("TOO_LARGE", -32002, "too large", json!({ "most": 5 })));
            }
            "wait" | "wait_rpc" => {
                let who = call.counted_as.as_deref();
                return Err(declared(
                    "TOO_OFTEN",
                    -32005,
                    "too often",
                    json!({ "retryAfterSeconds": 7, "who": who }),
                ));
            }
            "refuse" | "refuse_rpc" => {
                return Err(declared("NOT_FOUND", -32001, "no such note", json!({ "path": text })));
            }
            other => unreachable!("{other} is in the specs"),
        }
        let mut meta = Map::new();
        if tool == "keep" {
            meta.insert("tabellion/base".into(), "b1".into());
        }
        Ok(Answer { response: json!({ "text": text }), meta })
    }
}

impl Contract for Memory {
    fn spec(&self) -> &'static ContractSpec {
        self.spec
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(async move {
            let tool = self.spec.tool(tool).ok_or(Rejection::UnknownTool)?;
            self.clients.lock().expect(UNPOISONED).push(call.client.clone());
            self.begun.send_modify(|begun| *begun += 1);
            if let Err(violations) = tool.input.check(&arguments) {
                let Failure { message, data, .. } = Failure::violations(&violations);
                return Err(declared("INVALID_REQUEST", -32602, &message, data.into()));
            }
            self.answer(call, tool.name, arguments).await
        })
    }
}

/// Returns the rejection of a declared error.
pub fn declared(name: &'static str, code: i32, message: &str, data: Value) -> Rejection {
    let Value::Object(data) = data else { unreachable!("details are by name") };
    Rejection::Declared(ErrorAnswer { name, code, message: message.into(), data })
}

static INPUT: Schema = Schema::plain(
    r#"{"type":"object","required":["text"],"properties":{"text":{"type":"string"}},"additionalProperties":false}"#,
);
static OUTPUT: Schema =
    Schema::plain(r#"{"properties":{"text":{"type":"string"}},"type":"object","required":["text"]}"#);

/// Returns the spec of a tool that takes a `text`.
pub const fn tool(name: &'static str, mutating: bool) -> ToolSpec {
    tool_with(name, mutating, None)
}

/// Returns the spec of a tool that takes a `text`, with this approval.
pub const fn tool_with(name: &'static str, mutating: bool, approval: Option<Approval>) -> ToolSpec {
    ToolSpec {
        name,
        description: "Says what it is told.",
        annotations: Annotations {
            read_only: !mutating,
            destructive: mutating,
            idempotent: true,
            open_world: false,
        },
        mutating,
        approval,
        errors: &["INVALID_REQUEST", "NOT_FOUND"],
        ..ToolSpec::new(&INPUT, &OUTPUT)
    }
}

/// Returns the spec of a contract with these tools.
pub const fn spec(id: &'static str, error_channel: ErrorChannel, tools: &'static [ToolSpec]) -> ContractSpec {
    ContractSpec {
        id,
        version: "1.0.0",
        title: "Memory",
        error_channel,
        errors: &[
            ErrorSpec { name: "NOT_FOUND", code: -32001, message: "no such note" },
            ErrorSpec { name: "INVALID_REQUEST", code: -32602, message: "the arguments are wrong" },
            ErrorSpec { name: "TOO_OFTEN", code: -32005, message: "too often" },
        ],
        statuses: &[
            ErrorStatus { error: "NOT_FOUND", reason: None, status: 404 },
            ErrorStatus { error: "INVALID_REQUEST", reason: None, status: 422 },
            ErrorStatus { error: "TOO_OFTEN", reason: None, status: 429 },
        ],
        tools,
        ..ContractSpec::EMPTY
    }
}

static TOOLS: [ToolSpec; 8] = [
    tool("echo", false),
    tool("count", false),
    tool("keep", true),
    tool("slow", true),
    tool("panic", true),
    tool("breach", true),
    tool("refuse", false),
    tool("wait", false),
];
static RPC_TOOLS: [ToolSpec; 4] = [
    tool("echo_rpc", false),
    tool("refuse_rpc", false),
    tool("refuse_size_rpc", false),
    tool("wait_rpc", false),
];

const fn endpoint(method: RestMethod, path: &'static str, is: RestOperation) -> RestEndpoint {
    RestEndpoint { method, path, is, ..RestEndpoint::NEW }
}

/// A contract whose errors are sent as results.
pub static NOTES: ContractSpec = ContractSpec {
    rest: &[
        endpoint(RestMethod::Get, "/tools", RestOperation::ToolList),
        endpoint(RestMethod::Post, "/tools/{tool}/execute", RestOperation::ToolExecute),
        endpoint(RestMethod::Get, "/openapi.json", RestOperation::OpenApi),
    ],
    ..spec("notes", ErrorChannel::Result, &TOOLS)
};
/// A contract whose errors are sent as JSON-RPC errors.
pub static RPC: ContractSpec = spec("rpc", ErrorChannel::JsonRpc, &RPC_TOOLS);

/// A contract that answers each call with its origin.
#[derive(Debug, Default)]
pub struct Origins {
    /// The ids of connections, in the order of their first calls.
    connections: Mutex<Vec<String>>,
}

impl Contract for Origins {
    fn spec(&self) -> &'static ContractSpec {
        &ORIGINS
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        _: &'a str,
        _: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        let origin = &call.origin;
        let meta = origin.meta.iter().filter(|(key, _)| !key.starts_with("io."));
        let meta: Map<_, _> = meta.map(|(key, value)| (key.clone(), value.clone())).collect();
        let connection = origin.connection.as_ref().map(|connection| {
            let mut connections = self.connections.lock().expect(UNPOISONED);
            let known = connections.iter().position(|id| id == connection.id());
            known.unwrap_or_else(|| {
                connections.push(connection.id().to_owned());
                connections.len() - 1
            })
        });
        let mode = origin.environment.as_ref().and_then(|environment| environment.mode(&ORIGINS));
        let said = json!({
            "http": origin.transport == Transport::Http,
            "meta": meta,
            "headers": &*origin.headers,
            "holder": origin.holder.as_deref(),
            "connection": connection,
            "mode": mode,
        });
        Box::pin(
            async move { Ok(Answer { response: json!({ "text": said.to_string() }), meta: Map::new() }) },
        )
    }
}

static ORIGIN_MODES: ModesSpec = ModesSpec {
    names: &["day", "night"],
    env: None,
    header: Some("X-Shift"),
    lines: "day",
    http: "day",
    error: "INVALID_REQUEST",
    refused: "'{tool}' sleeps",
    unknown: "there is no '{mode}'",
};
static WRITER: [ProvenanceField; 1] = [ProvenanceField {
    name: "writer",
    kind: ProvenanceType::String,
    keys: &["writer"],
    headers: &["X-Writer", "X-Author"],
    from: &[],
    discover: None,
    default: None,
}];
static ORIGIN_PROVENANCE: ProvenanceSpec = ProvenanceSpec {
    fields: &WRITER,
    session: None,
    required: &[],
    also_if: &[],
    missing: MissingProvenance { error: "INVALID_REQUEST", message: "who? {fields}" },
};
static ORIGIN_TOOLS: [ToolSpec; 1] =
    [ToolSpec { modes: &["day"], provenance: Some(ProvenanceUse::Kept), ..tool("tell_origin", false) }];
/// A contract with modes and provenance.
pub static ORIGINS: ContractSpec = ContractSpec {
    modes: Some(&ORIGIN_MODES),
    provenance: Some(&ORIGIN_PROVENANCE),
    ..spec("origins", ErrorChannel::Result, &ORIGIN_TOOLS)
};
