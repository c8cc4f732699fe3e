//! An intent that is read is the one that was written, and a torn one is none.

use gix::{ObjectId, objs::tree::EntryKind};

use super::Intent;
use crate::{library::tree::Kept, path::LibraryPath};

fn id(digit: char) -> ObjectId {
    ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap()
}

fn intents() -> [Intent; 2] {
    let create = Intent {
        branch: "refs/heads/main".into(),
        base: None,
        next: id('a'),
        path: LibraryPath::parse("notes/ä b.md").unwrap(),
        old: None,
        new: Some(id('b')),
        kept_before: None,
        kept_after: Some(Kept {
            blob: id('b'),
            mode: EntryKind::Blob.into(),
        }),
        beside: Some(".tabellion-content".into()),
        folders: 1,
        log_line: "Tabellion <t@l> 1 +0000\tcommit: write: notes/ä b.md".into(),
    };
    let delete = Intent {
        base: Some(id('c')),
        old: create.new,
        new: None,
        kept_before: Some(Kept {
            blob: id('b'),
            mode: EntryKind::BlobExecutable.into(),
        }),
        kept_after: None,
        beside: None,
        folders: 0,
        ..create.clone()
    };
    [create, delete]
}

#[test]
fn what_is_rendered_is_parsed() {
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
