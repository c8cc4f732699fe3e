//! Parsing of adapters' files, and translation of calls and responses.

use std::fs;

use serde_json::json;

use super::{mapping::doing, *};
use crate::reply::Refusal;

/// Parses a file with these tools.
fn parsed(tools: &str) -> Result<Arc<Mapping>, AdapterError> {
    Adapter::parse(&format!("[server]\nname = \"x\"\ncontract = \"braindrive-markdown\"\n{tools}"))
}

fn adapter(tools: &str) -> Adapter {
    Adapter::Mapped(parsed(tools).expect("a good file"))
}

fn tool(name: &str) -> &'static ToolSpec {
    let tools = crate::contracts::CONTRACTS.iter().flat_map(|contract| contract.tools);
    tools.into_iter().find(|tool| tool.name == name).expect("a tool")
}

/// Parses a file for the example with rows.
fn of_rows(rest: &str) -> Result<Arc<Mapping>, AdapterError> {
    let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/../codegen/examples/tracker/schemas/tracker");
    Adapter::parse(&format!("[server]\nname = \"x\"\ncontract = \"{contract}\"\n{rest}"))
}

#[test]
fn a_ledger_says_where_rows_are() {
    let queries: String = ["org", "project", "issue", "claim", "comment", "access_key"]
        .map(|entity| format!("[ledger.rows.{entity}]\nquery = \"SELECT * FROM my_{entity}\"\n"))
        .concat();
    let file = "[ledger]\nfile = \"{data}/x.db\"\ncommand = [\"export\", \"{data}\"]\n";
    let mapping = of_rows(&format!("{file}{queries}[ledger.log]\nquery = \"SELECT id, rows FROM log\"\n"));
    let mapping = mapping.expect("a good file");
    assert!(!mapping.maps_tools());
    let ledger = &mapping.server.ledger;
    assert_eq!(ledger.file.as_deref(), Some("{data}/x.db"));
    assert_eq!(ledger.command, ["export", "{data}"]);
    assert_eq!(ledger.queries.rows["issue"], "SELECT * FROM my_issue");
    assert_eq!(ledger.queries.log.as_deref(), Some("SELECT id, rows FROM log"));
    for (rest, expected) in [
        ("[ledger]\nfiel = \"x\"", "unknown key `fiel`"),
        ("[ledger.rows.isue]\nquery = \"x\"", "there is no entity `isue`, but org, project"),
        (
            "[ledger]\nfile = \"x\"\n[ledger.rows.issue]\nquery = \"x\"",
            "none for `org`: add `[ledger.rows.org]`",
        ),
        (&*queries, "queries need a database"),
    ] {
        let error = of_rows(rest).expect_err("a wrong file");
        assert!(error.message.contains(expected), "{error}");
    }
    let error = parsed("[ledger]\nfile = \"x\"").expect_err("no rows");
    assert!(error.message.contains("`braindrive-markdown` has no rows"), "{error}");
}

