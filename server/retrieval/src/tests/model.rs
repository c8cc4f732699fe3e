//! Random programs of changes compared with a model: the documents that were put and not removed, searched one by one.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::source::{Bench, Log, ids, member, open, with_facets};
use crate::{Change, Document, Filters, Hits, Search, words::words};

const WORDS: [&str; 14] = [
    "apple",
    "banana",
    "cherry",
    "date",
    "elder",
    "fig",
    "grape",
    "parseHTTPHeader",
    "http",
    "the",
    "running",
    "ran",
    "猫が好き",
    "2023",
];

fn arbitrary_document() -> impl Strategy<Value = Document> {
    let text = prop::collection::vec(prop::sample::select(&WORDS[..]), 0..7);
    (0..30_u32, text, 0..4_u32, 0..3_u32, 0..40_i64, any::<bool>()).prop_map(
        |(id, text, group, kind, time, has_time)| {
            let mut document =
                member(&format!("d{id}"), &format!("g{group}"), time * 86_400, &text.join(" "));
            // No two documents of a second have the same, but their order differs from that of their ids.
            document.seq = i64::from(id) * 7 % 30;
            if group == 0 {
                document.group = None;
            }
            if !has_time {
                document.time = None;
            }
            let tags: &[(&str, &str)] = match kind {
                0 => &[("kind", "note"), ("tag", "a")],
                1 => &[("kind", "note"), ("tag", "a"), ("tag", "b")],
                _ => &[("kind", "run"), ("tag", "b")],
            };
            with_facets(document, tags)
        },
    )
}

fn arbitrary_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => arbitrary_document().prop_map(Change::Put),
        1 => (0..30_u32).prop_map(|id| Change::Remove(format!("d{id}"))),
    ]
}

fn arbitrary_search() -> impl Strategy<Value = (String, Filters)> {
    let query = prop::collection::vec(prop::sample::select(&WORDS[..]), 1..4);
    let filters = (0..6_u32, prop::option::of(0..40_i64), prop::option::of(0..40_i64)).prop_map(
        |(which, since, until)| {
            let mut filters = match which {
                0 => Filters::default().with("tag", "a").with("tag", "b"),
                1 => Filters::default().with_any("kind", ["note", "run"]),
                2 => Filters::default().with("kind", "run"),
                3 => Filters::default().with_any("kind", []),
                _ => Filters::default(),
            };
            filters.since = since.map(|day| day * 86_400);
            filters.until = until.map(|day| day * 86_400);
            filters
        },
    );
    (query.prop_map(|words| words.join(" ")), filters)
}

/// The documents, by id, after the changes.
fn remaining(changes: &[Change]) -> BTreeMap<String, Document> {
    let mut documents = BTreeMap::new();
    for change in changes {
        match change {
            Change::Put(document) => documents.insert(document.id.clone(), document.clone()),
            Change::Remove(id) => documents.remove(id),
        };
    }
    documents
}

fn passes(document: &Document, filters: &Filters) -> bool {
    let has = |name: &str, value: &str| {
        let mut facets = document.facets.iter();
        facets.any(|facet| facet.name == name && facet.value == value)
    };
    let facets = filters.any_of.iter().all(|any| any.values.iter().any(|value| has(&any.name, value)));
    let in_time = match document.time {
        Some(time) => {
            filters.since.is_none_or(|since| time >= since) && filters.until.is_none_or(|until| time <= until)
        }
        None => filters.since.is_none() && filters.until.is_none(),
    };
    facets && in_time
}

/// True if the document has a word of the query; stop words count if there are no others.
fn matches(document: &Document, query: &str) -> bool {
    let query = words(query);
    let has_others = query.iter().any(|word| !word.is_stop_word);
    let query = query.into_iter().filter(|word| !(has_others && word.is_stop_word));
    let wanted: BTreeSet<String> = query.map(|word| word.term).collect();
    let mut texts = document.texts.iter().flat_map(|text| words(&text.text));
    texts.any(|word| wanted.contains(&word.term))
}

