//! Searches by words and meaning, compared with a model of the permitted hits; a text's name determines its cosine.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::source::{Bench, Log, document, ids, member, with_facets};
use crate::{Change, Document, Filters, Hits, Nearness, Search, TextKey};

/// Texts with their cosines. Others have no vector.
#[derive(Debug, Clone, Default)]
struct Cosines(BTreeMap<TextKey, f32>);

impl Cosines {
    fn new(texts: &[(&str, f32)]) -> Self {
        let all = texts.iter().map(|(text, cosine)| (TextKey::from_text(text), *cosine));
        Self(all.collect())
    }
}

impl Nearness for Cosines {
    fn cosine(&self, key: &TextKey) -> Option<f32> {
        self.0.get(key).copied()
    }
}

/// A document with a word, and `meaning` as the text of its meaning.
fn with_meaning(id: &str, word: &str, meaning: &str) -> Document {
    Document { meaning: Some(meaning.into()), ..document(id, word) }
}

fn search(bench: &Bench, log: &Log, search: &Search, nearness: &Cosines) -> Hits {
    let found = bench.index.search_near(log, log.end(), search, Some(nearness));
    found.unwrap()
}

/// Cosines of documents, the hits, best first, and true if meaning counts.
type Case = (&'static [(&'static str, f32)], &'static str, bool);

#[test]
fn what_means_the_same_is_found_and_words_count_more() {
    let log = Log::default();
    for (id, word) in [("a", "apple"), ("b", "pear"), ("c", "plum"), ("d", "fig")] {
        log.add(Change::Put(with_meaning(id, word, id)));
    }
    log.add(Change::Put(document("e", "apple pie")));
    let bench = Bench::new();
    // Cosines of a, b, c, d; the hits for "apple", best first; and true if meaning counts.
    let cases: [Case; 6] = [
        (&[("a", 0.2), ("b", 0.9), ("c", 0.5), ("d", 0.1)], "a e b c", true),
        (&[("a", 0.9), ("b", 0.9), ("c", 0.29), ("d", 0.3)], "a e b d", true),
        (&[("a", -0.5), ("b", -0.4), ("c", -0.1), ("d", -0.2)], "a e", true),
        (&[("a", 0.9), ("b", 0.9), ("c", 0.9), ("d", 0.9)], "a e b c d", true),
        (&[("b", 0.9), ("c", 0.5), ("d", 0.1)], "a e", false),
        (&[], "a e", false),
    ];
    for (cosines, expected, by_meaning) in cases {
        let hits = search(&bench, &log, &Search::new("apple", 10), &Cosines::new(cosines));
        assert_eq!((ids(&hits).join(" "), hits.by_meaning), (expected.into(), by_meaning), "{cosines:?}");
    }
    let nothing = search(&bench, &log, &Search::new("...", 10), &Cosines::new(cases[0].0));
    assert_eq!(nothing, Hits::default());
}

/// A document whose neighbours are near comes before one that is as near; a group of one is like a document without a group.
#[test]
fn the_meaning_of_neighbours_counts() {
    let log = Log::default();
    for (time, id) in (0..).zip(["far1", "beside", "near", "far2", "odd", "far3"]) {
        let group = if time < 3 { "g1" } else { "g2" };
        log.add(Change::Put(Document { meaning: Some(id.into()), ..member(id, group, time, "plum") }));
    }
    for (id, group) in [("only", Some("g3".to_owned())), ("alone", None)] {
        log.add(Change::Put(Document { group, ..with_meaning(id, "plum", "same") }));
    }
    let cosines = [("beside", 0.6), ("near", 0.7), ("odd", 0.6), ("same", 0.6)];
    let far = [("far1", 0.1), ("far2", 0.1), ("far3", 0.1)];
    let cosines = Cosines::new(&[&cosines[..], &far[..]].concat());
    let hits = search(&Bench::new(), &log, &Search::new("apple", 10), &cosines);
    let scores: BTreeMap<&str, f64> = hits.hits.iter().map(|hit| (&*hit.id, hit.score)).collect();
    assert_eq!(ids(&hits)[0], "near");
    assert!(scores["beside"] > scores["odd"], "{scores:?}");
    assert_eq!(scores["only"], scores["alone"]);
    assert!(scores["only"] > scores["odd"], "{scores:?}");
}

