//! Timelines compared with a model that sorts all entries.

use proptest::{prelude::*, sample::subsequence};
use serde_json::{Value, json};
use tabellion_runtime::{BoxFuture, Failure};

use super::{
    super::{
        call::{Call, Provenance},
        entries::{Entry, Kind, Selection},
        index::{MemoryIndex, MemoryQuery, QueryResult},
        timeline::{Anchor, TimelineQuery, timeline},
    },
    bench::{Bench, Caller, wait},
    memory::{MEMORY, request},
    view::Memory,
};

/// An index without matches.
struct Nothing;

impl MemoryIndex for Nothing {
    fn search<'a>(&'a self, _: &'a MemoryQuery) -> BoxFuture<'a, Result<QueryResult, Failure>> {
        Box::pin(async { Ok(QueryResult::default()) })
    }

    fn expect(&self) {}
}

const KINDS: [Kind; 5] =
    [Kind::Observation, Kind::Execution, Kind::QualityGate, Kind::ErrorPattern, Kind::Session];
const TYPES: [&str; 3] = ["code", "execution", "quality_gate"];

fn one_of(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(names).prop_map(String::from)
}

fn some_of(names: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    subsequence(names, 0..=names.len()).prop_map(|names| names.into_iter().map(String::from).collect())
}

/// A row of a kind, with times that repeat and do not follow the order of arrival.
fn row(kind: Kind, seq: i64) -> impl Strategy<Value = Value> {
    let place = (one_of(&["p", "q"]), one_of(&["r", "s"]), one_of(&["t", "u"]));
    (0..6_i64, 0..TYPES.len(), some_of(&["a", "b"]), place).prop_map(move |(time, at, tags, (project, repo, session))| {
        json!({
            "id": format!("o-{seq}"), "org_id": "org_default", "project_id": project, "repo_id": repo, "session_id": session,
            "observation_type": TYPES[at], "content": format!("c{seq}"), "tags": tags, "seq": seq, kind.time(): time,
            "pattern_signature": "e", "description": "d", "topics": ["x"],
            "provenance": { "repo_id": repo, "session_id": session },
        })
    })
}

fn rows() -> impl Strategy<Value = (Kind, Vec<Value>)> {
    (prop::sample::select(&KINDS[..]), 1..40_i64).prop_flat_map(|(kind, count)| {
        let rows: Vec<_> = (0..count).map(|seq| row(kind, seq).boxed()).collect();
        (Just(kind), rows)
    })
}

fn selection() -> impl Strategy<Value = Selection> {
    let place = (
        prop::option::of(one_of(&["p", "q"])),
        prop::option::of(one_of(&["r", "s"])),
        prop::option::of(one_of(&["t", "u"])),
    );
    (place, some_of(&["a", "b"]), some_of(&TYPES)).prop_map(
        |((project_id, repo_id, session_id), tags, observation_types)| Selection {
            project_id,
            repo_id,
            session_id,
            tags,
            observation_types,
            ..Selection::new(Kind::Observation)
        },
    )
}

/// Returns the ids and offsets of a timeline: sorts all selected entries and the anchor, and looks around.
fn model(entries: &[Entry], asked: &TimelineQuery, anchor: &Entry) -> Vec<(String, i64)> {
    let mut all: Vec<_> =
        entries.iter().filter(|entry| asked.selection.passes(entry) || *entry == anchor).collect();
    all.sort_by_key(|entry| entry.at);
    let place = all.iter().position(|entry| *entry == anchor).unwrap() as i64;
    let near =
        |entry: &Entry| asked.window.is_none_or(|window| entry.at.time.abs_diff(anchor.at.time) <= window);
    let offsets = (0..all.len() as i64).map(|at| at - place);
    all.iter()
        .zip(offsets)
        .filter(|(entry, offset)| {
            near(entry) && -(asked.before as i64) <= *offset && *offset <= asked.after as i64
        })
        .map(|(entry, offset)| (entry.id.clone(), offset))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_timeline_is_what_lies_around_the_anchor(
        (kind, rows) in rows(),
        selection in selection(),
        at in any::<prop::sample::Index>(),
        (before, after) in (0..5_u64, 0..5_u64),
        window in prop::option::of(0..4_u64),
    ) {
        let rows: Vec<_> = rows.into_iter().map(|row| row.as_object().unwrap().clone()).collect();
        let entries: Vec<_> = rows.iter().map(|row| kind.entry(row)).collect();
        let of_kind: Vec<_> = entries.iter().filter(|entry| Selection::new(kind).passes(entry)).collect();
        prop_assume!(!of_kind.is_empty());
        let anchor = *at.get(&of_kind);
        let mut selection = Selection { kind, ..selection };
        if kind != Kind::Observation {
            selection.observation_types.clear();
        }
        let asked = || TimelineQuery { selection: selection.clone(), anchor: Anchor::Id(anchor.id.clone()), before, after, window };
        let memory = Memory { rows: rows.iter().map(|row| (kind.entity(), row.clone())).collect(), now: 10 };
        let call = Call::new(&memory, None, Provenance::default());
        let found = wait(timeline(&call, &Nothing, asked())).unwrap();
        prop_assert_eq!(&found.anchor_id, &anchor.id);
        prop_assert_eq!(found.count as usize, found.timeline.len());
        let ids: Vec<_> = found.timeline.into_iter().map(|entry| (entry.observation_id, entry.offset)).collect();
        let of_kind: Vec<_> = of_kind.into_iter().cloned().collect();
        prop_assert_eq!(ids, model(&of_kind, &asked(), anchor));
    }
}