fn scores(hits: &Hits) -> BTreeMap<String, i64> {
    let rounded = hits.hits.iter().map(|hit| (hit.id.clone(), (hit.score * 1e5).round() as i64));
    rounded.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_index_that_follows_changes_equals_one_made_anew(
        changes in prop::collection::vec(arbitrary_change(), 1..120),
        step in 1..40_usize,
        searches in prop::collection::vec(arbitrary_search(), 1..6),
    ) {
        let log = Log { step, ..Log::default() };
        let bench = Bench::new();
        for (at, change) in changes.iter().enumerate() {
            log.add(change.clone());
            if at % 17 == 16 {
                bench.index.update(&log, log.end()).unwrap();
                // Searches in between fill the data in memory.
                bench.find("apple");
            }
        }
        let documents = remaining(&changes);
        let anew = Bench::with_documents(documents.values().cloned());
        let second = open(bench.folder.path()).unwrap();
        for (query, filters) in searches {
            let search = Search::new(query.as_str(), 1000).filtered(filters.clone());
            let hits = bench.index.search(&log, log.end(), &search).unwrap();

            let expected = documents.values().filter(|document| passes(document, &filters) && matches(document, &query));
            let expected: BTreeSet<&str> = expected.map(|document| &*document.id).collect();
            let found = ids(&hits);
            prop_assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), expected);
            prop_assert_eq!(hits.total, hits.hits.len());
            prop_assert!(hits.hits.is_sorted_by(|a, b| a.score >= b.score));
            prop_assert!(hits.hits.iter().all(|hit| hit.score > 0.0 && hit.score < 1.0));

            prop_assert_eq!(scores(&hits), scores(&anew.search(&query, filters.clone())));
            prop_assert_eq!(&hits, &second.search(&log, log.end(), &search).unwrap());

            // A limit and a lowest score cut the same list.
            for limit in [0, 1, 3] {
                let cut = bench.index.search(&log, log.end(), &Search { limit, ..search.clone() }).unwrap();
                prop_assert_eq!(&cut.hits[..], &hits.hits[..limit.min(hits.hits.len())]);
                prop_assert_eq!(cut.total, hits.total);
            }
            if let Some(middle) = hits.hits.get(hits.hits.len() / 2) {
                let cut = bench.index.search(&log, log.end(), &search.clone().at_least(middle.score)).unwrap();
                let expected = hits.hits.iter().filter(|hit| hit.score >= middle.score).count();
                prop_assert_eq!((cut.total, cut.hits.len()), (expected, expected));
            }
        }
        let status = bench.index.status().unwrap();
        prop_assert_eq!((status.documents, status.at), (documents.len(), log.end()));
    }
}

/// Many documents, so that posting lists have many blocks and records many rows.
#[test]
fn long_lists_are_changed_in_any_place() {
    let bench = Bench::new();
    let log = Log::default();
    let text = |at: u32, round: u32| {
        format!("common {} word{}", ["odd", "even"][usize::from((at + round).is_multiple_of(2))], at % 97)
    };
    for round in 0..3 {
        for at in 0..3000 {
            // In an order that jumps about.
            let at = at * 1009 % 3000;
            if (at + round) % 7 == 3 {
                log.add(Change::Remove(format!("d{at}")));
            } else {
                log.add(Change::Put(member(
                    &format!("d{at}"),
                    &format!("g{}", at % 5),
                    i64::from(at),
                    &text(at, round),
                )));
            }
        }
        bench.index.update(&log, log.end()).unwrap();
        let documents = remaining(&log.changes.lock());
        let anew = Bench::with_documents(documents.values().cloned());
        for query in ["common", "odd", "even word5", "word96", "missing"] {
            let (ours, theirs) =
                (bench.search(query, Filters::default()), anew.search(query, Filters::default()));
            let expected = documents.values().filter(|document| matches(document, query)).count();
            assert_eq!((ours.total, theirs.total), (expected, expected), "{query}");
            let values = |hits: &Hits| {
                hits.hits.iter().map(|hit| (hit.score * 1e5).round() as i64).collect::<Vec<_>>()
            };
            assert_eq!(values(&ours), values(&theirs), "{query}");
        }
    }
}
