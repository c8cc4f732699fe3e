//! A repository is made whole, whatever was there of one and whoever else is at it.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{ASIDE, create, remove_leftovers};
use crate::tests::support::{Bench, change, make};

#[test]
fn what_a_crash_left_half_made_is_made_anew() {
    let bench = Bench::empty();
    bench.write(&format!("{ASIDE}/git/HEAD"), "ref: refs/heads/ma");
    let commit = make(&bench.library(), &change("a.md", Some("new\n"))).unwrap();
    assert_eq!(bench.git(&["rev-parse", "refs/heads/main"]), commit);
    bench.assert_sound();
}

/// Those who come late meet in a folder that others take away.
#[test]
fn who_is_slower_finds_it_made() {
    for _ in 0..10 {
        let bench = Bench::empty();
        let root = bench.path("");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..30 {
                        create(&root).unwrap();
                        remove_leftovers(&root);
                    }
                });
            }
        });
        // A program that was just started may have had the lock as well, until it runs: then whoever comes next removes it.
        let since = Instant::now();
        while root.join(ASIDE).exists() {
            assert!(since.elapsed() < Duration::from_secs(60));
            remove_leftovers(&root);
        }
        bench.assert_sound();
    }
}
