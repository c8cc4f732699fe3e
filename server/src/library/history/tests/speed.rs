//! What the log costs, said on standard error: `cargo test --release -p tabellion --lib -- --ignored --nocapture the_cost_of_the_log`.

use std::time::{Duration, Instant};

use super::support::{Plan, Told};
use crate::library::{Library, Options, tests::support::path};

/// How long `work` takes: the median of several times.
fn median(times: usize, mut work: impl FnMut()) -> Duration {
    let mut taken: Vec<_> = (0..times)
        .map(|_| {
            let since = Instant::now();
            work();
            since.elapsed()
        })
        .collect();
    taken.sort_unstable();
    taken[times / 2]
}

#[test]
#[ignore = "a measurement"]
fn the_cost_of_the_log() {
    // What is not optimised says little; a tenth of it is enough to see how it grows.
    let long = if cfg!(debug_assertions) { 10_000 } else { 100_000 };
    for (length, entry_every) in [(10, 1), (long, 1), (long, long / 3)] {
        let plans: Vec<_> = (0..length)
            .map(|at| Plan {
                parents: vec![1],
                later: 10,
                // The fourth document is as old as the history.
                path: if at == 0 { 3 } else { at % 3 },
                delete: false,
                kind: if at % entry_every == 0 { 4 } else { 0 },
            })
            .collect();
        let told = Told::new(&plans);
        let open = || Library::open(told.path(), Options::default()).unwrap();
        eprintln!("{length} commits, {} entries", length.div_ceil(entry_every));
        let times = if cfg!(debug_assertions) { 1 } else { 5 };
        let ask = |title: &str, library: &dyn Fn(&Library)| {
            let library_of = |cold: bool| {
                if cold {
                    let _ = std::fs::remove_dir_all(told.path().join(".git/tabellion"));
                }
                open()
            };
            let fresh = |cold| {
                median(times, || {
                    let asked = library_of(cold);
                    library(&asked);
                }) - median(times, || drop(library_of(cold)))
            };
            let cold = fresh(true);
            let keeper = open();
            keeper.history.keeper.catch_up_now(true).unwrap();
            drop(keeper);
            let opened = fresh(false);
            let warm = open();
            warm.history.known.lock().unwrap().renew(true);
            library(&warm);
            let warm = median(1001, || library(&warm));
            eprintln!(
                "  {title:<32} no cache {cold:>10.1?}   cache not open {opened:>10.1?}   warm {warm:>10.1?}"
            );
        };
        ask("log, limit 50", &|library| drop(library.activity(50).unwrap()));
        ask("key that is not there", &|library| {
            assert!(library.entry_with_key("missing").unwrap().is_none());
        });
        ask("last commit of a new document", &|library| {
            assert!(library.last_commit(&path("a/x.md")).unwrap().is_some());
        });
        ask("last commit of the oldest", &|library| {
            assert!(library.last_commit(&path("z.md")).unwrap().is_some());
        });
        let _ = std::fs::remove_dir_all(told.path().join(".git/tabellion"));
        let library = open();
        let since = Instant::now();
        library.history.keeper.catch_up_now(false).unwrap();
        let log = since.elapsed();
        library.history.keeper.catch_up_now(true).unwrap();
        let size = std::fs::metadata(told.cache()).unwrap().len();
        eprintln!(
            "  built: the log in {log:.1?}, and the changes in {:.1?}; {size} bytes",
            since.elapsed()
        );
    }
}
