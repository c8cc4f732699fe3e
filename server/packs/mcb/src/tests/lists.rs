//! Lists of each resource: the newest entries, and the matches of a query.

use serde_json::{Value, json};

use super::{
    bench::{Bench, Caller},
    memory::{MEMORY, request},
};

impl Bench {
    #[track_caller]
    fn list(&self, resource: &str, members: Value) -> Value {
        self.call(MEMORY, request("list", resource, members))
    }
}

fn ids(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap();
    assert_eq!(answer["count"], results.len());
    results.iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[test]
fn the_newest_come_first_by_what_is_asked_for() {
    let bench = Bench::with_project();
    let other = Caller::new().with("session_id", "s-2").with("repo_id", "r-2");
    let a = bench.note("first", json!({ "tags": ["x", "y"], "file_path": "a.rs" }));
    let b = bench.by(&other).note("second", json!({ "tags": ["x"] }));
    let c =
        bench.note("third", json!({ "project_id": "other", "tags": ["e\u{301}te\u{301}", "\u{e9}t\u{e9}"] }));
    let (a, b, c) = (a.as_str(), b.as_str(), c.as_str());
    let cases = [
        (json!({}), vec![c, b, a], 3),
        (json!({ "limit": 2 }), vec![c, b], 3),
        (json!({ "project_id": "shop" }), vec![b, a], 2),
        (json!({ "session_id": "s-2" }), vec![b], 1),
        (json!({ "repo_id": "r-1" }), vec![c, a], 2),
        (json!({ "tags": ["x"] }), vec![b, a], 2),
        (json!({ "tags": ["x"], "limit": 1 }), vec![b], 2),
        (json!({ "tags": ["y", "x"] }), vec![a], 1),
        (json!({ "tags": ["x", "z"] }), vec![], 0),
        (json!({ "tags": ["\u{e9}t\u{e9}"] }), vec![c], 1),
        (json!({ "project_id": "none" }), vec![], 0),
    ];
    for (members, expected, total) in cases {
        let answer = bench.list("observation", members.clone());
        assert_eq!((ids(&answer), &answer["total"]), (expected, &json!(total)), "{members}");
        assert_eq!(answer["query"], Value::Null);
    }
    let named = bench.list("observation", json!({ "tags": ["\u{e9}t\u{e9}"], "query": "third" }));
    assert_eq!((ids(&named), &named["results"][0]["tags"]), (vec![c], &json!(["e\u{301}te\u{301}"])));
    let answer = bench.list("observation", json!({ "tags": ["y"] }));
    let item = &answer["results"][0];
    let expected = json!({
        "id": a, "observation_type": "code", "relevance_score": 1.0, "tags": ["x", "y"], "content_preview": "first",
        "session_id": "s-1", "repo_id": "r-1", "file_path": "a.rs", "created_at": item["created_at"], "seq": item["seq"],
    });
    assert_eq!(item, &expected);
    assert!(answer["hint"].as_str().unwrap().contains("`get`"));
}

#[test]
fn each_resource_lists_its_own() {
    let bench = Bench::with_project();
    let note = bench.note("a thing", json!({}));
    let run = json!({ "command": "make thing", "exit_code": 0, "duration_ms": 1, "success": true, "execution_type": "build" });
    let run = bench.store("execution", run)["observation_id"].clone();
    let gate =
        bench.store("quality_gate", json!({ "gate_name": "thing", "status": "passed" }))["observation_id"]
            .clone();
    let pattern = json!({ "pattern_signature": "thing", "description": "it broke", "category": "build", "tags": ["t"] });
    let pattern = bench.store("error_pattern", pattern)["id"].clone();
    let summary = json!({ "session_id": "s-1", "topics": ["the thing", "more"], "decisions": ["none"] });
    let summary = bench.store("session", summary)["summary_id"].clone();
    let all = [note.as_str(), run.as_str().unwrap(), gate.as_str().unwrap()];
    let cases = [
        ("observation", vec![all[2], all[1], all[0]], "Quality Gate: thing (status=passed)"),
        ("execution", vec![all[1]], "Execution: make thing (exit_code=0, success=true)"),
        ("quality_gate", vec![all[2]], "Quality Gate: thing (status=passed)"),
        ("error_pattern", vec![pattern.as_str().unwrap()], "thing: it broke"),
        ("session", vec![summary.as_str().unwrap()], "the thing; more"),
    ];
    for (resource, expected, preview) in cases {
        let newest = bench.list(resource, json!({}));
        assert_eq!(ids(&newest), expected, "{resource}");
        assert_eq!(newest["results"][0]["content_preview"], preview, "{resource}");
        let found = bench.list(resource, json!({ "query": "thing" }));
        let mut found: Vec<_> = ids(&found);
        found.sort_unstable();
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(found, expected, "{resource}");
    }
    let patterns = bench.list("error_pattern", json!({ "tags": ["t"] }));
    let item = &patterns["results"][0];
    assert_eq!((&item["category"], &item["occurrence_count"]), (&json!("build"), &json!(1)));
    assert_eq!((&item["observation_type"], &item["session_id"]), (&json!("error_pattern"), &json!("s-1")));
    let sessions = bench.list("session", json!({ "repo_id": "r-1", "session_id": "s-1" }));
    assert_eq!(sessions["results"][0]["observation_type"], "session");
    assert_eq!(bench.list("session", json!({ "repo_id": "r-2" }))["total"], 0);
}

#[test]
fn a_query_finds_the_best_first_within_the_filters() {
    let bench = Bench::with_project();
    let near = bench.note("the parser loses the last comment of a file", json!({ "tags": ["x"] }));
    let far = bench.note("the parser is slow with large inputs and many files", json!({}));
    bench.note("prices are kept in cents", json!({}));
    bench.note("the parser loses the last comment", json!({ "project_id": "other" }));
    let answer = bench.list("observation", json!({ "query": "parser comment", "project_id": "shop" }));
    assert_eq!((ids(&answer), &answer["total"]), (vec![near.as_str(), far.as_str()], &json!(2)));
    assert_eq!(answer["query"], "parser comment");
    let scores: Vec<_> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores[0] > scores[1] && scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    let answer = bench.list("observation", json!({ "query": "parser", "tags": ["x"], "limit": 1 }));
    assert_eq!(ids(&answer), [near.as_str()]);
}

#[test]
fn many_entries_of_one_second_are_all_listed() {
    let bench = Bench::with_project();
    let mut all: Vec<_> = (0..450)
        .map(|at| bench.note(&format!("note {at}"), json!({ "tags": [format!("t{}", at % 2)] })))
        .collect();
    all.reverse();
    let answer = bench.list("observation", json!({ "limit": 1000 }));
    assert_eq!(ids(&answer), all);
    let answer = bench.list("observation", json!({ "limit": 1000, "tags": ["t1"] }));
    assert_eq!((answer["total"].as_i64(), answer["count"].as_i64()), (Some(225), Some(225)));
}
