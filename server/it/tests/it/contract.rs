//! The servers' tools and guarantees agree with the source documents.

use serde_json::{Value, json};
use tabellion_conformance::Target;
use tabellion_contracts::{braindrive_markdown, learning_os};

use crate::support::{Library, exited, stateless};

const SOURCE: &str = include_str!("../../../../schemas/braindrive-markdown/source.md");
const LEARNING_OS: &str = include_str!("../../../../schemas/learning-os/source.md");

/// Returns the parts of a tool that a document specifies, with these keys for its schemas. As text: the order of keys counts too.
fn specified(tool: &Value, [input, output]: [&str; 2]) -> String {
    json!({
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": tool[input],
        "outputSchema": tool[output],
    })
    .to_string()
}

/// Returns the JSON blocks of a document.
fn blocks(text: &str) -> impl Iterator<Item = Value> {
    let blocks = text.split("```json\n").skip(1).map(|block| block.split("```").next().unwrap_or_default());
    blocks.map(|block| serde_json::from_str(block).expect("a block of JSON"))
}

/// Returns the tools of the document of braindrive-markdown: each is a block.
fn documented() -> Vec<String> {
    blocks(SOURCE).map(|tool| specified(&tool, ["input_schema", "output_schema"])).collect()
}

/// Returns the tools of the document of learning-os: under `## name` a description and two blocks.
fn documented_by_chapter() -> Vec<String> {
    let chapters = learning_os::CONTRACT.tools.iter().map(|tool| {
        let text = LEARNING_OS.split(&format!("\n## {}\n", tool.name)).nth(1).expect("a chapter");
        let (_, description) = text.split_once("### Description\n").expect("a description");
        let mut blocks = blocks(text);
        let tool = json!({
            "name": tool.name,
            "description": description.lines().next(),
            "input": blocks.next(),
            "output": blocks.next(),
        });
        specified(&tool, ["input", "output"])
    });
    chapters.collect()
}

fn assert_documented(tools: &Value, documented: &[String]) {
    let tools = tools.as_array().expect("a list of tools");
    let listed: Vec<_> = tools.iter().map(|tool| specified(tool, ["inputSchema", "outputSchema"])).collect();
    assert_eq!(listed, documented);
    for tool in tools {
        let annotations = tool["annotations"].as_object().expect("annotations");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(annotations[hint].is_boolean(), "{}: {hint}", tool["name"]);
        }
    }
}

#[test]
fn the_server_lists_the_documented_tools() {
    for (contract, documented) in
        [(&braindrive_markdown::CONTRACT, documented()), (&learning_os::CONTRACT, documented_by_chapter())]
    {
        let mut server = Library::empty().serve_with(&["--contract", contract.id]);
        let mut list = || server.target.request("tools/list", json!({})).expect("a list");
        let (first, second) = (list(), list());
        assert_documented(&first["result"]["tools"], &documented);
        assert_eq!(first["result"].to_string(), second["result"].to_string());
        server.close();
    }
}

#[test]
fn the_server_lists_the_same_tools_in_the_stateless_era() {
    let library = Library::empty();
    let mut target = Target::start(&mut library.command()).expect("the server starts");
    let meta = stateless(&json!({}));
    let discovered = target.request("server/discover", json!({ "_meta": meta })).expect("a discovery");
    assert_eq!(discovered["result"]["resultType"], "complete");
    let list = target.request("tools/list", json!({ "_meta": meta })).expect("a list");
    assert_documented(&list["result"]["tools"], &documented());
    assert!(exited(target).success());
}

#[test]
fn every_guarantee_quotes_the_source_document() {
    for guarantee in braindrive_markdown::CONTRACT.guarantees {
        assert!(SOURCE.contains(guarantee.text), "`{}` is not in the source document", guarantee.id);
    }
}
