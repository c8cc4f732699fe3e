//! MCP over JSON lines, in both eras: with sessions, and with self-contained requests.

use std::{
    io::{self, BufRead, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde_json::{Map, Value, json};
use tabellion_contracts::braindrive_markdown::CONTRACT;
use tabellion_runtime::ToolSpec;

use super::{
    library::Library,
    mutant::{self, Mutant, is},
    tools,
};

/// The revision with self-contained requests.
pub(super) const STATELESS: &str = "2026-07-28";
/// Revisions with sessions, the newest first.
pub(super) const SESSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Length of the longest line, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// Answers every line of `input` until its end.
pub(super) fn serve(library: &Library, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut session = Session::new(library);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            mutant::at_end();
            return Ok(());
        }
        let answer = if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE_BYTES {
            skip_line(&mut input)?;
            Some(error(None, INVALID_REQUEST, "the line is too long"))
        } else if line.trim_ascii().is_empty() {
            None
        } else {
            mutant::before_line(&line);
            session.answer(&line)
        };
        if let Some(answer) = answer {
            mutant::before_answer(&mut output, &answer)?;
            writeln!(output, "{answer}")?;
            output.flush()?;
            library.finish();
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() || used == 0 {
            return Ok(());
        }
    }
}

/// A client's session, if it has opened one.
pub(super) struct Session<'a> {
    library: &'a Library,
    open: bool,
}

/// A JSON-RPC error: code, message, details.
type JsonRpcError = (i64, String, Option<Value>);

impl<'a> Session<'a> {
    /// Creates a session that is not yet open.
    pub(super) fn new(library: &'a Library) -> Self {
        Self { library, open: false }
    }

    /// Creates an open session.
    pub(super) fn opened(library: &'a Library) -> Self {
        Self { library, open: true }
    }

    /// Returns the answer to a line, if it needs one.
    pub(super) fn answer(&mut self, line: &[u8]) -> Option<Value> {
        let message = match serde_json::from_slice(line) {
            Ok(Value::Object(message)) => message,
            Ok(_) => {
                return Some(error(None, INVALID_REQUEST, "a message must be an object; send one per line"));
            }
            Err(wrong) => {
                return Some(error(None, mutant::change_code(PARSE_ERROR), &wrong.to_string()));
            }
        };
        if !message.contains_key("method")
            && (message.contains_key("result") || message.contains_key("error"))
        {
            return None;
        }
        let id = match message.get("id") {
            None => None,
            Some(id) if id.is_string() || id.is_i64() || id.is_u64() => Some(id.clone()),
            Some(_) => {
                return Some(error(None, INVALID_REQUEST, "`id` must be a string or a whole number"));
            }
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Some(error(id, INVALID_REQUEST, "`jsonrpc` must be \"2.0\""));
        }
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            return Some(error(id, INVALID_REQUEST, "`method` must be a string"));
        };
        // Without an id it is a notification, and none requires an action.
        let Some(id) = id else {
            let is_answered = is(Mutant::AnswersNotifications);
            return is_answered.then(|| error(None, UNKNOWN_METHOD, "unknown method"));
        };
        let params = match message.get("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => return Some(error(Some(id), INVALID_PARAMS, "`params` must be an object")),
        };
        let result = catch_unwind(AssertUnwindSafe(|| self.result(method, params)));
        let result = result.unwrap_or_else(|_| Err(wrong(INTERNAL_ERROR, "internal error")));
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message, data)) => {
                let mut answer = error(Some(id), mutant::change_code(code), &message);
                data.into_iter().for_each(|data| answer["error"]["data"] = data);
                answer
            }
        })
    }

    fn result(&mut self, method: &str, params: Map<String, Value>) -> Result<Value, JsonRpcError> {
        let meta = match params.get("_meta") {
            None => Map::new(),
            Some(Value::Object(meta)) => meta.clone(),
            Some(_) => return Err(wrong(INVALID_PARAMS, "`_meta` must be an object")),
        };
        if method == "initialize" {
            return self.initialize(&params);
        }
        let stateless = meta.contains_key(VERSION_KEY) || method == "server/discover";
        if stateless {
            check_version(&meta)?;
        } else if !self.open && method != "ping" {
            return Err(wrong(INVALID_PARAMS, "send `initialize` first, or the revision in `_meta`"));
        }
        let mut result = match method {
            "ping" if !stateless => json!({}),
            "server/discover" => json!({ "supportedVersions": versions(), "capabilities": { "tools": {} } }),
            "tools/list" => list(&params)?,
            "tools/call" => self.call(&params, &meta)?,
            _ => return Err(wrong(UNKNOWN_METHOD, &format!("unknown method `{method}`"))),
        };
        if stateless {
            result["resultType"] = "complete".into();
            result["_meta"][SERVER_KEY] = server();
            if method != "tools/call" {
                result["ttlMs"] = 0.into();
                result["cacheScope"] = "private".into();
            }
        }
        Ok(result)
    }

    fn initialize(&mut self, params: &Map<String, Value>) -> Result<Value, JsonRpcError> {
        let revision = params.get("protocolVersion").and_then(Value::as_str);
        let requested =
            revision.ok_or_else(|| wrong(INVALID_PARAMS, "`protocolVersion` must be a string"))?;
        let is_object = |name| params.get(name).is_some_and(Value::is_object);
        if !is_object("capabilities") || !is_object("clientInfo") {
            return Err(wrong(INVALID_PARAMS, "`capabilities` and `clientInfo` must be objects"));
        }
        self.open = true;
        let known = SESSIONS.iter().find(|revision| **revision == requested).unwrap_or(&SESSIONS[0]);
        Ok(json!({ "protocolVersion": known, "capabilities": { "tools": {} }, "serverInfo": server() }))
    }

    fn call(&self, params: &Map<String, Value>, meta: &Map<String, Value>) -> Result<Value, JsonRpcError> {
        let name = params.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| wrong(INVALID_PARAMS, "`name` must be a string"))?;
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        if !arguments.is_object() {
            return Err(wrong(INVALID_PARAMS, "`arguments` must be an object"));
        }
        let Some(tool) = tools::find(name) else {
            let unknown = || wrong(INVALID_PARAMS, &format!("unknown tool `{}`", name.escape_debug()));
            return mutant::unknown_tool(self.library, name, &arguments).ok_or_else(unknown);
        };
        Ok(match tools::call(self.library, tool, arguments, meta) {
            Ok((response, meta)) => {
                let mut result = json!({
                    "content": [{ "type": "text", "text": response.to_string() }],
                    "structuredContent": response,
                    "isError": false,
                });
                if !meta.is_empty() {
                    result["_meta"] = meta.into();
                }
                mutant::change_result(result)
            }
            Err(failure) => json!({
                "content": [{ "type": "text", "text": failure.message }],
                "isError": !is(Mutant::ErrorsAsSuccess),
                "_meta": {
                    "tabellion/error": { "code": failure.code, "name": failure.name, "data": failure.data },
                },
            }),
        })
    }
}

