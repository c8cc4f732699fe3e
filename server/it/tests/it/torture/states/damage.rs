//! Objects that a crash or a bad disk has left empty or broken.

use serde_json::json;

use super::{State, hold, picture::FileTree, scene::Scene};
use crate::support::edit;

/// A script that empties or removes an object, whose file is `$f`.
macro_rules! object {
    ($name:literal, $deed:literal) => {
        concat!(
            "o=$(git rev-parse ",
            $name,
            "); f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); ",
            "test -e $f || mkdir -p $(dirname $f); rm -f $f; ",
            $deed
        )
    };
}

/// Objects that the changes would write exist already, but are broken.
const IN_THE_WAY: &[State] = &[
    State::served(
        "the object to be written is there, but empty",
        "for text in 'written\\n' '# A\\nmore\\n'; do
             o=$(printf \"$text\" | git hash-object --stdin); mkdir -p .git/objects/$(echo $o | cut -c1-2)
             touch .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)
         done",
    ),
    State::served(
        "the object to be written is there, but broken",
        "for text in 'written\\n' '# A\\nmore\\n'; do
             o=$(printf \"$text\" | git hash-object -w --stdin); f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)
             chmod u+w $f; printf 'x\\001broken' > $f
         done",
    ),
    State::served(
        "the object to be written is there, packed otherwise",
        "for text in 'written\\n' '# A\\nmore\\n'; do printf \"$text\" | git -c core.compression=9 hash-object -w --stdin; done",
    ),
];

const LOST: &[State] = &[
    State::served("the blob of a file that is changed is empty", "")
        .then(object!("HEAD:notes/a.md", "touch $f"))
        .damaged(),
    State::served("the blob of another file is lost", "").then(object!("HEAD:other.txt", ":")).damaged(),
];

#[test]
fn a_change_replaces_broken_objects_that_it_writes() {
    hold(IN_THE_WAY);
}

#[test]
fn a_change_tolerates_broken_objects_that_it_does_not_need() {
    hold(LOST);
}

/// Without the last commit's tree, the committed content is unknown.
#[test]
fn a_refusal_names_a_broken_object_that_the_change_needs() {
    let state = State::served("HEAD's tree is empty", "").then(object!("HEAD^{tree}", "touch $f"));
    let scene = Scene::new(state);
    let before = FileTree::read(&scene);
    let mut server = scene.serve();
    for (tool, request) in [
        ("read_markdown", json!({ "path": "notes/a.md" })),
        ("edit_markdown", edit("notes/a.md", "append", "", "more\n")),
        ("write_markdown", json!({ "path": "notes/new.md", "content": "new\n" })),
    ] {
        let refusal = server.call(tool, request).expect_err("refused");
        assert!(refusal.message.contains("git fsck"), "{tool}: {refusal:?}");
    }
    for (tool, request) in [
        ("list_markdown_files", json!({ "path": "notes" })),
        ("search_markdown", json!({ "query": "Gone" })),
        ("get_markdown_activity_log", json!({})),
    ] {
        assert!(server.call(tool, request).is_ok(), "{tool}");
    }
    assert_eq!(FileTree::read(&scene), before);
}
