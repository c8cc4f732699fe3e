//! New notes, and changes of keys.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::values::{content, link, metadata};
use crate::{Metadata, Note, NoteError, put_link, render, replace_body, set};

fn parse(text: &str) -> Note {
    Note::parse("notes/a.md", text.as_bytes())
}

const HANDWRITTEN: &str = "---\n# mine\ntitle:  'Plan'   # keep\nnested: {a: 1}\ntags:\n- a\n---\nText\r\n";

#[test]
fn a_change_of_a_key_leaves_all_else() {
    let link =
        parse("---\nlinks: [{to: 5b0d6c1e-0c8f-4f0a-8a43-1b1f6e0e5a77, relation: r}]\n---\n").metadata.links;
    let linked = put_link(HANDWRITTEN, &link[0]).unwrap();
    let lines = "links:\n  - to: 5b0d6c1e-0c8f-4f0a-8a43-1b1f6e0e5a77\n    relation: r\n---\n";
    assert_eq!(linked, HANDWRITTEN.replacen("---\nText", &[lines, "Text"].concat(), 1));
    for (changes, from, to) in [
        (vec![("title", Some(json!("New")))], "'Plan'", "'New'"),
        (vec![("nested", None), ("title", None)], "title:  'Plan'   # keep\nnested: {a: 1}\n", ""),
    ] {
        assert_eq!(set(HANDWRITTEN, &changes).unwrap(), HANDWRITTEN.replace(from, to));
    }
    // A key is the same in any case, unless tools or people alone give it a meaning.
    for (before, key, value, after) in [
        ("Title: Old\n", "title", Some(json!("New")), "Title: New\n"),
        ("TAGS: [x]\na: 1\n", "tags", None, "a: 1\n"),
        ("Sensitive: true\nsensitive: true\n", "sensitive", Some(json!(false)), "sensitive: false\n"),
        ("SOURCE: a\nSource: b\n", "source", Some(json!("c")), "SOURCE: c\n"),
        ("Version: a\n", "version", Some(json!(2)), "Version: a\nversion: 2\n"),
        ("Mine: a\n", "mine", Some(json!("b")), "Mine: a\nmine: b\n"),
    ] {
        let text = |members| format!("---\n{members}---\nText");
        assert_eq!(set(&text(before), &[(key, value)]).unwrap(), text(after), "{before:?}");
    }
    assert_eq!(replace_body(HANDWRITTEN, "New").unwrap(), HANDWRITTEN.replace("Text\r\n", "New"));
}

#[test]
fn what_would_lose_something_is_refused() {
    let link =
        parse("---\nlinks: [{to: 5b0d6c1e-0c8f-4f0a-8a43-1b1f6e0e5a77, relation: r}]\n---\n").metadata.links;
    assert_eq!(put_link("---\nlinks: mine\n---\n", &link[0]), Err(NoteError::LinksAreNoList));
    assert!(matches!(set("---\na: [\n---\n", &[("b", None)]), Err(NoteError::FrontMatter(_))));
    let content = "---\na: 1\n---\n";
    assert_eq!(render(&Default::default(), content), Err(NoteError::ContentHasFrontMatter));
    assert_eq!(replace_body("x", content), Err(NoteError::ContentHasFrontMatter));
}

#[test]
fn new_front_matter_has_the_line_ending_of_the_content() {
    let metadata = Metadata { title: Some("Plan".into()), tags: vec!["a".into()], ..Metadata::default() };
    for (content, ending) in [("One\r\nTwo", "\r\n"), ("One\nTwo", "\n"), ("One", "\n"), ("One\rTwo", "\n")] {
        let front_matter = "---\ntitle: Plan\ntags:\n  - a\n---\n".replace('\n', ending);
        assert_eq!(render(&metadata, content).unwrap(), front_matter + content);
    }
}

proptest! {
    #[test]
    fn what_is_rendered_is_read(metadata in metadata(), content in content()) {
        let note = parse(&render(&metadata, &content).unwrap());
        prop_assert_eq!(&note.problems, &[]);
        prop_assert_eq!(&note.metadata, &metadata);
        prop_assert_eq!(note.content(), content);
    }

    #[test]
    fn one_more_link_is_all_that_changes(metadata in metadata(), content in content(), link in link()) {
        let text = put_link(&render(&metadata, &content).unwrap(), &link).unwrap();
        let mut note = parse(&text);
        prop_assert_eq!(note.content(), content);
        prop_assert_eq!(note.metadata.links.pop(), Some(link));
        prop_assert_eq!(&note.metadata, &metadata);
    }

    #[test]
    fn a_key_is_set_and_removed(metadata in metadata(), content in content(), value in ".{0,20}") {
        let text = render(&metadata, &content).unwrap();
        let changed = set(&text, &[("zz", Some(Value::from(value.as_str())))]).unwrap();
        let note = parse(&changed);
        prop_assert_eq!(note.metadata.others.get("zz"), Some(&Value::from(value)));
        prop_assert_eq!(set(&changed, &[("zz", None)]).unwrap(), text);
    }
}
