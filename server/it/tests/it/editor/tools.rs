//! The effect of each tool, and its refusals.

use super::*;

/// A tool with its arguments.
type Call = (&'static str, Value);

fn inserted(heading: &str, content: &str, position: i32) -> Call {
    ("insert_section", insert(heading, content, position))
}

fn updated(id: &str, content: &str) -> Call {
    ("update_section", json!({ "section_id": id, "content": content }))
}

fn moved(id: &str, new_position: u32) -> Call {
    ("move_section", json!({ "section_id": id, "new_position": new_position }))
}

#[test]
fn each_tool_changes_exactly_the_expected_bytes() {
    for (before, (tool, arguments), after) in [
        (TREE, inserted("X", "x", 1), "# A\n\na\n\n## X\n\nx\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n"),
        ("", inserted("X", "x", 0), "# X\n\nx\n"),
        ("---\ntitle: T\n---\n", inserted("## X", "", 0), "---\ntitle: T\n---\n\n## X\n"),
        ("\u{feff}# A\r\n", inserted("X", "x", 1), "\u{feff}# A\r\n\r\n# X\r\n\r\nx\r\n"),
        (TREE, ("delete_section", json!({ "section_id": "@B" })), "# A\n\na\n\n## D\n\nd\n"),
        (TREE, ("delete_section", json!({ "heading": "B" })), "# A\n\na\n\n## D\n\nd\n"),
        (
            TREE,
            ("delete_section", json!({ "heading": "## D", "section_id": "@D" })),
            "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n",
        ),
        (TREE, updated("@B", "x\n"), "# A\n\na\n\n## B\n\nx\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, updated("@B", "## B\n\nb"), TREE),
        (TREE, moved("@D", 1), "# A\n\na\n\n## D\n\nd\n\n## B\n\nb\n\n### C\n\nc\n"),
        (TREE, moved("@B", 2), "# A\n\na\n\n## D\n\nd\n\n## B\n\nb\n\n### C\n\nc\n"),
    ] {
        let mut session = EditorSession::with(before);
        session.edit(tool, arguments.clone());
        assert_eq!(session.text(), after, "{tool} {arguments} of {before:?}");
        let read = session.call("get_document", json!({})).expect("the document");
        assert_eq!(read["document"], after);
        session.server.close();
    }
}

#[test]
fn a_refused_call_changes_nothing() {
    let twice = "# A\n\n## Notes\n\n# B\n\n## Notes\n";
    for (document, (tool, arguments), code, part) in [
        (TREE, ("get_section", json!({ "section_id": "abc123" })), -32000, "Section not found"),
        (TREE, ("get_section", json!({ "section_id": "s-0000000000000000" })), -32000, "Section not found"),
        (TREE, ("get_section", json!({})), -32602, "section_id"),
        (TREE, updated("abc123", ""), -32000, "Section not found"),
        (TREE, updated("@B", "# X"), -32000, "would end the section"),
        (TREE, updated("@B", "```"), -32000, "\"C\" (line 9)"),
        (TREE, inserted("X", "", 5), -32602, "there are 0 to 4"),
        (TREE, inserted("X", "", -1), -32602, "0"),
        (TREE, inserted("X", "", 1_000_000), -32602, "outside"),
        (TREE, inserted("X\n# Y", "", 0), -32602, "one line"),
        (TREE, inserted("##", "", 0), -32602, "text"),
        (TREE, inserted("X", "<!--", 0), -32000, "\"A\" (line 1)"),
        (TREE, moved("@B", 3), -32602, "it can't stand in itself"),
        (TREE, moved("@A", 1), -32602, "the only one is 0"),
        (TREE, moved("nothing", 1), -32000, "Section not found"),
        (TREE, ("delete_section", json!({})), -32602, "section_id"),
        (TREE, ("delete_section", json!({ "heading": "Bb" })), -32000, "did you mean"),
        (TREE, ("delete_section", json!({ "heading": "D", "section_id": "@B" })), -32602, "not \"D\""),
        (twice, ("delete_section", json!({ "heading": "Notes" })), -32000, "2 sections have the heading"),
        (TREE, ("undo", json!({})), -32000, "nothing to undo"),
        (TREE, ("redo", json!({})), -32000, "nothing to redo"),
    ] {
        let mut session = EditorSession::with(document);
        let refusal = session.refuse(tool, arguments.clone());
        assert_eq!(refusal.code, code, "{tool} {arguments}: {}", refusal.message);
        assert!(refusal.message.contains(part), "{tool} {arguments}: {}", refusal.message);
        session.server.close();
    }
}

/// The error contains ids with which a program can continue.
#[test]
fn an_ambiguous_heading_yields_candidate_ids() {
    let mut session = EditorSession::with("# A\n\n## Notes\n\na\n\n# B\n\n## Notes\n\nb\n");
    let refusal = session.refuse("delete_section", json!({ "heading": "Notes" }));
    let candidates = refusal.data["candidates"].as_array().cloned().expect("candidates");
    assert_eq!(candidates.len(), 2);
    assert_eq!((&candidates[1]["position"], &candidates[1]["line"]), (&json!(3), &json!(9)));
    session.edit("delete_section", json!({ "section_id": candidates[1]["section_id"], "heading": "Notes" }));
    assert_eq!(session.text(), "# A\n\n## Notes\n\na\n\n# B\n");
}

#[test]
fn the_first_section_creates_a_missing_document() {
    let mut session = EditorSession::over(Library::empty());
    assert_eq!(session.call("get_document", json!({})).expect("nothing")["document"], "");
    assert_eq!(session.list(), []);
    session.edit("insert_section", insert("Plan", "text", 0));
    assert_eq!(session.text(), "# Plan\n\ntext\n");
    session.edit("undo", json!({}));
    assert!(!session.library.path(PATH).exists());
    session.restart();
    session.edit("redo", json!({}));
    assert_eq!(session.text(), "# Plan\n\ntext\n");
}

/// A first edit can be guarded by the base of any read, also where the bytes are not committed, or there is no document.
#[test]
fn reads_name_the_base_of_an_edit() {
    let mut session = EditorSession::over(Library::empty());
    for text in [None, Some(TREE), Some("# A\r\n\r\nby hand\r\n")] {
        text.into_iter().for_each(|text| session.library.put(PATH, text));
        for (tool, arguments) in [
            ("get_document", json!({})),
            ("list_sections", json!({})),
            ("get_section", json!({ "section_id": "@A" })),
        ] {
            if text.is_none() && tool == "get_section" {
                continue;
            }
            let arguments = session.arguments(&arguments);
            let read = session.server.call_with(tool, arguments, json!({})).expect("a read");
            let base =
                read.meta.get("tabellion/base").unwrap_or_else(|| panic!("{tool} of {text:?}: no base"));
            let guard = json!({ "tabellion/ifBase": base });
            let mut edit = || session.server.call_with("insert_section", insert("X", "", 0), guard.clone());
            edit().unwrap_or_else(|refusal| panic!("{tool} of {text:?}: {refusal:?}"));
            assert!(edit().is_err(), "{tool} of {text:?}");
            match text {
                Some(text) => session.library.put(PATH, text),
                None => std::fs::remove_file(session.library.path(PATH)).expect("removed"),
            }
        }
    }
}

/// A document that is not there, or not committed, is no silent surprise.
#[test]
fn answers_say_that_a_document_is_missing_or_not_committed() {
    let mut session = EditorSession::with(TREE);
    let meta = |session: &mut EditorSession, tool: &str, arguments: Value| {
        let arguments = session.arguments(&arguments);
        session.server.call_with(tool, arguments, json!({})).expect("an answer").meta
    };
    session.edit("update_section", json!({ "section_id": "@B", "content": "one" }));
    session.library.put(PATH, session.text().replace("one", "two"));
    for tool in ["get_document", "list_sections"] {
        assert_eq!(meta(&mut session, tool, json!({}))["tabellion/dirty"], true, "{tool}");
    }
    let updated = meta(&mut session, "update_section", json!({ "section_id": "@B", "content": "three" }));
    assert_eq!(updated.get("tabellion/dirty"), None, "the change is committed");
    assert!(updated["tabellion/warnings"][0].as_str().expect("a warning").contains("not committed"));
    let d = session.id("D");
    std::fs::remove_file(session.library.path(PATH)).expect("deleted by hand");
    for (tool, arguments) in [
        ("get_section", json!({ "section_id": d })),
        ("delete_section", json!({ "heading": "D" })),
        ("undo", json!({})),
    ] {
        let refusal = session.refuse(tool, arguments);
        assert!(refusal.message.contains("there is no file"), "{tool}: {refusal:?}");
    }
    let outline = session.server.target.request("prompts/get", json!({ "name": "generate_outline" }));
    assert!(outline.expect("an answer")["error"]["message"].to_string().contains("there is no file"));
    let absent = meta(&mut session, "get_document", json!({}));
    assert!(absent["tabellion/warnings"][0].as_str().expect("a warning").contains("there is no file"));
    let inserted = meta(&mut session, "insert_section", insert("New", "text", 0));
    assert!(!inserted.contains_key("tabellion/warnings"), "{inserted:?}");
}