/// Checks the required `_meta` of a self-contained request.
fn check_version(meta: &Map<String, Value>) -> Result<(), JsonRpcError> {
    let Some(version) = meta.get(VERSION_KEY).and_then(Value::as_str) else {
        return Err(wrong(INVALID_PARAMS, &format!("`_meta` must have `{VERSION_KEY}`")));
    };
    if version != STATELESS && !is(Mutant::AnyRevision) {
        let data = json!({ "requested": version, "supported": versions() });
        return Err((UNSUPPORTED_VERSION, "unsupported protocol version".into(), Some(data)));
    }
    if !meta.get(CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(wrong(INVALID_PARAMS, &format!("`_meta` must have `{CAPABILITIES_KEY}`")));
    }
    Ok(())
}

fn list(params: &Map<String, Value>) -> Result<Value, JsonRpcError> {
    if params.contains_key("cursor") {
        return Err(wrong(INVALID_PARAMS, "the list has one page; omit `cursor`"));
    }
    let tool = |tool: &ToolSpec| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input.wire(),
            "outputSchema": tool.output.wire(),
            "annotations": {
                "readOnlyHint": tool.annotations.read_only,
                "destructiveHint": tool.annotations.destructive,
                "idempotentHint": tool.annotations.idempotent,
                "openWorldHint": tool.annotations.open_world,
            },
        })
    };
    let mut tools: Vec<_> = CONTRACT.tools.iter().map(tool).collect();
    mutant::change_tools(&mut tools);
    Ok(json!({ "tools": tools }))
}

fn versions() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(SESSIONS).collect()
}

fn server() -> Value {
    json!({ "name": "tabellion-reference", "version": env!("CARGO_PKG_VERSION") })
}

fn wrong(code: i64, message: &str) -> JsonRpcError {
    (code, message.to_owned(), None)
}

pub(super) fn error(id: Option<Value>, code: i64, message: &str) -> Value {
    let mut answer = json!({ "jsonrpc": "2.0" });
    id.into_iter().for_each(|id| answer["id"] = id);
    answer["error"] = json!({ "code": code, "message": message });
    answer
}
