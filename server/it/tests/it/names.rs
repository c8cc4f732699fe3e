//! Existing files with names that the server would not give: listed, found, read, previewed, changed and deleted like all
//! others, each under its own name.

use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};
use tabellion_conformance::ledger;

use crate::support::{Library, Server, edit, ended};

/// Paths as people name their notes.
const NAMES: &[&str] = &[
    "What is X?.md",
    "12:30 meeting.md",
    "\"quoted\".md",
    "<tag> | *.md",
    "aux.md",
    "Cafe\u{301}.md",
    "می\u{200c}خواهم.md",
    "turned \u{202e}dm.md",
    "Re\u{301}sume\u{301}s/cv.md",
    "Meeting: Bob/sub/a?.md",
    "ends./dot .md",
];
const TEXT: &str = "# Title\n\nneedle\n";

fn call(server: &mut Server, tool: &str, arguments: Value) -> Value {
    server.call(tool, arguments.clone()).unwrap_or_else(|refusal| panic!("{tool} {arguments}: {refusal:?}"))
}

/// Committed by a person, and with bytes that are not committed.
#[test]
fn existing_files_are_never_hidden() {
    for is_committed in [false, true] {
        let library = Library::with(&[("plain.md", TEXT)]);
        for name in NAMES {
            library.put(name, TEXT);
        }
        if is_committed {
            library.commit_all("theirs");
        }
        let mut all: Vec<&str> = NAMES.iter().copied().chain(["plain.md"]).collect();
        all.sort_unstable();
        let mut server = library.serve();
        let listed = call(&mut server, "list_markdown_files", json!({ "path": "", "recursive": true }));
        assert_eq!(listed["files"], json!(all));
        for folder in listed["folders"].as_array().expect("folders") {
            let below = call(&mut server, "list_markdown_files", json!({ "path": folder }));
            assert_ne!(below, json!({ "files": [], "folders": [] }), "{folder}");
        }
        let found = call(&mut server, "search_markdown", json!({ "query": "needle" }));
        let paths: Vec<_> =
            found["results"].as_array().expect("results").iter().map(|it| &it["path"]).collect();
        assert_eq!(json!(paths), json!(all));
        for name in NAMES {
            let read = call(&mut server, "read_markdown", json!({ "path": name }));
            assert_eq!(read["content"], TEXT);
            let commits = library.ledger().commits.len();
            let append = edit(name, "append", "", "- mine\n");
            let preview = call(&mut server, "preview_markdown_change", append.clone());
            assert!(preview["diff"].as_str().is_some_and(|diff| diff.contains("+- mine")), "{preview}");
            call(&mut server, "edit_markdown", append);
            assert_eq!(library.get(name), format!("{TEXT}- mine\n").as_bytes());
            // The person's bytes, then the change.
            let expected = commits + if is_committed { 1 } else { 2 };
            assert_eq!(library.ledger().commits.len(), expected, "{name}");
            call(&mut server, "write_markdown", json!({ "path": name, "content": "# New\n" }));
            assert_eq!(library.get(name), b"# New\n");
            let log = call(&mut server, "get_markdown_activity_log", json!({ "limit": 1 }));
            assert_eq!(log["entries"][0]["path"], *name);
        }
        assert_eq!(library.ledger().status, "");
        for name in NAMES {
            call(&mut server, "delete_markdown", json!({ "path": name, "confirm": true }));
        }
        server.close();
        assert_eq!(library.ledger().files.len(), 1);
        assert_eq!(library.ledger().status, "");
        ledger::fsck(library.root()).expect("a sound repository");
    }
}

