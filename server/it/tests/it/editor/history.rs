//! Undo and redo: exact, shared between processes, persistent, and never overwriting a person's work.

use std::thread;

use super::*;

#[test]
fn undo_and_redo_survive_restarts_and_other_processes() {
    let mut session = EditorSession::with(TREE);
    let mut other = serve(&session.library);
    let mut texts = vec![session.text()];
    for step in 0..120 {
        let (tool, arguments) = match step % 4 {
            0 => ("insert_section", insert(&format!("N{step}"), "text", 1)),
            1 => ("update_section", json!({ "section_id": "@D", "content": format!("text {step}\n\n- x") })),
            2 => ("move_section", json!({ "section_id": "@D", "new_position": 1 + step / 4 % 2 })),
            _ => ("delete_section", json!({ "heading": format!("N{}", step - 3) })),
        };
        session.edit(tool, arguments);
        texts.push(session.text());
    }
    for (step, text) in texts.iter().enumerate().rev().skip(1) {
        match step % 50 {
            7 => session.restart(),
            // The other process has not read the document since it started.
            8 => drop(other.call("undo", json!({})).expect("undone")),
            _ => drop(session.edit("undo", json!({}))),
        }
        if step % 50 == 7 {
            session.edit("undo", json!({}));
        }
        assert_eq!(&session.text(), text, "step {step}");
    }
    assert!(session.refuse("undo", json!({})).message.contains("nothing to undo"));
    session.restart();
    for text in &texts[1..] {
        session.edit("redo", json!({}));
        assert_eq!(&session.text(), text);
    }
    assert!(session.refuse("redo", json!({})).message.contains("nothing to redo"));
    ledger::fsck(session.library.root()).expect("a sound repository");
}

