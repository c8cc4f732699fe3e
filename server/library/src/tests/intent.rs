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
