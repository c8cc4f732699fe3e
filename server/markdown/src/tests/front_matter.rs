//! Front matter: tables of edits, and properties over documents with and without it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::properties::cases;
use crate::{FrontMatter, FrontMatterError};

fn set(text: &str, key: &str, value: Value) -> Result<String, FrontMatterError> {
    FrontMatter::parse(text)?.set(key, &value)
}

fn remove(text: &str, key: &str) -> Result<String, FrontMatterError> {
    FrontMatter::parse(text)?.remove(key)
}

#[test]
fn a_body_is_joined_below_front_matter() {
    for (text, expected) in [
        ("---\na: 1\n---", "---\na: 1\n---\nnew"),
        ("---\r\na: 1\r\n---", "---\r\na: 1\r\n---\r\nnew"),
        ("---\na: 1\n---\nold", "---\na: 1\n---\nnew"),
        ("---\na: [\n---", "---\na: [\n---\nnew"),
        ("\u{feff}old", "\u{feff}new"),
        ("old", "new"),
        ("", "new"),
    ] {
        assert_eq!(crate::with_body(text, "new"), expected, "{text:?}");
    }
    assert_eq!(crate::with_body("---\na: 1\n---", ""), "---\na: 1\n---");
}

#[test]
fn values_are_those_of_yaml() {
    for (yaml, expected) in [
        ("a: 1", json!(1)),
        ("a: -1.5e3", json!(-1500.0)),
        ("a: 18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("a: 007", json!("007")),
        ("a: 0x10", json!("0x10")),
        ("a: 2026-11-25", json!("2026-11-25")),
        ("a: yes", json!("yes")),
        ("a: True", json!(true)),
        ("a: ~", json!(null)),
        ("a:", json!(null)),
        ("a: # nothing", json!(null)),
        ("a: '1'", json!("1")),
        ("a: !!str 1", json!("1")),
        ("a: \"\\u00e4\\n\"", json!("ä\n")),
        ("a: b # c", json!("b")),
        ("a: b#c", json!("b#c")),
        ("a: [b, 'c, d', 2]", json!(["b", "c, d", 2])),
        ("a:\n- b\n- c: 1\n  d: [e]", json!(["b", { "c": 1, "d": ["e"] }])),
        ("a: |\n  b\n   c\n", json!("b\n c\n")),
        ("a: >-\n  b\n  c\n", json!("b c")),
        ("b: &x [1, 2]\na: *x", json!([1, 2])),
        ("\"a\": 1", json!(1)),
        ("{ a: 1, b: 2 }", json!(1)),
    ] {
        let text = format!("---\n{yaml}\n---\nbody\n");
        let front_matter = FrontMatter::parse(&text).unwrap_or_else(|error| panic!("{yaml:?}: {error}"));
        assert_eq!(front_matter.get("a"), Some(expected), "{yaml:?}");
        assert_eq!(front_matter.body(), "body\n");
    }
}

#[test]
fn documents_without_front_matter_have_no_keys() {
    for text in [
        "",
        "# A\n",
        "---\n",
        "---\na: 1\n",
        "----\na: 1\n----\n",
        "\n---\na: 1\n---\n",
        "---\na: 1\n...\n# A\n\n---\n",
    ] {
        let front_matter = FrontMatter::parse(text).unwrap();
        assert!(!front_matter.is_present(), "{text:?}");
        assert_eq!((front_matter.values(), front_matter.body()), (Map::new(), text));
    }
    let empty = FrontMatter::parse("---\n# nothing\n---\n").unwrap();
    assert!(empty.is_present());
    assert_eq!((empty.values(), empty.body()), (Map::new(), ""));
}

#[test]
fn a_key_is_changed_and_all_else_stays() {
    let links = json!([{ "id": "x", "to": "y", "metadata": { "a": [1] } }]);
    let rows: Vec<(&str, &str, Option<Value>, &str)> = vec![
        // New keys.
        ("", "a", Some(json!(1)), "---\na: 1\n---\n"),
        ("# A\r\n", "a", Some(json!("b")), "---\r\na: b\r\n---\r\n# A\r\n"),
        ("\u{feff}# A\n", "a", Some(json!([])), "\u{feff}---\na: []\n---\n# A\n"),
        ("---\n---\n", "a", Some(json!(null)), "---\na: null\n---\n"),
        ("---\n# c\n---\n", "a", Some(json!(true)), "---\n# c\na: true\n---\n"),
        ("---\nb: 1\n---", "a", Some(json!({})), "---\nb: 1\na: {}\n---"),
        ("---\n  b: 1\n---\n", "a", Some(json!(2)), "---\n  b: 1\n  a: 2\n---\n"),
        ("---\rb: 1\r---\rc\r", "a", Some(json!([2])), "---\rb: 1\ra:\r  - 2\r---\rc\r"),
        ("---\nb: |+\n  c\n\n---\n", "a", Some(json!(1)), "---\nb: |+\n  c\n\na: 1\n---\n"),
        (
            "---\nb: 1\n---\n",
            "links",
            Some(links.clone()),
            "---\nb: 1\nlinks:\n  - id: x\n    to: \"y\"\n    metadata:\n      a:\n        - 1\n---\n",
        ),
        // Other values, in the style of the old one.
        ("---\na: 1 # c\nb: 2\n---\n", "a", Some(json!(3)), "---\na: 3 # c\nb: 2\n---\n"),
        ("---\na:   'x'\n---\n", "a", Some(json!("it's")), "---\na:   'it''s'\n---\n"),
        ("---\na: \"x\"\n---\n", "a", Some(json!("y z")), "---\na: \"y z\"\n---\n"),
        ("---\na: 'x'\n---\n", "a", Some(json!("y\nz")), "---\na: \"y\\nz\"\n---\n"),
        ("---\na: 'x'\n---\n", "a", Some(json!(1)), "---\na: 1\n---\n"),
        ("---\na: !!str 1\n---\n", "a", Some(json!(1)), "---\na: 1\n---\n"),
        ("---\na: [x, y] # c\n---\n", "a", Some(json!(["x"])), "---\na: [x] # c\n---\n"),
        ("---\na: { x: 1 } # c\n---\n", "a", Some(json!(null)), "---\na: null # c\n---\n"),
        ("---\na: &x [ 1 ] # c\n---\n", "a", Some(json!([])), "---\na: [] # c\n---\n"),
        ("---\na:\nb: 1\n---\n", "a", Some(json!("x")), "---\na: x\nb: 1\n---\n"),
        ("---\na: # c\nb: 1\n---\n", "a", Some(json!("x")), "---\na: x # c\nb: 1\n---\n"),
        ("---\n\"a\" : 1\n---\n", "a", Some(json!(2)), "---\n\"a\" : 2\n---\n"),
        ("---\na: |\n  x\n\nb: 1\n---\n", "a", Some(json!(2)), "---\na: 2\n\nb: 1\n---\n"),
        ("---\na: x\n  y\nb: 1\n---\n", "a", Some(json!(2)), "---\na: 2\nb: 1\n---\n"),
        ("---\r\na: x\r\n---\r\n", "a", Some(json!(["b"])), "---\r\na:\r\n  - b\r\n---\r\n"),
        ("---\na: # c\n- x\nb: 1\n---\n", "a", Some(json!(2)), "---\na: 2 # c\nb: 1\n---\n"),
        ("---\na:\n  x: 1\nb: 1\n---\n", "a", Some(json!([2])), "---\na:\n  - 2\nb: 1\n---\n"),
        // Lists, of which only the differing items are written.
        (
            "---\na: # c\n- 'x' # d\n# e\n- y\nb: 1\n---\n",
            "a",
            Some(json!(["x", "z", "y"])),
            "---\na: # c\n- 'x' # d\n# e\n- z\n- y\nb: 1\n---\n",
        ),
        (
            "---\na:\n    - 'x' # d\n    - y\n---\n",
            "a",
            Some(json!(["x", "y", "z"])),
            "---\na:\n    - 'x' # d\n    - y\n    - z\n---\n",
        ),
        (
            "---\na:\n  - 'x' # d\n  - y\n# e\n---\n",
            "a",
            Some(json!(["x"])),
            "---\na:\n  - 'x' # d\n# e\n---\n",
        ),
        ("---\na:\n  - x # d\nb: 1\n---\n", "a", Some(json!([])), "---\na: [] # d\nb: 1\n---\n"),
        (
            "---\nlinks:\n  - {id: 'w'}\n---\n",
            "links",
            Some(json!([{ "id": "w" }, { "id": "x", "n": 1 }])),
            "---\nlinks:\n  - {id: 'w'}\n  - id: x\n    \"n\": 1\n---\n",
        ),
        // Removal.
        ("---\na: 1\n---\n# A\n", "a", None, "# A\n"),
        ("\u{feff}---\na: 1\n---\n", "a", None, "\u{feff}"),
        ("---\n# c\na: 1\n---\n", "a", None, "---\n# c\n---\n"),
        ("---\na: 1 # c\nb: 2\n---\n", "a", None, "---\nb: 2\n---\n"),
        ("---\nb: 2\na: [1,\n  2]\n---\n", "a", None, "---\nb: 2\n---\n"),
        ("---\na: |\n  x\n\n  y\n# c\nb: 2\n---\n", "a", None, "---\n# c\nb: 2\n---\n"),
        ("---\na: |2\n   x\n  y\nb: 2\n---\n", "a", None, "---\nb: 2\n---\n"),
        ("---\na: |\nb: 2\n---\n", "a", None, "---\nb: 2\n---\n"),
        ("---\na:\n- b: >-\n    c\n\n    d\nb: 2\n---\n", "a", None, "---\nb: 2\n---\n"),
        ("---\nb: 2\n---\n", "a", None, "---\nb: 2\n---\n"),
    ];
    for (text, key, value, expected) in rows {
        let new = match &value {
            Some(value) => set(text, key, value.clone()),
            None => remove(text, key),
        };
        assert_eq!(new.as_deref(), Ok(expected), "{key}: {value:?} in {text:?}");
    }
}

#[test]
fn an_error_has_its_line() {
    for (text, line, part) in [
        ("---\na: [1\n---\n", 3, "not valid YAML"),
        ("---\na: 1\nb: c: d\n---\n", 3, "not valid YAML"),
        ("\u{feff}---\r\na: 1\r\nb: c: d\r\n---\r\n", 3, "not valid YAML"),
        ("---\na: 1\nb: 2\na: 3\n---\n", 4, "in lines 2 and 4"),
        ("---\nx:\n  a: 1\n  a: 3\n---\n", 4, "in lines 3 and 4"),
        ("---\n- a\n---\n", 2, "but is a list"),
        ("---\nonce upon a time\n---\n", 2, "but is a text"),
        ("---\n[a]: 1\n---\n", 2, "a key is a list or a map"),
        ("---\na: &x [*x]\n---\n", 2, "inside of its own anchor"),
        ("---\na: *x\n---\n", 2, "not valid YAML"),
        ("+++\na = 1\n+++\n", 1, "is TOML"),
    ] {
        let error = FrontMatter::parse(text).expect_err(text);
        assert_eq!(error.line(), line, "{text:?}: {error}");
        assert!(error.to_string().contains(part), "{text:?}: {error}");
    }
    // Readable front matter that no splice can change.
    for (text, line) in
        [("---\n{ a: 1 }\n---\n", 2), ("---\nb: 1\na: &x 1\nc: *x\n---\n", 3), ("---\n? a\n: 1\n---\n", 2)]
    {
        let layout = FrontMatterError::Layout { key: "a".into(), line };
        assert_eq!(set(text, "a", json!([2])), Err(layout.clone()), "{text:?}");
    }
    let bomb = "---\na: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n\
                c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n\
                e: [*d, *d, *d, *d, *d, *d, *d, *d, *d]\n---\n";
    let error = FrontMatter::parse(bomb).expect_err("too much");
    assert!(error.to_string().contains("aliases repeat too much"), "{error}");
    let deep = format!("---\na: {}{}\n---\n", "[".repeat(100), "]".repeat(100));
    let error = FrontMatter::parse(&deep).expect_err("too deep");
    assert!(error.to_string().contains("nested too deeply"), "{error}");
    for (text, part) in [
        (format!("---\na: [{}]\n---\n", "1,".repeat(60_000)), "too many values"),
        (format!("---\na: {}\n---\n", "x".repeat(1 << 20)), "at most 1048576 bytes"),
    ] {
        let error = FrontMatter::parse(&text).expect_err("too large");
        assert!(error.to_string().contains(part), "{error}");
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 ._:#-]{0,12}",
        any::<String>(),
        prop::sample::select(vec![
            "",
            "yes",
            "null",
            "~",
            "1",
            "1.0",
            "0x1f",
            "2026-11-25T02:03:04Z",
            "- a",
            "a: b",
            "a #b",
            "---",
            "*a",
            "&a",
            "!a",
            "|",
            "'",
            "\"",
            "\\",
            "a\nb\n",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "%a",
            "@a",
            "`a`",
            "?",
            "<<",
            "a:",
            "12345678-1234-1234-1234-123456789abc",
        ])
        .prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Lines of front matter, each with separate keys, as a person writes them.
const LINES: &[&str] = &[
    "title: A note # with a comment",
    "'quoted key':   \"double\"",
    "single: 'it''s'",
    "date: 2026-11-25",
    "tags: [a, 'b c', d]",
    "aliases:\n- one # the first\n# between\n- two",
    "nested:\n    deep:\n        - x: 1\n          y: [2]\n        - z",
    "literal: |\n  first\n\n  third\n",
    "kept: |+\n  first\n\n",
    "folded: >-\n    one\n    two",
    "empty:",
    "nothing: # but a comment",
    "long: a text\n  that goes on",
    "# a comment",
    "",
    "map: { a: 1, b: [c] }",
    "several: [a,\n  b,\n  c]",
    "ä: ö",
];

fn document() -> impl Strategy<Value = String> {
    let lines = prop::sample::subsequence(LINES, 0..LINES.len()).prop_shuffle();
    let body = prop::sample::select(vec!["", "# A\n\ntext\n", "no end", "---\n", "\n\n", "a: 1\n---\n"]);
    let ending = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    (lines, body, ending, any::<bool>(), any::<bool>()).prop_map(
        |(lines, body, ending, has_bom, has_some)| {
            let front_matter = if has_some && !lines.is_empty() {
                let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
                format!("---\n{lines}---\n")
            } else {
                String::new()
            };
            let bom = if has_bom { "\u{feff}" } else { "" };
            format!("{bom}{front_matter}{body}").replace('\n', ending)
        },
    )
}

fn keys(text: &str) -> Vec<String> {
    FrontMatter::parse(text).expect("front matter").values().keys().cloned().collect()
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn a_value_that_is_set_is_read(document in document(), key in text(), value in value()) {
        let new = set(&document, &key, value.clone()).expect("set");
        prop_assert_eq!(FrontMatter::parse(&new).expect("front matter").get(&key), Some(value));
    }

    /// A new key is one splice that can be taken back.
    #[test]
    fn removing_a_new_key_restores_the_bytes(document in document(), key in "new[a-z]{1,8}", value in value()) {
        let new = set(&document, &key, value).expect("set");
        prop_assert_eq!(remove(&new, &key).expect("removed"), document);
    }

    /// Any existing key can be set to any value, and all other keys keep their bytes.
    #[test]
    fn other_keys_keep_their_bytes(document in document(), at in any::<prop::sample::Index>(), value in value()) {
        let keys = keys(&document);
        if keys.is_empty() {
            return Ok(());
        }
        let key = at.get(&keys);
        let new = set(&document, key, value.clone()).expect("set");
        let (old, now) = (FrontMatter::parse(&document).unwrap(), FrontMatter::parse(&new).unwrap());
        prop_assert_eq!(now.get(key), Some(value));
        prop_assert_eq!(now.body(), old.body());
        for line in LINES.iter().filter(|line| !line.is_empty()) {
            // Lines of the changed key are its own.
            let line = line.replace('\n', ending(&document));
            let is_own = FrontMatter::parse(&format!("---\n{}\n---\n", line.replace('\r', "\n").replace("\n\n", "\n")))
                .is_ok_and(|own| own.get(key).is_some());
            if !is_own && document.contains(&line) {
                prop_assert!(new.contains(&line), "{:?} is gone from {:?}", line, new);
            }
        }
        let removed = remove(&document, key).expect("removed");
        prop_assert_eq!(FrontMatter::parse(&removed).unwrap().get(key), None);
    }

    #[test]
    fn any_text_is_no_panic(yaml in "([a-c]: |[-\\[\\]{}&*|>'\"#, ]|\n|  |[a-z0-9]|\r|ä|\t){0,40}", value in value()) {
        let text = format!("---\n{yaml}\n---\nbody");
        if let Ok(front_matter) = FrontMatter::parse(&text) {
            for key in ["a", "new"] {
                if let Ok(new) = front_matter.set(key, &value) {
                    prop_assert_eq!(FrontMatter::parse(&new).expect("front matter").get(key), Some(value.clone()));
                }
                let _ = front_matter.remove(key);
            }
        }
    }
}

fn ending(text: &str) -> &'static str {
    match (text.contains("\r\n"), text.contains('\r')) {
        (true, _) => "\r\n",
        (_, true) => "\r",
        _ => "\n",
    }
}