/// A person's change of the document, with its name.
type HandEdit = (&'static str, fn(&EditorSession));

#[test]
fn a_new_edit_clears_the_redo_stack() {
    let mut session = EditorSession::with(TREE);
    session.edit("update_section", json!({ "section_id": "@B", "content": "one" }));
    session.edit("undo", json!({}));
    session.edit("update_section", json!({ "section_id": "@B", "content": "two" }));
    assert_eq!(session.refuse("redo", json!({})).code, -32000);
    session.edit("undo", json!({}));
    assert_eq!(session.text(), TREE);
    assert_eq!(session.refuse("undo", json!({})).code, -32000);
}

/// If a person has edited other lines, an undo reverts the tool's edit alone; the same sections are there again.
#[test]
fn undo_and_redo_keep_a_hand_edit_of_other_lines() {
    for commits in [false, true] {
        for (tool, arguments) in [
            ("update_section", json!({ "section_id": "@B", "content": "changed\n\n###### Below" })),
            ("delete_section", json!({ "section_id": "@B" })),
            ("insert_section", insert("X", "x", 1)),
            ("move_section", json!({ "section_id": "@D", "new_position": 1 })),
        ] {
            let mut session = EditorSession::with(TREE);
            let before = session.list();
            session.edit(tool, arguments);
            let (changed, after) = (session.text(), session.list());
            let line = "By hand.\n\n";
            session.library.put(PATH, format!("{line}{changed}"));
            if commits {
                session.library.commit_all("by hand");
            }
            for (call, text, ids) in
                [("undo", TREE, &before), ("redo", &changed, &after), ("undo", TREE, &before)]
            {
                // The first of them commits the person's uncommitted bytes.
                session.call(call, json!({})).expect("done");
                assert_eq!(session.text(), format!("{line}{text}"), "{call} of {tool}");
                assert_eq!(&session.list(), ids, "{call} of {tool}");
            }
            session.restart();
            assert_eq!(session.list(), before, "{tool}");
            assert_eq!(session.refuse("undo", json!({})).code, -32000);
        }
    }
}

/// A hand edit of the same lines stays, whether it is uncommitted, committed or amended.
#[test]
fn undo_never_reverts_a_hand_edit() {
    let by_hand: [HandEdit; 4] = [
        ("not committed", |session| session.library.put(PATH, "# A\n\nby hand\n")),
        ("committed", |session| {
            session.library.put(PATH, "# A\n\nby hand\n");
            session.library.commit_all("by hand");
        }),
        ("amended", |session| {
            session.library.put(PATH, "# A\n\nby hand\n");
            ledger::git(session.library.root(), &["commit", "--quiet", "--amend", "--all", "--no-edit"])
                .expect("amended");
        }),
        ("by another contract", |session| {
            let mut other = session.library.serve();
            let request = json!({ "path": PATH, "content": "# A\n\nby hand\n" });
            other.call("write_markdown", request).expect("written");
            other.close();
        }),
    ];
    for (how, change) in by_hand {
        let mut session = EditorSession::with(TREE);
        session.edit("update_section", json!({ "section_id": "@A", "content": "one" }));
        session.edit("update_section", json!({ "section_id": "@A", "content": "two" }));
        let two = session.text();
        change(&session);
        let refusal = session.refuse("undo", json!({}));
        let advised =
            refusal.message.contains("changed by other means") || refusal.message.contains("nothing to undo");
        assert!(refusal.code == -32000 && advised, "{how}: {}", refusal.message);
        assert_eq!(session.text(), "# A\n\nby hand\n", "{how}");
        if how == "amended" {
            // The second commit is no longer the editor's; the first one is, but the document lacks its text.
            continue;
        }
        // The edit after it can be undone; then the hand edit prevents further undo.
        session.call("insert_section", insert("X", "", 0)).expect("inserted");
        session.edit("undo", json!({}));
        assert_eq!(session.text(), "# A\n\nby hand\n", "{how}");
        assert_eq!(session.refuse("undo", json!({})).code, -32000, "{how}");
        // After a person reverts the hand edit, undo continues.
        session.library.put(PATH, &two);
        session.call("undo", json!({})).expect("undone");
        session.edit("undo", json!({}));
        assert_eq!(session.text(), TREE, "{how}");
    }
}

/// A change that a person has undone is passed over, and a redo does not bring it back.
#[test]
fn undo_passes_over_a_change_that_is_already_undone() {
    let undone: [HandEdit; 3] = [
        ("reverted", |session| {
            ledger::git(session.library.root(), &["revert", "--no-edit", "HEAD"]).expect("reverted");
        }),
        ("not committed", |session| session.library.put(PATH, session.text().replace("two", "d"))),
        ("beside a hand edit", |session| {
            session.library.put(PATH, format!("By hand.\n\n{}", session.text().replace("two", "d")));
        }),
    ];
    for (how, undo) in undone {
        let mut session = EditorSession::with(TREE);
        session.edit("update_section", json!({ "section_id": "@A", "content": "one" }));
        session.edit("update_section", json!({ "section_id": "@D", "content": "two" }));
        undo(&session);
        let (ids, before) = (session.list(), session.text());
        session.call("undo", json!({})).expect(how);
        assert_eq!(session.text(), before.replace("one", "a"), "{how}");
        assert_eq!(session.list(), ids, "{how}");
        session.restart();
        assert_eq!(session.refuse("undo", json!({})).code, -32000, "{how}");
        session.edit("redo", json!({}));
        assert_eq!(session.text(), before, "{how}");
        assert_eq!(session.refuse("redo", json!({})).code, -32000, "{how}");
    }
}

/// A person's editor saves all lines with other endings; undo reverts the tool's change, not the person's.
#[test]
fn undo_merges_with_other_line_endings() {
    for (text, from, to) in [(TREE.to_owned(), "\n", "\r\n"), (TREE.replace('\n', "\r\n"), "\r\n", "\n")] {
        let mut session = EditorSession::with(&text);
        session.edit("update_section", json!({ "section_id": "@A", "content": "one" }));
        session.library.put(PATH, session.text().replace(from, to));
        session.call("undo", json!({})).expect("undone");
        assert_eq!(session.text(), text.replace(from, to));
    }
}

#[test]
fn undo_restores_line_endings_that_git_normalizes() {
    let text = "# A\r\n\r\na\r\n\r\n# B\r\n\r\nb\r\n";
    let library = Library::with(&[(".gitattributes", "*.md text eol=crlf\n"), (PATH, text)]);
    let mut session = EditorSession::over(library);
    let ids = session.list();
    session.edit("update_section", json!({ "section_id": "@A", "content": "x" }));
    session.edit("delete_section", json!({ "section_id": "@B" }));
    let last = session.text();
    session.edit("undo", json!({}));
    session.edit("undo", json!({}));
    assert_eq!((session.text(), session.list()), (text.to_owned(), ids));
    session.edit("redo", json!({}));
    session.edit("redo", json!({}));
    assert_eq!(session.text(), last);
}

#[test]
fn a_repeated_request_gets_the_id_of_the_first() {
    let mut session = EditorSession::with(TREE);
    for (heading, by_hand) in [("X", ""), ("Y", "\n## By hand\n\nz\n")] {
        session.library.put(PATH, session.text() + by_hand);
        let mut once = || {
            let meta = json!({ "tabellion/idempotencyKey": heading });
            session.server.call_with("insert_section", insert(heading, "x", 1), meta).expect("inserted")
        };
        let (first, second) = (once(), once());
        assert_eq!(first.response, second.response);
        assert_eq!(second.meta["tabellion/replayed"], true);
        assert_eq!(session.id(heading), first.response["section_id"]);
    }
}

#[test]
fn concurrent_inserts_all_arrive_and_can_be_undone() {
    let session = EditorSession::with(TREE);
    let library = &session.library;
    let mut ids: Vec<String> = thread::scope(|scope| {
        let process = |name: usize| {
            let mut server = serve(library);
            (0..10)
                .map(|n| {
                    let answer = server
                        .call("insert_section", insert(&format!("N{name}-{n}"), "x", 1))
                        .expect("inserted");
                    answer["section_id"].as_str().expect("an id").to_owned()
                })
                .collect::<Vec<_>>()
        };
        let processes: Vec<_> = (0..3).map(|name| scope.spawn(move || process(name))).collect();
        processes.into_iter().flat_map(|process| process.join().expect("a process")).collect()
    });
    let mut session = session;
    let mut listed: Vec<String> =
        session.list().into_iter().map(|(id, _)| id).filter(|id| ids.contains(id)).collect();
    ids.sort();
    listed.sort();
    assert_eq!(listed, ids);
    for _ in 0..30 {
        session.edit("undo", json!({}));
    }
    assert_eq!(session.text(), TREE);
}