#[test]
fn errors_have_a_line_and_a_description() {
    let read = |rest: &str| format!("[tools.read_markdown]\nname = \"r\"\n{rest}");
    let edit = |rest: &str| format!("[tools.edit_markdown]\nname = \"e\"\n{rest}");
    let cases = [
        (String::new(), 1, "no tool is mapped yet: fill in one of the tables `[tools."),
        ("[tools]".into(), 4, "no tool is mapped yet"),
        ("own = [\"**\"]\n[tools]".into(), 4, "covers documents such as"),
        ("files = { \"../x\" = \"\" }".into(), 4, "is not a path in the library"),
        ("folders = [\".git/x\"]".into(), 4, "is not a path in the library"),
        (
            "promises = [\"confind\"]\n[tools.read_markdown]\nname = \"r\"".into(),
            4,
            "there is no promise `confind`, but confined, no-traversal, text-kept",
        ),
        (
            read("arguments = { a = [{ b = \"FILL IN: string\" }] }"),
            6,
            "the adapter is unfinished: fill in `tools.read_markdown.arguments.a.b`",
        ),
        ("[tools.\"FILL IN\"]\nname = \"r\"".into(), 4, "the adapter is unfinished"),
        (read("new = { nam = \"x\" }"), 6, "unknown key `nam`"),
        (read("same = { at = \"\" }"), 6, "`next` is missing"),
        (read("before = { name = \"x\" }"), 6, "`take` is missing"),
        (
            read("before = { name = \"x\", take = { new = { at = \"\" } } }"),
            6,
            "`{new}` already means something else",
        ),
        (
            read(
                "arguments = { etag = \"{etag}\" }\nbefore = { name = \"x\", take = { tag = { at = \"\" } } }",
            ),
            6,
            "there is no value `{etag}`; the values are",
        ),
        (
            read("response = { \"/content\" = { json = \"/{/pth}/content\" } }"),
            6,
            "there is no `pth`, but `path`",
        ),
        (read("response = { \"/content\" = { json = \"{absolute}\" } }"), 6, "is not a JSON pointer"),
        ("[tools.raed]\nname = \"r\"".into(), 4, "has no tool `raed`"),
        ("[tools.read_markdown]\nnaem = \"r\"".into(), 5, "unknown key `naem`"),
        ("[tools.read_markdown]\nresponse = {}".into(), 4, "lacks `name`"),
        ("[tools.read_markdown]\narguments = {}".into(), 5, "`name` is missing"),
        (read("arguments = { path = \"{/pth}\" }"), 6, "there is no `pth`, but `path`"),
        (read("arguments = { path = \"{pth}\" }"), 6, "there is no value `{pth}`"),
        (read("arguments = { path = \"{/path\" }"), 6, "unmatched"),
        (read("arguments = { path = \"/path}\" }"), 6, "unmatched"),
        (read("arguments = { path = \"{old}\" }"), 6, "does not edit"),
        (read("arguments = \"{/path}\""), 6, "expected a table, not string"),
        (read("[tools.read_markdown.response]\n\n\"/conten\" = { is = 1 }"), 8, "there is no `conten`"),
        (read("response = { \"content\" = { is = 1 } }"), 6, "is not a JSON pointer"),
        (read("response = { \"/content\" = {} }"), 6, "give exactly one source"),
        (read("response = { \"/content\" = { at = \"/a\", is = 1 } }"), 6, "give exactly one source"),
        (read("response = { \"/content\" = { at = \"a\" } }"), 6, "is not a JSON pointer"),
        (read("response = { \"/content\" = { text = \"x\" } }"), 6, "needs a group"),
        (read("response = { \"/content\" = { lines = \"(\" } }"), 6, "invalid pattern"),
        (read("response = { \"/content\" = { at = \"\", each = { \"/a\" = \"\" } } }"), 6, "only a list"),
        (read("arguments = { at = \"{next}\" }"), 4, "has no value without `next`"),
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
        assert_eq!(call.as_ref().ok().and_then(|params| params["name"].as_str()), expected, "{name} {kind}");
        let effect = doing(crate::contracts::CONTRACTS[0], tool(name)).effect(&request);
        if effect.is_some() {
            assert_eq!(adapter.has(tool(name), effect), expected.is_some(), "{name} {kind}");
        }
    }
    assert!(adapter.has(tool("edit_markdown"), None));
    assert!(!adapter.has(tool("read_markdown"), None));
    assert_eq!(adapter.names(crate::contracts::CONTRACTS[0]), ["own", "plain", "shows"]);
}

