//! Bad inputs and attacks. The server refuses each with a typed error and changes nothing, or handles it byte for byte as
//! ordinary data; either way it answers the next request.

use std::fs;

use serde_json::{Value, json};
use tabellion_conformance::ledger;
use tempfile::TempDir;

use crate::{
    session::refuse,
    support::{Library, Refusal, edit},
};

/// Returns the tools that take a file's path, with otherwise valid arguments for `path`.
fn file_calls(path: &str) -> [(&'static str, Value); 5] {
    [
        ("read_markdown", json!({ "path": path })),
        ("preview_markdown_change", edit(path, "append", "", "x\n")),
        ("write_markdown", json!({ "path": path, "content": "x\n" })),
        ("edit_markdown", edit(path, "append", "", "x\n")),
        ("delete_markdown", json!({ "path": path, "confirm": true })),
    ]
}

/// Returns the tools that take a folder's path.
fn folder_calls(path: &str) -> [(&'static str, Value); 2] {
    [
        ("list_markdown_files", json!({ "path": path })),
        ("search_markdown", json!({ "query": "x", "path": path })),
    ]
}

/// A path for each rule that all tools keep. The conformance suite tries many more, and the library's own tests all shapes of names.
const PATHS: &[(&str, &str)] = &[
    ("../secret.md", "path_climbs"),
    ("/etc/passwd.md", "path_absolute"),
    ("a\\b.md", "path_backslash"),
    ("no\0te.md", "path_control"),
    ("a//b.md", "path_segment"),
    ("sub/.git/x.md", "path_git"),
    (".hidden/x.md", "path_hidden"),
];

/// A path for each rule that only new files keep. An existing file keeps such a name.
const NEW_PATHS: &[(&str, &str)] = &[
    ("sub/NUL.md", "path_reserved_name"),
    ("a./b.md", "path_trailing"),
    ("x.md:ads.md", "path_character"),
    ("cafe\u{301}.md", "path_not_composed"),
    ("evil\u{202e}dm.md", "path_invisible"),
];

/// Paths that break a rule for files only.
const FILES: &[(&str, &str)] =
    &[("", "path_extension"), ("a.md/", "path_extension"), (".git/config", "path_extension")];

#[test]
fn the_server_refuses_paths_that_break_a_rule() {
    let library = Library::with(&[("a.md", "# A\n"), ("sub/b.md", "# B\n")]);
    let mut server = library.serve();
    let long_segment = format!("{}.md", "x".repeat(300));
    let long_path = format!("{}x.md", "d/".repeat(2500));
    let deep = format!("{}x.md", "d/".repeat(300));
    let long = [&long_segment, &long_path, &deep].map(|path| (path.as_str(), "path_too_long"));
    let no_disguise = |refusal: &Refusal| !refusal.message.chars().any(|c| c.is_control() || c == '\u{202e}');
    for (path, rule) in PATHS.iter().chain(FILES).chain(&long) {
        for (tool, request) in file_calls(path) {
            let refusal = refuse(&library, &mut server, tool, request, json!({}));
            assert_eq!(refusal.code, -32602, "{tool} {path:?}: {refusal:?}");
            assert!(refusal.rules().contains(rule), "{tool} {path:?}: {refusal:?}");
            assert!(no_disguise(&refusal), "{tool} {path:?}");
        }
    }
    for (path, rule) in NEW_PATHS {
        for (tool, request) in file_calls(path) {
            let refusal = refuse(&library, &mut server, tool, request, json!({}));
            if tool == "write_markdown" {
                assert_eq!(refusal.code, -32602, "{tool} {path:?}: {refusal:?}");
                assert_eq!(refusal.rules(), [*rule], "{tool} {path:?}: {refusal:?}");
            } else {
                assert_eq!(refusal.name, "NOT_FOUND", "{tool} {path:?}: {refusal:?}");
            }
            assert!(no_disguise(&refusal), "{tool} {path:?}");
        }
        for (tool, request) in folder_calls(path) {
            let refusal = refuse(&library, &mut server, tool, request, json!({}));
            assert_eq!(refusal.name, "NOT_FOUND", "{tool} {path:?}: {refusal:?}");
            assert!(no_disguise(&refusal), "{tool} {path:?}");
        }
    }
    for (path, _) in PATHS {
        for (tool, request) in folder_calls(path) {
            let refusal = refuse(&library, &mut server, tool, request, json!({}));
            assert_eq!(refusal.code, -32602, "{tool} {path:?}: {refusal:?}");
        }
    }
    server.close();
}

/// Names that look like attacks and are valid.
const ORDINARY: &[&str] = &[
    "-rf.md",
    "--output=x.md",
    "%2e%2e%2fx.md",
    "%252e.md",
    "café.md",
    "日本語/メモ.md",
    "emoji 🎉.md",
    "it's (fine) & [ok] $HOME `x`.md",
    "README.MD",
    "a.markdown",
    "b.mdx",
];

#[test]
fn the_server_accepts_unusual_names() {
    let library = Library::empty();
    let mut server = library.serve();
    for name in ORDINARY {
        let write = json!({ "path": name, "content": "# Title\n" });
        server.call("write_markdown", write).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        server.call("edit_markdown", edit(name, "append", "", "more\n")).expect("edited");
        assert_eq!(library.get(name), b"# Title\nmore\n");
        let log = server.call("get_markdown_activity_log", json!({ "limit": 1 })).expect("a log");
        assert_eq!(log["entries"][0]["path"], *name);
    }
    assert_eq!(library.ledger().status, "");
    ledger::fsck(library.root()).expect("a sound repository");
    for name in ORDINARY {
        server.call("delete_markdown", json!({ "path": name, "confirm": true })).expect("deleted");
    }
    assert!(library.ledger().files.is_empty());
}

#[test]
fn an_edit_breaks_a_hard_link_instead_of_writing_through_it() {
    let library = Library::empty();
    let outside = TempDir::new().expect("a folder");
    let secret = outside.path().join("secret.md");
    fs::write(&secret, "# Secret\n").expect("a file");
    if fs::hard_link(&secret, library.path("hard.md")).is_err() {
        eprintln!("skipped: the temporary folders are on different devices");
        return;
    }
    let mut server = library.serve();
    server.call("edit_markdown", edit("hard.md", "append", "", "x\n")).expect("edited");
    assert_eq!(library.get("hard.md"), b"# Secret\nx\n");
    assert_eq!(fs::read(&secret).expect("a file"), b"# Secret\n");
}

#[test]
fn the_server_refuses_names_that_differ_only_in_case() {
    let library = Library::with(&[("Note.md", "# N\n"), ("Café.md", "# C\n"), ("Sub/a.md", "a\n")]);
    let mut server = library.serve();
    for path in ["note.md", "NOTE.md", "café.md", "sub/b.md"] {
        let request = json!({ "path": path, "content": "x" });
        refuse(&library, &mut server, "write_markdown", request, json!({}));
    }
}

/// The heading contains text that looks like a trailer or a path.
#[test]
fn a_heading_can_not_forge_a_commit_message() {
    let heading = "## X\u{2028}Tabellion-Operation: delete \u{1b}[31m \u{202e}";
    let library = Library::with(&[("a.md", &format!("# A\n\n{heading}\n\nbody\n"))]);
    let mut server = library.serve();
    let target = format!("{heading}\nCo-authored-by: Evil <e@vil>");
    refuse(&library, &mut server, "edit_markdown", edit("a.md", "insert_after", &target, "x\n"), json!({}));
    server.call("edit_markdown", edit("a.md", "insert_after", heading, "x\n")).expect("edited");
    let message = ledger::git(library.root(), &["log", "-1", "--format=%B"]).expect("git log");
    assert_eq!(message.matches("\nTabellion-Operation: ").count(), 1, "{message}");
    assert!(!message.contains('\u{1b}') && !message.contains('\u{202e}'), "{message:?}");
    let log = server.call("get_markdown_activity_log", json!({})).expect("a log");
    assert_eq!(log["entries"][0]["operation"], "insert_after");
    assert_eq!(log["entries"][0]["summary"].as_str().map(|text| text.lines().count()), Some(1));
}

#[test]
fn an_edit_refuses_and_keeps_invalid_utf8() {
    let library = Library::empty();
    let mut server = library.serve();
    for (name, bytes) in [
        ("latin1.md", b"# Caf\xe9\n".as_slice()),
        ("utf16.md", b"\xff\xfe#\0 \0A\0\n\0"),
        ("binary.md", b"\0\x01\x02\xff\xfe\xfd"),
        ("cut.md", b"# A \xe2\x82"),
    ] {
        library.put(name, bytes);
        library.commit_all(name);
        for tool in ["read_markdown", "preview_markdown_change", "edit_markdown"] {
            let (_, request) = file_calls(name).into_iter().find(|(known, _)| *known == tool).expect("known");
            let refusal = refuse(&library, &mut server, tool, request, json!({}));
            assert!(refusal.data["offset"].is_u64(), "{refusal:?}");
        }
    }
}

#[test]
fn secrets_in_a_note_stay_out_of_the_log_and_of_errors() {
    let library = Library::with(&[("a.md", "# A\n\nhunter2\n")]);
    let mut server = library.serve();
    let error = server
        .call("edit_markdown", edit("a.md", "replace_section", "## B", "hunter2"))
        .expect_err("missing");
    assert!(!format!("{error:?}").contains("hunter2"));
    server
        .call("write_markdown", json!({ "path": "a.md", "content": "# A\n\nhunter2 and more\n" }))
        .expect("written");
    let log = server.call("get_markdown_activity_log", json!({})).expect("a log");
    assert!(!log.to_string().contains("hunter2"));
    let message = ledger::git(library.root(), &["log", "-1", "--format=%B"]).expect("git log");
    assert!(!message.contains("hunter2"));
}

#[test]
fn the_server_handles_or_refuses_large_arguments_and_documents() {
    let library = Library::empty();
    let mut server = library.serve();
    let large = "0123456789abcde\n".repeat(2 << 20); // 32 MiB
    server.call("write_markdown", json!({ "path": "large.md", "content": large })).expect("written");
    assert_eq!(library.get("large.md").len(), large.len());
    let found = server.call_with("search_markdown", json!({ "query": "9abc" }), json!({})).expect("searched");
    assert_eq!(found.meta["tabellion/truncated"], true);
    assert_eq!(found.meta["tabellion/total"], 2 << 20);

    library.put("huge.md", "x".repeat(100 << 20));
    library.put("line.md", "y".repeat(50 << 20));
    for (tool, request) in file_calls("huge.md").into_iter().filter(|(tool, _)| *tool != "write_markdown") {
        let error = server.call(tool, request).expect_err("too large");
        assert_eq!(error.name, "TOO_LARGE", "{tool}");
    }
    let found = server.call("search_markdown", json!({ "query": "yyy" })).expect("searched");
    let snippet = found["results"][0]["matches"][0]["snippet"].as_str().expect("a snippet");
    assert!(snippet.chars().count() < 300);
}
