//! A contract whose tools have operations, served by the example `desk` of `tabellion-codegen`.

use std::process::Command;

use serde_json::{Map, Value, json};

use crate::support::{Library, Server, TABELLION, exited};

/// Calls in turn, each with the expected part of its answer or error.
const CALLS: &[(&str, &str, &str)] = &[
    (
        "edit",
        r##"{ "action": "write", "resource": "page", "path": "a.md", "text": "# A\n\n## B\n\nold\n" }"##,
        r#""path":"a.md""#,
    ),
    // `section` chooses another operation with the same values.
    (
        "edit",
        r###"{ "action": "write", "resource": "page", "path": "a.md", "section": "B", "text": "## B\n\nnew\n" }"###,
        r#""path":"a.md""#,
    ),
    ("look", r#"{ "at": "page", "path": "a.md" }"#, r##""text":"# A\n\n## B\n\nnew\n""##),
    ("look", r#"{ "at": "size", "path": "a.md" }"#, r#""bytes":15"#),
    ("look", r#"{ "at": "pages" }"#, r#""pages":["a.md"]"#),
    (
        "edit",
        r#"{ "action": "delete", "resource": "line", "path": "a.md" }"#,
        "/action: Unsupported action delete for resource line: write the page without the line",
    ),
    (
        "edit",
        r#"{ "action": "append", "resource": "page", "path": "a.md" }"#,
        "/action: Unsupported action append for resource page; there is delete page, write page",
    ),
    (
        "edit",
        r#"{ "action": "append", "resource": "line", "path": "a.md", "text": "x", "section": "B" }"#,
        "/section: does not apply to `append line`, which takes action, resource, path, text",
    ),
    (
        "edit",
        r#"{ "action": "delete", "resource": "page", "path": "A.md", "text": "x", "more": 1 }"#,
        "/text: does not apply to `delete page`, which takes action, resource, path; /more: does not apply",
    ),
    ("edit", r#"{ "resource": "page", "path": "a.md" }"#, "/: `action` is missing"),
    (
        "edit",
        r#"{ "action": "burn", "resource": "page", "path": "A", "text": 5 }"#,
        r#"/action: the value is not one of "write", "append" or "delete""#,
    ),
    (
        "edit",
        r#"{ "action": "delete", "resource": null, "path": "a.md" }"#,
        "/resource: a text was expected, null was given",
    ),
    ("look", "{}", "/: `at` is missing"),
];

#[test]
fn each_request_comes_to_its_operation_or_is_refused_with_what_there_is() {
    let library = Library::empty();
    let mut target = Server::start(Command::new(TABELLION).arg("desk").arg(library.root())).target;
    for (tool, arguments, expected) in CALLS {
        let arguments: Value = serde_json::from_str(arguments).expect("arguments");
        let answer = target.call(tool, arguments.clone(), Map::new()).expect("an answer");
        let result = &answer["result"];
        let said = if result["isError"] == json!(true) {
            result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
        } else {
            result["structuredContent"].to_string()
        };
        assert!(said.contains(expected), "{arguments}: {answer}");
    }
    assert!(exited(target).success());
    let commits = library.ledger().commits.len();
    assert_eq!(commits, 3, "the first, and one for each change");
}
