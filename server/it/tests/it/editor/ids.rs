//! Ids: an id always names the same section, or is an error.

use super::*;

#[test]
fn ids_are_stable_and_never_reused() {
    let mut desk = Desk::with(TREE);
    let before = desk.list();
    let inserted = desk.edit("insert_section", insert("X", "x", 1))["section_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(desk.id("X"), inserted);
    desk.edit("move_section", json!({ "section_id": "@D", "new_position": 1 }));
    desk.edit(
        "update_section",
        json!({ "section_id": "@B", "content": "other" }),
    );
    for (id, heading) in &before {
        assert_eq!(&desk.id(heading), id);
    }
    let all = desk.list();
    desk.restart();
    assert_eq!(desk.list(), all);
    assert_eq!(list(&mut serve(&desk.library)), all, "in another process");

    // Gone is gone, though the same comes again; undo brings back the one that went.
    desk.edit("delete_section", json!({ "section_id": inserted }));
    let again = desk.edit("insert_section", insert("X", "x", 2));
    assert_ne!(again["section_id"], inserted);
    assert_eq!(
        desk.refuse("get_section", json!({ "section_id": inserted })).code,
        -32000
    );
    desk.edit("undo", json!({}));
    assert_eq!(
        desk.refuse("get_section", json!({ "section_id": again["section_id"] }))
            .code,
        -32000
    );
    desk.edit("undo", json!({}));
    assert_eq!(desk.id("X"), inserted);
    assert_eq!(desk.list(), all);
    desk.restart();
    assert_eq!(desk.list(), all);
}

#[test]
fn equal_sections_are_distinguished() {
    let mut desk = Desk::with("# A\n\n## Notes\n\n## Notes\n\n## Notes\n");
    let before = desk.list();
    desk.edit("delete_section", json!({ "section_id": before[2].0 }));
    assert_eq!(
        desk.list(),
        [before[0].clone(), before[1].clone(), before[3].clone()]
    );
    desk.restart();
    assert_eq!(
        desk.list(),
        [before[0].clone(), before[1].clone(), before[3].clone()]
    );
    desk.edit(
        "move_section",
        json!({ "section_id": before[3].0, "new_position": 1 }),
    );
    assert_eq!(
        desk.list(),
        [before[0].clone(), before[3].clone(), before[1].clone()]
    );
    desk.edit("undo", json!({}));
    desk.edit("undo", json!({}));
    assert_eq!(desk.list(), before);
}

#[test]
fn recognized_sections_keep_their_ids_after_a_hand_edit() {
    let mut desk = Desk::with(TREE);
    let before = desk.list();
    let by_hand = "# A\n\nother\n\n## New\n\nnew\n\n## D\n\nd\n\n## B\n\nb\n\n### C\n\nc\n";
    desk.library.put(PATH, by_hand);
    let uncommitted = desk.list();
    for (id, heading) in &before {
        assert_eq!(&desk.id(heading), id);
    }
    let restarted = {
        desk.restart();
        desk.list()
    };
    assert_eq!(restarted, uncommitted);
    desk.library.commit_all("by hand");
    assert_eq!(desk.list(), uncommitted, "once committed by a person");

    // The same holds for bytes that a tool's change adopts.
    desk.library.put(PATH, format!("{by_hand}\n## Last\n\nlast\n"));
    let uncommitted = desk.list();
    desk.call(
        "update_section",
        json!({ "section_id": "@Last", "content": "text" }),
    )
    .expect("updated");
    assert_eq!(desk.list(), uncommitted);
    desk.restart();
    assert_eq!(desk.list(), uncommitted);
    ledger::git(desk.library.root(), &["revert", "--no-edit", "HEAD"]).expect("reverted");
    assert_eq!(desk.list(), uncommitted);
}

#[test]
fn a_merged_branch_keeps_its_ids() {
    let mut desk = Desk::with(TREE);
    let git = |desk: &Desk, arguments: &[&str]| ledger::git(desk.library.root(), arguments).expect("git");
    git(&desk, &["checkout", "--quiet", "-b", "draft"]);
    desk.edit("insert_section", insert("X", "x", 1));
    desk.edit(
        "update_section",
        json!({ "section_id": "@C", "content": "draft" }),
    );
    let draft = desk.list();
    git(&desk, &["checkout", "--quiet", "main"]);
    assert_eq!(desk.list().len(), 4);
    desk.library.put("other.md", "# Other\n");
    desk.library.commit_all("other");
    git(&desk, &["merge", "--quiet", "--no-edit", "draft"]);
    assert_eq!(desk.list(), draft);
    desk.edit("undo", json!({}));
    desk.edit("undo", json!({}));
    assert_eq!(desk.text(), TREE);
}
