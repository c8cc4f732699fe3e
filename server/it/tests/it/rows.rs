//! A contract whose store keeps rows, served by the example `tracker` of `tabellion-codegen`.

use std::process::Command;

use serde_json::{Map, Value, json};

use crate::support::{Server, TABELLION, exited};

/// Calls in turn, each with the expected part of its answer or error.
const CALLS: &[(&str, &str)] = &[
    (
        r#"{ "action": "create", "resource": "project", "data": { "id": "p", "name": "Alpha" } }"#,
        r#""name":"Alpha","settings":null,"labels":[]"#,
    ),
    (
        r#"{ "action": "create", "resource": "project", "data": { "name": "ALPHA" } }"#,
        "there is a project with this name already",
    ),
    (
        r#"{ "action": "create", "resource": "issue", "data": { "id": "i", "project_id": "p", "title": "One" } }"#,
        r#""number":1,"title":"One","body":null,"state":"open""#,
    ),
    (
        r#"{ "action": "create", "resource": "issue",
             "data": { "id": "j", "project_id": "p", "title": "Two", "parent_id": "i", "pinned": true } }"#,
        r#""number":2"#,
    ),
    (
        r#"{ "action": "update", "resource": "issue", "id": "i", "data": { "parent_id": "j" } }"#,
        "`parent_id` would make a circle",
    ),
    // Setting it takes it from the other.
    (
        r#"{ "action": "update", "resource": "issue", "id": "i", "data": { "pinned": true } }"#,
        r#""pinned":true"#,
    ),
    (r#"{ "action": "get", "resource": "issue", "id": "j" }"#, r#""pinned":false"#),
    (
        r#"{ "action": "update", "resource": "issue", "id": "i", "data": { "state": "done" } }"#,
        r#"/data/state: the value is not one of "open", "started" or "closed""#,
    ),
    (
        r#"{ "action": "update", "resource": "issue", "id": "i", "data": { "colour": "red" } }"#,
        "/data/colour: is not known here; `update issue` takes title, body, state, pinned, weight, parent_id",
    ),
    (
        r#"{ "action": "update", "resource": "issue", "id": "i", "data": {} }"#,
        "/data: the value has less than 1 property; `update issue` takes title, body, state,",
    ),
    (
        r#"{ "action": "create", "resource": "issue", "data": {} }"#,
        "/data: `project_id` is missing; `create issue` takes id, project_id, number, title, body,",
    ),
    (
        r#"{ "action": "create", "resource": "comment" }"#,
        "/: `data` is missing; `create comment` takes id, issue_id, text, score in `data`",
    ),
    (
        r#"{ "action": "create", "resource": "comment", "data": { "id": "c", "issue_id": "i", "text": "Ünïcödé 🙂" } }"#,
        r#""text":"Ünïcödé 🙂","score":0"#,
    ),
    (r#"{ "action": "list", "resource": "comment", "issue_id": "i" }"#, r#""count":1,"total":1"#),
    (r#"{ "action": "list", "resource": "comment" }"#, "/: `issue_id` is missing"),
    (
        r#"{ "action": "list", "resource": "issue", "org_id": "nowhere" }"#,
        "`org_id` names no org: there is no `nowhere`",
    ),
    // Rows of other orgs are reported as not found.
    (r#"{ "action": "get", "resource": "issue", "id": "i", "org_id": "work" }"#, "there is no issue `i`"),
    (
        r#"{ "action": "create", "resource": "issue", "org_id": "work", "data": { "project_id": "p", "title": "x" } }"#,
        "`project_id` names no project",
    ),
    (
        r#"{ "action": "create", "resource": "project", "org_id": "work", "data": { "id": "p", "name": "Alpha" } }"#,
        r#""org_id":"work""#,
    ),
    (r#"{ "action": "delete", "resource": "project", "id": "p" }"#, "project `p` is in use by 2 issue"),
    // With its comments; issues that had it as their parent stay.
    (r#"{ "action": "delete", "resource": "issue", "id": "i" }"#, r#""deleted":true,"id":"i""#),
    (r#"{ "action": "get", "resource": "comment", "id": "c" }"#, "there is no comment `c`"),
    (
        r#"{ "action": "create", "resource": "comment", "data": { "id": "c", "issue_id": "j", "text": "x" } }"#,
        "`id` was that of a deleted comment, and ids are not used again",
    ),
    (r#"{ "action": "get", "resource": "issue", "id": "j" }"#, r#""parent_id":null"#),
    (
        r#"{ "action": "update", "resource": "access_key", "id": "k" }"#,
        "Unsupported action update for resource access_key: a key keeps what it is; delete it and create another",
    ),
    (
        r#"{ "action": "create", "resource": "comment", "data": { "issue_id": "j", "text": "a\u0000b" } }"#,
        "`text` contains the character U+0000",
    ),
    (
        r#"{ "action": "create", "resource": "comment", "data": { "issue_id": "j", "text": "x", "score": 9007199254740993 } }"#,
        "`score` must be a number",
    ),
];

#[test]
fn operations_follow_from_the_entities() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut target = Server::start(Command::new(TABELLION).arg("tracker").arg(folder.path())).target;
    for (arguments, expected) in CALLS {
        let request: Value = serde_json::from_str(arguments).expect("arguments");
        let answer = target.call("track", request, Map::new()).expect("an answer");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(expected), "{arguments}: {answer}");
        let is_error = answer["result"]["isError"] == json!(true);
        let changes = !is_error && !arguments.contains("\"get\"") && !arguments.contains("\"list\"");
        let change = &answer["result"]["_meta"]["tabellion/change"];
        assert_eq!(change.is_string(), changes, "{arguments}: {answer}");
    }
    assert!(exited(target).success());
}
