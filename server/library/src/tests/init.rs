//! A repository is created completely, in spite of partial ones and competing processes.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{ASIDE, create, remove_leftovers};
use crate::tests::support::{Bench, change, make};

#[test]
fn a_half_made_repository_is_replaced() {
    let bench = Bench::empty();
    bench.write(&format!("{ASIDE}/git/HEAD"), "ref: refs/heads/ma");
    let commit = make(&bench.library(), &change("a.md", Some("new\n"))).unwrap();
    assert_eq!(bench.git(&["rev-parse", "refs/heads/main"]), commit);
    bench.assert_sound();
}

/// A packed folder can bring the link: `git` in its target was removed, and `lock` created.
#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_temporary_folder_is_not_followed() {
    let bench = Bench::empty();
    bench.write("victim/git/HEAD", "kept");
    std::os::unix::fs::symlink("victim", bench.path(ASIDE)).unwrap();
    create(&bench.path("")).unwrap_err();
    remove_leftovers(&bench.path(""));
    assert_eq!(bench.read("victim/git/HEAD").as_deref(), Some("kept"));
    assert!(!bench.path("victim/lock").exists());
}

/// Late processes meet in a folder that others remove.
#[test]
fn the_slower_process_uses_the_faster_ones_repository() {
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
        // A program that was just started may have inherited the lock until its `exec`; the next start then removes the
        // folder.
        let since = Instant::now();
        while root.join(ASIDE).exists() {
            assert!(since.elapsed() < Duration::from_secs(60));
            remove_leftovers(&root);
        }
        bench.assert_sound();
    }
}
