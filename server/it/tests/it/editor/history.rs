//! Undo and redo: exact, shared between processes, lasting, and never over a person's work.

use std::thread;

use super::*;

#[test]
fn a_hundred_and_twenty_steps_are_undone_and_redone_across_processes() {
    let mut desk = Desk::with(TREE);
    let mut other = serve(&desk.library);
    let mut texts = vec![desk.text()];
    for step in 0..120 {
        let (tool, arguments) = match step % 4 {
            0 => ("insert_section", insert(&format!("N{step}"), "text", 1)),
            1 => (
                "update_section",
                json!({ "section_id": "@D", "content": format!("text {step}\n\n- x") }),
            ),
            2 => (
                "move_section",
                json!({ "section_id": "@D", "new_position": 1 + step / 4 % 2 }),
            ),
            _ => ("delete_section", json!({ "heading": format!("N{}", step - 3) })),
        };
        desk.edit(tool, arguments);
        texts.push(desk.text());
    }
    for (step, text) in texts.iter().enumerate().rev().skip(1) {
        match step % 50 {
            7 => desk.restart(),
            // The other process has seen nothing of all that.
            8 => drop(other.call("undo", json!({})).expect("undone")),
            _ => drop(desk.edit("undo", json!({}))),
        }
        if step % 50 == 7 {
            desk.edit("undo", json!({}));
        }
        assert_eq!(&desk.text(), text, "step {step}");
    }
    assert!(desk.refuse("undo", json!({})).message.contains("nothing to undo"));
    desk.restart();
    for text in &texts[1..] {
        desk.edit("redo", json!({}));
        assert_eq!(&desk.text(), text);
    }
    assert!(desk.refuse("redo", json!({})).message.contains("nothing to redo"));
    ledger::fsck(desk.library.root()).expect("a sound repository");
}

/// An edit of the document by hand or by another program, and its name.
type ByHand = (&'static str, fn(&Desk));

#[test]
fn a_new_edit_clears_the_redo_stack() {
    let mut desk = Desk::with(TREE);
    desk.edit("update_section", json!({ "section_id": "@B", "content": "one" }));
    desk.edit("undo", json!({}));
    desk.edit("update_section", json!({ "section_id": "@B", "content": "two" }));
    assert_eq!(desk.refuse("redo", json!({})).code, -32000);
    desk.edit("undo", json!({}));
    assert_eq!(desk.text(), TREE);
    assert_eq!(desk.refuse("undo", json!({})).code, -32000);
}

/// A document changed meanwhile, by whatever means, stays as it is.
#[test]
fn a_hand_edit_is_never_undone() {
    let by_hand: [ByHand; 4] = [
        ("not committed", |desk| desk.library.put(PATH, "# A\n\nby hand\n")),
        ("committed", |desk| {
            desk.library.put(PATH, "# A\n\nby hand\n");
            desk.library.commit_all("by hand");
        }),
        ("amended", |desk| {
            desk.library.put(PATH, "# A\n\nby hand\n");
            ledger::git(
                desk.library.root(),
                &["commit", "--quiet", "--amend", "--all", "--no-edit"],
            )
            .expect("amended");
        }),
        ("by another contract", |desk| {
            let mut other = desk.library.serve();
            let request = json!({ "path": PATH, "content": "# A\n\nby hand\n" });
            other.call("write_markdown", request).expect("written");
            other.close();
        }),
    ];
    for (how, change) in by_hand {
        let mut desk = Desk::with(TREE);
        desk.edit("update_section", json!({ "section_id": "@A", "content": "one" }));
        desk.edit("update_section", json!({ "section_id": "@A", "content": "two" }));
        let two = desk.text();
        change(&desk);
        let refusal = desk.refuse("undo", json!({}));
        let advised =
            refusal.message.contains("changed by other means") || refusal.message.contains("nothing to undo");
        assert!(refusal.code == -32000 && advised, "{how}: {}", refusal.message);
        assert_eq!(desk.text(), "# A\n\nby hand\n", "{how}");
        if how == "amended" {
            // The second edit is no longer a commit of ours; the first one is, and its text is not there.
            continue;
        }
        // The later edits can be undone, until the hand edit is in the way again.
        desk.call("insert_section", insert("X", "", 0)).expect("inserted");
        desk.edit("undo", json!({}));
        assert_eq!(desk.text(), "# A\n\nby hand\n", "{how}");
        assert_eq!(desk.refuse("undo", json!({})).code, -32000, "{how}");
        // Once it is taken back by hand, the way is free.
        desk.library.put(PATH, &two);
        desk.call("undo", json!({})).expect("undone");
        desk.edit("undo", json!({}));
        assert_eq!(desk.text(), TREE, "{how}");
    }
}

#[test]
fn undo_restores_converted_line_endings() {
    let text = "# A\r\n\r\na\r\n\r\n# B\r\n\r\nb\r\n";
    let library = Library::with(&[(".gitattributes", "*.md text eol=crlf\n"), (PATH, text)]);
    let mut desk = Desk::over(library);
    let ids = desk.list();
    desk.edit("update_section", json!({ "section_id": "@A", "content": "x" }));
    desk.edit("delete_section", json!({ "section_id": "@B" }));
    let last = desk.text();
    desk.edit("undo", json!({}));
    desk.edit("undo", json!({}));
    assert_eq!((desk.text(), desk.list()), (text.to_owned(), ids));
    desk.edit("redo", json!({}));
    desk.edit("redo", json!({}));
    assert_eq!(desk.text(), last);
}

#[test]
fn a_repeated_request_returns_the_first_id() {
    let mut desk = Desk::with(TREE);
    let mut once = || {
        let meta = json!({ "tabellion/idempotencyKey": "k-1" });
        desk.server
            .call_with("insert_section", insert("X", "x", 1), meta)
            .expect("inserted")
    };
    let (first, second) = (once(), once());
    assert_eq!(first.response, second.response);
    assert_eq!(second.meta["tabellion/replayed"], true);
    assert_eq!(desk.id("X"), first.response["section_id"]);
}

#[test]
fn concurrent_inserts_all_arrive_and_can_be_undone() {
    let desk = Desk::with(TREE);
    let library = &desk.library;
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
        processes
            .into_iter()
            .flat_map(|process| process.join().expect("a process"))
            .collect()
    });
    let mut desk = desk;
    let mut listed: Vec<String> = desk
        .list()
        .into_iter()
        .map(|(id, _)| id)
        .filter(|id| ids.contains(id))
        .collect();
    ids.sort();
    listed.sort();
    assert_eq!(listed, ids);
    for _ in 0..30 {
        desk.edit("undo", json!({}));
    }
    assert_eq!(desk.text(), TREE);
}