#[test]
fn arguments_are_filled_from_the_request_and_the_disk() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path();
    fs::write(root.join("a.md"), "# A\n\na\n\n# B\n").expect("written");
    let file = fs::File::options().write(true).open(root.join("a.md")).expect("a file");
    let modified = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_000_000_000_500);
    file.set_modified(modified).expect("a time");
    crate::ledger::git(root, &["init", "--quiet"]).expect("a repository");
    let shown = root.to_string_lossy();
    let request = |kind: &str| json!({ "path": "a.md", "operation": { "type": kind, "target": "# A", "content": "new\n" } });
    let cases = [
        ("\"{/path}\"", "append", json!("a.md")),
        ("\"{{{/path}}}-\"", "append", json!("{a.md}-")),
        ("\"{absolute}\"", "append", json!(format!("{shown}/a.md"))),
        ("\"{library}/{/path}\"", "append", json!(format!("{shown}/a.md"))),
        // A document at the top has no folder.
        ("{ folder = \"{dirname}\", name = \"{basename}\" }", "append", json!({ "name": "a.md" })),
        ("\"{/operation}\"", "append", request("append")["operation"].clone()),
        (
            "[{ a = \"{old}\", b = \"{new}\" }, 1.5]",
            "append",
            json!([{ "a": "# B\n", "b": "# B\nnew\n" }, 1.5]),
        ),
        ("[\"{old}\", \"{new}\"]", "prepend", json!(["# A\n", "new\n# A\n"])),
        ("[\"{old}\", \"{new}\"]", "replace_section", json!(["# A\n\na\n\n", "new\n"])),
        ("[\"{old}\", \"{new}\"]", "insert_before", json!(["# A\n", "new\n# A\n"])),
        ("[\"{old}\", \"{new}\"]", "insert_after", json!(["a\n\n", "a\n\nnew\n"])),
        ("\"{content}\"", "append", json!("# A\n\na\n\n# B\nnew\n")),
        ("\"{old_start_line}\"", "append", json!(5)),
        ("[\"{old_start_line}\", \"{old_end_line}\"]", "replace_section", json!([1, 4])),
        (
            "\"{old_sha256}\"",
            "append",
            json!("a81d3fbddd441e2d690b9c03c18251323a295c8eb8ebbfb81ca45b63bf8d5a06"),
        ),
        ("\"{sha256}\"", "append", json!("cacee4196085b8d5d4105f05aae6736e07f79412793583bda8c69ecf6d8dae4c")),
        ("\"{git_blob}\"", "append", json!("ecc89e363461e108450b0b2efc9b9a00bbf36b13")),
        ("\"{size}\"", "append", json!(12)),
        ("\"at {mtime}\"", "append", json!("at 1000000000.5")),
        ("\"{mtime_ms}\"", "append", json!(1_000_000_000_500.0)),
    ];
    for (template, kind, expected) in cases {
        let adapter =
            adapter(&format!("[tools.edit_markdown]\nname = \"e\"\narguments = {{ x = {template} }}"));
        let params = adapter.call(tool("edit_markdown"), &request(kind), root).expect("a call");
        assert_eq!(params, json!({ "name": "e", "arguments": { "x": expected } }), "{template}");
    }
}

#[test]
fn the_state_of_the_document_chooses_the_call() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("a.md"), "a\n").expect("written");
    let both =
        "[tools.write_markdown.new]\nname = \"create\"\n[tools.write_markdown.existing]\nname = \"edit\"\n";
    let cases = [
        (both, "new.md", Ok("create")),
        (both, "a.md", Ok("edit")),
        ("[tools.write_markdown.new]\nname = \"create\"\n", "a.md", Err("for a document that exists")),
        ("[tools.write_markdown]\nname = \"w\"\nnew.name = \"create\"\n", "a.md", Ok("w")),
        ("[tools.write_markdown]\nname = \"w\"\nnew.name = \"create\"\n", "b.md", Ok("create")),
    ];
    for (tools, path, expected) in cases {
        let adapter = adapter(tools);
        let write = tool("write_markdown");
        assert!(adapter.has(write, write.effects.first()));
        let called = adapter.call(write, &json!({ "path": path, "content": "x" }), dir.path());
        match expected {
            Ok(name) => assert_eq!(called.expect("a call")["name"], name, "{tools}{path}"),
            Err(why) => assert!(called.expect_err("no call").contains(why), "{tools}{path}"),
        }
    }
}

/// A server that reads in pages, and the calls that it got.
struct PagingServer {
    pages: Vec<Value>,
    calls: Vec<Value>,
}

