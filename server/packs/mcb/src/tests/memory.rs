//! Storing and reading each resource of the memory.

use serde_json::{Value, json};

use super::bench::{Bench, Caller};

pub(super) const MEMORY: &str = "memory";

/// Returns a request of the memory: its action, resource, and other members.
pub(super) fn request(action: &str, resource: &str, members: Value) -> Value {
    let mut request = json!({ "action": action, "resource": resource });
    request.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    request
}

impl Bench {
    #[track_caller]
    pub(super) fn store(&self, resource: &str, data: Value) -> Value {
        self.call(MEMORY, request("store", resource, json!({ "data": data })))
    }

    /// Stores an observation; returns its id.
    #[track_caller]
    pub(super) fn note(&self, content: &str, more: Value) -> String {
        let mut data = json!({ "content": content, "observation_type": "code" });
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let stored = self.store("observation", data);
        stored["observation_id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(super) fn get(&self, resource: &str, members: Value) -> Value {
        self.call(MEMORY, request("get", resource, members))
    }
}

fn run(command: &str, more: Value) -> Value {
    let mut data = json!({
        "command": command, "exit_code": 101, "duration_ms": 5200, "success": false, "execution_type": "test",
    });
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    data
}

#[test]
fn an_observation_is_read_with_all_that_was_stored() {
    let bench = Bench::with_project();
    let before = bench.changes();
    let data = json!({
        "content": "Prices are kept in cents.", "observation_type": "Decision", "tags": ["money", "db", "money"],
        "file_path": "src/price.rs", "branch": "main", "commit": null,
    });
    let id = bench.store("observation", data)["observation_id"].clone();
    assert_eq!(bench.changes(), before + 1);
    let read = bench.get("observation", json!({ "ids": [id, "none", id] }));
    assert_eq!((&read["count"], &read["missing"]), (&json!(1), &json!(["none"])));
    let row = &read["observations"][0];
    let expected = json!({
        "id": id, "project_id": "shop", "content": "Prices are kept in cents.", "observation_type": "decision",
        "tags": ["money", "db"], "session_id": "s-1", "repo_id": "r-1", "file_path": "src/price.rs", "branch": "main",
        "commit": null, "created_at": row["created_at"], "seq": row["seq"],
        "content_hash": "afa393b5ed0e07e2c6fadcae9105068943bbd17abcc4f5bff68d80d81fed3278", "times_seen": 1,
        "last_seen_at": row["created_at"], "provenance": row["provenance"],
    });
    assert_eq!(row, &expected);
    assert_eq!(row["provenance"]["session_id"], "s-1");
}

#[test]
fn arguments_and_data_go_before_provenance_and_must_agree() {
    let bench = Bench::with_project();
    let place = |asked: Value| {
        let mut asked = asked;
        asked["data"]["observation_type"] = "code".into();
        asked["data"]["content"] = asked.to_string().into();
        let stored = bench.call(MEMORY, request("store", "observation", asked));
        let read = bench.get("observation", json!({ "ids": [stored["observation_id"]] }));
        let row = read["observations"][0].clone();
        ["project_id", "session_id", "repo_id"].map(|field| row[field].as_str().unwrap().to_owned())
    };
    let cases = [
        (json!({ "data": {} }), ["shop", "s-1", "r-1"]),
        (json!({ "data": {}, "project_id": "p", "repo_id": "r" }), ["p", "s-1", "r"]),
        (json!({ "data": { "session_id": "s", "project_id": "p" } }), ["p", "s", "r-1"]),
        (json!({ "data": { "session_id": "s" }, "session_id": "s" }), ["shop", "s", "r-1"]),
    ];
    for (asked, expected) in cases {
        assert_eq!(place(asked.clone()), expected, "{asked}");
    }
    let data = json!({ "content": "x", "observation_type": "code", "session_id": "s" });
    let conflict = request("store", "observation", json!({ "session_id": "t", "data": data }));
    let error = bench.answer(MEMORY, conflict).unwrap_err();
    assert_eq!(error["message"], "conflicting session_id between args and data");
}

#[test]
fn the_same_observation_again_is_counted_within_its_project_and_type() {
    let bench = Bench::with_project();
    let caller = Caller::new();
    bench.add("org", json!({ "id": "org_b", "name": "B" }));
    let store = |caller: &Caller, project: &str, kind: &str, content: &str, tags: Value| {
        let data = json!({ "content": content, "observation_type": kind, "tags": tags });
        let stored = bench
            .by(caller)
            .call(MEMORY, request("store", "observation", json!({ "project_id": project, "data": data })));
        (stored["observation_id"].as_str().unwrap().to_owned(), stored["deduplicated"].as_bool().unwrap())
    };
    let (first, again) = store(&caller, "shop", "code", "same", json!(["a"]));
    assert!(!again);
    assert_eq!(store(&caller, "shop", "Code", "same", json!(["b", "a"])), (first.clone(), true));
    assert_eq!(store(&caller, "shop", "code", "same", json!([])), (first.clone(), true));
    let row = &bench.get("observation", json!({ "ids": [first] }))["observations"][0];
    assert_eq!((&row["times_seen"], &row["tags"]), (&json!(3), &json!(["a", "b"])));
    let stranger = caller.clone().of_org("org_b");
    let others = [
        store(&caller, "other", "code", "same", json!([])),
        store(&caller, "shop", "error", "same", json!([])),
        store(&caller, "shop", "code", "Same", json!([])),
        store(&stranger, "shop", "code", "same", json!([])),
    ];
    let ids: std::collections::BTreeSet<_> = others.iter().map(|(id, _)| id).chain([&first]).collect();
    assert_eq!(ids.len(), 5);
    assert!(others.iter().all(|(_, again)| !again));
    // The same text about a different file, branch or commit is a separate observation.
    let about = |place: Value| {
        let mut data = json!({ "content": "same", "observation_type": "code" });
        data.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        bench.store("observation", data)["observation_id"].as_str().unwrap().to_owned()
    };
    let of_file = about(json!({ "file_path": "a.rs" }));
    for (place, expected) in [
        (json!({}), Some(&first)),
        (json!({ "file_path": "a.rs" }), Some(&of_file)),
        (json!({ "file_path": "b.rs" }), None),
        (json!({ "branch": "dev" }), None),
        (json!({ "file_path": "a.rs", "commit": "abc1234" }), None),
    ] {
        let id = about(place.clone());
        let is_new = id != first && id != of_file;
        assert!(expected.map_or(is_new, |expected| *expected == id), "{place}");
    }
    // More tags than a request can have are joined bit by bit.
    for part in 0..3 {
        let tags: Vec<_> = (0..50).map(|at| format!("t{part}-{at}")).collect();
        store(&caller, "shop", "code", "same", json!(tags));
    }
    let row = &bench.get("observation", json!({ "ids": [first] }))["observations"][0];
    assert_eq!(row["tags"].as_array().unwrap().len(), 152);
}

#[test]
fn what_is_in_another_project_or_org_is_missing() {
    let bench = Bench::with_project();
    let caller = Caller::new();
    bench.add("org", json!({ "id": "org_b", "name": "B" }));
    let stranger = caller.clone().of_org("org_b");
    let id = bench.note("secret", json!({}));
    let execution = bench.store("execution", run("make", json!({})))["execution_id"].clone();
    let pattern =
        bench.store("error_pattern", json!({ "pattern_signature": "E1", "description": "d" }))["id"].clone();
    bench.store("session", json!({ "session_id": "s-1" }));
    for (resource, ids) in
        [("observation", &json!(id)), ("execution", &execution), ("error_pattern", &pattern)]
    {
        for (caller, members) in
            [(&stranger, json!({ "ids": [ids] })), (&caller, json!({ "ids": [ids], "project_id": "other" }))]
        {
            let read = bench.by(caller).get(resource, members.clone());
            assert_eq!(
                (&read["count"], &read["missing"]),
                (&json!(0), &json!([ids])),
                "{resource} {members}"
            );
        }
        let read = bench.get(resource, json!({ "ids": [ids], "project_id": "shop" }));
        assert_eq!(read["count"], 1, "{resource}");
    }
    for caller in [&stranger, &caller.clone()] {
        let members =
            json!({ "session_id": "s-1", "project_id": if caller.is_bound() { "shop" } else { "other" } });
        assert_eq!(bench.by(caller).refusal(MEMORY, request("get", "session", members)), "not_found");
    }
}

#[test]
fn each_run_is_kept_and_read_newest_first() {
    let bench = Bench::with_project();
    let coverage = json!({ "coverage": 71.5, "files_affected": ["a.rs"], "errors_count": 2, "output_summary": "2 failed" });
    let first = bench.store("execution", run("cargo test", coverage));
    let second = bench
        .store("execution", run("cargo test", json!({ "execution_id": "run-2", "execution_type": "Ci" })));
    assert_ne!(first["observation_id"], second["observation_id"]);
    assert_eq!((&second["execution_id"], &second["deduplicated"]), (&json!("run-2"), &json!(false)));
    let read = bench.get("execution", json!({}));
    assert_eq!((&read["count"], &read["missing"]), (&json!(2), &json!([])));
    assert_eq!(read["executions"][0]["execution_id"], "run-2");
    let row = &read["executions"][1];
    let expected = json!({
        "observation_id": first["observation_id"], "execution_id": first["execution_id"], "command": "cargo test",
        "exit_code": 101, "duration_ms": 5200, "success": false, "execution_type": "test", "coverage": 71.5,
        "files_affected": ["a.rs"], "output_summary": "2 failed", "warnings_count": null, "errors_count": 2,
        "created_at": row["created_at"], "seq": row["seq"],
    });
    assert_eq!(row, &expected);
    // Both ids name the run; in whatever order, the newest is first.
    let none = json!("none");
    let mut ids = vec![&first["observation_id"], &none, &second["execution_id"], &second["observation_id"]];
    for _ in 0..2 {
        let read = bench.get("execution", json!({ "ids": ids }));
        let runs = read["executions"].as_array().unwrap();
        let found: Vec<_> = runs.iter().map(|run| &run["execution_id"]).collect();
        assert_eq!(found, [&second["execution_id"], &first["execution_id"]]);
        assert_eq!(read["missing"], json!(["none"]));
        ids.reverse();
    }
    let observed = bench.get("observation", json!({ "ids": [first["observation_id"]] }));
    let observed = &observed["observations"][0];
    assert_eq!(observed["content"], "Execution: cargo test (exit_code=101, success=false)");
    assert_eq!(observed["tags"], json!(["execution", "test", "failure"]));
    let taken =
        request("store", "execution", json!({ "data": run("make", json!({ "execution_id": "run-2" })) }));
    assert_eq!(bench.refusal(MEMORY, taken), "taken");
    for (members, count) in [
        (json!({ "limit": 1 }), 1),
        (json!({ "session_id": "s-1" }), 2),
        (json!({ "session_id": "s-2" }), 0),
        (json!({ "project_id": "other" }), 0),
        (json!({ "repo_id": "r-1", "project_id": "shop" }), 2),
    ] {
        assert_eq!(bench.get("execution", members.clone())["count"], count, "{members}");
    }
}

#[test]
fn quality_gates_name_executions_of_their_project() {
    let bench = Bench::with_project();
    let execution = bench.store("execution", run("make", json!({})))["execution_id"].clone();
    let gate =
        json!({ "gate_name": "coverage", "status": "Failed", "message": "71 %", "execution_id": execution });
    let first = bench.store("quality_gate", gate.clone());
    let second =
        bench.store("quality_gate", json!({ "gate_name": "coverage", "status": "passed", "timestamp": 7 }));
    let read = bench.get("quality_gate", json!({}));
    let rows = read["quality_gates"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["observation_id"], &rows[0]["timestamp"]), (&second["observation_id"], &json!(7)));
    let expected = json!({
        "observation_id": first["observation_id"], "gate_name": "coverage", "status": "failed", "message": "71 %",
        "timestamp": rows[1]["created_at"], "execution_id": execution, "created_at": rows[1]["created_at"],
        "seq": rows[1]["seq"],
    });
    assert_eq!(rows[1], expected);
    let observed = bench.get("observation", json!({ "ids": [first["observation_id"]] }));
    assert_eq!(observed["observations"][0]["content"], "Quality Gate: coverage (status=failed)");
    assert_eq!(observed["observations"][0]["tags"], json!(["quality_gate", "failed"]));
    for project in ["shop", "other"] {
        let mut data = gate.clone();
        data["execution_id"] = if project == "shop" { json!("none") } else { execution.clone() };
        let asked = request("store", "quality_gate", json!({ "data": data, "project_id": project }));
        assert_eq!(bench.refusal(MEMORY, asked), "no_such", "{project}");
    }
}

