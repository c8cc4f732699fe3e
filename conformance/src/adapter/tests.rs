//! Parsing of adapters' files, and translation of calls and responses.

use std::fs;

use serde_json::json;

use super::*;
use crate::reply::Refusal;

/// Parses a file with these tools.
fn parsed(tools: &str) -> Result<Arc<Mapping>, AdapterError> {
    Adapter::parse(&format!(
        "[server]\nname = \"x\"\ncontract = \"braindrive-markdown\"\n{tools}"
    ))
}

fn adapter(tools: &str) -> Adapter {
    Adapter::Mapped(parsed(tools).expect("a good file"))
}

fn tool(name: &str) -> &'static ToolSpec {
    let tools = crate::contracts::CONTRACTS
        .iter()
        .flat_map(|contract| contract.tools);
    tools.into_iter().find(|tool| tool.name == name).expect("a tool")
}

#[test]
fn errors_have_a_line_and_a_description() {
    let read = |rest: &str| format!("[tools.read_markdown]\nname = \"r\"\n{rest}");
    let edit = |rest: &str| format!("[tools.edit_markdown]\nname = \"e\"\n{rest}");
    let cases = [
        (String::new(), 1, "`tools` is missing"),
        ("[tools.raed]\nname = \"r\"".into(), 4, "has no tool `raed`"),
        (
            "[tools.read_markdown]\nnaem = \"r\"".into(),
            5,
            "unknown key `naem`",
        ),
        ("[tools.read_markdown]\nresponse = {}".into(), 4, "lacks `name`"),
        (
            "[tools.read_markdown]\narguments = {}".into(),
            5,
            "`name` is missing",
        ),
        (
            read("arguments = { path = \"{/pth}\" }"),
            6,
            "there is no `pth`, but `path`",
        ),
        (
            read("arguments = { path = \"{pth}\" }"),
            6,
            "there is no value `{pth}`",
        ),
        (read("arguments = { path = \"{/path\" }"), 6, "unmatched"),
        (read("arguments = { path = \"/path}\" }"), 6, "unmatched"),
        (read("arguments = { path = \"{old}\" }"), 6, "does not edit"),
        (read("arguments = \"{/path}\""), 6, "expected a table, not string"),
        (
            read("[tools.read_markdown.response]\n\n\"/conten\" = { is = 1 }"),
            8,
            "there is no `conten`",
        ),
        (
            read("response = { \"content\" = { is = 1 } }"),
            6,
            "is not a JSON pointer",
        ),
        (
            read("response = { \"/content\" = {} }"),
            6,
            "give exactly one source",
        ),
        (
            read("response = { \"/content\" = { at = \"/a\", is = 1 } }"),
            6,
            "give exactly one source",
        ),
        (
            read("response = { \"/content\" = { at = \"a\" } }"),
            6,
            "is not a JSON pointer",
        ),
        (
            read("response = { \"/content\" = { text = \"x\" } }"),
            6,
            "needs a group",
        ),
        (
            read("response = { \"/content\" = { lines = \"(\" } }"),
            6,
            "invalid pattern",
        ),
        (
            read("response = { \"/content\" = { at = \"\", each = { \"/a\" = \"\" } } }"),
            6,
            "only a list",
        ),
        (read("refused = 7"), 6, "expected a string, not integer"),
        (read("append = { name = \"x\" }"), 6, "unknown key `append`"),
        (edit("when = [\"append\", \"reed\"]"), 6, "no effect `reed`"),
        (edit("append = { nam = \"x\" }"), 6, "unknown key `nam`"),
        (edit("append = 1\nappend = 2"), 7, "duplicate key"),
        ("x = [".into(), 4, ""),
    ];
    for (tools, line, message) in cases {
        let error = parsed(&tools).expect_err(&tools);
        assert!(error.message.contains(message), "{tools}\n{error}");
        // A missing member has no line of its own.
        assert!(error.line == line, "{tools}\n{error}");
    }
    let other = Adapter::parse("[server]\nname = \"x\"\ncontract = \"y\"\n[tools]").expect_err("no contract");
    assert_eq!(other.line, 3);
}

