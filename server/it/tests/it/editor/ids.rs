//! Section ids: an id names the same section, or is an error.

use super::*;

#[test]
fn equal_sections_have_different_ids() {
    let mut session = EditorSession::with("# A\n\n## Notes\n\n## Notes\n\n## Notes\n");
    let before = session.list();
    session.edit("delete_section", json!({ "section_id": before[2].0 }));
    assert_eq!(session.list(), [before[0].clone(), before[1].clone(), before[3].clone()]);
    session.restart();
    assert_eq!(session.list(), [before[0].clone(), before[1].clone(), before[3].clone()]);
    session.edit("move_section", json!({ "section_id": before[3].0, "new_position": 1 }));
    assert_eq!(session.list(), [before[0].clone(), before[3].clone(), before[1].clone()]);
    session.edit("undo", json!({}));
    session.edit("undo", json!({}));
    assert_eq!(session.list(), before);
}

#[test]
fn a_hand_edit_keeps_the_ids_of_recognized_sections() {
    let mut session = EditorSession::with(TREE);
    let before = session.list();
    let by_hand = "# A\n\nother\n\n## New\n\nnew\n\n## D\n\nd\n\n## B\n\nb\n\n### C\n\nc\n";
    session.library.put(PATH, by_hand);
    let uncommitted = session.list();
    for (id, heading) in &before {
        assert_eq!(&session.id(heading), id);
    }
    let restarted = {
        session.restart();
        session.list()
    };
    assert_eq!(restarted, uncommitted);
    session.library.commit_all("by hand");
    assert_eq!(session.list(), uncommitted, "once committed by a person");

    // A change that adopts the hand edit keeps the ids too.
    session.library.put(PATH, format!("{by_hand}\n## Last\n\nlast\n"));
    let uncommitted = session.list();
    session.call("update_section", json!({ "section_id": "@Last", "content": "text" })).expect("updated");
    assert_eq!(session.list(), uncommitted);
    session.restart();
    assert_eq!(session.list(), uncommitted);
    ledger::git(session.library.root(), &["revert", "--no-edit", "HEAD"]).expect("reverted");
    assert_eq!(session.list(), uncommitted);
}

#[test]
fn a_merged_branch_keeps_its_ids() {
    let mut session = EditorSession::with(TREE);
    let git = |session: &EditorSession, arguments: &[&str]| {
        ledger::git(session.library.root(), arguments).expect("git")
    };
    git(&session, &["checkout", "--quiet", "-b", "draft"]);
    session.edit("insert_section", insert("X", "x", 1));
    session.edit("update_section", json!({ "section_id": "@C", "content": "draft" }));
    let draft = session.list();
    git(&session, &["checkout", "--quiet", "main"]);
    assert_eq!(session.list().len(), 4);
    session.library.put("other.md", "# Other\n");
    session.library.commit_all("other");
    git(&session, &["merge", "--quiet", "--no-edit", "draft"]);
    assert_eq!(session.list(), draft);
    session.edit("undo", json!({}));
    session.edit("undo", json!({}));
    assert_eq!(session.text(), TREE);
}