/// The score of a hit without a word of the query grows with its cosine, also if it is the only document.
#[test]
fn the_only_text_may_be_near() {
    for (cosine, expected) in [(0.9, 0.4), (0.4, 0.08)] {
        let log = Log::default();
        log.add(Change::Put(with_meaning("a", "plum", "a")));
        let hits = search(&Bench::new(), &log, &Search::new("apple", 10), &Cosines::new(&[("a", cosine)]));
        assert!((hits.hits[0].score - expected).abs() < 0.01, "{hits:?}");
    }
}

const WORDS: [&str; 4] = ["apple", "pear", "plum", "fig"];

/// Documents: id, word, meaning, kind.
fn changes() -> impl Strategy<Value = Vec<(u8, u8, u8, u8)>> {
    prop::collection::vec((0..12_u8, 0..5_u8, 0..8_u8, 0..3_u8), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn filters_hold_scores_fall_and_what_is_gone_is_not_found(
        changes in changes(),
        cosines in prop::collection::vec(-1.0..1.0_f32, 8),
        kind in prop::option::of(0..3_u8),
        limit in 0..6_usize,
    ) {
        let log = Log { step: 7, ..Log::default() };
        let bench = Bench::new();
        let mut remaining: BTreeMap<String, (u8, u8, u8)> = BTreeMap::new();
        for (at, &(id, word, meaning, own_kind)) in changes.iter().enumerate() {
            let id = format!("d{id}");
            // The last word means that the document is removed.
            match WORDS.get(usize::from(word)) {
                Some(text) => {
                    let made = with_meaning(&id, text, &meaning.to_string());
                    log.add(Change::Put(with_facets(made, &[("kind", &own_kind.to_string())])));
                    remaining.insert(id, (word, meaning, own_kind));
                }
                None => {
                    log.add(Change::Remove(id.clone()));
                    remaining.remove(&id);
                }
            }
            if at % 9 == 8 {
                bench.index.update(&log, log.end()).unwrap();
                bench.find("apple");
            }
        }
        let nearness = Cosines((0..8_u8).map(|text| (TextKey::from_text(&text.to_string()), cosines[usize::from(text)])).collect());
        let mut query = Search::new("apple", 1000);
        if let Some(kind) = kind {
            query = query.filtered(Filters::default().with("kind", &kind.to_string()));
        }
        let hits = search(&bench, &log, &query, &nearness);

        let passing = || remaining.iter().filter(|(_, (_, _, own))| kind.is_none_or(|kind| kind == *own));
        let expected: BTreeSet<String> = passing()
            .filter(|(_, (word, meaning, _))| *word == 0 || cosines[usize::from(*meaning)] >= 0.3)
            .map(|(id, _)| id.clone())
            .collect();
        prop_assert_eq!(ids(&hits).into_iter().collect::<BTreeSet<_>>(), expected);
        prop_assert_eq!(hits.by_meaning, passing().next().is_some());
        prop_assert!(hits.hits.is_sorted_by(|a, b| a.score >= b.score));
        prop_assert!(hits.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "{:?}", hits);

        // A limit cuts the same list; without vectors, words alone have the same hits as before; an index made anew has the
        // same hits.
        let cut = search(&bench, &log, &Search { limit, ..query.clone() }, &nearness);
        prop_assert_eq!(&cut.hits[..], &hits.hits[..limit.min(hits.hits.len())]);
        prop_assert_eq!(cut.total, hits.total);
        let lexical = bench.index.search(&log, log.end(), &query).unwrap();
        prop_assert_eq!(search(&bench, &log, &query, &Cosines::default()), lexical);
        let anew = Bench::new();
        let scores = |hits: &Hits| hits.hits.iter().map(|hit| (hit.id.clone(), (hit.score * 1e5).round())).collect::<BTreeMap<_, _>>();
        let remade = search(&anew, &log, &query, &nearness);
        prop_assert_eq!(scores(&remade), scores(&hits));

        // Each text wants exactly one vector.
        let mut texts: Vec<TextKey> = bench.index.texts().unwrap();
        texts.sort();
        let mut kept: Vec<TextKey> = remaining.values().map(|(_, meaning, _)| TextKey::from_text(&meaning.to_string())).collect();
        kept.sort();
        prop_assert_eq!(texts, kept);
        let first = TextKey::from_text("0");
        let mut having = bench.index.documents_of(&|text| *text == first, 100).unwrap();
        having.sort();
        let expected: Vec<String> = remaining.iter().filter(|(_, (_, meaning, _))| *meaning == 0).map(|(id, _)| id.clone()).collect();
        prop_assert_eq!(having, expected);
    }
}
