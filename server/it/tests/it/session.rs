//! The eight tools in use: their answers, and their effects on the disk and in git.

use std::fs;

use serde_json::{Value, json};
use tabellion_conformance::{Ledger, ledger};

use crate::support::{Answer, Library, Refusal, Server, TABELLION, edit};

const PLAN: &str = "---\ntitle: Plan\n---\n# Plan\n\nIntro.\n\n## Scope\n\nSmall.\n\n### Detail\n\nFine.\n\n## Risks\n\nNone.\n";

fn commit(answer: &Value) -> String {
    answer["git_commit_sha"].as_str().expect("a commit").to_string()
}

/// Runs one mutation and compares it with the disk: one commit at HEAD that changes `path` alone, one matching log entry, a
/// clean working tree, a sound repository.
fn mutate(library: &Library, server: &mut Server, tool: &str, path: &str, request: Value) -> Answer {
    let before = library.ledger();
    let answer =
        server.call_with(tool, request, json!({})).unwrap_or_else(|refusal| panic!("{tool}: {refusal:?}"));
    assert_eq!(answer.response["success"], true);
    let after = library.ledger();
    let id = commit(&answer.response);
    assert_eq!(after.commits_since(&before), std::slice::from_ref(&id), "{tool}: exactly one commit");
    assert_eq!(after.commits[0], id);
    let touched = ledger::git(library.root(), &["show", "--format=", "--name-only", &id]).expect("git show");
    assert!(touched.lines().all(|line| line == path), "{tool}: {touched}");
    assert!(after.changed_since(&before).iter().all(|changed| changed.to_str() == Some(path)));
    assert_eq!(after.status, before.status);
    let log = server.call("get_markdown_activity_log", json!({ "limit": 1 })).expect("a log");
    let entry = &log["entries"][0];
    assert_eq!((entry["path"].as_str(), entry["git_commit_sha"].as_str()), (Some(path), Some(id.as_str())));
    ledger::fsck(library.root()).expect("a sound repository");
    answer
}

/// Calls a tool that must refuse, and checks that nothing has changed.
pub(crate) fn refuse(
    library: &Library,
    server: &mut Server,
    tool: &str,
    request: Value,
    meta: Value,
) -> Box<Refusal> {
    let before = library.ledger();
    let refusal = match server.call_with(tool, request.clone(), meta) {
        Err(refusal) => refusal,
        Ok(answer) => panic!("{tool} accepted {request}: {answer:?}"),
    };
    assert_eq!(library.ledger(), before, "{tool} refused {request} and changed something");
    refusal
}

#[test]
fn a_document_is_created_edited_and_deleted() {
    let library = Library::empty();
    let mut server = library.serve();

    mutate(
        &library,
        &mut server,
        "write_markdown",
        "notes/plan.md",
        json!({ "path": "notes/plan.md", "content": PLAN }),
    );
    assert_eq!(library.get("notes/plan.md"), PLAN.as_bytes());

    let read = server.call("read_markdown", json!({ "path": "notes/plan.md" })).expect("read");
    assert_eq!(read["content"], PLAN);
    assert_eq!(read["metadata"]["size"], PLAN.len());
    assert_eq!(read["metadata"]["git_commit"], library.ledger().commits[0]);

    let list = |server: &mut Server, path: &str, recursive: bool| {
        server.call("list_markdown_files", json!({ "path": path, "recursive": recursive })).expect("listed")
    };
    assert_eq!(list(&mut server, "", false), json!({ "files": [], "folders": ["notes"] }));
    assert_eq!(list(&mut server, ".", true), json!({ "files": ["notes/plan.md"], "folders": ["notes"] }));

    let found = server.call("search_markdown", json!({ "query": "small" })).expect("searched");
    assert_eq!(
        found,
        json!({ "results": [{ "path": "notes/plan.md", "matches": [{ "line": 10, "snippet": "Small." }] }] })
    );

    let request = edit("notes/plan.md", "replace_section", "## Scope", "## Scope\n\nAll of it.\n\n");
    let before = library.ledger();
    let shown = server.call_with("preview_markdown_change", request.clone(), json!({})).expect("previewed");
    assert_eq!(library.ledger(), before, "a preview writes nothing");
    assert!(
        shown.response["summary"].as_str().expect("a summary").starts_with("replace_section \"## Scope\": ")
    );
    mutate(&library, &mut server, "edit_markdown", "notes/plan.md", request);
    let now = "---\ntitle: Plan\n---\n# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Risks\n\nNone.\n";
    assert_eq!(library.get("notes/plan.md"), now.as_bytes());

    mutate(
        &library,
        &mut server,
        "delete_markdown",
        "notes/plan.md",
        json!({ "path": "notes/plan.md", "confirm": true }),
    );
    assert!(!library.path("notes/plan.md").exists());

    let log = server.call("get_markdown_activity_log", json!({})).expect("a log");
    let entries = log["entries"].as_array().expect("entries");
    let operations: Vec<_> =
        entries.iter().map(|entry| entry["operation"].as_str().unwrap_or_default()).collect();
    assert_eq!(operations, ["create", "replace_section", "delete"]);
    server.close();
}

