//! A contract with roles, gates and an error body, served by the example `bulletin` of `tabellion-codegen`.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Map, Value, json};
use tabellion_conformance::Target;

use crate::{
    http::Server,
    support::{self, Library, TABELLION, ended, exited},
};

/// A call, the name of the error that refuses it (or none), and the expected part of the result.
type Calls<'a> = &'a [(&'a str, &'a str, Option<&'a str>, &'a str)];

const TEA: &str = r#"{ "path": "tea.md", "text": "Tea at five in the garden." }"#;
const TEA_WITH_REASON: &str =
    r#"{ "path": "tea.md", "text": "Tea at five in the garden.", "reason": "Ada asked" }"#;
const READ_TEA: &str = r#"{ "path": "tea.md" }"#;
const READ_WAITING: &str = r#"{ "path": "waiting/tea.md" }"#;

const AGENT: Calls<'_> = &[
    ("post_notice", TEA, Some("VIOLATION"), r#""clause":"agents_say_why""#),
    ("post_notice", TEA_WITH_REASON, None, r#""path":"waiting/tea.md","status":"waiting""#),
    ("read_notice", READ_TEA, Some("INVALID"), r#""reason":"not_found""#),
    ("read_notice", READ_WAITING, None, r#""text":"Tea at five in the garden.""#),
    (
        "post_notice",
        r#"{ "path": "tea.md", "text": "…", "urgent": true }"#,
        Some("VIOLATION"),
        r#""gates":["accountability","manners"],"requires_review":true"#,
    ),
];
const OWNER: Calls<'_> = &[
    ("post_notice", TEA, None, r#""path":"tea.md","status":"posted""#),
    (
        "post_notice",
        r#"{ "path": "tea.md", "text": "Tea." }"#,
        Some("VIOLATION"),
        r#""clause":"others_keep_their_words""#,
    ),
    ("read_notice", READ_TEA, None, r#""text":"Tea at five in the garden.""#),
    ("remove_notice", READ_TEA, None, r#""path":"tea.md""#),
];
const REVIEWER: Calls<'_> = &[
    ("post_notice", TEA, Some("AUTH_REQUIRED"), r#""reason":"role","needs":["owner","agent"]"#),
    ("read_notice", READ_TEA, Some("INVALID"), ""),
];
const READER: Calls<'_> = &[
    ("remove_notice", READ_TEA, Some("AUTH_REQUIRED"), r#""reason":"role","needs":["owner","agent"]"#),
    ("read_notice", READ_TEA, Some("INVALID"), ""),
];
const READING_AGENT: Calls<'_> = &[
    ("post_notice", TEA_WITH_REASON, Some("AUTH_REQUIRED"), r#""reason":"scope","needs":"write""#),
    ("read_notice", READ_TEA, Some("INVALID"), ""),
];

fn bulletin(library: &Library) -> Command {
    let mut command = Command::new(TABELLION);
    command.arg("bulletin").arg(library.root()).stderr(Stdio::inherit());
    command
}

/// Makes the calls; returns the number of changes.
fn make(target: &mut Target, calls: Calls<'_>) -> usize {
    let mut changes = 0;
    for (tool, arguments, error, expected) in calls {
        let arguments: Value = serde_json::from_str(arguments).expect("arguments");
        let answer = target.call(tool, arguments.clone(), Map::new()).expect("an answer");
        let result = &answer["result"];
        let (content, meta) = (&result["structuredContent"], &result["_meta"]);
        assert!(content.to_string().contains(expected), "{tool} {arguments}: {answer}");
        let body = &content["error"];
        assert_eq!(body["code"].as_str(), *error, "{tool} {arguments}: {answer}");
        assert_eq!(result["isError"], json!(error.is_some()), "{answer}");
        if error.is_some() {
            assert_eq!(body["message"], result["content"][0]["text"], "{answer}");
            assert_eq!(meta["tabellion/error"]["name"], body["code"], "{answer}");
            let violates = *error == Some("VIOLATION");
            let violations = body["violations"].as_array().expect("a list");
            assert_eq!(violations.is_empty(), !violates, "{answer}");
        } else {
            assert_eq!(meta["tabellion/gates"]["approved"], true, "{answer}");
            changes += usize::from(*tool != "read_notice");
        }
    }
    changes
}

#[test]
fn a_client_on_standard_input_has_the_role_that_the_operator_says_or_is_an_agent() {
    for (role, calls) in [
        (None, AGENT),
        (Some("agent"), AGENT),
        (Some("owner"), OWNER),
        (Some("reviewer"), REVIEWER),
        (Some("reader"), READER),
    ] {
        let library = Library::empty();
        let mut command = bulletin(&library);
        command.args(role.map(|role| format!("--as={role}")));
        let mut target = support::Server::start(&mut command).target;
        let changes = make(&mut target, calls);
        assert!(exited(target).success());
        // The first commit is the library's.
        let commits = library.ledger().commits.len();
        assert_eq!(commits, 1 + changes, "{role:?}");
    }
}

#[test]
fn a_role_that_there_is_not_and_http_without_keys_do_not_start() {
    let library = Library::empty();
    for (arguments, expected) in [
        (&["--as=king"][..], "choose owner, reviewer, reader, agent"),
        (&["127.0.0.1:0"], "wants to know its callers"),
    ] {
        let (code, _, said) = ended(bulletin(&library).args(arguments));
        assert!(code != Some(0) && said.contains(expected), "{said}");
    }
}

#[test]
fn the_list_of_tools_says_tags_gates_and_whether_callers_must_be_known() {
    let library = Library::empty();
    let mut target = support::Server::start(&mut bulletin(&library)).target;
    let answer = target.request("tools/list", json!({})).expect("an answer");
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let said: Vec<_> = tools.iter().map(|tool| tool["_meta"].clone()).collect();
    let rules = |tags: Value, gates: Value| json!({ "tags": tags, "gates": gates, "requires_auth": true });
    let expected = [
        rules(json!(["notices", "reading"]), json!(["discretion"])),
        rules(json!(["notices"]), json!(["accountability", "manners"])),
        rules(json!([]), json!(["manners"])),
    ];
    assert_eq!(said, expected);
    assert!(exited(target).success());
}

/// Makes a key with these arguments; returns true if it was made, the key, and standard error.
fn key(keys: &Path, arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(TABELLION);
    command.args(["key", "create", "--name", "Ada", "--keys"]).arg(keys);
    let (code, secret, said) = ended(command.args(arguments));
    (code == Some(0), secret.trim().to_owned(), said)
}

#[test]
fn over_http_the_key_says_who_calls() {
    let library = Library::empty();
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys.json");
    let key = |arguments: &[&str]| key(&keys, arguments);
    for refused in
        [&["--agent", "helper@1", "--scope", "review"][..], &["--agent", "helper"], &["--agent", "@1"]]
    {
        let (is_made, _, said) = key(refused);
        assert!(!is_made && said.contains("agent"), "{refused:?}: {said}");
    }
    let all = [
        (&["--scope", "write"][..], OWNER),
        (&["--scope", "review"], REVIEWER),
        (&["--scope", "read"], READER),
        (&["--scope", "write", "--agent", "helper@1"], AGENT),
        (&["--scope", "read", "--agent", "helper@1"], READING_AGENT),
    ];
    let all = all.map(|(arguments, calls)| (key(arguments).1, calls));
    let mut command = bulletin(&library);
    let server = Server::start(command.arg("127.0.0.1:0").arg(&keys));
    let mut changes = 0;
    for (secret, calls) in &all {
        changes += make(&mut server.connect_with(secret), calls);
    }
    // Without a key, the caller is unknown.
    let answer = server.unconnected().initialize("2025-11-25");
    assert!(format!("{answer:?}").contains("401"), "{answer:?}");
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(library.ledger().commits.len(), 1 + changes);
}