#[test]
fn an_entry_covers_a_tool_or_one_effect() {
    let adapter = adapter(
        "[tools.edit_markdown]\nname = \"plain\"\nwhen = \"prepend\"\n[tools.edit_markdown.append]\nname = \"own\"\n\
         [tools.preview_markdown_change.append]\nname = \"shows\"\n",
    );
    let root = Path::new("/library");
    let cases = [
        ("edit_markdown", "append", Some("own")),
        ("edit_markdown", "prepend", Some("plain")),
        ("edit_markdown", "insert_after", None),
        ("edit_markdown", "rename", None),
        ("preview_markdown_change", "append", Some("shows")),
        ("preview_markdown_change", "prepend", None),
        ("delete_markdown", "", None),
    ];
    for (name, kind, expected) in cases {
        let request = json!({ "path": "a.md", "operation": { "type": kind, "content": "x" } });
        let call = adapter.call(tool(name), &request, root);
        assert_eq!(
            call.as_ref().ok().and_then(|params| params["name"].as_str()),
            expected,
            "{name} {kind}"
        );
        let effect = doing(crate::contracts::CONTRACTS[0], tool(name)).effect(&request);
        if effect.is_some() {
            assert_eq!(
                adapter.has(tool(name), effect),
                expected.is_some(),
                "{name} {kind}"
            );
        }
    }
    assert!(adapter.has(tool("edit_markdown"), None));
    assert!(!adapter.has(tool("read_markdown"), None));
    assert_eq!(
        adapter.names(crate::contracts::CONTRACTS[0]),
        ["own", "plain", "shows"]
    );
}

#[test]
fn arguments_are_filled_from_the_request_and_the_disk() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path();
    fs::write(root.join("a.md"), "# A\n\na\n\n# B\n").expect("written");
    let shown = root.to_string_lossy();
    let request = |kind: &str| json!({ "path": "a.md", "operation": { "type": kind, "target": "# A", "content": "new\n" } });
    let cases = [
        ("\"{/path}\"", "append", json!("a.md")),
        ("\"{{{/path}}}-\"", "append", json!("{a.md}-")),
        ("\"{absolute}\"", "append", json!(format!("{shown}/a.md"))),
        ("\"{library}/{/path}\"", "append", json!(format!("{shown}/a.md"))),
        (
            "\"{/operation}\"",
            "append",
            request("append")["operation"].clone(),
        ),
        (
            "[{ a = \"{old}\", b = \"{new}\" }, 1.5]",
            "append",
            json!([{ "a": "# B\n", "b": "# B\nnew\n" }, 1.5]),
        ),
        (
            "[\"{old}\", \"{new}\"]",
            "prepend",
            json!(["# A\n", "new\n# A\n"]),
        ),
        (
            "[\"{old}\", \"{new}\"]",
            "replace_section",
            json!(["# A\n\na\n\n", "new\n"]),
        ),
        (
            "[\"{old}\", \"{new}\"]",
            "insert_before",
            json!(["# A\n", "new\n# A\n"]),
        ),
        (
            "[\"{old}\", \"{new}\"]",
            "insert_after",
            json!(["a\n\n", "a\n\nnew\n"]),
        ),
        ("\"{content}\"", "append", json!("# A\n\na\n\n# B\nnew\n")),
    ];
    for (template, kind, expected) in cases {
        let adapter = adapter(&format!(
            "[tools.edit_markdown]\nname = \"e\"\narguments = {{ x = {template} }}"
        ));
        let params = adapter
            .call(tool("edit_markdown"), &request(kind), root)
            .expect("a call");
        assert_eq!(
            params,
            json!({ "name": "e", "arguments": { "x": expected } }),
            "{template}"
        );
    }
}

#[test]
fn missing_arguments_are_omitted_and_missing_documents_are_errors() {
    let list = adapter(
        "[tools.list_markdown_files]\nname = \"l\"\narguments = { path = \"{absolute}\", all = \"{/recursive}\" }",
    );
    let call = |request| list.call(tool("list_markdown_files"), &request, Path::new("/library"));
    assert_eq!(
        call(json!({ "path": "" })),
        Ok(json!({ "name": "l", "arguments": { "path": "/library" } }))
    );
    assert_eq!(
        call(json!({ "path": "../x", "recursive": true })),
        Ok(json!({ "name": "l", "arguments": { "path": "/library/../x", "all": true } }))
    );
    assert_eq!(call(json!({})), Ok(json!({ "name": "l", "arguments": {} })));
    let edit = adapter("[tools.edit_markdown]\nname = \"e\"\narguments = { old = \"{old}\" }");
    let request = json!({ "path": "none.md", "operation": { "type": "append", "content": "x" } });
    assert!(
        edit.call(tool("edit_markdown"), &request, Path::new("/library"))
            .is_err()
    );
}

