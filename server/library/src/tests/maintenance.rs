//! Loose objects are packed when git would do it; reading and changing still work.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use crate::tests::support::{Bench, change, make};

#[test]
fn loose_objects_are_packed_as_the_owner_has_it() {
    for (limit, packed) in [("256", true), ("0", false)] {
        let bench = Bench::new();
        bench.git(&["config", "gc.auto", limit]);
        let library = bench.library();
        let until = Instant::now() + Duration::from_secs(60);
        let packs = || bench.path(".git/objects/pack").read_dir().unwrap().count();
        let mut number = 0;
        while number < 100 || packed && packs() == 0 {
            number += 1;
            make(&library, &change("notes/a.md", Some(&format!("{number}\n")))).unwrap();
            assert!(Instant::now() < until, "never packed in {number} changes");
        }
        while library.maintenance.0.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(packs() > 0, packed, "gc.auto={limit}");
        make(&library, &change("notes/b.md", Some("after\n"))).unwrap();
        assert_eq!(library.activity(1000).unwrap().entries.len(), number + 1);
        assert_eq!(bench.status(), "");
        bench.assert_sound();
    }
}

/// Clients kill the server's process group. Git would die with it, and leave its locks.
#[test]
#[cfg(target_os = "linux")]
fn git_is_not_in_the_servers_process_group() {
    let bench = Bench::new();
    let mut git = super::command(&bench.library().working_tree.repository)
        .spawn()
        .unwrap();
    // It is there until it is waited for, also once it has ended.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", git.id())).unwrap();
    let group = stat
        .rsplit(") ")
        .next()
        .unwrap()
        .split(' ')
        .nth(2)
        .unwrap()
        .to_owned();
    git.wait().unwrap();
    assert_eq!(group, git.id().to_string());
}
