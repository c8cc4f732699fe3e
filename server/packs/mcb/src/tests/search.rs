//! Searching: filters, scores, and any text as a query.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    bench::{Bench, Caller},
    memory::{MEMORY, request},
};

const SEARCH: &str = "search";

impl Bench {
    #[track_caller]
    fn search(&self, query: &str, members: Value) -> Value {
        let mut asked = json!({ "resource": "memory", "query": query });
        asked.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let (answer, meta) = self.answer(SEARCH, asked).unwrap();
        assert_eq!(meta["tabellion/ranking"], "lexical");
        assert_eq!(answer["count"], answer["results"].as_array().unwrap().len());
        answer
    }
}

fn ids(answer: &Value) -> Vec<&str> {
    let hits = answer["results"].as_array().unwrap();
    hits.iter().map(|hit| hit["observation_id"].as_str().unwrap()).collect()
}

#[test]
fn a_hit_has_all_that_is_known_of_it() {
    let bench = Bench::with_project();
    let more = json!({ "observation_type": "context", "tags": ["money"], "file_path": "a.rs", "branch": "main", "commit": "abc" });
    let id = bench.note("prices are kept in cents", more);
    let answer = bench.search("how are prices kept?", json!({}));
    let hit = &answer["results"][0];
    let expected = json!({
        "observation_id": id, "project_id": "shop", "content": "prices are kept in cents", "observation_type": "context",
        "tags": ["money"], "similarity_score": hit["similarity_score"], "session_id": "s-1", "repo_id": "r-1",
        "file_path": "a.rs", "branch": "main", "commit": "abc", "created_at": hit["created_at"],
        "provenance": hit["provenance"],
    });
    assert_eq!(hit, &expected);
    assert_eq!(
        (&answer["query"], &answer["resource"], &answer["total"]),
        (&json!("how are prices kept?"), &json!("memory"), &json!(1))
    );
    assert_eq!(hit["provenance"]["session_id"], "s-1");
}

#[test]
fn filters_hold_before_hits_are_cut() {
    let bench = Bench::with_project();
    let other = Caller::new().with("session_id", "s-2").with("repo_id", "r-2");
    let a = bench.note("alpha one", json!({ "tags": ["x", "y"], "file_path": "a.rs", "branch": "main" }));
    let b = bench
        .by(&other)
        .note("alpha two", json!({ "tags": ["x"], "branch": "topic", "observation_type": "context" }));
    let c = bench.note("alpha three", json!({ "project_id": "other", "observation_type": "error" }));
    let (a, b, c) = (a.as_str(), b.as_str(), c.as_str());
    let cases: Vec<(Value, Vec<&str>)> = vec![
        (json!({}), vec![a, b, c]),
        (json!({ "tags": ["x"] }), vec![a, b]),
        (json!({ "tags": ["x", "y"] }), vec![a]),
        (json!({ "session_id": "s-2" }), vec![b]),
        (json!({ "filters": ["type:context"] }), vec![b]),
        (json!({ "filters": ["type:Error"] }), vec![c]),
        (json!({ "filters": ["type:error", "type:context"] }), vec![]),
        (json!({ "filters": ["file:a.rs"] }), vec![a]),
        (json!({ "filters": ["branch: topic "] }), vec![b]),
        (json!({ "filters": ["branch:topic", "branch:main"] }), vec![]),
        (json!({ "filters": ["repo:r-1"] }), vec![a, c]),
        (json!({ "filters": ["repo:r-1", "project:shop"] }), vec![a]),
        (json!({ "filters": ["project:none"] }), vec![]),
        (json!({ "filters": ["since:1", "until:99999999999"] }), vec![a, b, c]),
        (json!({ "filters": ["since:99999999999"] }), vec![]),
        (json!({ "filters": ["until:1"] }), vec![]),
        (json!({ "resource": "context" }), vec![b]),
        (json!({ "resource": "context", "filters": ["type:code"] }), vec![]),
    ];
    for (members, expected) in cases {
        let answer = bench.search("alpha", members.clone());
        let mut found = ids(&answer);
        found.sort_unstable();
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(found, expected, "{members}");
        assert_eq!(answer["total"], found.len(), "{members}");
        if expected.len() > 1 {
            let mut members = members;
            members["limit"] = 1.into();
            let cut = bench.search("alpha", members);
            assert_eq!((&cut["count"], &cut["total"]), (&json!(1), &json!(expected.len())));
        }
    }
}

