//! Every record survives rendering and parsing, one line per field.

use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::{Record, RecordedCall, ToolDetails};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~]{0,40}",
        "(\n|\r|\t|\\\\| |\n\nTabellion-Tool: x\n|\u{202e}|\u{200b}|\\\\n|\\\\u\\{20\\}|a|ä|\u{85}|\u{2028}){0,12}",
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let option = || proptest::option::of(text());
    let words = (text(), option(), option(), text(), option(), option());
    let details = proptest::collection::btree_map(text(), text(), 1..3);
    let content = || proptest::option::of("[0-9a-f]{40}");
    let documents = proptest::collection::vec((text(), content(), content()), 1..4);
    let details = proptest::option::of(details);
    let call = (text(), option()).prop_map(|(execution, session)| RecordedCall { execution, session });
    let call = (option(), proptest::option::of(call));
    let all = (words, documents, details, call, 0_i64..4_102_444_800_000);
    all.prop_map(|(words, documents, details, (caller, call), millis)| {
        let (operation, tool, client, summary, key, request) = words;
        let paths = documents.iter().map(|(path, ..)| path.clone()).collect();
        let tool_details = details.map(|details| ToolDetails {
            details: details.into_iter().map(|(name, value)| (name, value.into())).collect(),
            contents: documents.into_iter().map(|(_, before, after)| [before, after]).collect(),
        });
        let time = DateTime::<Utc>::from_timestamp_millis(millis).unwrap();
        Record { operation, paths, tool, client, time, summary, key, request, caller, call, tool_details }
    })
}

proptest! {
    #[test]
    fn parse_inverts_render(record in record()) {
        let message = record.render();
        prop_assert_eq!(Record::parse(&message), Some(record));
    }

    #[test]
    fn each_value_is_one_line(record in record()) {
        let message = record.render();
        let (subject, trailers) = message.split_once("\n\n").unwrap();
        prop_assert!(!subject.contains('\n'));
        prop_assert!(subject.chars().count() <= super::MAX_SUBJECT_CHARACTERS);
        prop_assert!(trailers.lines().all(|line| line.starts_with("Tabellion-")));
        prop_assert!(!message.chars().any(|c| c != '\n' && super::hides(c)));
    }

    #[test]
    fn any_text_is_no_panic(text in text()) {
        let _ = Record::parse(&text);
    }
}

#[test]
fn messages_of_people_are_no_entries() {
    for message in
        ["", "fix\n", "write: a.md\n\nTabellion-Operation: write\n", "a\n\nTabellion-Path: x\n\nbye\n"]
    {
        assert_eq!(Record::parse(message), None, "{message:?}");
    }
}

#[test]
fn git_can_add_a_trailer_of_its_own() {
    let record = Record {
        operation: "append".into(),
        paths: vec!["notes/ä b.md".into()],
        tool: Some("edit_markdown".into()),
        client: None,
        time: DateTime::from_timestamp_millis(1_700_000_000_123).unwrap(),
        summary: "append: +1 line\nTabellion-Tool: forged".into(),
        key: None,
        request: None,
        caller: None,
        call: None,
        tool_details: None,
    };
    let message = record.render();
    assert_eq!(
        message,
        "append: notes/ä b.md\n\nTabellion-Operation: append\nTabellion-Path: notes/ä b.md\n\
         Tabellion-Tool: edit_markdown\nTabellion-Time: 2023-11-14T22:13:20.123Z\n\
         Tabellion-Summary: append: +1 line\\nTabellion-Tool: forged\n"
    );
    assert_eq!(Record::parse(&(message + "Signed-off-by: Ann <ann@example.com>\n")), Some(record));
}