impl PagingServer {
    /// Reads the document through an adapter of these lines.
    fn read(pages: &[Value], lines: &str) -> (Result<Reply, Stop>, Vec<Value>) {
        let adapter = adapter(&format!("[tools.read_markdown]\nname = \"r\"\n{lines}"));
        let (tool, arguments, root) = (tool("read_markdown"), json!({ "path": "a.md" }), Path::new("/l"));
        let mut server = Self { pages: pages.iter().rev().cloned().collect(), calls: Vec::new() };
        let mut ask = |params: Value| {
            server.calls.push(params["arguments"].clone());
            let page = server.pages.pop().expect("another page");
            Ok(json!({ "result": page }))
        };
        let first = adapter.call_after(tool, &arguments, root, &mut ask).and_then(&mut ask).expect("a page");
        let message = adapter.finish(tool, &arguments, root, first, &mut ask);
        (message.map(|message| adapter.reply(tool, &message)), server.calls)
    }
}

#[test]
fn an_answer_in_pages_is_read_to_its_end() {
    let page = |content: &str, next: Value, tag: &str| json!({ "structuredContent": { "c": content, "next": next, "tag": tag } });
    let lines = "arguments = { at = \"{next}\" }\nnext = { at = \"/structuredContent/next\" }\n\
                 same = { at = \"/structuredContent/tag\" }\nresponse = { \"/content\" = { at = \"/structuredContent/c\" } }";
    let none = Value::Null;
    let refused = json!({ "isError": true, "content": [] });
    let cases = [
        (vec![page("é", none.clone(), "1")], vec![json!({})]),
        (vec![page("é", json!("x"), "1"), page("b", json!(""), "1")], vec![json!({}), json!({ "at": "x" })]),
        // `true` means that there is a further page, but not where.
        (
            vec![page("é", json!(true), "1"), page("b", json!(false), "1")],
            vec![json!({}), json!({ "at": 1 })],
        ),
        // The document has changed: from the beginning again.
        (
            vec![
                page("old", json!("x"), "1"),
                page("b", none.clone(), "2"),
                page("é", json!("y"), "2"),
                page("b", none.clone(), "2"),
            ],
            vec![json!({}), json!({ "at": "x" }), json!({}), json!({ "at": "y" })],
        ),
        (
            vec![page("old", json!("x"), "1"), refused, page("éb", none.clone(), "2")],
            vec![json!({}), json!({ "at": "x" }), json!({})],
        ),
    ];
    for (pages, calls) in cases {
        let expected = if pages.len() == 1 { "é" } else { "éb" };
        let (reply, called) = PagingServer::read(&pages, lines);
        let reply = reply.expect("an answer");
        assert_eq!(called, calls);
        assert_eq!(reply.done().map(|done| &done.response["content"]), Some(&json!(expected)));
    }
    let endless = vec![page("a", json!("x"), "1"); 1100];
    let (reply, _) = PagingServer::read(&endless, lines);
    assert!(reply.expect_err("no end").to_string().contains("does not end"));
}

#[test]
fn a_call_takes_values_from_the_call_before_it() {
    let lines = "arguments = { tag = \"{tag}\" }\n\
                 before = { name = \"stat\", arguments = { p = \"{/path}\" }, take = { tag = { json = \"/{absolute}/t\" } } }\n\
                 response = { \"/content\" = { json = \"/{absolute}/c\" } }";
    let text = |text: Value| json!({ "content": [{ "type": "text", "text": text.to_string() }] });
    let answer = text(json!({ "/l/a.md": { "c": "é" } }));
    let cases = [
        (text(json!({ "/l/a.md": { "t": 7 } })), json!({ "tag": 7 })),
        (text(json!({ "/l/b.md": { "t": 7 } })), json!({})),
        (json!({ "isError": true, "content": [] }), json!({})),
    ];
    for (stat, arguments) in cases {
        let (reply, calls) = PagingServer::read(&[stat, answer.clone()], lines);
        let reply = reply.expect("an answer");
        assert_eq!(calls, [json!({ "p": "a.md" }), arguments]);
        assert_eq!(reply.done().map(|done| &done.response["content"]), Some(&json!("é")));
    }
}

