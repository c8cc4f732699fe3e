//! Contexts: their entries, and that they never exceed their budget.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{
        entries::{Entry, Kind},
        inject::{pack, rank, tokens},
    },
    bench::{Bench, Caller, git},
    memory::{MEMORY, request},
};

fn entry(seq: i64, content: &str, tags: &[&str], time: i64) -> Entry {
    let row = json!({
        "id": format!("o-{seq}"), "observation_type": "code", "content": content, "tags": tags, "created_at": time, "seq": seq,
    });
    Kind::Observation.entry(row.as_object().unwrap())
}

proptest! {
    /// Compared with a model that builds the context entry by entry and counts it anew each time.
    #[test]
    fn a_context_has_whole_entries_within_its_budget(
        contents in prop::collection::vec("[ -~é中𝕏\n]{1,60}", 0..20),
        limit in 1..12_u64,
        max_tokens in 1..120_u64,
    ) {
        let entries: Vec<_> = (0..).zip(&contents).map(|(seq, content)| entry(seq, content, &[], 0)).collect();
        let packed = pack(&entries, limit, max_tokens);
        let (mut ids, mut context, mut left_out) = (vec![], String::new(), false);
        for entry in &entries {
            if ids.len() as u64 == limit {
                left_out = true;
                break;
            }
            let more = format!("{context}[CODE] {}: {}\n\n", entry.id, entry.content);
            if tokens(&more) as u64 <= max_tokens {
                ids.push(entry.id.clone());
                context = more;
            } else {
                left_out = true;
            }
        }
        prop_assert_eq!(&packed.ids, &ids);
        prop_assert_eq!(&packed.context, &context);
        prop_assert_eq!(packed.truncated, left_out);
        prop_assert!(context.chars().count() as u64 <= 4 * max_tokens);
    }
}