#[test]
fn an_error_pattern_counts_and_joins() {
    let bench = Bench::with_project();
    let first = bench.store("error_pattern", json!({
            "pattern_signature": "E0502", "description": "old", "category": "Compilation", "solutions": ["clone", "clone"],
            "tags": ["rust"], "id": "e-1",
        }));
    assert_eq!(first, json!({ "id": "e-1", "occurrence_count": 1, "deduplicated": false }));
    let later = Caller::new().with("session_id", "s-2");
    let second = bench.by(&later).store("error_pattern", json!({
            "pattern_signature": "E0502", "description": "new", "solutions": ["scope", "clone"], "affected_files": ["a.rs"],
        }));
    assert_eq!(second, json!({ "id": "e-1", "occurrence_count": 2, "deduplicated": true }));
    let read = bench.get("error_pattern", json!({ "ids": ["e-1", "none"] }));
    assert_eq!(read["missing"], json!(["none"]));
    let row = &read["patterns"][0];
    let expected = json!({
        "id": "e-1", "project_id": "shop", "pattern_signature": "E0502", "description": "new", "category": "compilation",
        "solutions": ["clone", "scope"], "affected_files": ["a.rs"], "tags": ["rust"], "occurrence_count": 2,
        "first_seen_at": row["first_seen_at"], "last_seen_at": row["last_seen_at"], "provenance": row["provenance"],
        "seq": row["seq"],
    });
    assert_eq!(row, &expected);
    assert_eq!(row["provenance"]["session_id"], "s-2");
    // Letters with marks are the same, composed or decomposed.
    for (signature, count) in [("cafe\u{301}", 1), ("caf\u{e9}", 2), ("cafe\u{301}", 3), ("cafe", 1)] {
        let data = json!({ "project_id": "accents", "pattern_signature": signature, "description": "d" });
        assert_eq!(bench.store("error_pattern", data)["occurrence_count"], count, "{signature:?}");
    }
    let other = bench.call(
        MEMORY,
        request(
            "store",
            "error_pattern",
            json!({
                "project_id": "other", "data": { "pattern_signature": "E0502", "description": "d" },
            }),
        ),
    );
    assert_eq!(other["occurrence_count"], 1);
    let asked = request(
        "store",
        "error_pattern",
        json!({ "data": { "pattern_signature": "E0502", "description": "d", "id": "e-2" } }),
    );
    assert_eq!(bench.refusal(MEMORY, asked), "immutable");
    // The last seen comes first; a query finds by signature and description.
    bench.store(
        "error_pattern",
        json!({ "pattern_signature": "timeout", "description": "the registry is slow" }),
    );
    let read = bench.get("error_pattern", json!({ "project_id": "shop" }));
    let signatures: Vec<_> =
        read["patterns"].as_array().unwrap().iter().map(|row| &row["pattern_signature"]).collect();
    assert_eq!(signatures, ["timeout", "E0502"]);
    for (query, count) in [("registry", 1), ("E0502", 2), ("nothing like it", 0)] {
        assert_eq!(bench.get("error_pattern", json!({ "query": query }))["count"], count, "{query}");
    }
    let read = bench.get("error_pattern", json!({ "query": "E0502", "project_id": "other" }));
    assert_eq!(read["count"], 1);
}

