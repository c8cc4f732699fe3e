//! Options of `serve` that contradict each other are refused before the library is touched.

use std::{fs, process::Stdio};

use serde_json::{Map, json};
use tabellion::contracts;
use tabellion_conformance::Target;

use crate::support::Library;

/// Returns the message with which the server refuses these arguments.
fn complaint(arguments: &[&str]) -> String {
    let library = Library::empty();
    let mut command = library.command();
    let output = command
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    let output = output.expect("it runs");
    assert!(!output.status.success(), "{arguments:?}");
    assert_eq!(output.stdout, b"", "{arguments:?}");
    assert_eq!(
        fs::read_dir(library.root()).expect("a folder").count(),
        0,
        "{arguments:?}"
    );
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn the_server_refuses_contradictory_options_with_advice() {
    let cases: [(&[&str], &str); 7] = [
        (&["--contract", "no-such"], "braindrive-markdown"),
        (
            &["--document", "a.md"],
            "`--document a.md` is for contracts that work on one document",
        ),
        (
            &["--approve", "no_such"],
            "`--approve no_such` is not a tool that changes something",
        ),
        (
            &["--approve", "write_markdown,read_markdown"],
            "`--approve read_markdown` is not a tool",
        ),
        (&["--approve", ""], "these are: write_markdown"),
        (&["--approval", "perhaps"], "prompt, auto, deny"),
        (
            &["--read-only", "--approve", "write_markdown"],
            "cannot be used with",
        ),
    ];
    for (arguments, expected) in cases {
        let said = complaint(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn contracts_of_one_document_require_its_name() {
    let wanting = contracts::names()
        .into_iter()
        .filter(|name| contracts::spec(name).is_some_and(|spec| spec.document));
    for name in wanting {
        let said = complaint(&["--contract", name]);
        assert!(said.contains("name it with `--document PATH`"), "{said}");
        for path in ["../a.md", "/a.md", "a.txt", ""] {
            let said = complaint(&["--contract", name, "--document", path]);
            assert!(
                said.contains("must name a document of the library"),
                "{path}: {said}"
            );
        }
    }
}

#[test]
fn a_read_only_server_offers_no_tool_that_changes_documents() {
    for name in contracts::names() {
        let spec = contracts::spec(name).expect("it is served");
        let library = Library::with(&[("note.md", "# Note\n")]);
        let mut command = library.command();
        command.args(["--read-only", "--contract", name]);
        if spec.document {
            command.args(["--document", "note.md"]);
        }
        let mut target = Target::start(&mut command).expect("it starts");
        target.initialize("2025-11-25").expect("a handshake");
        let list = target.request("tools/list", json!({})).expect("a list");
        let listed = list["result"]["tools"].as_array().expect("tools");
        let listed: Vec<_> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let (changing, reading): (Vec<_>, Vec<_>) = spec.tools.iter().partition(|tool| tool.mutating);
        let reading: Vec<_> = reading.iter().map(|tool| tool.name).collect();
        assert_eq!(listed, reading, "{name}");
        assert!(!changing.is_empty(), "{name}");
        for tool in changing {
            let arguments = json!({ "path": "note.md", "content": "changed\n" });
            let answer = target.call(tool.name, arguments, Map::new()).expect("an answer");
            assert_eq!(answer["error"]["code"], -32602, "{name}, {}: {answer}", tool.name);
        }
        assert_eq!(library.get("note.md"), b"# Note\n", "{name}");
    }
}