#[test]
fn entries_rank_by_query_tags_and_age() {
    const DAY: i64 = 24 * 3600;
    let now = 1000 * DAY;
    /// Score, tags, and age in days.
    type Candidate<'t> = (f64, &'t [&'t str], i64);
    /// Candidates, whether there is a query, its tags, and the expected order.
    type Case<'t> = (&'t [Candidate<'t>], bool, &'t [&'t str], Vec<i64>);
    let order = |candidates: &[Candidate<'_>], has_query, tags: &[&str]| {
        let entries = (0..)
            .zip(candidates)
            .map(|(seq, (score, tags, days))| (entry(seq, "x", tags, now - days * DAY), *score));
        let tags: Vec<_> = tags.iter().map(|tag| String::from(*tag)).collect();
        let ranked = rank(entries.collect(), has_query, &tags, now);
        ranked.iter().map(|entry| entry.at.seq).collect::<Vec<_>>()
    };
    let cases: [Case<'_>; 6] = [
        (&[(0.0, &[], 9), (0.0, &[], 1), (0.0, &[], 5)], false, &[], vec![1, 2, 0]),
        (&[(0.0, &[], 1), (0.0, &[], 1)], false, &[], vec![1, 0]),
        (&[(0.2, &[], 0), (0.9, &[], 400)], true, &[], vec![1, 0]),
        (&[(0.5, &[], 0), (0.5, &["a"], 0), (0.5, &["a", "b"], 0)], true, &["a", "b"], vec![2, 1, 0]),
        (&[(0.0, &["a"], 900), (0.0, &[], 0)], false, &["a"], vec![0, 1]),
        // The score for age approaches zero, and is never negative.
        (&[(0.11, &[], 100_000), (0.1, &[], 100_000)], true, &[], vec![0, 1]),
    ];
    for (candidates, has_query, tags, expected) in cases {
        assert_eq!(order(candidates, has_query, tags), expected, "{candidates:?} {tags:?}");
    }
}

impl Bench {
    #[track_caller]
    fn inject(&self, resource: &str, members: Value) -> Value {
        self.call(MEMORY, request("inject", resource, members))
    }
}

#[test]
fn a_context_is_of_the_resource_and_says_what_it_has() {
    let bench = Bench::with_project();
    let parser = bench.note("the parser loses comments", json!({ "observation_type": "error" }));
    bench.note("prices are kept in cents", json!({ "tags": ["money"] }));
    bench.store("error_pattern", json!({ "pattern_signature": "E0502", "description": "borrowed twice" }));
    bench.store(
        "session",
        json!({ "session_id": "s-1", "topics": ["the parser"], "next_steps": ["release", "rest"] }),
    );
    let answer = bench.inject("observation", json!({ "query": "parser" }));
    let context = format!("[ERROR] {parser}: the parser loses comments\n\n");
    let expected = json!({
        "observation_count": 1, "observation_ids": [parser], "context": context,
        "estimated_tokens": context.chars().count().div_ceil(4), "truncated": false, "vcs_context": null,
    });
    assert_eq!(answer, expected);
    let count = |resource: &str, members: Value| bench.inject(resource, members)["observation_count"].clone();
    for (resource, members, expected) in [
        ("observation", json!({}), 2),
        ("observation", json!({ "limit": 1 }), 1),
        ("observation", json!({ "query": "parser", "tags": ["money"] }), 2),
        ("observation", json!({ "tags": ["money"] }), 2),
        ("observation", json!({ "observation_types": ["Error"] }), 1),
        ("observation", json!({ "project_id": "other" }), 0),
        ("observation", json!({ "session_id": "s-2" }), 0),
        ("execution", json!({}), 0),
        ("error_pattern", json!({ "query": "borrowed" }), 1),
        ("session", json!({ "repo_id": "r-1" }), 1),
    ] {
        assert_eq!(count(resource, members.clone()), expected, "{resource} {members}");
    }
    let tagged = bench.inject("observation", json!({ "tags": ["money"], "limit": 1 }));
    assert!(tagged["context"].as_str().unwrap().contains("cents"), "{tagged}");
    let summary = bench.inject("session", json!({}));
    let text = summary["context"].as_str().unwrap();
    assert!(
        text.starts_with("[SESSION] ")
            && text.ends_with(": Topics: the parser\nNext steps: release; rest\n\n"),
        "{text}"
    );
}

#[test]
fn no_budget_is_exceeded() {
    let bench = Bench::with_project();
    for at in 0..30 {
        bench.note(&format!("{at} {}", "wörter ".repeat(at)), json!({}));
    }
    for max_tokens in [1, 10, 14, 15, 16, 100, 500, 2000] {
        let answer = bench.inject("observation", json!({ "max_tokens": max_tokens, "limit": 1000 }));
        let context = answer["context"].as_str().unwrap();
        assert!(context.chars().count() <= 4 * max_tokens, "{max_tokens}: {answer}");
        assert_eq!(answer["estimated_tokens"], context.chars().count().div_ceil(4));
        assert_eq!(answer["observation_count"], context.matches("[CODE] ").count());
        let fits = answer["observation_count"] == 30;
        assert_eq!(answer["truncated"], !fits, "{max_tokens}");
    }
}

#[test]
fn branch_and_commit_are_those_of_a_repository_in_a_workspace() {
    let bench = Bench::with_project();
    let outside = tempfile::tempdir().unwrap();
    let inside = bench.folder().join("work");
    std::fs::create_dir(&inside).unwrap();
    for folder in [outside.path(), &inside] {
        git(folder, &["init", "-q", "-b", "topic/one"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
    }
    let context = |path: &std::path::Path| {
        let there = Caller::new().with("repo_path", path.to_str().unwrap());
        bench.by(&there).inject("observation", json!({}))["vcs_context"].clone()
    };
    let commit = git(&inside, &["rev-parse", "HEAD"]);
    assert_eq!(context(&inside), json!({ "branch": "topic/one", "commit": commit }));
    std::fs::create_dir(inside.join("deep")).unwrap();
    assert_eq!(context(&inside.join("deep"))["commit"], commit);
    git(&inside, &["checkout", "-q", "--detach"]);
    assert_eq!(context(&inside), json!({ "branch": null, "commit": commit }));
    for path in
        [outside.path(), &inside.join("none"), std::path::Path::new("/"), std::path::Path::new("relative")]
    {
        assert_eq!(context(path), Value::Null, "{}", path.display());
    }
}