#[test]
fn the_newest_summary_of_a_session_is_read_by_both_tools() {
    let bench = Bench::with_project();
    let session = "session";
    let first = bench.store("session", json!({ "session_id": "s-9", "topics": ["old"] }));
    let asked = json!({ "action": "summarize", "session_id": "s-9", "data": { "topics": ["new"], "key_files": ["a.rs"] } });
    let second = bench.call(session, asked);
    assert_eq!(second["session_id"], "s-9");
    assert_ne!(first["summary_id"], second["summary_id"]);
    let read = bench.get("session", json!({ "session_id": "s-9" }));
    let expected = json!({
        "summary_id": second["summary_id"], "session_id": "s-9", "topics": ["new"], "decisions": [], "next_steps": [],
        "key_files": ["a.rs"], "created_at": read["created_at"], "seq": read["seq"],
    });
    assert_eq!(read, expected);
    assert_eq!(bench.call(session, json!({ "action": "summarize", "session_id": "s-9" })), expected);
    assert_eq!(bench.rows("session_summary").len(), 2);
    let other = json!({ "action": "summarize", "session_id": "s-9", "project_id": "other" });
    assert_eq!(bench.refusal(session, other), "not_found");
    let anywhere = bench.by(&Caller::new().without("project_id"));
    let unplaced = json!({ "action": "summarize", "session_id": "s-8", "data": { "topics": ["new"] } });
    let error = anywhere.answer(session, unplaced).expect_err("no project");
    assert_eq!(error["violations"][0]["pointer"], "/project_id", "{error}");
}

