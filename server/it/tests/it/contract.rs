//! The server's tools and guarantees agree with the source document.

use serde_json::{Value, json};
use tabellion_conformance::Target;
use tabellion_contracts::braindrive_markdown::CONTRACT;

use crate::support::{Library, exited};

const SOURCE: &str = include_str!("../../../../schemas/braindrive-markdown/source.md");

/// Returns the tools of the source document's JSON blocks, with MCP's names of the keys.
fn documented() -> Vec<Value> {
    let blocks = SOURCE.split("```json\n").skip(1).map(|block| block.split("```").next().unwrap_or_default());
    let tools = blocks.map(|block| serde_json::from_str::<Value>(block).expect("a block of JSON"));
    tools
        .map(|tool| {
            json!({
                "name": tool["name"],
                "description": tool["description"],
                "inputSchema": tool["input_schema"],
                "outputSchema": tool["output_schema"],
            })
        })
        .collect()
}

/// Returns the parts of a listed tool that the document specifies.
fn listed(tool: &Value) -> Value {
    json!({
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": tool["inputSchema"],
        "outputSchema": tool["outputSchema"],
    })
}

/// Compared as text: the order of keys counts too.
fn assert_documented(tools: &Value) {
    let tools = tools.as_array().expect("a list of tools");
    assert_eq!(tools.len(), 8);
    for (tool, document) in tools.iter().zip(documented()) {
        assert_eq!(listed(tool).to_string(), document.to_string());
        let annotations = tool["annotations"].as_object().expect("annotations");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(annotations[hint].is_boolean(), "{}: {hint}", tool["name"]);
        }
    }
}

#[test]
fn the_server_lists_the_documented_tools() {
    let mut server = Library::empty().serve();
    let first = server.target.request("tools/list", json!({})).expect("a list");
    assert_documented(&first["result"]["tools"]);
    let second = server.target.request("tools/list", json!({})).expect("a list");
    assert_eq!(first["result"].to_string(), second["result"].to_string());
    server.close();
}

#[test]
fn the_server_lists_the_same_tools_in_the_stateless_era() {
    let library = Library::empty();
    let mut target = Target::start(&mut library.command()).expect("the server starts");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = target.request("server/discover", json!({ "_meta": meta })).expect("a discovery");
    assert_eq!(discovered["result"]["resultType"], "complete");
    let list = target.request("tools/list", json!({ "_meta": meta })).expect("a list");
    assert_documented(&list["result"]["tools"]);
    assert!(exited(target).success());
}

#[test]
fn every_guarantee_quotes_the_source_document() {
    for guarantee in CONTRACT.guarantees {
        assert!(SOURCE.contains(guarantee.text), "`{}` is not in the source document", guarantee.id);
    }
}
