//! Searches by words and meaning, with cosines that depend on a text's words.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tabellion_retrieval::{Nearness, TextKey};

use super::{Bench, Texts};
use crate::{CodeHits, CodeQuery};

/// The cosine of a text is that of the first of these words that it has; 0 if it has none.
struct Meanings {
    cosines: BTreeMap<TextKey, f32>,
}

impl Meanings {
    fn new(bench: &Bench, words: &[(&str, f32)]) -> Self {
        let texts = bench.index.texts_of(&|_| true, usize::MAX).unwrap();
        let cosine = |text: &str| {
            let found = words.iter().find(|(word, _)| text.contains(word));
            found.map_or(0.0, |(_, cosine)| *cosine)
        };
        let cosines = texts.iter().map(|(key, text)| (*key, cosine(text)));
        Self { cosines: cosines.collect() }
    }
}

impl Nearness for Meanings {
    fn cosine(&self, key: &TextKey) -> Option<f32> {
        self.cosines.get(key).copied()
    }
}

fn search(bench: &Bench, text: &str, filters: &[(&str, &str)], meanings: &Meanings) -> CodeHits {
    let mut query =
        CodeQuery { text: text.into(), collections: vec!["c".into()], limit: 1000, ..CodeQuery::default() };
    for (field, value) in filters {
        query.filters.add(field, value).unwrap();
    }
    let found = bench.index.search(&query, Some(meanings)).unwrap();
    let scores: Vec<f64> = found.hits.iter().map(|hit| hit.score).collect();
    let is_bounded = scores.iter().all(|score| (0.0..=1.0).contains(score));
    assert!(scores.is_sorted_by(|a, b| a >= b) && is_bounded, "{scores:?}");
    assert_eq!(found.total, found.hits.len());
    found
}

const PROJECT: &[(&str, &str)] = &[
    ("src/round.rs", "fn round_price(cents: u64) -> u64 { cents }\n"),
    ("src/rain.rs", "fn is_sunny() -> bool { true }\n"),
    ("web/forecast.ts", "export function sunnyDays() { return 2 }\n"),
    ("tests/rain.rs", "#[test]\nfn sunny_is_told() {}\n"),
    ("README.md", "# Shop\n\nThe weather is told.\n"),
];

/// A query, its filters, the hits, and true if meaning counts.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, bool);

#[test]
fn what_means_the_same_is_found_and_what_is_verbatim_stays_so() {
    let bench = Bench::new();
    bench.run(&Texts::new(PROJECT));
    let meanings = Meanings::new(&bench, &[("sunny", 0.5), ("weather", 0.4), ("price", 0.2)]);
    let cases: [Case; 7] = [
        ("umbrella needed today", &[], "src/rain.rs web/forecast.ts tests/rain.rs README.md", true),
        ("umbrella needed today", &[("path", "web")], "web/forecast.ts", true),
        ("umbrella needed today", &[("language", "python")], "", false),
        ("the price of rain", &[("language", "rust"), ("path", "src")], "src/round.rs src/rain.rs", true),
        ("umbrella", &[], "", false),
        ("\"fn is_sunny()\" umbrella", &[], "src/rain.rs", false),
        ("...", &[], "", false),
    ];
    for (query, filters, expected, by_meaning) in cases {
        let found = search(&bench, query, filters, &meanings);
        let paths: Vec<&str> = found.hits.iter().map(|hit| &*hit.path).collect();
        assert_eq!((paths.join(" "), found.by_meaning), (expected.into(), by_meaning), "{query}");
    }
}

#[test]
fn the_same_text_has_one_key_and_code_is_embedded_as_words() {
    let bench = Bench::new();
    bench.run(&Texts::new(&[
        ("a.rs", "fn parseHTTPHeader(line: &str) { split(line, \"it's\") }\n"),
        ("b/a.rs", "fn parseHTTPHeader(line: &str) { split(line, \"it's\") }\n"),
        ("c.rs", "fn other() {}\n"),
    ]));
    let keys = bench.index.texts(Some("c")).unwrap();
    assert_eq!(keys.len(), 3);
    assert_eq!(bench.index.texts(Some("d")).unwrap(), []);
    let mut texts = bench.index.texts_of(&|_| true, 9).unwrap();
    texts.sort_by(|a, b| a.1.cmp(&b.1));
    assert!(texts.iter().all(|(key, _)| keys.contains(key)));
    let texts: Vec<&str> = texts.iter().map(|(_, text)| text.trim_end()).collect();
    assert_eq!(texts, ["fn other", "fn parse http header line str split it's"]);
    assert_eq!(bench.index.texts_of(&|_| true, 1).unwrap().len(), 1);
    assert_eq!(bench.index.texts_of(&|_| false, 9).unwrap(), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// After any changes: removed files are not found, filters hold, and without vectors the hits are those by words.
    #[test]
    fn meaning_finds_nothing_that_is_gone_or_filtered(
        projects in prop::collection::vec(prop::collection::btree_map(0..8_u8, 0..4_usize, 0..8), 1..5),
        cosines in prop::collection::vec(-1.0..1.0_f32, 4),
    ) {
        let names = ["alpha", "beaver", "candle", "drum"];
        let bench = Bench::new();
        for project in &projects {
            let files: Vec<(String, String)> = project
                .iter()
                .map(|(path, name)| (format!("d{}/f{path}.rs", path % 2), format!("fn {}() {{}}\n", names[*name])))
                .collect();
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
            bench.run(&Texts::new(&files));
            let words: Vec<(&str, f32)> = names.into_iter().zip(cosines.iter().copied()).collect();
            let meanings = Meanings::new(&bench, &words);
            for filters in [&[][..], &[("path", "d1")]] {
                let found = search(&bench, "alpha something", filters, &meanings);
                let mut paths: Vec<&str> = found.hits.iter().map(|hit| &*hit.path).collect();
                paths.sort();
                let is_near = |text: &str| words.iter().any(|(name, cosine)| text.contains(name) && *cosine >= 0.3);
                let passes = |path: &str| filters.is_empty() || path.starts_with("d1/");
                let mut expected: Vec<&str> = files
                    .iter()
                    .filter(|(path, text)| passes(path) && (text.contains("alpha") || is_near(text)))
                    .map(|(path, _)| *path)
                    .collect();
                expected.sort();
                prop_assert_eq!(paths, expected);
                let none = Meanings { cosines: BTreeMap::new() };
                let lexical = search(&bench, "alpha something", filters, &none);
                prop_assert!(!lexical.by_meaning);
                prop_assert_eq!(lexical.hits, bench.filtered("alpha something", filters));
            }
        }
    }
}
