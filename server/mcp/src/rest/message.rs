//! Makes a message of MCP of a request.

use hyper::{
    HeaderMap, StatusCode,
    header::{CONTENT_LENGTH, IF_MATCH, IF_NONE_MATCH, USER_AGENT},
};
use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    ToolSpec,
    context::{IDEMPOTENCY_KEY, IF_BASE},
    openapi::MAX_ETAG,
};

use crate::{
    json,
    streamable::{Refusal, headers},
};

const KEY: &str = "idempotency-key";

/// Returns the call of a tool that a request asks for. An empty body has no arguments.
///
/// # Errors
/// If the body is not a JSON object, or a condition can't be read.
pub(super) fn call(
    tool: &'static ToolSpec,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Map<String, Value>, Refusal> {
    of(tool, headers, self::body(headers, body)?)
}

/// Returns the call of a tool with these arguments.
///
/// # Errors
/// If a condition in the headers can't be read.
pub(super) fn of(
    tool: &'static ToolSpec,
    headers: &HeaderMap,
    arguments: Value,
) -> Result<Map<String, Value>, Refusal> {
    let mut meta = json!({
        headers::VERSION_IN_META: ProtocolVersion::V_2026_07_28,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some((name, version)) = client(headers) {
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": name, "version": version });
    }
    if let Some(key) = headers::single(headers, KEY)? {
        meta[IDEMPOTENCY_KEY] = key.into();
    }
    if let Some(base) = base(headers)? {
        meta[IF_BASE] = base;
    }
    let message = json!({
        "jsonrpc": "2.0",
        "id": 0,
        "method": "tools/call",
        "params": { "name": tool.name, "arguments": arguments, "_meta": meta },
    });
    let Value::Object(message) = message else {
        unreachable!("it is written as an object")
    };
    Ok(message)
}

/// Returns the object in the body of a request; an empty one if there is no body.
///
/// # Errors
/// If the body is anything else.
pub(super) fn body(headers: &HeaderMap, body: &[u8]) -> Result<Value, Refusal> {
    if body.is_empty() && !headers.contains_key(CONTENT_LENGTH) {
        return Ok(json!({}));
    }
    headers::is_json(headers)?;
    let said = json::parse(body).map_err(|error| {
        bad(match json::advice(body, &error) {
            Some(advice) => format!("the body can't be read: {advice}"),
            None => format!("the body is not JSON: {error}"),
        })
    })?;
    if said.is_object() {
        Ok(said)
    } else {
        Err(bad("the body must be an object".into()))
    }
}

/// Returns the name and version of the first product in `User-Agent`, as in `curl/8.5.0`.
pub(super) fn client(headers: &HeaderMap) -> Option<(&str, &str)> {
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    agent.split_whitespace().next()?.split_once('/')
}

/// Returns what the document must be: the content with this ETag, or (`null`) not there.
fn base(headers: &HeaderMap) -> Result<Option<Value>, Refusal> {
    let matched = headers::single(headers, IF_MATCH.as_str())?;
    let unmatched = headers::single(headers, IF_NONE_MATCH.as_str())?;
    match (matched, unmatched) {
        (None, None) => Ok(None),
        (None, Some("*")) => Ok(Some(Value::Null)),
        (None, Some(_)) => Err(bad(
            "`If-None-Match` must be `*`: the document must not be there".into()
        )),
        (Some(etag), None) => {
            let quoted = etag.strip_prefix('"').and_then(|etag| etag.strip_suffix('"'));
            let id = quoted.unwrap_or(etag);
            let is_id =
                (1..=MAX_ETAG).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if !is_id {
                return Err(bad("`If-Match` must be one `ETag` of this server".into()));
            }
            Ok(Some(id.into()))
        }
        (Some(_), Some(_)) => Err(bad(
            "`If-Match` and `If-None-Match` exclude each other; send one of them".into(),
        )),
    }
}

fn bad(why: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}