/// A model composes characters in its copies; the answer has the name of the file that is meant.
#[test]
fn the_other_composition_of_a_name_names_the_same_file() {
    let library = Library::with(&[("Re\u{301}sume\u{301}s/Cafe\u{301}.md", TEXT), ("naïve.md", TEXT)]);
    let mut server = library.serve();
    for (asked, file) in
        [("Résumés/Café.md", "Re\u{301}sume\u{301}s/Cafe\u{301}.md"), ("nai\u{308}ve.md", "naïve.md")]
    {
        let append = edit(asked, "append", "", "- mine\n");
        let key = json!({ "tabellion/idempotencyKey": format!("append-{}", file.len()) });
        for (tool, request, meta) in [
            ("read_markdown", json!({ "path": asked }), json!({})),
            ("preview_markdown_change", append.clone(), json!({})),
            ("edit_markdown", append.clone(), key.clone()),
            // Repeated: the first call's commit, and no second.
            ("edit_markdown", append, key),
            ("write_markdown", json!({ "path": asked, "content": "# New\n" }), json!({})),
            ("delete_markdown", json!({ "path": asked, "confirm": true }), json!({})),
        ] {
            let answer = server
                .call_with(tool, request, meta)
                .unwrap_or_else(|refusal| panic!("{tool} {asked}: {refusal:?}"));
            assert_eq!(answer.meta["tabellion/path"], file, "{tool}");
            if tool == "edit_markdown" {
                assert_eq!(library.get(file), format!("{TEXT}- mine\n").as_bytes());
            }
        }
        assert!(!library.path(file).exists() && !library.path(asked).exists());
    }
    assert_eq!(library.ledger().commits.len(), 1 + 2 * 3);
    // A folder's name as well, for a file that is new.
    library.put("Re\u{301}sume\u{301}s/a.md", TEXT);
    let create = json!({ "path": "Résumés/new.md", "content": "# New\n" });
    call(&mut server, "write_markdown", create);
    assert_eq!(library.get("Re\u{301}sume\u{301}s/new.md"), b"# New\n");
    let listed = call(&mut server, "list_markdown_files", json!({ "path": "Résumés" }));
    assert_eq!(listed["files"], json!(["Re\u{301}sume\u{301}s/a.md", "Re\u{301}sume\u{301}s/new.md"]));
    let absent = json!({ "tabellion/ifBase": null });
    let twin = json!({ "path": "Résumés/new.md", "content": "x" });
    let refused = server.call_with("write_markdown", twin, absent).expect_err("it exists");
    assert_eq!(refused.name, "CONFLICT");
}

/// If both compositions exist, each is a separate file.
#[test]
fn existing_twins_are_told_apart() {
    let twins = [("café.md", "# Composed\n"), ("cafe\u{301}.md", "# Decomposed\n")];
    let library = Library::with(&twins);
    let mut server = library.serve();
    for (path, text) in twins {
        let answer = server.call_with("read_markdown", json!({ "path": path }), json!({})).expect("read");
        assert_eq!(answer.response["content"], text);
        assert!(!answer.meta.contains_key("tabellion/path"));
        call(&mut server, "write_markdown", json!({ "path": path, "content": path }));
        assert_eq!(library.get(path), path.as_bytes());
    }
}

#[test]
fn what_is_not_listed_is_counted() {
    let library = Library::with(&[("a.md", TEXT), (".gitignore", "draft.md\n"), (".obsidian/x.md", "")]);
    for name in ["draft.md", "back\\slash.md", "C: drive.md"] {
        library.put(name, TEXT);
    }
    std::os::unix::fs::symlink("a.md", library.path("link.md")).expect("a link");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    std::fs::write(library.root().join(name), TEXT).expect("a file");
    let expected = json!({ "ignored": 1, "hidden": 1, "notRegular": 1, "name": 2, "notUnicode": 1 });
    let mut server = library.serve();
    for (tool, request) in [
        ("list_markdown_files", json!({ "path": "" })),
        ("list_markdown_files", json!({ "path": "", "recursive": true })),
        ("search_markdown", json!({ "query": "needle" })),
    ] {
        let answer = server.call_with(tool, request, json!({})).expect("an answer");
        assert_eq!(answer.meta["tabellion/leftOut"], expected, "{tool}");
    }
    let library = Library::with(&[("a.md", TEXT)]);
    let mut server = library.serve();
    let answer =
        server.call_with("list_markdown_files", json!({ "path": "" }), json!({})).expect("an answer");
    assert!(!answer.meta.contains_key("tabellion/leftOut"), "{:?}", answer.meta);
}

/// The document of a contract for a single document.
#[test]
fn the_one_document_may_have_such_a_name() {
    let library = Library::with(&[("What is X?.md", "# A\n\ntext\n"), ("Cafe\u{301}.md", "# A\n\ntext\n")]);
    for (document, file) in [("What is X?.md", "What is X?.md"), ("Café.md", "Cafe\u{301}.md")] {
        let mut server = library.serve_with(&["--contract", "safe-markdown-editor", "--document", document]);
        let insert = json!({ "heading": "New", "content": "mine", "position": 0 });
        server.call("insert_section", insert).expect("inserted");
        let text = String::from_utf8(library.get(file)).expect("UTF-8");
        assert!(text.contains("mine"), "{text}");
        server.close();
    }
    assert_eq!(library.ledger().status, "");
    for (document, expected) in
        [("What?.md", "has the character `?`"), ("what is X?.md", "existing `What is X?.md`")]
    {
        let arguments = ["--contract", "safe-markdown-editor", "--document", document];
        let (code, _, said) = ended(library.command().args(arguments));
        assert!(code != Some(0) && said.contains(expected), "{said}");
    }
}