/// Clients give themselves names, so a name can't break a line or reorder it.
#[test]
fn the_log_tells_which_client_made_a_change() {
    let library = Library::empty();
    for (name, shown) in [
        ("claude-code", "append: +1 -0 lines (claude-code/2.1)"),
        ("a\nb\u{202e}", "append: +1 -0 lines (a\\nb\\u{202e}/2.1)"),
    ] {
        library.put("a.md", "# A\n");
        let mut target =
            tabellion_conformance::Target::start(&mut library.command()).expect("the server starts");
        let client = json!({ "name": name, "version": "2.1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        target.request("initialize", params).expect("a handshake");
        let mut server = Server { target };
        server.call("edit_markdown", edit("a.md", "append", "", "x\n")).expect("edited");
        let log = server.call("get_markdown_activity_log", json!({ "limit": 1 })).expect("a log");
        assert_eq!(log["entries"][0]["summary"], shown);
        server.close();
    }
}

#[test]
fn an_edit_refuses_missing_and_ambiguous_targets_with_candidates() {
    let library = Library::with(&[("a.md", "# A\n\n## Notes\n\none\n\n# B\n\n## Notes\n\ntwo\n")]);
    let mut server = library.serve();
    for tool in ["preview_markdown_change", "edit_markdown"] {
        let ambiguous =
            refuse(&library, &mut server, tool, edit("a.md", "replace_section", "## Notes", "x"), json!({}));
        assert_eq!(ambiguous.name, "AMBIGUOUS_TARGET");
        let lines: Vec<_> = ambiguous.data["candidates"]
            .as_array()
            .expect("candidates")
            .iter()
            .map(|c| c["line"].clone())
            .collect();
        assert_eq!(lines, [3, 9]);
        let missing =
            refuse(&library, &mut server, tool, edit("a.md", "replace_section", "## Note", "x"), json!({}));
        assert_eq!(missing.name, "NOT_FOUND");
        assert!(missing.message.contains("## Notes"), "{}", missing.message);
    }
    // A slug distinguishes them.
    mutate(
        &library,
        &mut server,
        "edit_markdown",
        "a.md",
        edit("a.md", "replace_section", "#notes-1", "## Other\n"),
    );
    assert_eq!(library.get("a.md"), b"# A\n\n## Notes\n\none\n\n# B\n\n## Other\n");
}

#[test]
fn a_mutation_neither_commits_nor_loses_a_persons_work() {
    let library = Library::with(&[("a.md", "# A\n"), ("b.md", "# B\n"), ("c.md", "# C\n")]);
    library.put("b.md", "# B staged\n");
    ledger::git(library.root(), &["add", "b.md"]).expect("git add");
    library.put("c.md", "# C changed\n");
    library.put("new.md", "# New\n");
    let mut server = library.serve();
    mutate(&library, &mut server, "edit_markdown", "a.md", edit("a.md", "append", "", "more\n"));
    assert_eq!(library.get("c.md"), b"# C changed\n");

    // Uncommitted bytes of the file get a separate commit, before the tool's.
    let before = library.ledger();
    let answer = server.call("edit_markdown", edit("c.md", "append", "", "more\n")).expect("edited");
    let after = library.ledger();
    assert_eq!(after.commits_since(&before).len(), 2);
    assert_eq!(after.commits[0], commit(&answer));
    let adopted =
        ledger::git(library.root(), &["show", &format!("{}:c.md", after.commits[1])]).expect("git show");
    assert_eq!(adopted, "# C changed\n");
    let log = server.call("get_markdown_activity_log", json!({})).expect("a log");
    assert_eq!(log["entries"].as_array().map(Vec::len), Some(2), "an adoption is no entry of a tool's");
    assert_eq!(library.get("c.md"), b"# C changed\nmore\n");
    assert!(after.status.contains("b.md") && after.status.contains("new.md"), "{}", after.status);
    let staged = ledger::git(library.root(), &["diff", "--cached", "--name-only"]).expect("git diff");
    assert_eq!(staged, "b.md\n");
}

#[test]
fn an_option_refuses_files_with_uncommitted_bytes() {
    let library = Library::with(&[("a.md", "# A\n")]);
    library.put("a.md", "# A changed\n");
    let mut server = library.serve_with(&["--external", "refuse"]);
    let refusal =
        refuse(&library, &mut server, "edit_markdown", edit("a.md", "append", "", "x\n"), json!({}));
    assert_eq!(refusal.name, "CONFLICT");
}

#[test]
fn a_change_and_its_preview_warn_of_invalid_mdx_and_of_conflicts() {
    const MDX: &str = "---\na: b\n---\n\n# A\n";
    let library = Library::with(&[("a.mdx", MDX), ("b.mdx", MDX), ("a.md", "# A\n"), ("c.md", "# C\n")]);
    let mut server = library.serve();
    for (path, content, line) in [
        ("a.mdx", "<Tab>\n\ntext\n\n</Tab>\n", None),
        ("b.mdx", "text {open\n", Some("line 6: not valid MDX: ")),
        ("a.md", "text {open\n", None),
        ("c.md", "<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n", Some("lines 2 to 6 are a merge conflict")),
    ] {
        let shown = server
            .call_with("preview_markdown_change", edit(path, "append", "", content), json!({}))
            .expect("previewed");
        let edited = server.call_with("edit_markdown", edit(path, "append", "", content), json!({}));
        let text = fs::read_to_string(library.root().join(path)).expect("a document");
        let write = json!({ "path": path, "content": text });
        let written = server.call_with("write_markdown", write, json!({}));
        for changed in [edited, written] {
            let meta = changed.expect("a warning refuses nothing").meta;
            assert_eq!(meta.get("tabellion/warnings"), shown.meta.get("tabellion/warnings"), "{path}");
        }
        let warnings = shown.meta.get("tabellion/warnings").and_then(Value::as_array);
        match (line, warnings) {
            (Some(line), Some(warnings)) => assert!(warnings[0].as_str().unwrap().starts_with(line)),
            (expected, found) => assert_eq!((expected, found), (None, None), "{path} {content:?}"),
        }
    }
}

#[test]
fn reading_returns_uncommitted_bytes() {
    let library = Library::with(&[("a.md", "# A\n")]);
    library.put("a.md", "# A changed\n");
    let mut server = library.serve();
    let answer = server.call_with("read_markdown", json!({ "path": "a.md" }), json!({})).expect("read");
    assert_eq!(answer.response["content"], "# A changed\n");
    assert_eq!(answer.meta["tabellion/dirty"], true);
}

#[test]
fn a_mutation_refuses_a_stale_base() {
    let library = Library::with(&[("a.md", "# A\n")]);
    let mut server = library.serve();
    let request = edit("a.md", "append", "", "x\n");
    let shown = server.call_with("preview_markdown_change", request.clone(), json!({})).expect("previewed");
    let base = shown.meta["tabellion/base"].clone();
    let if_base = json!({ "tabellion/ifBase": base });
    let first = server.call_with("edit_markdown", request.clone(), if_base.clone()).expect("edited");
    let stale = refuse(&library, &mut server, "edit_markdown", request.clone(), if_base);
    assert_eq!((stale.name.as_str(), &stale.data["expected"]), ("CONFLICT", &base));
    // The base in the first answer is accepted.
    let next = json!({ "tabellion/ifBase": first.meta["tabellion/base"] });
    server.call_with("edit_markdown", request, next).expect("edited");

    let create = |path: &str| json!({ "path": path, "content": "new\n" });
    let absent = json!({ "tabellion/ifBase": null });
    server.call_with("write_markdown", create("new.md"), absent.clone()).expect("created");
    assert_eq!(refuse(&library, &mut server, "write_markdown", create("new.md"), absent).name, "CONFLICT");
}

#[test]
fn the_same_idempotency_key_commits_once() {
    let library = Library::with(&[("a.md", "# A\n")]);
    let key = json!({ "tabellion/idempotencyKey": "3f6c" });
    let request = edit("a.md", "append", "", "once\n");
    let mut server = library.serve();
    let first = server.call_with("edit_markdown", request.clone(), key.clone()).expect("edited");
    let before = library.ledger();
    let again = server.call_with("edit_markdown", request.clone(), key.clone()).expect("answered");
    assert_eq!((&again.response, &again.meta["tabellion/replayed"]), (&first.response, &json!(true)));
    assert_eq!(again.meta["tabellion/base"], first.meta["tabellion/base"]);
    assert_eq!(library.ledger(), before);
    server.call("edit_markdown", edit("a.md", "append", "", "more\n")).expect("edited");
    let before = library.ledger();
    server.close();
    // This also holds for another server, and after other edits.
    let mut server = library.serve();
    let restarted = server.call_with("edit_markdown", request, key.clone()).expect("answered");
    assert_eq!(restarted.response, first.response);
    assert_eq!(restarted.meta["tabellion/base"], first.meta["tabellion/base"]);
    assert_eq!(library.ledger(), before);
    let other = refuse(&library, &mut server, "edit_markdown", edit("a.md", "append", "", "twice\n"), key);
    assert_eq!(other.name, "CONFLICT");
}

#[test]
fn an_empty_folder_becomes_a_library_and_reading_never_changes_it() {
    let library = Library::empty();
    let folder = library.path("deep/down");
    let mut command = std::process::Command::new(TABELLION);
    let mut server = Server::start(command.arg("serve").arg("--create").arg(&folder));
    let before = Ledger::read(&folder).expect("a ledger");
    assert_eq!(before.commits.len(), 1, "a root commit");
    server.call("list_markdown_files", json!({ "path": "" })).expect("listed");
    server.call("search_markdown", json!({ "query": "x" })).expect("searched");
    let log = server.call("get_markdown_activity_log", json!({})).expect("a log");
    assert_eq!(log["entries"], json!([]));
    assert_eq!(server.call("read_markdown", json!({ "path": "a.md" })).expect_err("none").name, "NOT_FOUND");
    assert_eq!(Ledger::read(&folder).expect("a ledger"), before);
}
