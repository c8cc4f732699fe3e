//! Completeness of the index of words, and rebuilding it while rows are stored and searched.

use std::{fs, sync::Arc, thread};

use serde_json::{Value, json};
use tabellion_meaning::Meaning;

use super::{
    super::words::Words,
    bench::{Bench, NoModel},
};
use tabellion_pack::{Count, Derived as _, IndexState};

/// Name of the index next to the data.
const FILE: &str = "data/mcb-words.db";

fn words(bench: &Bench) -> Words {
    let meaning = Meaning::new(bench.folder().join("vectors.db"), Box::new(NoModel));
    Words::new(Arc::clone(&bench.records), Arc::new(meaning))
}

fn search(bench: &Bench, query: &str) -> u64 {
    let asked = json!({ "resource": "memory", "query": query });
    bench.call("search", asked)["total"].as_u64().unwrap()
}

/// Two observations, a pattern and a summary, in the entries 3 to 6 of the log.
fn filled() -> Bench {
    let bench = Bench::with_project();
    bench.note("prices are cents", json!({}));
    bench.note("the parser waits", json!({}));
    let pattern = json!({ "pattern_signature": "E7", "description": "out of cents" });
    bench.store("error_pattern", pattern);
    bench.store("session", json!({ "session_id": "s-1", "topics": ["cents"] }));
    bench
}

#[test]
fn a_standing_tells_how_much_of_the_rows_is_indexed() {
    type Done<'d> = &'d dyn Fn(&Bench);
    let nothing: Done<'_> = &|_| {};
    let searched: Done<'_> = &|bench| assert_eq!(search(bench, "cents"), 1);
    let stored: Done<'_> = &|bench| {
        searched(bench);
        bench.note("one more", json!({}));
        bench.note("one more", json!({}));
    };
    let broken: Done<'_> = &|bench| fs::write(bench.folder().join(FILE), "no database").unwrap();
    let current = IndexState::Current { rows: 4, at: 6 };
    for (done, expected) in [
        (nothing, Ok(IndexState::Missing { rows: 4 })),
        (searched, Ok(current.clone())),
        (stored, Ok(IndexState::Behind { has: 4, rows: 5, at: 6, end: 8 })),
        (broken, Err("not a database")),
    ] {
        let bench = filled();
        done(&bench);
        let exists = bench.folder().join(FILE).exists();
        let standing = words(&bench).standing().unwrap();
        assert_eq!(bench.folder().join(FILE).exists(), exists, "{standing:?}: it made or removed the file");
        match (&standing, &expected) {
            (IndexState::Void(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (standing, Ok(expected)) => assert_eq!(standing, expected),
            (standing, Err(part)) => panic!("{standing:?}, not {part}"),
        }
        // Each of these indexes can be rebuilt.
        let rows = bench.rows("observation").len() as u64 + 2;
        let counts = words(&bench).rebuild(&mut |_, _| {}).unwrap();
        assert_eq!(counts.iter().map(|count| count.rows).sum::<u64>(), rows);
        let at = bench.changes() as i64;
        assert_eq!(words(&bench).standing().unwrap(), IndexState::Current { rows, at });
        assert_eq!(search(&bench, "parser"), 1);
    }
}

#[test]
fn an_index_made_anew_equals_one_that_followed() {
    let bench = filled();
    let scores = |query: &str| -> Vec<Value> {
        let asked = json!({ "resource": "memory", "query": query });
        let answer = bench.call("search", asked);
        let hits = answer["results"].as_array().unwrap();
        hits.iter().map(|hit| json!([hit["observation_id"], hit["similarity_score"]])).collect()
    };
    let followed = scores("prices of the parser");
    assert_eq!(followed.len(), 2);
    let mut told = vec![];
    let counts = words(&bench).rebuild(&mut |taken, all| told.push((taken, all))).unwrap();
    let counted = |entity, rows| Count { entity, rows };
    let expected = [counted("observation", 2), counted("error_pattern", 1), counted("session_summary", 1)];
    assert_eq!(counts, expected);
    assert_eq!((told.first(), told.last()), (Some(&(0, 4)), Some(&(4, 4))));
    assert_eq!(scores("prices of the parser"), followed);
}

#[test]
fn rows_are_stored_and_searched_meanwhile() {
    let bench = filled();
    assert_eq!(search(&bench, "cents"), 1);
    let counts = thread::scope(|scope| {
        let mut later = None;
        let counts = words(&bench).rebuild(&mut |_, _| {
            // Earlier rows are found as before, and storing another row is not blocked.
            if later.is_none() {
                assert_eq!(search(&bench, "cents"), 1);
                bench.note("cents in a hurry", json!({}));
                later = Some(scope.spawn(|| search(&bench, "cents")));
            }
        });
        // A search that needs the row stored meanwhile waited for the new index.
        assert_eq!(later.unwrap().join().unwrap(), 2);
        counts
    });
    let rows: u64 = counts.unwrap().iter().map(|count| count.rows).sum();
    assert!((4..=5).contains(&rows), "{rows}");
    assert_eq!(words(&bench).standing().unwrap(), IndexState::Current { rows: 5, at: 7 });
}

#[test]
fn an_index_that_lacks_much_catches_up_before_it_is_asked() {
    let bench = filled();
    let words = words(&bench);
    let file = bench.folder().join(FILE);
    // Up to this number of changes are left to the first search.
    assert_eq!(words.catch_up(6), Ok(0));
    assert!(!file.exists());
    assert_eq!(words.catch_up(5), Ok(6));
    assert!(matches!(words.standing(), Ok(IndexState::Current { .. })), "{:?}", words.standing());
    bench.note("one more", json!({}));
    assert_eq!(words.catch_up(1), Ok(0));
    assert_eq!(words.catch_up(0), Ok(1));
    assert_eq!(words.catch_up(0), Ok(0));
}
