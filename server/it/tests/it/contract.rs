//! The server's tools and guarantees agree with the source document.

use std::path::Path;

use serde_json::{Value, json};
use tabellion_conformance::Target;
use tabellion_contracts::{braindrive_markdown::CONTRACT, learning_os, mcb, safe_markdown_editor};

use crate::support::{Library, exited};

const SOURCE: &str = include_str!("../../../../schemas/braindrive-markdown/source.md");

/// Returns the tools of the source document's JSON blocks, with MCP's names of the keys.
fn documented() -> Vec<Value> {
    let blocks = SOURCE
        .split("```json\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or_default());
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
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
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
    let discovered = target
        .request("server/discover", json!({ "_meta": meta }))
        .expect("a discovery");
    assert_eq!(discovered["result"]["resultType"], "complete");
    let list = target
        .request("tools/list", json!({ "_meta": meta }))
        .expect("a list");
    assert_documented(&list["result"]["tools"]);
    assert!(exited(target).success());
}

#[test]
fn every_guarantee_quotes_the_source_document() {
    for guarantee in CONTRACT.guarantees {
        assert!(
            SOURCE.contains(guarantee.text),
            "`{}` is not in the source document",
            guarantee.id
        );
    }
}

/// Runs every check of the conformance suite, in the quick profile.
#[test]
fn the_server_keeps_every_guarantee() {
    let serve = [
        env!("CARGO_BIN_EXE_tabellion-under-test"),
        "serve",
        "--library",
        "{library}",
    ];
    tabellion_conformance::check(CONTRACT.id, serve);
}

/// A contract with operations, over both transports.
#[test]
fn the_desk_keeps_its_contract() {
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../codegen/examples/desk/schemas/desk");
    tabellion_conformance::check(&*contract, [env!("CARGO_BIN_EXE_desk"), "{library}"]);
}

/// A contract whose store keeps rows, judged by its tables and its log.
#[test]
fn the_tracker_keeps_every_guarantee() {
    let contract =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../codegen/examples/tracker/schemas/tracker");
    tabellion_conformance::check(&*contract, [env!("CARGO_BIN_EXE_tracker"), "{data}"]);
}

/// What becomes of the rows of `mcb`. What is on the wire is much, and other tests judge it.
#[test]
fn the_mcb_keeps_its_guarantees_of_rows() {
    let serve = [
        env!("CARGO_BIN_EXE_tabellion-under-test"),
        "serve",
        "--contract",
        mcb::CONTRACT.id,
        "--data",
        "{data}",
        "--workspace",
        "{workspace}",
    ];
    let families = ["operations", "rows", "orgs", "secrets"];
    tabellion_conformance::check_only(&families, mcb::CONTRACT.id, serve);
}

#[test]
fn the_learning_os_keeps_every_guarantee() {
    let serve = [
        env!("CARGO_BIN_EXE_tabellion-under-test"),
        "serve",
        "--library",
        "{library}",
    ];
    let contract = ["--contract", learning_os::CONTRACT.id];
    tabellion_conformance::check(learning_os::CONTRACT.id, serve.into_iter().chain(contract));
}

#[test]
fn the_safe_markdown_editor_keeps_every_guarantee() {
    let serve = [
        env!("CARGO_BIN_EXE_tabellion-under-test"),
        "serve",
        "--library",
        "{library}",
    ];
    let contract = [
        "--contract",
        safe_markdown_editor::CONTRACT.id,
        "--document",
        "{document}",
    ];
    tabellion_conformance::check(
        safe_markdown_editor::CONTRACT.id,
        serve.into_iter().chain(contract),
    );
}
