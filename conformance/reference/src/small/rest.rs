//! Notices over HTTP: MCP at `/mcp` in the stateless era, and REST below it. A connection carries one request, and they are answered one by
//! one. A caller's key is the name of the role.
//!
//! What REST answers is written out here, and so is the description of it.

use std::{
    io::{self, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use tabellion_runtime::context::{BASE, COMMIT, IDEMPOTENCY_KEY, IF_BASE};

use super::{
    Library,
    bulletin::{self, Bulletin},
    conditions::{Calls, Conditional},
    listed, respond,
};
use crate::{
    http::{self, Request},
    mutant::{Mutant, is},
};

/// How long a client may take to send its request.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Statuses of refusals.
const REFUSALS: [u16; 9] = [400, 401, 403, 404, 405, 415, 422, 500, 503];

/// Serves notices in the library at `root` over HTTP until the process ends.
///
/// # Errors
/// If the address is in use.
pub fn serve_bulletin_at(root: &Path, address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let mut calls = Calls::default();
    for stream in listener.incoming() {
        let stream = stream?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        // A client that disconnects only loses its answer.
        drop(answer(root, &mut calls, &stream));
    }
    Ok(())
}

fn answer(root: &Path, calls: &mut Calls, stream: &TcpStream) -> io::Result<()> {
    let request = Request::read(stream)?;
    let mut server = Server { root, calls };
    server.answer(&request).write(stream)
}

struct Server<'a> {
    root: &'a Path,
    calls: &'a mut Calls,
}

/// A response with a body of JSON.
struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    media: &'static str,
    body: Value,
}