#[test]
fn responses_are_translated_to_the_contracts_shape() {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let cases = [
        (
            "read_markdown",
            "\"/content\" = { text = true }",
            text("a\n"),
            json!({ "content": "a\n" }),
        ),
        (
            "read_markdown",
            "\"/content\" = { text = \"(?s)^<(.*)>$\" }",
            text("<a\n>"),
            json!({ "content": "a\n" }),
        ),
        (
            "read_markdown",
            "\"/content\" = { json = \"/c\" }",
            text("{\"c\":\"a\"}"),
            json!({ "content": "a" }),
        ),
        (
            "read_markdown",
            "\"/content\" = { at = \"/structuredContent/c\" }, \"/metadata/size\" = { is = 7 }",
            json!({ "structuredContent": { "c": "a" } }),
            json!({ "content": "a", "metadata": { "size": 7 } }),
        ),
        (
            "list_markdown_files",
            "\"/files\" = { lines = \"^F (.*)$\" }",
            text("F a.md\nD b\nF c.md"),
            json!({ "files": ["a.md", "c.md"] }),
        ),
        (
            "get_markdown_activity_log",
            "\"/entries\" = { at = \"/l\", reversed = true, each = { \"/path\" = \"/p/0\" } }",
            json!({ "l": [{ "p": ["b"] }, { "p": ["a"] }] }),
            json!({ "entries": [{ "path": "a" }, { "path": "b" }] }),
        ),
    ];
    for (name, response, result, expected) in cases {
        let adapter = adapter(&format!(
            "[tools.{name}]\nname = \"t\"\nresponse = {{ {response} }}"
        ));
        let message = json!({ "result": result });
        let reply = adapter.reply(tool(name), &message);
        assert_eq!(
            reply.done().map(|done| &done.response),
            Some(&expected),
            "{response}"
        );
        assert_eq!(
            adapter.missing(tool(name), &message),
            Vec::<String>::new(),
            "{response}"
        );
    }
}

#[test]
fn a_pattern_of_refusals_overrides_success() {
    let adapter = adapter(
        "[tools.read_markdown]\nname = \"t\"\nrefused = \"^Error\"\nresponse = { \"/content\" = { json = \"/c\" } }",
    );
    let reply = |message| adapter.reply(tool("read_markdown"), &message);
    let refused = |code, message: &str| {
        Reply::Refused(Refusal {
            code,
            message: message.to_owned(),
        })
    };
    let text = json!([{ "type": "text", "text": "Error: no" }]);
    assert_eq!(
        reply(json!({ "result": { "content": text } })),
        refused(None, "Error: no")
    );
    assert_eq!(
        reply(json!({ "result": { "content": [], "isError": true } })),
        refused(None, "")
    );
    assert_eq!(
        reply(json!({ "error": { "code": -1, "message": "no" } })),
        refused(Some(-1), "no")
    );
    // A success without some values is still a success; only `missing` reports them to the adapter's author.
    let thin = json!({ "result": { "content": [] } });
    assert_eq!(
        reply(thin.clone()).done().map(|done| done.response.clone()),
        Some(json!({}))
    );
    assert_eq!(adapter.missing(tool("read_markdown"), &thin), ["/content"]);
}

#[test]
fn the_adapters_in_the_tree_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    let files = fs::read_dir(folder)
        .expect("adapters")
        .map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect();
    assert!(files.len() >= 3);
    for file in files {
        let read = Adapter::parse(&fs::read_to_string(&file).expect("read"));
        let mapping = read.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(mapping.server.version.is_some() && mapping.server.package.is_some());
        assert!(!mapping.server.command.is_empty());
    }
}
