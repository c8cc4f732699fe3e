//! The order of hits, and the data that scores do not depend on.

use super::source::{Bench, Log, document, ids, member, with_facets};
use crate::{Document, Filters, Search, Text};

/// A sentence about the order, a query, the ids of its hits in order, and the documents.
type Case = (&'static str, &'static str, &'static [&'static str], fn() -> Vec<Document>);

const CASES: [Case; 11] = [
    ("more of the words, and rarer ones, come first", "bicycle red car", &["b", "a", "c", "d"], || {
        vec![
            document("a", "red car"),
            document("b", "red bicycle"),
            document("c", "red car red"),
            document("d", "red"),
        ]
    }),
    ("a shorter text comes before a longer one", "zebra", &["short", "long"], || {
        vec![document("long", "zebra with many other different things beside"), document("short", "zebra")]
    }),
    ("a title counts more than a text", "zebra", &["titled", "plain"], || {
        let mut titled = document("titled", "about something");
        titled.texts.push(Text::weighted("zebra", 3));
        vec![document("plain", "zebra about something"), titled]
    }),
    (
        "an answer gains from the question before it",
        "paint fence red",
        &["question", "answer", "far"],
        || {
            vec![
                member("far", "g", 1, "yes, the red one"),
                member("filler", "g", 2, "well"),
                member("filler 2", "g", 3, "well"),
                member("question", "g", 4, "did you paint the fence"),
                member("answer", "g", 5, "yes, the red one"),
            ]
        },
    ),
    (
        "a document with all words comes before the one in the middle",
        "Anna moved",
        &["moved", "works", "cats"],
        || {
            vec![
                member("moved", "g", 1, "Anna moved to Berlin last year."),
                member("works", "g", 2, "Anna works as an engineer."),
                member("cats", "g", 3, "Anna has two cats."),
            ]
        },
    ),
    ("a word comes before a part of an identifier", "Java", &["java", "script"], || {
        vec![document("script", "Written in JavaScript."), document("java", "Written in Java, by the way.")]
    }),
    (
        "a group about the subject comes before one that mentions it",
        "garden",
        &["more", "subject", "mention"],
        || {
            vec![
                member("mention", "x", 1, "the garden is fine"),
                member("other", "x", 2, "politics and taxes today"),
                member("subject", "y", 1, "the garden is fine"),
                member("between", "y", 2, "so we planted"),
                member("between 2", "y", 3, "and sowed"),
                member("more", "y", 4, "a garden of roses, a garden of herbs"),
            ]
        },
    ),
    (
        "a date in the question raises what is of that time",
        "where did we hike in May 2023?",
        &["may", "june"],
        || {
            vec![
                member("june", "a", 1_686_000_000, "we went hiking"),
                member("may", "b", 1_683_500_000, "we went hiking"),
            ]
        },
    ),
    ("of equal scores, the newest comes first", "text", &["4", "3", "2", "1"], || {
        (1..5).map(|time| member(&format!("{time}"), &format!("g{time}"), time, "same text")).collect()
    }),
    ("a date alone makes no hit", "anything in 2023", &[], || {
        vec![member("may", "b", 1_683_500_000, "we went hiking")]
    }),
    ("neighbours of a different group add nothing", "paint red", &["c", "d", "b", "a"], || {
        vec![
            member("a", "x", 1, "paint the fence"),
            member("b", "y", 1, "red"),
            member("c", "z", 1, "red"),
            member("d", "z", 2, "paint the fence"),
        ]
    }),
];

#[test]
fn documents_are_ranked_as_a_reader_would() {
    for (what, query, expected, documents) in CASES {
        let bench = Bench::with_documents(documents());
        assert_eq!(bench.find(query), expected, "{what}");
    }
}

#[test]
fn scores_do_not_depend_on_what_is_filtered_out() {
    let owned = |owner: &str, count: i64, text: &str| {
        let documents = (0..count).map(|at| {
            let group = format!("{owner}/{}", at % 3);
            let document = member(&format!("{owner}/{at}"), &group, at, &format!("{text} {}", at % 4));
            with_facets(document, &[("org", owner)])
        });
        documents.collect::<Vec<_>>()
    };
    let ours = owned("ours", 20, "apples and pears");
    let theirs = owned("theirs", 50, "apples, apples and secrets");
    let alone = Bench::with_documents(ours.clone());
    let together = Bench::with_documents(theirs.into_iter().chain(ours));
    for query in ["apples", "pears 3", "secrets apples", "missing"] {
        let filters = || Filters::default().with("org", "ours");
        let mut found = together.search(query, filters());
        let mut expected = alone.search(query, filters());
        // Only the order of equals may differ.
        for hits in [&mut found, &mut expected] {
            hits.hits.sort_by(|a, b| a.id.cmp(&b.id));
        }
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn a_score_says_how_much_of_the_query_is_there() {
    let fillers = (0..50).map(|at| document(&format!("filler {at}"), "other words"));
    let texts = [("all", "alpha beta gamma"), ("some", "alpha delta epsilon")];
    let bench = Bench::with_documents(fillers.chain(texts.map(|(id, text)| document(id, text))));
    let score = |query: &str, id: &str| {
        let hits = bench.search(query, Filters::default());
        hits.hits.iter().find(|hit| hit.id == id).unwrap().score
    };
    assert!(score("alpha beta gamma", "all") > 0.5);
    assert!(score("alpha beta gamma", "some") < 0.45);
    // A word that no document has lowers all scores.
    assert!(score("alpha missing", "all") < score("alpha", "all"));
}

#[test]
fn best_and_count_are_those_of_the_search() {
    let log = Log::with_documents([
        document("a", "apple"),
        document("b", "apple pie with cream"),
        document("c", "cream"),
    ]);
    let bench = Bench::new();
    let search = Search::new("apple", 10);
    let hits = bench.index.search(&log, 3, &search).unwrap();
    assert_eq!(ids(&hits), ["a", "b"]);
    assert_eq!(bench.index.best(&log, 3, &search).unwrap(), hits.hits.first().cloned());
    assert_eq!(bench.index.count(&log, 3, &search).unwrap(), 2);
    assert_eq!(bench.index.best(&log, 3, &Search::new("missing", 10)).unwrap(), None);
}

#[test]
fn facets_are_compared_as_they_are() {
    let facets =
        [("a", "bc"), ("ab", "c"), ("a\0b", "c"), ("a", "\0bc"), ("", ""), ("Kind", "é"), ("kind", "e")];
    let documents = facets.iter().enumerate();
    let bench = Bench::with_documents(
        documents.map(|(at, facet)| with_facets(document(&at.to_string(), "text"), &[*facet])),
    );
    for (at, (name, value)) in facets.iter().enumerate() {
        let hits = bench.search("text", Filters::default().with(name, value));
        assert_eq!(ids(&hits), [at.to_string()], "{name:?} {value:?}");
    }
    assert_eq!(bench.search("text", Filters::default().with("kind", "E")).total, 0);
}

#[test]
fn of_a_group_the_best_document_is_the_only_hit() {
    let bench = Bench::with_documents([
        member("a1", "a", 1, "parser and other words"),
        member("a2", "a", 2, "parser parser"),
        member("b1", "b", 1, "parser"),
        document("alone", "parser"),
    ]);
    let search = Search::new("parser", 10).grouped();
    let found = bench.index.search_as_is(0, &search).unwrap();
    let mut ids = super::source::ids(&found);
    ids.sort();
    assert_eq!((ids, found.total), (vec!["a2".into(), "alone".into(), "b1".into()], 3));
}