impl Response {
    fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            media: "application/json",
            body,
        }
    }

    /// Returns a refusal in the form of the contract's errors.
    fn refusal(status: u16, name: &str, message: &str) -> Self {
        Self::error(status, error(name, message))
    }

    fn error(status: u16, body: Value) -> Self {
        if is(Mutant::RestRefusesWith200) {
            return Self::new(200, body);
        }
        if is(Mutant::RestRefusesAsProblem) {
            let problem = json!({ "status": status, "title": http::reason(status), "detail": body["error"]["message"] });
            return Self {
                media: "application/problem+json",
                ..Self::new(status, problem)
            };
        }
        Self::new(status, body)
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn write(&self, mut stream: &TcpStream) -> io::Result<()> {
        let body = self.body.to_string();
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, http::reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let (media, length) = (self.media, body.len());
        head.push_str(&format!(
            "Content-Type: {media}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        ));
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
    }
}

fn error(name: &str, message: &str) -> Value {
    json!({ "error": { "code": name, "message": message, "details": {}, "violations": [] } })
}

/// Returns the caller's role.
fn role(request: &Request) -> Option<&str> {
    let key = request.header("authorization")?.strip_prefix("Bearer ")?;
    bulletin::ROLES.contains(&key).then_some(key)
}

impl Server<'_> {
    fn answer(&mut self, request: &Request) -> Response {
        let path = request.path.as_str();
        let expected = match path {
            "/mcp/tools" | "/mcp/openapi.json" => "GET",
            _ => "POST",
        };
        let tool = path
            .strip_prefix("/mcp/tools/")
            .and_then(|rest| rest.strip_suffix("/execute"));
        if tool.is_none() && !["/mcp", "/mcp/tools", "/mcp/openapi.json"].contains(&path) {
            return Response::refusal(404, "INVALID", "nothing is served here");
        }
        if path == "/mcp/openapi.json" && request.method == expected {
            return Response::new(200, description());
        }
        let Some(role) = role(request) else {
            if let Some(tool) = tool.filter(|_| is(Mutant::RestMakesThenRefuses)) {
                self.execute("owner", tool, request);
            }
            let refusal = Response::refusal(401, "AUTH_REQUIRED", "send the key of a role");
            return refusal.header("WWW-Authenticate", "Bearer");
        };
        if request.method != expected {
            let why = format!("only {expected} is served here");
            return Response::refusal(405, "INVALID", &why).header("Allow", expected);
        }
        match (path, tool) {
            (_, Some(tool)) => self.execute(role, tool, request),
            ("/mcp/tools", _) => Response::new(200, list()),
            _ => self.mcp(role, request),
        }
    }

    /// Answers a message of MCP.
    fn mcp(&mut self, role: &str, request: &Request) -> Response {
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match self.respond(role, &message) {
            Some(answer) => Response::new(200, answer),
            None => Response::new(202, Value::Null),
        }
    }

    fn respond(&mut self, role: &str, message: &Value) -> Option<Value> {
        let library = Library(self.root.to_owned());
        let board = Bulletin::new(library, Some(role));
        let mut server = Conditional::new(board, self.root, self.calls);
        respond(bulletin::CONTRACT, &mut server, message)
    }

    /// Calls a tool over REST.
    fn execute(&mut self, role: &str, tool: &str, request: &Request) -> Response {
        if bulletin::CONTRACT.tool(tool).is_none() {
            return Response::refusal(404, "INVALID", "there is no such tool");
        }
        if request.header("content-type") != Some("application/json") {
            return Response::refusal(415, "INVALID", "the body must be JSON, and say so");
        }
        let Ok(arguments @ Value::Object(_)) = serde_json::from_slice(&request.body) else {
            return Response::refusal(400, "INVALID", "the body must be an object");
        };
        let mut meta = Map::new();
        if let Some(key) = request
            .header("idempotency-key")
            .filter(|_| !is(Mutant::RestIgnoresKeys))
        {
            meta.insert(IDEMPOTENCY_KEY.into(), key.into());
        }
        if request.header("if-none-match") == Some("*") {
            meta.insert(IF_BASE.into(), Value::Null);
        }
        if let Some(tag) = request
            .header("if-match")
            .filter(|_| !is(Mutant::RestIgnoresIfMatch))
        {
            meta.insert(IF_BASE.into(), tag.trim_matches('"').into());
        }
        let (since, begun) = (Instant::now(), now());
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let message = json!({ "id": 0, "method": "tools/call", "params": params });
        let answer = self.respond(role, &message).unwrap_or_default();
        if let Some(refused) = answer.get("error") {
            let message = refused["message"].as_str().unwrap_or_default();
            return if refused["code"] == -32602 {
                Response::refusal(422, "INVALID", message)
            } else {
                Response::refusal(500, "FAILED", message)
            };
        }
        let result = &answer["result"];
        if result["isError"] == true {
            let status = match result["structuredContent"]["error"]["code"].as_str() {
                Some("AUTH_REQUIRED" | "VIOLATION") => 403,
                _ => 422,
            };
            return Response::error(status, result["structuredContent"].clone());
        }
        let milliseconds = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut body = json!({
            "tool": tool,
            "status": "success",
            "result": result["structuredContent"],
            "constitutional_compliance": result["_meta"]["tabellion/gates"],
            "execution_time_ms": milliseconds,
            "created_at": begun,
            "completed_at": now(),
        });
        if let Some(commit) = result["_meta"].get(COMMIT) {
            body["commit"] = commit.clone();
        }
        if is(Mutant::RestLosesMembers)
            && let Some(result) = body["result"].as_object_mut()
        {
            result.remove("status");
        }
        if is(Mutant::RestSaysNumbers) {
            body["created_at"] = 0.into();
        }
        let response = Response::new(200, body);
        match result["_meta"][BASE].as_str() {
            Some(base) => response.header("ETag", format!("\"{base}\"")),
            None => response,
        }
    }
}

fn now() -> String {
    DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Returns the list of tools, with the names that REST has for what MCP lists.
fn list() -> Value {
    let tools = bulletin::CONTRACT.tools.iter().map(|tool| {
        let over_mcp = listed(tool);
        json!({
            "name": over_mcp["name"],
            "description": over_mcp["description"],
            "input_schema": over_mcp["inputSchema"],
            "output_schema": over_mcp["outputSchema"],
        })
    });
    let tools: Vec<_> = tools.collect();
    json!({ "count": tools.len(), "tools": tools })
}

/// Returns the description of the endpoints.
fn description() -> Value {
    let content = |schema: Value| json!({ "application/json": { "schema": schema } });
    let responses = |schema: Value| {
        let mut all = Map::new();
        all.insert(
            "200".into(),
            json!({ "description": "It is done.", "content": content(schema) }),
        );
        for status in REFUSALS {
            all.insert(
                status.to_string(),
                json!({ "$ref": "#/components/responses/refusal" }),
            );
        }
        Value::from(all)
    };
    let object = json!({ "type": "object" });
    let mut paths = Map::new();
    let tools = bulletin::CONTRACT.tools.len() - usize::from(is(Mutant::RestDescribesOneLess));
    for tool in &bulletin::CONTRACT.tools[..tools] {
        let execution = json!({
            "type": "object",
            "required": ["tool", "status", "result", "execution_time_ms", "created_at", "completed_at"],
            "properties": {
                "result": tool.output.wire(),
                "execution_time_ms": { "type": "integer" },
                "created_at": { "type": "string" },
                "completed_at": { "type": "string" },
            },
        });
        let operation = json!({
            "operationId": tool.name,
            "requestBody": { "required": true, "content": content(tool.input.wire()) },
            "responses": responses(execution),
        });
        paths.insert(
            format!("/tools/{}/execute", tool.name),
            json!({ "post": operation }),
        );
    }
    for (path, name) in [("/tools", "tools"), ("/openapi.json", "openapi")] {
        let operation = json!({ "operationId": name, "responses": responses(object.clone()) });
        paths.insert(path.into(), json!({ "get": operation }));
    }
    let error = json!({
        "type": "object",
        "required": ["error"],
        "properties": { "error": {
            "type": "object",
            "required": ["code", "message", "details", "violations"],
            "properties": { "code": { "type": "string" }, "message": { "type": "string" } },
        } },
    });
    let refusal = json!({ "description": "It is refused.", "content": content(json!({ "$ref": "#/components/schemas/error" })) });
    json!({
        "openapi": "3.1.0",
        "info": { "title": bulletin::CONTRACT.title, "version": bulletin::CONTRACT.version },
        "paths": paths,
        "components": { "schemas": { "error": error }, "responses": { "refusal": refusal } },
    })
}