#[test]
fn neighbours_of_the_same_second_are_there_in_the_order_of_arrival() {
    let bench = Bench::with_project();
    let ids: Vec<_> = (0..12).map(|at| bench.note(&format!("note {at}"), json!({}))).collect();
    let asked = json!({ "anchor_id": ids[6], "depth_before": 3, "depth_after": 2 });
    let answer = bench.call(MEMORY, request("timeline", "observation", asked));
    let found: Vec<_> = answer["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["observation_id"].as_str().unwrap(), entry["offset"].as_i64().unwrap()))
        .collect();
    let expected: Vec<_> = (-3..=2).map(|offset| (ids[(6 + offset) as usize].as_str(), offset)).collect();
    assert_eq!(found, expected);
    assert_eq!((&answer["anchor_id"], &answer["count"]), (&json!(ids[6]), &json!(6)));
    let entry = &answer["timeline"][3];
    assert_eq!((&entry["content"], &entry["observation_type"]), (&json!("note 6"), &json!("code")));
    // The default is five on each side.
    let answer = bench.call(MEMORY, request("timeline", "observation", json!({ "anchor_id": ids[6] })));
    assert_eq!(answer["count"], 11);
}

#[test]
fn a_query_anchors_at_its_best_hit_and_filters_hold_for_neighbours() {
    let bench = Bench::with_project();
    bench.note("before", json!({ "tags": ["x"] }));
    let anchor = bench.note("the deployment failed", json!({}));
    bench.note("not tagged", json!({}));
    let after = bench.note("after", json!({ "tags": ["x"], "observation_type": "error" }));
    let asked = json!({ "query": "deployment failed", "tags": ["x"], "observation_types": ["Error"] });
    let answer = bench.call(MEMORY, request("timeline", "observation", asked));
    let found: Vec<_> =
        answer["timeline"].as_array().unwrap().iter().map(|entry| &entry["observation_id"]).collect();
    assert_eq!(found, [&json!(anchor), &json!(after)]);
}

#[test]
fn an_anchor_is_of_the_resource_and_the_org() {
    let bench = Bench::with_project();
    let caller = Caller::new();
    bench.add("org", json!({ "id": "org_b", "name": "B" }));
    let id = bench.note("a note", json!({}));
    let pattern =
        bench.store("error_pattern", json!({ "pattern_signature": "e", "description": "d" }))["id"].clone();
    let around = |resource: &str, members: Value| request("timeline", resource, members);
    for (caller, asked) in [
        (&caller, around("execution", json!({ "anchor_id": id }))),
        (&caller, around("session", json!({ "anchor_id": id }))),
        (&caller, around("observation", json!({ "anchor_id": pattern }))),
        (&caller, around("observation", json!({ "query": "zebra" }))),
        (&caller, around("execution", json!({ "query": "note" }))),
        (&caller.clone().of_org("org_b"), around("observation", json!({ "anchor_id": id }))),
        (&caller.clone().of_org("org_b"), around("observation", json!({ "query": "note" }))),
    ] {
        assert_eq!(bench.by(caller).refusal(MEMORY, asked.clone()), "not_found", "{asked}");
    }
    for (asked, rule) in [
        (json!({}), "one_anchor"),
        (json!({ "anchor_id": id, "query": "note" }), "one_anchor"),
        (json!({ "anchor_id": id, "depth_before": 101 }), "maximum"),
        (json!({ "anchor_id": id, "window_secs": -1 }), "minimum"),
        (json!({ "anchor_id": id, "limit": 1 }), "unused_argument"),
    ] {
        assert_eq!(bench.refusal(MEMORY, around("observation", asked.clone())), rule, "{asked}");
    }
    let answer = bench.call(MEMORY, around("error_pattern", json!({ "anchor_id": pattern })));
    assert_eq!(answer["timeline"][0]["content"], "e: d");
    let run =
        json!({ "command": "c", "exit_code": 0, "duration_ms": 1, "success": true, "execution_type": "ci" });
    let run = bench.store("execution", run);
    for id in ["execution_id", "observation_id"] {
        let answer = bench.call(MEMORY, around("execution", json!({ "anchor_id": run[id] })));
        assert_eq!(answer["anchor_id"], run["observation_id"], "{id}");
    }
}
