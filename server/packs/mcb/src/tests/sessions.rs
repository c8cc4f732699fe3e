//! Sessions and their logs.

use serde_json::{Value, json};

use super::{
    bench::{Bench, Caller},
    memory::{MEMORY, request},
};

const SESSION: &str = "session";
const AGENT: &str = "agent";

#[track_caller]
fn create(bench: &Bench, data: Value) -> String {
    let created = bench.call(SESSION, json!({ "action": "create", "project_id": "shop", "data": data }));
    created["session_id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn get(bench: &Bench, id: &str) -> Value {
    bench.call(SESSION, json!({ "action": "get", "session_id": id }))
}

fn update(id: &str, data: Value) -> Value {
    json!({ "action": "update", "session_id": id, "data": data })
}

#[test]
fn a_session_is_created_of_any_agent_and_read_with_all_its_fields() {
    let bench = Bench::with_project();
    let asked = json!({
        "action": "create", "agent_type": "claude-code",
        "data": { "model": "m-1", "project_id": "shop", "prompt_summary": "mend the parser", "parent_session_id": "s-0" },
    });
    let (created, meta) = bench.answer(SESSION, asked).unwrap();
    assert_eq!((&created["agent_type"], &created["status"]), (&json!("claude-code"), &json!("active")));
    assert!(meta["tabellion/change"].is_string(), "{meta}");
    let read = get(&bench, created["session_id"].as_str().unwrap());
    let expected = json!({
        "id": created["session_id"], "session_summary_id": null, "agent_type": "claude-code",
        "model": "m-1", "parent_session_id": "s-0", "project_id": "shop", "worktree_id": null,
        "started_at": read["started_at"], "ended_at": null, "duration_ms": null, "status": "active",
        "prompt_summary": "mend the parser", "result_summary": null, "token_count": null, "tool_calls_count": 0,
        "delegations_count": 0, "seq": read["seq"],
    });
    assert_eq!(read, expected);
    assert!(read["started_at"].as_i64() > Some(1_700_000_000));
    let summarize =
        json!({ "action": "summarize", "session_id": created["session_id"], "data": { "topics": ["x"] } });
    let [_, newest] = [(); 2].map(|()| bench.call(SESSION, summarize.clone()));
    let read = get(&bench, created["session_id"].as_str().unwrap());
    assert_eq!(read["session_summary_id"], newest["summary_id"]);
    // An unknown parent is registered in the same change.
    assert_eq!(get(&bench, "s-0")["agent_type"], "unknown");
}

#[test]
fn what_is_wrong_with_a_session_is_said_and_changes_nothing() {
    let bench = Bench::with_project();
    let id = create(&bench, json!({ "model": "m", "agent_type": "a" }));
    bench.add_project("other");
    bench.add("repository", json!({ "id": "r", "project_id": "other", "name": "r", "url": "u" }));
    bench.add("branch", json!({ "id": "b", "repository_id": "r", "name": "main" }));
    bench.add("worktree", json!({ "id": "w", "repository_id": "r", "branch_id": "b", "path": "/w" }));
    let before = bench.export();
    let cases = [
        (
            json!({ "action": "create", "agent_type": "a", "project_id": "shop", "worktree_id": "w", "data": { "model": "m" } }),
            "no_such",
        ),
        (update(&id, json!({ "worktree_id": "w" })), "no_such"),
        (json!({ "action": "create", "project_id": "shop", "data": { "model": "m" } }), "agent_type_given"),
        (json!({ "action": "create", "project_id": "shop", "agent_type": "a", "data": {} }), "required"),
        (
            json!({ "action": "create", "agent_type": "a", "project_id": "none", "data": { "model": "m" } }),
            "no_such",
        ),
        (
            json!({ "action": "create", "agent_type": "a", "project_id": "shop", "data": { "model": "m", "agent_type": "b" } }),
            "conflicting",
        ),
        (
            json!({ "action": "create", "agent_type": "a", "project_id": "shop", "worktree_id": "none", "data": { "model": "m" } }),
            "no_such",
        ),
        (
            json!({ "action": "create", "agent_type": "a", "data": { "model": "m", "nonsense": 1 } }),
            "unknown_field",
        ),
        (
            json!({ "action": "create", "session_id": "s", "agent_type": "a", "data": { "model": "m" } }),
            "unused_argument",
        ),
        (json!({ "action": "get", "session_id": "none" }), "not_found"),
        (json!({ "action": "get", "session_id": id, "project_id": "other" }), "not_found"),
        (json!({ "action": "get", "session_id": id, "limit": 3 }), "unused_argument"),
        (json!({ "action": "update", "session_id": id }), "something_to_change"),
        (json!({ "action": "update", "session_id": "none", "status": "failed" }), "not_found"),
        (json!({ "action": "update", "session_id": id, "status": "asleep" }), "session_status"),
        (
            json!({ "action": "update", "session_id": id, "status": "failed", "data": { "status": "active" } }),
            "conflicting",
        ),
        (update(&id, json!({ "project_id": "other" })), "immutable"),
        (update(&id, json!({ "worktree_id": "none" })), "no_such"),
        (update(&id, json!({ "model": "other" })), "immutable"),
        (update(&id, json!({ "ended_at": 1 })), "immutable"),
        (update(&id, json!({ "seq": 1 })), "immutable"),
        (update(&id, json!({ "token_count": -1 })), "minimum"),
        (json!({ "action": "summarize", "session_id": id }), "not_found"),
        (json!({ "action": "log_tool" }), "enum"),
    ];
    for (request, rule) in cases {
        assert_eq!(bench.refusal(SESSION, request.clone()), rule, "{request}");
    }
    assert_eq!(bench.export(), before);
}

#[test]
fn a_session_ends_and_reopens_by_its_status() {
    let bench = Bench::with_project();
    let id = create(&bench, json!({ "model": "m", "agent_type": "a" }));
    let ended = |row: &Value| (row["ended_at"].is_i64(), row["duration_ms"].is_i64());
    let steps = [
        (json!({ "action": "update", "session_id": id, "status": "Completed" }), "completed", true),
        (update(&id, json!({ "status": "failed", "result_summary": "it broke" })), "failed", true),
        (update(&id, json!({ "token_count": 7 })), "failed", true),
        (update(&id, json!({ "status": "active" })), "active", false),
    ];
    for (request, status, is_ended) in steps {
        let answer = bench.call(SESSION, request.clone());
        assert_eq!(answer, json!({ "id": id, "status": status, "updated": true }), "{request}");
        let row = get(&bench, &id);
        assert_eq!(row["status"], status);
        assert_eq!(ended(&row), (is_ended, is_ended), "{request}: {row}");
    }
    assert_eq!(get(&bench, &id)["result_summary"], "it broke");
    bench.call(SESSION, update(&id, json!({ "result_summary": null })));
    assert_eq!(get(&bench, &id)["result_summary"], Value::Null);
}

#[test]
fn what_was_read_can_be_sent_back_and_what_is_unset_can_be_set_once() {
    let bench = Bench::with_project();
    let log = json!({ "action": "log_tool", "session_id": "s", "data": { "tool_name": "grep" } });
    bench.by(&Caller::default()).call(AGENT, log.clone());
    let read = get(&bench, "s");
    assert_eq!((&read["project_id"], &read["tool_calls_count"]), (&Value::Null, &json!(1)));
    bench.call(SESSION, update("s", read.clone()));
    assert_eq!(get(&bench, "s"), read);
    // Log entries are still counted.
    bench.call(AGENT, log);
    assert_eq!(get(&bench, "s")["tool_calls_count"], 2);
    bench.call(SESSION, update("s", json!({ "project_id": "shop", "tool_calls_count": 40 })));
    let row = get(&bench, "s");
    assert_eq!((&row["project_id"], &row["tool_calls_count"]), (&json!("shop"), &json!(40)));
    assert_eq!(bench.refusal(SESSION, update("s", json!({ "project_id": null }))), "immutable");
}

#[test]
fn logs_register_unknown_sessions_in_the_same_change() {
    let bench = Bench::with_project();
    let before = bench.changes();
    let logged = bench.call(AGENT, json!({ "action": "log_delegation", "session_id": "parent", "data": { "child_session_id": "child", "result": "done" } }));
    assert_eq!(bench.changes(), before + 1);
    assert!(logged["delegation_id"].as_str().unwrap().starts_with("del_"), "{logged}");
    assert_eq!(
        (&logged["parent_session_id"], &logged["child_session_id"]),
        (&json!("parent"), &json!("child"))
    );
    assert_eq!(get(&bench, "child")["parent_session_id"], "parent");
    assert_eq!(get(&bench, "parent")["delegations_count"], 1);
    let row = &bench.rows("delegation")[0];
    assert!(row["completed_at"].is_i64() && row["prompt"] == "" && row["success"] == true, "{row}");
    let call = json!({ "action": "log_tool", "session_id": "parent", "data": {
        "tool_name": "grep", "success": false, "error_message": "no such file", "duration_ms": 12, "params_summary": null,
    } });
    let logged = bench.call(AGENT, call);
    assert!(logged["tool_call_id"].as_str().unwrap().starts_with("tc_"), "{logged}");
    assert_eq!(get(&bench, "parent")["tool_calls_count"], 1);
    let row = &bench.rows("tool_call")[0];
    assert_eq!(
        (&row["success"], &row["error_message"], &row["duration_ms"]),
        (&json!(false), &json!("no such file"), &json!(12))
    );
    let itself =
        json!({ "action": "log_delegation", "session_id": "x", "data": { "child_session_id": "x" } });
    assert_eq!(bench.refusal(AGENT, itself), "circular");
    let before = bench.export();
    let bad = json!({ "action": "log_tool", "session_id": "a b", "data": { "tool_name": "grep" } });
    assert_eq!(bench.refusal(AGENT, bad), "pattern");
    assert_eq!(bench.export(), before);
}

#[test]
fn sessions_are_listed_newest_first_by_what_is_asked_for() {
    let bench = Bench::with_project();
    bench.add_project("other");
    let ids: Vec<_> = ["a", "b", "a", "a"]
        .iter()
        .map(|agent| create(&bench, json!({ "model": "m", "agent_type": agent })))
        .collect();
    bench.call(SESSION, json!({ "action": "update", "session_id": ids[2], "status": "failed" }));
    let list = |request: Value| {
        let mut asked = json!({ "action": "list" });
        asked.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        let answer = bench.call(SESSION, asked);
        let listed = answer["sessions"].as_array().unwrap().iter();
        let at = |row: &Value| ids.iter().position(|id| row["id"] == **id).unwrap();
        assert_eq!(answer["count"], listed.len());
        (listed.map(at).collect::<Vec<_>>(), answer["total"].as_i64().unwrap())
    };
    let cases = [
        (json!({}), vec![3, 2, 1, 0], 4),
        (json!({ "limit": 2 }), vec![3, 2], 4),
        (json!({ "agent_type": "a", "limit": 2 }), vec![3, 2], 3),
        (json!({ "agent_type": "a", "status": "Active" }), vec![3, 0], 2),
        (json!({ "project_id": "other" }), vec![], 0),
    ];
    for (request, expected, total) in cases {
        assert_eq!(list(request.clone()), (expected, total), "{request}");
    }
    for member in ["project_id", "worktree_id"] {
        let error = bench.answer(SESSION, json!({ "action": "list", member: "none" })).unwrap_err();
        assert_eq!(
            (&error["rule"], &error["pointer"]),
            (&json!("no_such"), &json!(format!("/{member}"))),
            "{error}"
        );
    }
}

#[test]
fn what_is_in_another_org_is_not_there() {
    let bench = Bench::with_project();
    bench.add("org", json!({ "id": "org_b", "name": "B" }));
    let stranger = Caller::new().of_org("org_b");
    let id = create(&bench, json!({ "model": "m", "agent_type": "a" }));
    for request in [json!({ "action": "get", "session_id": id }), update(&id, json!({ "token_count": 1 }))] {
        assert_eq!(bench.by(&stranger).refusal(SESSION, request), "not_found");
    }
    assert_eq!(bench.by(&stranger).call(SESSION, json!({ "action": "list" }))["total"], 0);
    // An org that does not exist is not an empty one.
    let misspelt = bench.by(&Caller::new().of_org("org_B"));
    for (tool, request) in [
        (SESSION, json!({ "action": "list" })),
        (MEMORY, request("list", "observation", json!({}))),
        (MEMORY, request("get", "observation", json!({ "ids": ["x"] }))),
        (MEMORY, request("inject", "observation", json!({}))),
        (MEMORY, request("store", "session", json!({ "session_id": "s", "data": {} }))),
        ("search", json!({ "resource": "memory", "query": "x" })),
        ("index", json!({ "action": "status" })),
        (AGENT, json!({ "action": "log_tool", "session_id": id, "data": { "tool_name": "grep" } })),
    ] {
        assert_eq!(misspelt.refusal(tool, request.clone()), "no_such", "{tool} {request}");
    }
    // The same id can be a session of another org, too.
    let log = json!({ "action": "log_tool", "session_id": id, "data": { "tool_name": "grep" } });
    bench.by(&stranger).call(AGENT, log);
    assert_eq!(get(&bench, &id)["tool_calls_count"], 0);
    assert_eq!(
        bench.by(&stranger).call(SESSION, json!({ "action": "get", "session_id": id }))["tool_calls_count"],
        1
    );
}

#[test]
fn a_session_that_changed_since_it_was_read_is_not_changed() {
    let bench = Bench::with_project();
    let id = create(&bench, json!({ "model": "m", "agent_type": "a" }));
    let (_, meta) = bench.answer(SESSION, json!({ "action": "get", "session_id": id })).unwrap();
    let read = Caller::new().if_base(meta["tabellion/base"].as_str().unwrap());
    bench.by(&read).call(SESSION, update(&id, json!({ "token_count": 1 })));
    let error = bench.by(&read).answer(SESSION, update(&id, json!({ "token_count": 2 }))).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("has changed since"), "{error}");
    assert_eq!(get(&bench, &id)["token_count"], 1);
}