#[test]
fn scores_descend_and_the_lowest_can_be_said() {
    let bench = Bench::with_project();
    for content in ["alpha beta gamma", "alpha beta delta epsilon", "alpha zeta eta theta iota", "kappa"] {
        bench.note(content, json!({}));
    }
    let answer = bench.search("alpha beta gamma", json!({}));
    let scores: Vec<_> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["similarity_score"].as_f64().unwrap())
        .collect();
    assert_eq!(scores.len(), 3);
    assert!(
        scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| (0.0..=1.0).contains(score)),
        "{scores:?}"
    );
    let answer = bench.search("alpha beta gamma", json!({ "min_score": scores[1], "limit": 1 }));
    assert_eq!((&answer["count"], &answer["total"]), (&json!(1), &json!(2)));
    assert_eq!(
        bench.search("alpha beta gamma", json!({ "min_score": 1 }))["total"].as_i64().unwrap().min(1),
        i64::from(scores[0] >= 1.0)
    );
}

#[test]
fn what_is_in_another_org_or_session_is_found_only_by_its_own() {
    let bench = Bench::with_project();
    bench.add("org", json!({ "id": "org_b", "name": "B" }));
    bench.note("alpha", json!({}));
    // Provenance is not a filter: another session finds it, another org does not.
    for (other, total) in [
        (Caller::new().with("session_id", "s-9").with("project_id", "elsewhere").with("repo_id", "r-9"), 1),
        (Caller::new().of_org("org_b"), 0),
    ] {
        assert_eq!(bench.by(&other).search("alpha", json!({}))["total"], total);
    }
}

#[test]
fn what_has_changed_is_found_as_it_is_now() {
    let bench = Bench::with_project();
    let id = bench.note("alpha", json!({ "tags": ["x"] }));
    assert_eq!(ids(&bench.search("alpha", json!({ "tags": ["x"] }))), [id.as_str()]);
    assert_eq!(bench.search("alpha", json!({ "tags": ["y"] }))["total"], 0);
    bench.note("alpha", json!({ "tags": ["y"] }));
    assert_eq!(ids(&bench.search("alpha", json!({ "tags": ["x", "y"] }))), [id.as_str()]);
    let pattern = |description: &str| {
        let data = json!({ "pattern_signature": "E1", "description": description });
        bench.store("error_pattern", data);
    };
    let found = |query: &str| {
        let asked = request("get", "error_pattern", json!({ "query": query }));
        bench.call(MEMORY, asked)["count"].as_i64().unwrap()
    };
    pattern("borrowed twice");
    assert_eq!((found("borrowed"), found("moved")), (1, 0));
    pattern("moved away");
    assert_eq!((found("borrowed"), found("moved")), (0, 1));
}

#[test]
fn an_index_that_is_missing_or_damaged_is_made_anew() {
    let mut bench = Bench::with_project();
    // More changes than one transaction of the index takes.
    for at in 0..1100 {
        bench.add("observation", observation(at));
    }
    let file = bench.records.beside("mcb-words.db");
    let spoils: [fn(&Path); 3] =
        [|_| {}, |file| fs::remove_file(file).unwrap(), |file| fs::write(file, "no index").unwrap()];
    for spoil in spoils {
        assert_eq!(bench.search("alpha", json!({ "limit": 1 }))["total"], 1100);
        let folder = bench.close();
        spoil(&file);
        bench = Bench::over(folder);
    }
    assert_eq!(bench.search("zebra", json!({}))["total"], 1);
}

fn observation(at: usize) -> Value {
    json!({
        "project_id": "shop", "content": if at == 1099 { "alpha zebra" } else { "alpha" }, "observation_type": "code", "content_hash": "0".repeat(64),
        "session_id": "s-1",
    })
}

