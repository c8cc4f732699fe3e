//! A client of the served contracts, and sessions written as text.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::oneshot,
    task::JoinHandle,
};

use super::{bridge, official};
use crate::{
    Adapter, ServeError, serve,
    streamable::{Endpoint, Limits},
    testing::{Memory, NOTES, RPC, adapter},
};
use tabellion_gateway::ApprovalPolicy;

const NEWEST_WITH_SESSIONS: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";
/// Time limit of a test that waits for a message that never arrives. With paused time it passes at once.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Suffix of a revision for connections over HTTP.
const OVER_HTTP: &str = " over HTTP";
/// Both eras, over lines and over HTTP.
pub(super) const WAYS: [&str; 4] =
    ["2025-11-25", "2026-07-28", "2025-11-25 over HTTP", "2026-07-28 over HTTP"];

/// Runs a session over lines and then over HTTP, which is a text of lines:
///
/// ```text
/// @ 2025-11-25 ABLE     initialize a session of this revision; from 2026-07-28 on, only speak it from here on. The
///                       client has the capabilities ABLE, if there are any
/// > 1 METHOD PARAMS     send a request
/// >> LINE               send a line as it is
/// < 1 RESULT            expect exactly this result, but for what every result of the revision has
/// < 1 !CODE TEXT        expect this error, with TEXT in its message; `-` for an error without an id
/// < 1 =METHOD PARAMS    expect this request; `-` for a notification
/// ```
///
/// Adjacent replies may arrive in any order. No other message may arrive, and the service must end without an error.
pub(super) async fn session(text: &str) -> Arc<Memory> {
    converse(Client::new_over(OVER_HTTP, 1 << 16), text).await;
    session_of_lines(text).await
}

/// As [`session`], but only over lines.
pub(super) async fn session_of_lines(text: &str) -> Arc<Memory> {
    let client = Client::new(1 << 16);
    let memory = client.notes.clone();
    converse(client, text).await;
    memory
}

/// As [`session`], with a client of other contracts.
pub(super) async fn converse(mut client: Client, text: &str) {
    let mut expected = vec![];
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        if kind == "<" {
            expected.push(rest);
            continue;
        }
        client.expect(std::mem::take(&mut expected)).await;
        match kind {
            "@" => {
                let rest = rest.replacen(OVER_HTTP, "", 1);
                let (revision, able) = rest.split_once(' ').unwrap_or((&rest, "{}"));
                client.able = serde_json::from_str(able).unwrap();
                client.speak(revision).await;
            }
            ">>" => client.send(rest).await,
            ">" => {
                let mut parts = rest.splitn(3, ' ');
                let (id, method) = (parts.next().unwrap(), parts.next().unwrap());
                let params = parts.next().map(|params| serde_json::from_str(params).unwrap());
                client.request(serde_json::from_str(id).unwrap(), method, params).await;
            }
            other => panic!("a session has no `{other}`"),
        }
    }
    client.expect(expected).await;
    client.end().await.expect("the service ends well");
}

/// The client's end of a service.
pub(super) struct Client {
    pub(super) notes: Arc<Memory>,
    input: DuplexStream,
    output: BufReader<DuplexStream>,
    service: JoinHandle<Result<(), ServeError>>,
    parent: Option<oneshot::Sender<()>>,
    pub(super) revision: String,
    /// The client's capabilities.
    pub(super) able: Value,
    methods: HashMap<String, String>,
}

impl Client {
    /// Serves both contracts of notes; each stream holds `capacity` unread bytes.
    pub(super) fn new(capacity: usize) -> Self {
        Self::new_over("", capacity)
    }

    /// As [`new`](Self::new), over the named way.
    pub(super) fn new_over(way: &str, capacity: usize) -> Self {
        let notes = Memory::new(&NOTES);
        let adapter = adapter(vec![notes.clone(), Memory::new(&RPC)], ApprovalPolicy::default());
        let mut client = Self::over(way, adapter, capacity);
        client.notes = notes;
        client
    }

    /// Serves `adapter` over the named way, which is one of [`WAYS`] or lines.
    pub(super) fn over(way: &str, adapter: Adapter, capacity: usize) -> Self {
        let (input, reader) = tokio::io::duplex(capacity);
        let (writer, output) = tokio::io::duplex(capacity);
        let (parent, until) = oneshot::channel();
        let service = if way.ends_with(OVER_HTTP) {
            let endpoint = Endpoint::new(adapter, Limits::default());
            tokio::spawn(bridge::serve(reader, writer, endpoint))
        } else {
            let until = async {
                until.await.unwrap();
            };
            tokio::spawn(serve(reader, writer, adapter, until))
        };
        Self {
            notes: Memory::new(&NOTES),
            input,
            output: BufReader::new(output),
            service,
            parent: Some(parent),
            revision: STATELESS.into(),
            able: json!({}),
            methods: HashMap::new(),
        }
    }

