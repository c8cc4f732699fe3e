//! The vault's messages: JSON lines, in the stateless era.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};
use tabellion_conformance::era::Era;

use super::{Innocent, is, vault::Vault};
use crate::wire::{INVALID_REQUEST, PARSE_ERROR, UNKNOWN_METHOD, error};

const INVALID_PARAMS: i64 = -32602;

/// Answers every line of standard input until its end.
pub(super) fn serve(vault: &Vault) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(answer) = answer(vault, line.trim_ascii()) {
            let mut output = io::stdout().lock();
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// Returns the answer to a line, if it needs one.
fn answer(vault: &Vault, line: &[u8]) -> Option<Value> {
    let Ok(line) = str::from_utf8(line) else {
        let code = if is(Innocent::OtherErrorCodes) { INVALID_PARAMS } else { PARSE_ERROR };
        return Some(error(None, code, "the line is not UTF-8"));
    };
    if line.is_empty() {
        return None;
    }
    let message: Value = match serde_json::from_str(line) {
        Ok(message) => message,
        Err(wrong) => return Some(error(None, PARSE_ERROR, &wrong.to_string())),
    };
    if !message["jsonrpc"].is_string() || !message["method"].is_string() {
        let is_answer = message.get("result").or_else(|| message.get("error")).is_some();
        return (!is_answer).then(|| error(None, INVALID_REQUEST, "the line is not a request"));
    }
    let id = message.get("id").cloned()?;
    let params = &message["params"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({
            "supportedVersions": [Era::Stateless.revision()],
            "capabilities": { "tools": {} },
        }),
        "tools/list" => json!({ "tools": Vault::tools(), "ttlMs": 0, "cacheScope": "private" }),
        "tools/call" if params.is_null() && is(Innocent::IgnoresNullParams) => return None,
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
            if !arguments.is_object() {
                return Some(error(Some(id), INVALID_PARAMS, "`arguments` must be an object"));
            }
            match vault.call(name, &arguments) {
                None => return Some(error(Some(id), INVALID_PARAMS, "unknown tool")),
                Some(Ok(response)) => json!({ "content": [], "structuredContent": response }),
                Some(Err(failure)) => {
                    json!({ "content": [{ "type": "text", "text": failure.message }], "isError": true })
                }
            }
        }
        method => {
            let unknown = format!("unknown method `{method}`");
            return Some(error(Some(id), UNKNOWN_METHOD, &unknown));
        }
    };
    let mut answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    answer["result"]["resultType"] = "complete".into();
    Some(answer)
}