#[test]
fn what_can_not_be_stored_is_refused_and_changes_nothing() {
    let bench = Bench::with_project();
    let before = bench.export();
    let observation = |data: Value| request("store", "observation", json!({ "data": data }));
    let cases = [
        (observation(json!({ "content": "x", "observation_type": "execution" })), "unsupported"),
        (observation(json!({ "content": "x", "observation_type": "QualityGate" })), "unsupported"),
        (observation(json!({ "content": "x", "observation_type": "dream" })), "observation_type"),
        (observation(json!({ "content": " \n\t", "observation_type": "code" })), "pattern"),
        (observation(json!({ "content": "", "observation_type": "code" })), "minLength"),
        (observation(json!({ "content": "a\u{0}b", "observation_type": "code" })), "value"),
        (observation(json!({ "observation_type": "code" })), "required"),
        (observation(json!({ "content": "x", "observation_type": "code", "nonsense": 1 })), "unknown_field"),
        (observation(json!({ "content": "x", "observation_type": "code", "tags": ["a\u{0}"] })), "value"),
        (
            observation(json!({ "content": "x", "observation_type": "code", "tags": vec!["t"; 51] })),
            "maxItems",
        ),
        (request("store", "observation", json!({ "data": {}, "limit": 1 })), "unused_argument required"),
        (request("store", "execution", json!({ "data": { "command": "x" } })), "required"),
        (
            request("store", "execution", json!({ "data": run("x", json!({ "exit_code": 1_i64 << 31 })) })),
            "maximum",
        ),
        (request("store", "execution", json!({ "data": run("x", json!({ "coverage": 100.5 })) })), "maximum"),
        (request("store", "session", json!({ "data": {} })), "session_named"),
        (
            request(
                "store",
                "error_pattern",
                json!({ "data": { "pattern_signature": "x", "description": "y", "occurrence_count": 2 } }),
            ),
            "unknown_field",
        ),
        (request("get", "observation", json!({})), "required"),
        (request("get", "observation", json!({ "ids": [] })), "minItems"),
        (request("get", "observation", json!({ "ids": vec!["x"; 101] })), "maxItems"),
        (request("get", "session", json!({ "session_id": "none" })), "not_found"),
    ];
    for (request, rule) in cases {
        let found = bench.refusal(MEMORY, request.clone());
        let rules: std::collections::BTreeSet<_> = found.split(' ').collect();
        assert_eq!(rules.into_iter().collect::<Vec<_>>().join(" "), sorted(rule), "{request}");
    }
    assert_eq!(bench.export(), before);
}

fn sorted(rules: &str) -> String {
    let rules: std::collections::BTreeSet<_> = rules.split(' ').collect();
    rules.into_iter().collect::<Vec<_>>().join(" ")
}
