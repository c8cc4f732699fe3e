//! Notices over HTTP: MCP at `/mcp` in the stateless era, and REST below it. A connection carries one request, and requests are answered
//! one by one. A caller's key is the name of the role, and so is its identity. Calls over both are recorded.
//!
//! REST's answers and their description are written out here.

use std::{
    io::{self, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    calls::{EXECUTION, SESSION},
    context::{BASE, COMMIT, IDEMPOTENCY_KEY, IF_BASE},
    spec::RETRY_AFTER_SECONDS,
};

use super::{
    Library,
    bulletin::{self, Bulletin},
    conditions::{Calls, Conditional},
    kept::{Kept, NotNow},
    listed, respond,
};
use crate::{
    http::{self, Request},
    mutant::{Mutant, is},
};

/// Time limit of a client's request.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Statuses of refusals.
const REFUSALS: [u16; 10] = [400, 401, 403, 404, 405, 415, 422, 429, 500, 503];

/// Serves notices in the library at `root` over HTTP until the process ends.
///
/// # Errors
/// If the address is in use.
pub fn serve_bulletin_at(root: &Path, address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let (mut calls, mut kept) = (Calls::default(), Kept::default());
    for stream in listener.incoming() {
        let stream = stream?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        // A client that disconnects only loses its answer.
        drop(answer(root, &mut calls, &mut kept, &stream));
    }
    Ok(())
}

fn answer(root: &Path, calls: &mut Calls, kept: &mut Kept, stream: &TcpStream) -> io::Result<()> {
    let request = Request::read(stream)?;
    let mut server = Server { root, calls, kept };
    server.answer(&request).write(stream)
}

struct Server<'a> {
    root: &'a Path,
    calls: &'a mut Calls,
    /// The records as they were last.
    kept: &'a mut Kept,
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
        Self { status, headers: Vec::new(), media: "application/json", body }
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
            return Self { media: "application/problem+json", ..Self::new(status, problem) };
        }
        Self::new(status, body)
    }

    /// Returns the refusal of a request in a session that is not the caller's, or that exceeds a limit.
    fn not_now(why: &NotNow) -> Self {
        let answer = why.answer();
        let status = bulletin::CONTRACT.status(&answer).unwrap_or(500);
        Self::error(status, bulletin::CONTRACT.rest_body(&answer)).retry_after(why.wait)
    }

    fn retry_after(self, wait: Option<u64>) -> Self {
        match wait.filter(|_| !is(Mutant::RestSaysNoTime)) {
            Some(wait) => self.header("Retry-After", wait.to_string()),
            None => self,
        }
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

fn not_found(message: &str) -> Value {
    let mut body = error("INVALID", message);
    body["error"]["details"] = json!({ "reason": "not_found" });
    body
}

/// Returns the caller's role.
fn role(request: &Request) -> Option<&str> {
    let key = request.header("authorization")?.strip_prefix("Bearer ")?;
    bulletin::ROLES.contains(&key).then_some(key)
}

impl Server<'_> {
    fn answer(&mut self, request: &Request) -> Response {
        let path = request.path.as_str();
        let session = path.strip_prefix("/mcp/sessions/");
        let execution = path.strip_prefix("/mcp/executions/");
        let expected = match path {
            "/mcp/tools" | "/mcp/openapi.json" => "GET",
            _ if execution.is_some() => "GET",
            _ if session.is_some() && request.method == "PUT" => "PUT",
            _ if session.is_some() => "DELETE",
            _ => "POST",
        };
        let tool = path.strip_prefix("/mcp/tools/").and_then(|rest| rest.strip_suffix("/execute"));
        let places = ["/mcp", "/mcp/tools", "/mcp/openapi.json", "/mcp/sessions"];
        if tool.or(session).or(execution).is_none() && !places.contains(&path) {
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
        if let Some(id) = execution {
            let found = self.with_kept(|kept| kept.execution(role, id).cloned());
            return match found {
                Some(found) => Response::new(200, found),
                None => Response::error(404, not_found("there is no such execution")),
            };
        }
        if let Some(id) = session {
            let ends = request.method == "DELETE";
            let status = if ends { "terminated" } else { "active" };
            return match self.with_kept(|kept| kept.touch(role, id, ends)) {
                Ok(()) => Response::new(200, json!({ "session_id": id, "status": status })),
                Err(why) => Response::not_now(&why),
            };
        }
        match (path, tool) {
            (_, Some(tool)) => self.execute(role, tool, request),
            ("/mcp/sessions", _) => match self.with_kept(|kept| kept.open(role)) {
                Ok(id) => Response::new(201, json!({ "session_id": id, "status": "active" })),
                Err(why) => Response::not_now(&why),
            },
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

    /// Reads the records, changes them, and writes them.
    fn with_kept<T>(&mut self, change: impl FnOnce(&mut Kept) -> T) -> T {
        let library = Library(self.root.to_owned());
        let lock = library.lock();
        let mut kept = Kept::read(&library, self.kept).unwrap_or_default();
        let result = change(&mut kept);
        if kept.write(&library).is_err() {
            eprintln!("calls could not be kept");
        }
        *self.kept = kept;
        drop(lock);
        result
    }

    fn respond(&mut self, role: &str, message: &Value) -> Option<Value> {
        let library = Library(self.root.to_owned());
        let board = Bulletin::new(library, Some(role));
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        if message["method"] != "tools/call" || bulletin::CONTRACT.tool(tool).is_none() {
            let mut server = Conditional::new(board, self.root, self.calls);
            return respond(bulletin::CONTRACT, &mut server, message);
        }
        let session = message["params"]["_meta"][SESSION].as_str();
        let begun = match self.with_kept(|kept| kept.begin(role, tool, session)) {
            Ok(begun) => begun,
            Err(why) => return Some(refused(message, &why)),
        };
        let board = board.in_execution(&begun.execution);
        let mut server = Conditional::new(board, self.root, self.calls);
        let mut answer = respond(bulletin::CONTRACT, &mut server, message)?;
        let shown = shown(tool, &answer);
        if is(Mutant::RefusalsAreCommits) && shown["status"] == "failed" {
            let message = format!("refused {tool}\n\nExecution: {}", begun.execution);
            let library = Library(self.root.to_owned());
            library.git(&["commit", "--quiet", "--allow-empty", "-m", &message]).ok()?;
        }
        self.with_kept(|kept| kept.end(role, &begun, shown));
        if let Some(result) = answer.get_mut("result") {
            result["_meta"][EXECUTION] = begun.execution.into();
            result["_meta"][SESSION] = begun.session.into();
        }
        Some(answer)
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
        if let Some(key) = request.header("idempotency-key").filter(|_| !is(Mutant::RestIgnoresKeys)) {
            meta.insert(IDEMPOTENCY_KEY.into(), key.into());
        }
        if let Some(session) = request.header("x-session-id") {
            meta.insert(SESSION.into(), session.into());
        }
        if request.header("if-none-match") == Some("*") {
            meta.insert(IF_BASE.into(), Value::Null);
        }
        if let Some(tag) = request.header("if-match").filter(|_| !is(Mutant::RestIgnoresIfMatch)) {
            meta.insert(IF_BASE.into(), tag.trim_matches('"').into());
        }
        let (since, begun) = (Instant::now(), now());
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let message = json!({ "id": 0, "method": "tools/call", "params": params });
        let answer = self.respond(role, &message).unwrap_or_default();
        let result = &answer["result"];
        if request.header("prefer") == Some("respond-async") && result["_meta"][EXECUTION].is_string() {
            // It is over already, unknown to the client.
            let body =
                json!({ "execution_id": result["_meta"][EXECUTION], "tool": tool, "status": "running" });
            return Response::new(202, body).header("Preference-Applied", "respond-async");
        }
        if let Some(refused) = answer.get("error") {
            let message = refused["message"].as_str().unwrap_or_default();
            return if refused["code"] == -32602 {
                Response::refusal(422, "INVALID", message)
            } else {
                Response::refusal(500, "FAILED", message)
            };
        }
        if result["isError"] == true {
            let error = &result["structuredContent"]["error"];
            let status = match error["code"].as_str() {
                Some("AUTH_REQUIRED" | "VIOLATION") => 403,
                Some("EXPIRED") => 401,
                Some("TOO_OFTEN") => 429,
                _ if error["details"]["reason"] == "not_found" => 404,
                _ => 422,
            };
            let wait = error["details"][RETRY_AFTER_SECONDS].as_u64();
            return Response::error(status, result["structuredContent"].clone()).retry_after(wait);
        }
        let milliseconds = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut body = json!({
            "execution_id": result["_meta"][EXECUTION],
            "session_id": result["_meta"][SESSION],
            "tool": tool,
            "status": "success",
            "result": result["structuredContent"],
            bulletin::CONTRACT.gate_members.verdict: result["_meta"]["tabellion/gates"],
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

/// Returns the answer to a call that may not begin.
fn refused(message: &Value, why: &NotNow) -> Value {
    let answer = why.answer();
    let result = json!({
        "resultType": "complete",
        "isError": true,
        "content": [{ "type": "text", "text": answer.message }],
        "structuredContent": bulletin::CONTRACT.rest_body(&answer),
        "_meta": { "tabellion/error": { "code": answer.code, "name": answer.name, "data": answer.data } },
    });
    json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
}

/// Returns the record of a call with this answer.
fn shown(tool: &str, answer: &Value) -> Value {
    let (result, error) = (&answer["result"], &answer["error"]);
    if result["isError"] == true {
        return json!({ "tool": tool, "status": "failed", "error": result["structuredContent"]["error"] });
    }
    if error.is_object() {
        return json!({ "tool": tool, "status": "failed", "error": error });
    }
    let mut shown = json!({ "tool": tool, "status": "success", "result": result["structuredContent"] });
    if let Some(commit) = result["_meta"].get(COMMIT) {
        shown["commit"] = commit.clone();
    }
    shown
}

fn now() -> String {
    DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Returns the list of tools, with REST's names of the members that MCP lists.
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
        all.insert("200".into(), json!({ "description": "It is done.", "content": content(schema) }));
        for status in REFUSALS {
            all.insert(status.to_string(), json!({ "$ref": "#/components/responses/refusal" }));
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
        paths.insert(format!("/tools/{}/execute", tool.name), json!({ "post": operation }));
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
