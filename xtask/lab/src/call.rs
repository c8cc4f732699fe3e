//! Calls over HTTP, in the era without sessions.

use std::{
    io::{self, BufReader, Read as _},
    time::Duration,
};

use serde_json::{Value, json};
use tabellion_conformance::{era::Era, http::events::Events};
use ureq::{Agent, Body, Error, http::Response, tls::TlsConfig};

/// Time limit of an answer.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns a client with persistent connections, which takes refusals for answers.
pub(crate) fn client(tls: Option<TlsConfig>) -> Agent {
    let config = Agent::config_builder().timeout_global(Some(ANSWER_TIMEOUT)).http_status_as_error(false);
    let config = match tls {
        Some(tls) => config.tls_config(tls),
        None => config,
    };
    config.build().into()
}

/// Sends a call, with these further headers, and receives the head of the response.
pub(crate) fn send(
    agent: &Agent,
    url: &str,
    headers: &[(&str, &str)],
    tool: &str,
    arguments: &Value,
) -> Result<Response<Body>, Error> {
    let own = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", Era::Stateless.revision()),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    let mut post = agent.post(url).content_type("application/json");
    for (name, value) in own.iter().chain(headers) {
        post = post.header(*name, *value);
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": Era::Stateless.revision(),
        "io.modelcontextprotocol/clientInfo": { "name": "lab", "version": env!("CARGO_PKG_VERSION") },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    post.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string())
}

/// Returns the answer of a response: its body, or the last message of its stream.
///
/// # Errors
/// With the status, if there is no answer.
pub(crate) fn answer(response: Response<Body>) -> Result<Value, String> {
    let status = response.status();
    let is_stream = response.body().mime_type() == Some("text/event-stream");
    let mut body = BufReader::new(response.into_body().into_reader());
    let mut text = String::new();
    let read = || -> io::Result<()> {
        if is_stream {
            let mut events = Events::new(body);
            while let Some(data) = events.next_data()? {
                text = data;
            }
        } else {
            body.read_to_string(&mut text)?;
        }
        Ok(())
    };
    read().map_err(|error| format!("{status}: {error}"))?;
    serde_json::from_str(&text).map_err(|_| format!("{status}: {text}"))
}
