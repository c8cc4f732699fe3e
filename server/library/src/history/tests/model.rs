//! Through any sequence of events, the log with its cache equals a plain walk.

use proptest::prelude::*;

use super::support::{KEYS, PATHS, PREFIXES, Plan, Told};

/// An event in the repository or its cache.
#[derive(Debug, Clone)]
enum Event {
    /// The branch moves: forward, back, to another line.
    Head(usize),
    /// The keeper updates the cache; perhaps it is stopped before it has looked up the changed files.
    CatchUp { changes: bool },
    /// The cache is deleted.
    Delete,
    /// The log is queried, perhaps with the part in memory.
    Ask { prefix: usize, few: usize, anew: bool },
    /// The branch moves on commit by commit, and the log is queried each time.
    GoOn { from: usize, prefix: usize },
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let parents = prop_oneof![
        6 => Just(vec![1]),
        2 => (1..6_usize).prop_map(|back| vec![back]),
        2 => (1..3_usize, 1..8_usize).prop_map(|(one, other)| vec![one, other]),
        1 => Just(vec![1, 2, 3]),
    ];
    let later = prop_oneof![6 => 1..100_i64, 1 => Just(0_i64), 3 => -500..0_i64];
    let plan = (parents, later, 0..PATHS.len(), prop::bool::weighted(0.2), 0..=KEYS.len() + 2)
        .prop_map(|(parents, later, path, delete, kind)| Plan { parents, later, path, delete, kind });
    prop::collection::vec(plan, 1..40)
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => any::<usize>().prop_map(Event::Head),
        3 => any::<bool>().prop_map(|changes| Event::CatchUp { changes }),
        1 => Just(Event::Delete),
        4 => (0..PREFIXES.len(), 0..8_usize, any::<bool>())
            .prop_map(|(prefix, few, anew)| Event::Ask { prefix, few, anew }),
        2 => (any::<usize>(), 0..PREFIXES.len()).prop_map(|(from, prefix)| Event::GoOn { from, prefix }),
    ];
    prop::collection::vec(event, 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_cache_changes_no_answer(plans in plans(), events in events()) {
        let told = Told::new(&plans);
        let libraries = PREFIXES.map(|prefix| told.history(prefix));
        for event in &events {
            match event {
                Event::Head(at) => told.put_head(at % told.commits.len()),
                Event::CatchUp { changes } => libraries[0].catch_up(*changes),
                Event::Delete => {
                    let _ = std::fs::remove_file(told.cache());
                }
                Event::Ask { prefix, few, anew } => {
                    let library = &libraries[*prefix];
                    let answers = if *anew { library.answers(*few) } else { library.next_answers(*few) };
                    prop_assert_eq!(answers, library.expected(*few));
                }
                Event::GoOn { from, prefix } => {
                    let library = &libraries[*prefix];
                    for at in (from % told.commits.len()..told.commits.len()).take(8) {
                        told.put_head(at);
                        prop_assert_eq!(library.next_answers(3), library.expected(3));
                    }
                }
            }
        }
        for library in &libraries {
            library.catch_up(true);
            prop_assert_eq!(library.answers(3), library.expected(3));
        }
    }
}

/// If clocks went back, the second commit comes before its descendants, the third and fourth: from neither of them on is the cache
/// their history, built at once or continued from the first commit.
#[test]
fn a_commit_visited_too_early_is_in_the_log() {
    let plan =
        |parents: &[usize], later| Plan { parents: parents.to_vec(), later, path: 0, delete: false, kind: 1 };
    let plans = [plan(&[], 0), plan(&[], 1000), plan(&[1, 2], -500), plan(&[1], 100), plan(&[1, 3], 1400)];
    for goes_on in [false, true] {
        let told = Told::new(&plans);
        let library = told.history("");
        if goes_on {
            told.put_head(0);
            library.catch_up(true);
        }
        told.put_head(4);
        library.catch_up(true);
        for head in [3, 2] {
            told.put_head(head);
            assert_eq!(library.answers(2), library.expected(2), "{goes_on}, {head}");
        }
    }
}

/// A merge with one of its own ancestors continues there if that has its bytes, although the log reaches the other side first.
#[test]
fn a_line_of_versions_is_not_taken_past_a_merge() {
    let plan =
        |parents: &[usize], path| Plan { parents: parents.to_vec(), later: 10, path, delete: false, kind: 1 };
    let (document, other) = (0, 3);
    let plans = [
        plan(&[], document),
        plan(&[1], document),
        plan(&[1], other),
        plan(&[1], document),
        plan(&[4, 1], other),
        plan(&[1], other),
    ];
    let told = Told::new(&plans);
    let library = told.history("");
    library.catch_up(true);
    let answers = library.answers(3);
    assert!(library.is_all_cached());
    let [line, _] = &answers.lines[document];
    let commits: Vec<_> = line.versions.iter().map(|version| &*version.commit).collect();
    assert_eq!(commits, [told.commits[0].to_string()]);
    assert_eq!(answers, library.expected(3));
}
