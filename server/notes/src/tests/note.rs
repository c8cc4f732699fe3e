//! Documents as notes.

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use crate::{Note, Problem, derived_id, file_name, is_note, title_of};

fn parse(text: &str) -> Note {
    Note::parse("notes/plan.md", text.as_bytes())
}

#[test]
fn titles() {
    let long = "é".repeat(300);
    for (text, title) in [
        ("---\ntitle: From here\n---\n# Heading\n", "From here"),
        ("---\ntitle: 2026\n---\n", "2026"),
        ("---\ntitle: '  '\n---\n\n## A *second* level\n\ntext", "A second level"),
        ("\nfirst line\n\n# Heading\n", "plan"),
        ("---\n\n<!-- lint -->\n[a]: b\n\nHeading\n===\n", "Heading"),
        ("#\n\n## Second\n", "plan"),
        ("\n  first line \nsecond", "plan"),
        ("```\n# no heading\n```\n", "plan"),
        ("", "plan"),
        (&long, "plan"),
    ] {
        assert_eq!(parse(text).title, title, "{text:?}");
    }
    // Front matter and names as tools write them.
    for (content, made, sensitive) in [
        ("\n  first line \nsecond", "first line", "note"),
        ("text\n\n# Heading\n", "text", "note"),
        ("# Heading\n\ntext", "Heading", "Heading"),
        ("```\ncode\n```\n", "code", "note"),
        ("***\n\n> - quoted\n", "quoted", "note"),
        ("1984", "1984", "note"),
        (" \n---\n", "note", "note"),
        (&long, &long[..400], "note"),
    ] {
        for (member, title) in [("", made), ("sensitive: true\n", sensitive)] {
            let text = format!("---\nid: {}\n{member}---\n{content}", Uuid::nil());
            let by_tool = Note::parse("notes/a-00000000.md", text.as_bytes());
            assert_eq!(by_tool.title, title, "{text:?}");
            assert_eq!(title_of(&by_tool.metadata, content), title, "{text:?}");
            let heading = if title == "Heading" { title } else { "plan" };
            assert_eq!(parse(&text).title, heading, "a person's file: {text:?}");
        }
    }
    for path in ["X.mdx", "deep/X.markdown", "X.md", "X"] {
        assert_eq!(Note::parse(path, b"").title, "X", "{path}");
    }
}

#[test]
fn front_matter_is_read_as_people_write_it() {
    for (yaml, key, read) in [
        ("tags: [a, '#b', a, 3]", "tags", json!(["a", "b", "3"])),
        ("tags: a, b c", "tags", json!(["a", "b", "c"])),
        ("Tags: [a]", "tags", json!(["a"])),
        ("Version: 7", "version", json!(null)),
        ("tags:\n  - #lost\n  - kept\n  - {a: b}", "tags", json!(["kept", { "a": "b" }])),
        ("agent: writer@1.2", "agent", json!({ "name": "writer", "version": "1.2" })),
        ("agent: {name: writer, version: 2}", "agent", json!({ "name": "writer", "version": "2" })),
        ("created_at: 2026-01-02", "created_at", json!("2026-01-02T00:00:00Z")),
        ("created_at: 2026-01-02 03:04", "created_at", json!("2026-01-02T03:04:00Z")),
        ("created_at: 2026-01-02T03:04:05.25+01:00", "created_at", json!("2026-01-02T02:04:05Z")),
        ("version: 7", "version", json!(7)),
        ("id: 5B0D6C1E-0C8F-4F0A-8A43-1B1F6E0E5A77", "id", json!("5b0d6c1e-0c8f-4f0a-8a43-1b1f6e0e5a77")),
        ("aliases: [x]", "aliases", json!(["x"])),
        ("source: ~", "source", json!(null)),
    ] {
        let note = parse(&format!("---\n{yaml}\n---\n"));
        assert_eq!(note.problems, [], "{yaml}");
        let members = note.metadata.members();
        assert_eq!(members.get(key).cloned().unwrap_or_default(), read, "{yaml}");
    }
}

#[test]
fn problems_are_said_and_hide_nothing() {
    for (text, problem, title) in [
        ("---\nid: 12\ntitle: T\n---\n", "`id` is left out: it should be a UUID", "T"),
        (
            "---\nversion: 0\ntitle: T\n---\n",
            "`version` is left out: it should be a number from 1 to 4503599627370496",
            "T",
        ),
        (
            "---\nversion: 20261130123045123\ntitle: T\n---\n",
            "`version` is left out: it should be a number from 1 to 4503599627370496",
            "T",
        ),
        (
            "---\nlinks: [{to: 5b0d6c1e-0c8f-4f0a-8a43-1b1f6e0e5a77, relation: r}, x]\n---\nT",
            "`links[2]` is left out: it should be a link with `to`, the id of a note, and `relation`",
            "plan",
        ),
        (
            "---\ntitle: [\n---\n# Heading\n",
            "line 3, column 1: the front matter is not valid YAML: while parsing a node, did not find expected node content",
            "Heading",
        ),
    ] {
        let note = parse(text);
        assert_eq!((note.title.as_str(), note.problems.len()), (title, 1), "{:?}", note.problems);
        assert_eq!(note.problems[0].to_string(), problem);
    }
    for text in [
        "---\n\nFirst.\n\n---\n\nSecond.\n",
        "---\ntitle: Notes: on #locks\n---\nText\n",
        "+++\na = 1\n+++\nText\n",
    ] {
        let note = parse(text);
        assert_eq!((note.content(), note.front_matter_bytes(text.len())), (text, 0), "{text:?}");
    }
    let note = Note::parse("a.md", b"a \xff b");
    assert_eq!((note.problems.as_slice(), note.content()), (&[Problem::NotUtf8][..], "a \u{fffd} b"));
}