    /// Uses `revision` from here on.
    pub(super) async fn speak(&mut self, revision: &str) {
        let revision = revision.strip_suffix(OVER_HTTP).unwrap_or(revision);
        self.revision = revision.into();
        if revision != STATELESS {
            self.open().await;
            assert_eq!(self.receive().await.unwrap()["result"]["protocolVersion"], revision);
            self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
    }

    /// Requests a session of the client's revision.
    pub(super) async fn open(&mut self) {
        let client = json!({ "name": "tester", "version": "7" });
        let params =
            json!({ "protocolVersion": self.revision, "capabilities": self.able, "clientInfo": client });
        self.request(json!("open"), "initialize", Some(params)).await;
    }

    pub(super) async fn send(&mut self, line: impl AsRef<[u8]>) {
        self.input.write_all(line.as_ref()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    pub(super) async fn request(&mut self, id: Value, method: &str, params: Option<Value>) {
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if let Some(params) = params {
            request["params"] = params;
        }
        if self.revision == STATELESS && method != "initialize" {
            let meta = &mut request["params"]["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.able.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tester", "version": "8" });
        }
        self.methods.insert(id.to_string(), method.into());
        self.send(request.to_string()).await;
    }

    pub(super) async fn call(&mut self, id: u64, tool: &str, text: &str) {
        let params = json!({ "name": tool, "arguments": { "text": text } });
        self.request(id.into(), "tools/call", Some(params)).await;
    }

    /// Returns the next message, or `None` at the end. It is validated against the official schema.
    pub(super) async fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        let read = tokio::time::timeout(RECEIVE_TIMEOUT, read).await;
        read.expect("the server says something").unwrap();
        if line.is_empty() {
            return None;
        }
        let message: Value = serde_json::from_str(&line).expect("the server sends JSON only");
        let method = message.get("id").and_then(|id| self.methods.get(&id.to_string()));
        let revision = match method.map(String::as_str) {
            Some("initialize") if self.revision == STATELESS => NEWEST_WITH_SESSIONS,
            _ => &self.revision,
        };
        official::check(revision, method.map(String::as_str), &message);
        Some(message)
    }

    async fn expect(&mut self, mut expected: Vec<&str>) {
        while !expected.is_empty() {
            let message =
                self.receive().await.unwrap_or_else(|| panic!("the service ended before {expected:?}"));
            let said = self.summary(message);
            let place = expected.iter().position(|pattern| fits(pattern, &said));
            let place =
                place.unwrap_or_else(|| panic!("unexpected: {} {}\nexpected: {expected:#?}", said.0, said.1));
            expected.remove(place);
        }
    }

    /// Returns a message's id, and its error or its result without the common fields of the revision's results.
    /// For a request or notification, returns the method and the params, without the token of progress.
    fn summary(&self, mut message: Value) -> (Value, Value) {
        let id = message["id"].take();
        if let Some(method) = message.get("method").cloned() {
            let mut params = message["params"].take();
            take(params.get_mut("_meta"), "progressToken");
            if params["_meta"] == json!({}) || params["_meta"].is_null() {
                params.as_object_mut().unwrap().remove("_meta");
            }
            return (id, json!({ "method": method, "params": params }));
        }
        if message.get("error").is_some() {
            return (id, json!({ "error": message["error"].take() }));
        }
        let mut result = message["result"].take();
        if result["resultType"] == "input_required" {
            return (id, result);
        }
        let members = result.as_object_mut().unwrap();
        let marks = [
            members.remove("resultType"),
            take(members.get_mut("_meta"), "io.modelcontextprotocol/serverInfo"),
        ];
        let opened = self.methods.get(&id.to_string()).is_some_and(|method| method == "initialize");
        if self.revision == STATELESS && !opened {
            assert_eq!(marks, [Some(json!("complete")), Some(json!({ "name": "memory", "version": "1" }))]);
            members.retain(|key, value| key != "_meta" || *value != json!({}));
        } else {
            assert_eq!(marks, [None, None]);
        }
        (id, result)
    }

    /// Closes the input and waits for the end, before which no further message may arrive.
    pub(super) async fn end(mut self) -> Result<(), ServeError> {
        self.input.shutdown().await.unwrap();
        assert_eq!(self.receive().await, None);
        self.service.await.unwrap()
    }

    /// Closes the input and waits for the end without reading.
    pub(super) async fn leave(self) -> Result<(), ServeError> {
        let Self { input, output, service, .. } = self;
        drop(input);
        let ended = service.await.unwrap();
        drop(output);
        ended
    }

    /// Stops reading, and waits for the end with the input still open.
    pub(super) async fn stop_reading(self) -> Result<(), ServeError> {
        let Self { input, output, service, .. } = self;
        drop(output);
        let ended = service.await.unwrap();
        drop(input);
        ended
    }

    /// Simulates the end of the parent process.
    pub(super) fn orphan(&mut self) {
        self.parent.take().unwrap().send(()).unwrap();
    }

    /// Waits for the end with the input still open; returns the messages before it.
    pub(super) async fn ended(mut self) -> (Vec<Value>, Result<(), ServeError>) {
        let mut messages = vec![];
        while let Some(message) = self.receive().await {
            messages.push(message);
        }
        (messages, self.service.await.unwrap())
    }
}

fn take(object: Option<&mut Value>, key: &str) -> Option<Value> {
    object?.as_object_mut()?.remove(key)
}

fn fits(pattern: &str, (id, said): &(Value, Value)) -> bool {
    let (wanted, rest) = pattern.split_once(' ').unwrap();
    let same_id =
        if wanted == "-" { id.is_null() } else { serde_json::from_str::<Value>(wanted).unwrap() == *id };
    if let Some(call) = rest.strip_prefix('=') {
        let (method, params) = call.split_once(' ').unwrap();
        return same_id
            && said["method"] == method
            && said["params"] == serde_json::from_str::<Value>(params).unwrap();
    }
    same_id
        && match rest.strip_prefix('!') {
            Some(error) => {
                let (code, text) = error.split_once(' ').unwrap_or((error, ""));
                said["error"]["code"].as_i64() == code.parse().ok()
                    && said["error"]["message"].as_str().is_some_and(|message| message.contains(text))
            }
            None => serde_json::from_str::<Value>(rest).unwrap() == *said,
        }
}
