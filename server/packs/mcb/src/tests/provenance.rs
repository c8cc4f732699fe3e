//! Provenance: required by the memory and by searching, kept with every row, bound to sessions, and never a filter.

use serde_json::{Value, json};

use super::{
    bench::{Bench, Caller},
    memory::{MEMORY, request},
};

const FIELDS: [&str; 9] = [
    "session_id",
    "project_id",
    "repo_id",
    "repo_path",
    "worktree_id",
    "operator_id",
    "machine_id",
    "agent_program",
    "model_id",
];

#[test]
fn what_is_missing_is_said_in_one_sentence_and_in_order() {
    let bench = Bench::with_project();
    let cases = [
        (MEMORY, request("list", "observation", json!({}))),
        ("search", json!({ "resource": "memory", "query": "x" })),
        // Provenance is checked before the operation is selected.
        (MEMORY, json!({ "action": "nonsense", "resource": "observation" })),
    ];
    let before = bench.export();
    for (tool, asked) in cases {
        let mut left_out: Vec<Vec<&str>> = FIELDS.iter().map(|field| vec![*field]).collect();
        left_out.push(vec!["model_id", "session_id", "repo_path"]);
        for missing in left_out {
            for is_blank in [false, true] {
                let caller = missing.iter().fold(Caller::new(), |caller, field| {
                    if is_blank { caller.with(field, "  ") } else { caller.without(field) }
                });
                let error = bench.by(&caller).answer(tool, asked.clone()).unwrap_err();
                let named: Vec<_> = FIELDS.into_iter().filter(|field| missing.contains(field)).collect();
                let sentence = format!("Missing execution provenance for '{tool}': {}", named.join(", "));
                assert_eq!(error["message"], sentence);
                assert_eq!((&error["rule"], &error["missing"]), (&json!("provenance"), &json!(named)));
            }
        }
    }
    assert_eq!(bench.export(), before);
    // Other tools accept incomplete provenance.
    bench.by(&Caller::default()).call("session", json!({ "action": "list" }));
}

#[test]
fn all_of_it_is_kept_with_every_row_and_answered_for_the_memory() {
    let bench = Bench::with_project();
    let caller = Caller::new().with("parent_session_id", "s-0");
    let id = bench.by(&caller).note("a note", json!({}));
    let read = bench.by(&caller).get("observation", json!({ "ids": [id] }));
    let found = &read["observations"][0]["provenance"];
    for field in FIELDS {
        let value = found[field].as_str().unwrap_or_default();
        assert!(!value.is_empty() && value == caller.said(field), "{field}: {found}");
    }
    assert_eq!((&found["delegated"], &found["parent_session_id"]), (&json!(true), &json!("s-0")));
    assert!(found["timestamp"].is_i64() && found["received_at"].is_i64(), "{found}");
    let log =
        json!({ "action": "log_delegation", "session_id": "s-1", "data": { "child_session_id": "s-2" } });
    bench.by(&caller).call("agent", log);
    let log = json!({ "action": "log_tool", "session_id": "s-1", "data": { "tool_name": "grep" } });
    bench.by(&caller).call("agent", log);
    for entity in ["observation", "agent_session", "tool_call", "delegation"] {
        let rows = bench.rows(entity);
        assert!(!rows.is_empty(), "{entity}");
        for row in rows {
            let kept: Value = row["provenance"].clone();
            assert!(FIELDS.iter().all(|field| kept[*field] == caller.said(field)), "{entity}: {kept}");
        }
    }
}

#[test]
fn what_a_session_was_created_with_holds_for_later_calls_of_it() {
    let bench = Bench::with_project();
    let created =
        json!({ "action": "create", "project_id": "shop", "data": { "model": "m", "agent_type": "a" } });
    let session = bench.call("session", created)["session_id"].clone();
    let later = FIELDS[1..5].iter().fold(Caller::new(), |caller, field| caller.without(field));
    let later = later.with("session_id", session.as_str().unwrap());
    let id = bench.by(&later).note("a note", json!({}));
    let read = bench.get("observation", json!({ "ids": [id] }));
    let row = &read["observations"][0];
    assert_eq!(
        (&row["project_id"], &row["repo_id"], &row["session_id"]),
        (&json!("shop"), &json!("r-1"), &session)
    );
    // Calls from a different project that name the session, and child sessions, inherit its project too.
    let elsewhere = Caller::new().with("project_id", "elsewhere").with("repo_id", "r-9");
    let bench = bench.by(&elsewhere);
    let run =
        json!({ "command": "c", "exit_code": 0, "duration_ms": 1, "success": true, "execution_type": "ci" });
    let pattern = json!({ "pattern_signature": "E1", "description": "d" });
    for (resource, entity, data) in [
        ("observation", "observation", json!({ "content": "from elsewhere", "observation_type": "code" })),
        ("execution", "observation", run),
        ("quality_gate", "observation", json!({ "gate_name": "g", "status": "passed" })),
        ("error_pattern", "error_pattern", pattern),
        ("session", "session_summary", json!({ "topics": ["t"] })),
    ] {
        bench.call(MEMORY, request("store", resource, json!({ "session_id": session, "data": data })));
        let rows = bench.rows(entity);
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row["project_id"] == "shop"),
            "{resource}: {rows:?}"
        );
    }
    let log =
        json!({ "action": "log_delegation", "session_id": session, "data": { "child_session_id": "child" } });
    bench.call("agent", log);
    let below = json!({ "model": "m", "agent_type": "a", "parent_session_id": session });
    let below = bench.call("session", json!({ "action": "create", "data": below }))["session_id"].clone();
    for id in [json!("child"), below] {
        assert_eq!(bench.call("session", json!({ "action": "get", "session_id": id }))["project_id"], "shop");
    }
    // The refusal of a discovered project does not point at a member that the caller did not send.
    let elsewhere = Caller::new().with("project_id", "elsewhere");
    let unsent = json!({ "action": "create", "data": { "model": "m", "agent_type": "a" } });
    let error = bench.by(&elsewhere).answer("session", unsent).unwrap_err();
    assert_eq!((&error["rule"], &error["pointer"]), (&json!("no_such"), &json!("/data")), "{error}");
    let unknown = later.with("session_id", "unknown");
    let error = bench.by(&unknown).answer(MEMORY, request("list", "observation", json!({}))).unwrap_err();
    assert_eq!(error["missing"], json!(FIELDS[1..5]));
}

#[test]
fn another_session_project_and_repository_read_the_same() {
    let bench = Bench::with_project();
    bench.note("alpha", json!({}));
    let other = FIELDS.iter().fold(Caller::new(), |caller, field| caller.with(field, "elsewhere"));
    for (action, members) in [
        ("list", json!({})),
        ("list", json!({ "query": "alpha" })),
        ("inject", json!({})),
        ("timeline", json!({ "query": "alpha" })),
    ] {
        let asked = request(action, "observation", members);
        let [own, others] =
            [Caller::new(), other.clone()].map(|caller| bench.by(&caller).call(MEMORY, asked.clone()));
        assert_eq!(own, others, "{asked}");
        assert!(own.to_string().contains("alpha"), "{own}");
    }
}