#[test]
fn a_note_that_may_be_sensitive_is() {
    for (front_matter, is_sensitive) in [
        ("sensitive: true\n---", true),
        ("sensitive: maybe\n---", true),
        ("sensitive: false\n---", false),
        ("sensitive: Off\n---", false),
        ("Sensitive: true\n---", true),
        ("sensitive: false\nSENSITIVE: true\n---", true),
        ("sensitive: ~\n---", false),
        ("'Sensitive ' : true\n---", true),
        ("sensitive: true\ntitle: Q6: plan\n---", true),
        ("sensitive: no # yet\ntitle: Q6: plan\n---", false),
        ("sensitive: true\nauthor: @ann\n---", true),
        ("sensitive: true\ntags: [#a, b]\n---", true),
        ("\tsensitive: true\n---", true),
        ("sensitive: false\nsensitive: true\n---", true),
        ("{title: [, \"sensitive\": true}\n---", true),
        ("title: T\nsensitive:true\n---", true),
        ("title: T\r\nsensitive: true\r\n...\r\n", true),
        ("title: T\nsensitive: true\n...\nText\n\n---\n", true),
        ("sensitive: true\n\nText", true),
        ("title: T\n\nsensitive: true", true),
        ("sensitive: false\n\nText", false),
        ("\nIs it sensitive: true?\n", false),
    ] {
        for start in ["---\n", "\u{feff}---\r\n"] {
            let text = format!("{start}{front_matter}\nsecret\n");
            assert_eq!(parse(&text).metadata.sensitive, is_sensitive, "{text:?}");
        }
    }
    let toml = "+++\nsensitive = true\n+++\n";
    assert!(parse(toml).metadata.sensitive);
}

#[test]
fn front_matter_that_is_not_closed_is_a_problem_and_a_thematic_break_is_none() {
    for (text, line) in [
        ("---\ntitle: T\n...\n\nText\n", Some(3)),
        ("---\r\ntitle: T\r\ntags:\r\n  - a\r\n...\r\n", Some(5)),
        ("---\ntitle: T\n\nText\n", Some(1)),
        ("---\n# mine\nTags: [a]\nText\n", Some(1)),
        ("+++\ntitle = 'T'\n\nText\n", Some(1)),
        ("---\n\nText\n\ntitle: T\n", None),
        ("---\nNote: this is prose\n", None),
        ("---\nText\n...\n", None),
        ("Text\n...\n", None),
    ] {
        let note = parse(text);
        let lines = note.problems.iter().map(|problem| match problem {
            Problem::FrontMatter { line, message } if message.contains(&format!("line {line}:")) => *line,
            other => panic!("{other}"),
        });
        assert_eq!(lines.collect::<Vec<_>>(), Vec::from_iter(line), "{text:?}");
        assert_eq!(note.content(), text);
    }
}

#[test]
fn ids_names_and_versions() {
    let id = derived_id("notes/plan.md");
    assert_eq!(parse("").id(), id);
    assert_ne!(derived_id("notes/Plan.md"), id);
    assert_eq!(id.get_version_num(), 5);
    let suffix = format!("-{}.md", &id.to_string()[..8]);
    for (title, slug) in [
        ("A plan: for 2026!", "a-plan-for-2026"),
        ("../../etc/passwd", "etc-passwd"),
        ("猫 Cafe\u{301}", "猫-café"),
        ("…", "note"),
        (
            &"word ".repeat(40),
            "word-word-word-word-word-word-word-word-word-word-word-word-word-word-word-word",
        ),
        (&"é".repeat(90), &"é".repeat(40)),
    ] {
        assert_eq!(file_name(title, id), format!("notes/{slug}{suffix}"));
    }
    let versions =
        |text: &str| [None, Some(3), Some(7)].map(|left| parse(text).metadata.current_version(left));
    assert_eq!(versions("by hand"), [1, 4, 8]);
    assert_eq!(versions("---\nversion: 4\n---\n"), [4, 5, 8]);
    let notes = ["a.md", "workflows.md", "notes/workflows/a.md", "workflows/a.md"].map(is_note);
    assert_eq!(notes, [true, true, true, false]);
}

proptest! {
    #[test]
    fn any_bytes_are_a_note(bytes in proptest::collection::vec(any::<u8>(), 0..200), yaml in "[a-z: \\[\\]{}&*'\"\n-]{0,60}") {
        let text = [b"---\n", yaml.as_bytes(), b"\n---\n", &bytes].concat();
        for bytes in [&bytes, &text] {
            let note = Note::parse("notes/a.md", bytes);
            prop_assert!(!note.title.trim().is_empty());
            prop_assert!(note.title.chars().count() <= crate::MAX_TITLE_CHARS && !note.title.contains(char::is_control));
        }
    }
}
