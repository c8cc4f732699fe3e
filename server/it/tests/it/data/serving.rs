//! Calls over stdio and HTTP: restarts, conditions, approval, `--read-only`, and the log.

use serde_json::{Value, json};
use tabellion_conformance::Target;

use super::{Data, count_teams, create_team, entity, entity_with};
use crate::support::{Server, outcome};

#[test]
fn rows_outlive_their_server_and_reach_every_way_in() {
    let data = Data::new();
    let mut server = data.serve();
    let made = create_team(&mut server, "one").expect("made");
    let id = made.response["id"].clone();
    server.close();
    // A second server, HTTP in addition to stdio, and the command line, all at once.
    let mut server = data.serve();
    let over_http = data.serve_http(&[]);
    let mut web = Server { target: over_http.connect() };
    create_team(&mut web, "two").expect("made");
    let (code, _, said) = data.run(
        &["call", "mcb", "entity"],
        &["--action", "create", "--resource", "team", "--field-data", r#"{ "name": "three" }"#],
    );
    assert_eq!(code, Some(0), "{said}");
    for server in [&mut server, &mut web] {
        assert_eq!(count_teams(server), 3);
        let found = entity(server, "get", "team", json!({ "id": id })).expect("a row");
        assert_eq!(found.response, made.response);
    }
    let (code, answer, _) =
        data.run(&["call", "mcb", "entity"], &["--action", "list", "--resource", "team", "--json"]);
    assert_eq!(code, Some(0));
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["response"]["total"], 3);
    drop(web);
    assert_eq!(over_http.terminate(), Some(0));
    server.close();
    assert_eq!(data.checked().teams(), ["one", "three", "two"].into());
}

#[test]
fn a_call_ends_with_the_run_that_it_began() {
    let data = Data::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data");
    let start = ["--action", "start", "--path", folder, "--collection", "here"];
    let (code, _, said) = data.run(&["call", "mcb", "index"], &start);
    assert_eq!(code, Some(0), "{said}");
    let search = ["--resource", "code", "--query", "a_call_ends_with_the_run_that_it_began", "--json"];
    let (_, answer, _) = data.run(&["call", "mcb", "search"], &search);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["response"]["results"][0]["file_path"], "serving.rs", "{answer}");
    assert_eq!(answer["meta"].get("tabellion/indexing"), None);
}

#[test]
fn conditions_hold_for_rows() {
    let data = Data::new();
    let mut server = data.serve();
    let made = create_team(&mut server, "a").expect("made");
    let (id, base) = (&made.response["id"], &made.meta["tabellion/base"]);
    let rename = |name: &str| json!({ "id": id, "data": { "name": name } });
    let on = |base: &Value| json!({ "tabellion/ifBase": base });
    let renamed =
        entity_with(&mut server, "update", "team", rename("b"), on(base)).expect("the base is right");
    let stale =
        entity_with(&mut server, "update", "team", rename("c"), on(base)).expect_err("the base is old");
    assert!(stale.message.contains("changed"), "{stale:?}");
    assert_ne!(&renamed.meta["tabellion/base"], base);

    // The same call with the same key is made once, by either server; its answer has no secret the second time.
    let create = json!({ "data": { "user_id": "user_default", "name": "ci" } });
    let key = json!({ "tabellion/idempotencyKey": "k" });
    let first = entity_with(&mut server, "create", "api_key", create.clone(), key.clone()).expect("made");
    let secret = first.response["secret"].as_str().expect("a secret").to_owned();
    let mut other = data.serve();
    for server in [&mut server, &mut other] {
        let again = entity_with(server, "create", "api_key", create.clone(), key.clone()).expect("replayed");
        assert_eq!(again.meta["tabellion/change"], first.meta["tabellion/change"]);
        assert_eq!(again.meta["tabellion/replayed"], true);
        assert_eq!(again.response["id"], first.response["id"]);
        assert!(!json!([again.response, again.meta]).to_string().contains(&secret));
    }
    let another = json!({ "data": { "user_id": "user_default", "name": "other" } });
    let reused = entity_with(&mut other, "create", "api_key", another, key).expect_err("another request");
    assert!(reused.message.contains("was used for another request"), "{reused:?}");
    other.close();
    server.close();

    // One entry for each change, with its client.
    let export = data.checked();
    let tools: Vec<_> = export.changes.iter().map(|change| change["tool"].as_str()).collect();
    let expected = ["seed", "entity/create-team", "entity/update-team", "entity/create-api-key"];
    assert_eq!(tools, expected.map(Some));
    assert_eq!(export.changes[2]["id"], renamed.meta["tabellion/change"]);
    assert!(export.changes[1]["client"].is_string(), "{}", export.changes[1]);
    assert!(!format!("{export:?}").contains(&secret));
}

#[test]
fn a_read_only_server_reads() {
    let data = Data::new();
    let mut writing = data.serve();
    create_team(&mut writing, "a").expect("made");
    let mut reading = Server::start(data.command().arg("--read-only"));
    let before = data.checked();
    let refused = create_team(&mut reading, "b").expect_err("it is read-only");
    assert!(refused.message.contains("read-only"), "{refused:?}");
    assert_eq!(count_teams(&mut reading), 1);
    assert_eq!(data.checked(), before);
}

#[test]
fn a_person_approves_what_the_operator_lists() {
    let data = Data::new();
    let mut command = data.command();
    let mut target = Target::start(command.args(["--approve", "entity/create-team"])).expect("it starts");
    target.initialize_as("2025-11-25", &json!({ "elicitation": {} })).expect("a handshake");
    let before = data.checked();
    for (action, is_made) in [("decline", false), ("cancel", false), ("accept", true)] {
        let create = json!({ "action": "create", "resource": "team", "data": { "name": "core" } });
        let call = target.post("tools/call", json!({ "name": "entity", "arguments": create }));
        let call = call.expect("sent");
        let question = target.receive().expect("a question");
        let shown = question["params"]["message"].as_str().expect("a message");
        assert!(shown.contains("+ name: \"core\""), "{shown}");
        let answer = json!({ "action": action, "content": {} });
        let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        target.send(reply.to_string()).expect("sent");
        let message = target.receive().expect("an answer");
        assert_eq!(message["id"], call, "{message}");
        assert_eq!(outcome(&message).is_ok(), is_made, "{message}");
        assert_eq!(data.checked() != before, is_made, "{action}");
    }
    // Other changes need no approver.
    let mut server = Server { target };
    entity(&mut server, "create", "org", json!({ "data": { "name": "Other" } })).expect("made");
}
