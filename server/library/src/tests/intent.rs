//! Parsing inverts rendering, and refuses torn intents.

use gix::{ObjectId, objs::tree::EntryKind};

use super::{Exchange, Intent, Logged};
use crate::{path::LibraryPath, tree::TreeEntry};

fn id(digit: char) -> ObjectId {
    ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap()
}

fn intents() -> [Intent; 2] {
    let kept = |blob, kind: EntryKind| TreeEntry { blob: id(blob), mode: kind.into() };
    let create = Exchange {
        path: LibraryPath::parse("notes/ä b.md").unwrap(),
        old: None,
        new: Some(id('b')),
        kept_before: None,
        kept_after: Some(kept('b', EntryKind::Blob)),
        aside: ".tabellion-content-0".into(),
        beside: true,
        folders: 1,
    };
    let delete = Exchange {
        path: LibraryPath::parse("a.md").unwrap(),
        old: create.new,
        new: None,
        kept_before: Some(kept('b', EntryKind::BlobExecutable)),
        kept_after: None,
        aside: "content-1".into(),
        beside: false,
        folders: 0,
    };
    let logged = |commit, line: &str| Logged { commit: id(commit), line: line.into() };
    let first = Intent {
        branch: "refs/heads/main".into(),
        base: None,
        commits: vec![logged('a', "Tabellion <t@l> 1 +0000\tcommit: write: notes/ä b.md")],
        objects: vec![id('a'), id('b')],
        documents: vec![create.clone()],
    };
    let second = Intent {
        base: Some(id('c')),
        commits: vec![logged('d', "one"), logged('e', "object")],
        objects: vec![],
        documents: vec![delete, create],
        ..first.clone()
    };
    [first, second]
}

#[test]
fn parse_inverts_render() {
    for intent in intents() {
        assert_eq!(Intent::parse(&intent.render()), Some(intent));
    }
}

#[test]
fn a_torn_or_changed_intent_is_none() {
    for intent in intents() {
        let text = intent.render();
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert_eq!(Intent::parse(&text[..end]), None, "cut at {end}");
        }
        assert_eq!(Intent::parse(&text.replace("main", "mein")), None);
    }
}

/// Each of these, with a digest that fits, had led recovery to files outside of the repository.
#[test]
fn an_intent_with_names_that_no_transaction_has_is_none() {
    let [_, second] = intents();
    let with_aside = |number: usize, aside: &str| {
        let mut intent = second.clone();
        intent.documents[number].aside = aside.into();
        intent
    };
    let beside = ["content-0", ".tabellion-content-../0", ".tabellion-content-"];
    let own = [
        "../../x",
        "/etc/x",
        "",
        ".",
        "content-+1",
        "content-01",
        "content-1/../../x",
        ".tabellion-content-0",
    ];
    let asides =
        own.map(|aside| with_aside(0, aside)).into_iter().chain(beside.map(|aside| with_aside(1, aside)));
    let branches = ["refs/heads/../../x", "refs/heads/a/../b", "HEAD", "refs/tags/a", "refs/heads/", "x"];
    let branches = branches.map(|branch| Intent { branch: branch.into(), ..second.clone() });
    for intent in asides.chain(branches) {
        assert_eq!(Intent::parse(&intent.render()), None, "{intent:?}");
    }
}