#[test]
fn what_can_not_be_searched_is_said() {
    let bench = Bench::with_project();
    let cases = [
        (json!({ "resource": "code", "query": "x", "tags": ["t"] }), "unused_argument", "tags"),
        (
            json!({ "resource": "memory", "query": "x", "token": "t" }),
            "token",
            "token can't be checked here; leave it out",
        ),
        (
            json!({ "resource": "memory", "query": "x", "extensions": ["rs"] }),
            "unused_argument",
            "extensions",
        ),
        (json!({ "resource": "memory", "query": " \n" }), "pattern", ""),
        (
            json!({ "resource": "memory", "query": "x", "filters": ["language:rust"] }),
            "filter",
            "`type`, `file`",
        ),
        (json!({ "resource": "memory", "query": "x", "filters": ["branch"] }), "filter", "field:value"),
        (json!({ "resource": "memory", "query": "x", "filters": ["branch:"] }), "filter", "not blank"),
        (
            json!({ "resource": "memory", "query": "x", "filters": ["since:yesterday"] }),
            "filter",
            "Unix seconds",
        ),
        (json!({ "resource": "memory", "query": "x", "min_score": 1.5 }), "maximum", ""),
        (json!({ "resource": "memory", "query": "x", "limit": 0 }), "minimum", ""),
        (json!({ "resource": "memory" }), "required", "query"),
    ];
    for (asked, rule, words) in cases {
        assert_eq!(bench.refusal(SEARCH, asked.clone()), rule, "{asked}");
        let error = bench.answer(SEARCH, asked.clone()).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains(words), "{asked}: {error}");
    }
}

/// Operators of query languages, punctuation, and a sentence of each of 20 scripts.
const ANY_TEXT: &[&str] = &[
    "\"",
    "'",
    "*",
    "(",
    ")",
    "AND",
    "OR NOT",
    "NEAR(a b, 2)",
    "a AND",
    "\"unbalanced",
    "col:value",
    "content:x*",
    "^start",
    "a^2",
    "-minus",
    "+plus",
    "a-b_c.d",
    "C++ && c#",
    "%",
    "_",
    "\\",
    "\\\\\"",
    ";",
    "'; DROP TABLE observation; --",
    "a\"b\"c",
    "{x}: y",
    "[x]",
    "?",
    "!",
    "…",
    "–",
    "¿qué?",
    "😀",
    "👩‍👩‍👧‍👦",
    "\u{301}",
    "\u{200d}",
    "\u{feff}x",
    "\u{202e}x",
    "a\u{1}b",
    "\t\n x",
    "𝕏",
    "1e9",
    "0x1F",
    "--",
    "The quick brown fox",
    "Быстрая коричневая лиса",
    "Η γρήγορη αλεπού",
    "השועל המהיר",
    "الثعلب البني السريع",
    "तेज़ भूरी लोमड़ी",
    "দ্রুত বাদামী শিয়াল",
    "ਤੇਜ਼ ਭੂਰੀ ਲੂੰਬੜੀ",
    "ઝડપી ભૂરા શિયાળ",
    "வேகமான பழுப்பு நரி",
    "వేగవంతమైన నక్క",
    "ವೇಗದ ಕಂದು ನರಿ",
    "വേഗതയുള്ള കുറുക്കൻ",
    "දුඹුරු නරියා",
    "สุนัขจิ้งจอกสีน้ำตาล",
    "ໝາຈອກສີນ້ຳຕານ",
    "လျင်မြန်သောမြေခွေး",
    "សត្វកញ្ជ្រោង",
    "სწრაფი მელა",
    "Արագ աղվեսը",
    "ፈጣኑ ቡናማ ቀበሮ",
    "敏捷的棕色狐狸",
    "すばやい茶色のキツネ",
    "빠른 갈색 여우",
    "ᠰᠢᠷ᠎ᠠ",
    "གཡུང་དྲུང",
];

#[test]
fn any_text_is_a_query_everywhere() {
    let bench = Bench::with_project();
    for text in ANY_TEXT {
        bench.note(&format!("x {text}"), json!({}));
    }
    bench.store("error_pattern", json!({ "pattern_signature": "x", "description": "y" }));
    let has_words = |text: &str| text.chars().filter(|letter| letter.is_alphabetic()).count() > 3;
    for text in ANY_TEXT {
        let answer = bench.search(text, json!({ "limit": 1000 }));
        if has_words(text) && !["AND", "OR NOT"].contains(text) {
            let found =
                answer["results"].as_array().unwrap().iter().any(|hit| hit["content"] == format!("x {text}"));
            assert!(found, "{text:?} does not find itself");
        }
        for (action, resource) in [
            ("list", "observation"),
            ("list", "session"),
            ("get", "error_pattern"),
            ("inject", "observation"),
        ] {
            bench.call(MEMORY, request(action, resource, json!({ "query": text })));
        }
        match bench.answer(MEMORY, request("timeline", "observation", json!({ "query": text }))) {
            Ok(_) => {}
            Err(error) => assert_eq!(error["rule"], "not_found", "{text:?}: {error}"),
        }
    }
}
