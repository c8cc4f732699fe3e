//! Calls whose errors are judged.

use crate::checks::provenance::said;
use crate::{checks::prelude::*, request};

/// Calls the tool of this name, which need not exist, with any arguments; returns the whole answer.
pub(super) fn call(
    client: &mut Client<'_>,
    name: &str,
    arguments: &Value,
    meta: Map<String, Value>,
) -> Result<Value, Stop> {
    let mut params = json!({ "name": name, "arguments": arguments });
    if !meta.is_empty() {
        params["_meta"] = meta.into();
    }
    Ok(client.request("tools/call", params)?)
}

/// Returns a changing operation, and a request of it that the server accepts.
pub(super) fn accepted(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
) -> Result<(&'static ToolSpec, Value), Stop> {
    let meta = || said::full_meta(bench.subject.contract.provenance, 1);
    for tool in bench.subject.operations().filter(|tool| tool.mutating) {
        for arguments in request::examples(tool) {
            if client.call_with(tool, &arguments, meta())?.done().is_some() {
                return Ok((tool, arguments));
            }
        }
    }
    Err(not_shown("the server accepts no example of a change"))
}

/// Returns the reading operations, with an example each.
pub(super) fn reading(bench: &Bench<'_>) -> Vec<(&'static ToolSpec, Value)> {
    let all = bench.subject.operations().filter(|tool| !tool.mutating);
    all.filter_map(|tool| Some((tool, request::examples(tool).next()?))).collect()
}