#[test]
fn missing_arguments_are_omitted_and_missing_documents_are_errors() {
    let list = adapter(
        "[tools.list_markdown_files]\nname = \"l\"\narguments = { path = \"{absolute}\", all = \"{/recursive}\" }",
    );
    let call = |request| list.call(tool("list_markdown_files"), &request, Path::new("/library"));
    assert_eq!(call(json!({ "path": "" })), Ok(json!({ "name": "l", "arguments": { "path": "/library" } })));
    assert_eq!(
        call(json!({ "path": "../x", "recursive": true })),
        Ok(json!({ "name": "l", "arguments": { "path": "/library/../x", "all": true } }))
    );
    assert_eq!(call(json!({})), Ok(json!({ "name": "l", "arguments": {} })));
    let edit = adapter("[tools.edit_markdown]\nname = \"e\"\narguments = { old = \"{old}\" }");
    let request = json!({ "path": "none.md", "operation": { "type": "append", "content": "x" } });
    assert!(edit.call(tool("edit_markdown"), &request, Path::new("/library")).is_err());
}

#[test]
fn responses_are_translated_to_the_contracts_shape() {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let cases = [
        ("read_markdown", "\"/content\" = { text = true }", text("a\n"), json!({ "content": "a\n" })),
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
        let adapter = adapter(&format!("[tools.{name}]\nname = \"t\"\nresponse = {{ {response} }}"));
        let message = json!({ "result": result });
        let reply = adapter.reply(tool(name), &message);
        assert_eq!(reply.done().map(|done| &done.response), Some(&expected), "{response}");
        assert_eq!(adapter.missing(tool(name), &message), Vec::<String>::new(), "{response}");
    }
}

#[test]
fn a_pattern_of_refusals_overrides_success() {
    let adapter = adapter(
        "[tools.read_markdown]\nname = \"t\"\nrefused = \"^Error\"\nresponse = { \"/content\" = { json = \"/c\" } }",
    );
    let reply = |message| adapter.reply(tool("read_markdown"), &message);
    let refused = |code, message: &str| Reply::Refused(Refusal { code, message: message.to_owned() });
    let text = json!([{ "type": "text", "text": "Error: no" }]);
    assert_eq!(reply(json!({ "result": { "content": text } })), refused(None, "Error: no"));
    assert_eq!(reply(json!({ "result": { "content": [], "isError": true } })), refused(None, ""));
    assert_eq!(reply(json!({ "error": { "code": -1, "message": "no" } })), refused(Some(-1), "no"));
    for (said, is_refused) in [
        (r#"[{ "path": "a.md", "error": "not found" }]"#, true),
        (r#"{ "results": [{ "path": "a.md", "status": "skipped" }] }"#, true),
        (r#"{ "success": false }"#, true),
        (r#"{ "ok": true, "error": "a warning" }"#, false),
        (r#"[{ "error": "not found" }, { "content": "a" }]"#, false),
        (r#"{ "c": "text", "error": null }"#, false),
        (r#"{ "status": "active" }"#, false),
    ] {
        let result = json!({ "content": [{ "type": "text", "text": said }] });
        assert_eq!(reply(json!({ "result": result })).done().is_none(), is_refused, "{said}");
    }
    // A success without some values is still a success; only `missing` reports them to the adapter's author.
    let thin = json!({ "result": { "content": [] } });
    assert_eq!(reply(thin.clone()).done().map(|done| done.response.clone()), Some(json!({})));
    assert_eq!(adapter.missing(tool("read_markdown"), &thin), ["/content"]);
}

#[test]
fn the_adapters_in_the_tree_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    let files = fs::read_dir(folder).expect("adapters").map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    assert!(files.len() >= 3);
    for file in files {
        let read = Adapter::parse(&fs::read_to_string(&file).expect("read"));
        let mapping = read.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(mapping.server.version.is_some() && mapping.server.package.is_some());
        assert!(!mapping.server.command.is_empty());
    }
}
