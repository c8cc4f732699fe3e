//! Loose objects are packed when git would do it, and packs are gathered; reading and changing still work.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use tabellion_runtime::Change;

use crate::{
    Library,
    checkpoint::Checkpoint,
    gathering::{Gathering, MAX_PACKS},
    tests::support::{Bench, change, changes, git, make},
};

/// A change whose objects are written as a pack, different for each number.
fn many(number: usize) -> Change {
    let paths = [1, 2, 3, 4].map(|document| format!("x/{document}/{number}.md"));
    let documents = paths.each_ref().map(|path| (path.as_str(), Some(path.as_str())));
    changes(&documents)
}

/// The files of packs, without their indexes.
fn packs(bench: &Bench) -> Vec<String> {
    let names = bench.path(".git/objects/pack").read_dir().unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".pack")).collect()
}

/// Waits for the end of gathering in the background.
fn wait_for_gathering(library: &Library) {
    while library.maintenance.gathering.0.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Gathers now. Only one thread can.
fn gather(library: &Library) {
    wait_for_gathering(library);
    Gathering::new(&library.working_tree.repository).run().unwrap();
}

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
        while library.maintenance.git.0.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(packs() > 0, packed, "gc.auto={limit}");
        make(&library, &change("notes/b.md", Some("after\n"))).unwrap();
        assert_eq!(library.activity(1000).unwrap().len(), number + 1);
        assert_eq!(bench.status(), "");
        bench.assert_sound();
    }
}

/// Clients kill the server's process group. Git would die with it, and leave its locks.
#[test]
#[cfg(target_os = "linux")]
fn git_is_not_in_the_servers_process_group() {
    let bench = Bench::new();
    let mut git = super::command(&bench.library().working_tree.repository).spawn().unwrap();
    // It exists until it is waited for, even after it has ended.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", git.id())).unwrap();
    let group = stat.rsplit(") ").next().unwrap().split(' ').nth(2).unwrap().to_owned();
    git.wait().unwrap();
    assert_eq!(group, git.id().to_string());
}

/// There are few packs, regardless of the number of changes, and none is lost in them: even among more packs than gix has slots for.
#[test]
fn packs_are_gathered() {
    let bench = Bench::new();
    let library = bench.library();
    for number in 0..600 {
        make(&library, &many(number)).unwrap();
        gather(&library);
        assert!(packs(&bench).len() < 2 * MAX_PACKS, "after {number}: {:?}", packs(&bench));
        assert_eq!(library.activity(1000).unwrap().len(), number + 1);
    }
    assert_eq!(bench.status(), "");
    bench.assert_sound();
}

/// The state left by a person, git or a dead process, and true if the packs are gathered then.
#[test]
fn only_our_own_packs_are_gathered_and_only_if_git_does_not() {
    type Before = (&'static str, bool, fn(&Bench));
    const BEFORE: [Before; 6] = [
        ("git's own packs", false, |bench| drop(bench.git(&["repack", "-adq"]))),
        ("an index of many", false, |bench| drop(bench.git(&["multi-pack-index", "write"]))),
        ("packs that are kept", false, |bench| {
            for pack in packs(bench) {
                bench.write(&format!(".git/objects/pack/{}", pack.replace(".pack", ".keep")), "mine");
            }
        }),
        ("git under way", false, |bench| bench.write(".git/gc.pid", "1 elsewhere")),
        ("what a dead process left", true, |bench| {
            bench.write(".git/tabellion/gathered.pack", "half");
            bench.write(".git/tabellion/gathered.idx", "half");
        }),
        ("a pack without its index", true, |bench| {
            let pack = bench.path(".git/objects/pack").join(&packs(bench)[0]);
            let bytes = std::fs::read(&pack).unwrap();
            bench.git(&["repack", "-adq"]);
            std::fs::write(pack, bytes).unwrap();
        }),
    ];
    for (shown, gathers, before) in BEFORE {
        let bench = Bench::new();
        let library = bench.library();
        for number in 0..2 * MAX_PACKS {
            make(&library, &many(number)).unwrap();
        }
        wait_for_gathering(&library);
        before(&bench);
        let (found, objects) = (packs(&bench), bench.git(&["rev-list", "--all", "--objects"]));
        gather(&library);
        if gathers {
            assert!(packs(&bench).len() < found.len(), "{shown}: {:?}", packs(&bench));
        } else {
            assert_eq!(packs(&bench), found, "{shown}");
        }
        assert_eq!(bench.git(&["rev-list", "--all", "--objects"]), objects, "{shown}");
        make(&library, &many(1000)).unwrap();
        assert_eq!(bench.status(), "", "{shown}");
    }
}

/// On a full disk, a partial new pack would take the space that changes need.
#[test]
fn a_pack_that_cannot_be_written_leaves_nothing() {
    let bench = Bench::new();
    let library = bench.library();
    for number in 0..MAX_PACKS {
        make(&library, &many(number)).unwrap();
    }
    let before = packs(&bench);
    let in_the_way = bench.path(".git/tabellion/gathered.idx");
    std::fs::create_dir(&in_the_way).unwrap();
    Gathering::new(&library.working_tree.repository).run().unwrap_err();
    std::fs::remove_dir(in_the_way).unwrap();
    assert_eq!(packs(&bench), before);
    bench.assert_sound();
}

/// The objects of a change are unreferenced before the branch moves; `git repack -a -d` removes such objects.
#[test]
fn git_does_not_remove_the_pack_of_a_change_under_way() {
    let bench = Bench::new();
    let folder = bench.path("");
    let library = bench.watched(Box::new(move |step| {
        if step == Checkpoint::Swapped {
            let (done, output) = git(&folder, &["repack", "-adq"]);
            assert!(done, "{output}");
        }
        Ok(())
    }));
    make(&library, &many(0)).unwrap();
    bench.assert_sound();
    bench.git(&["repack", "-adq"]);
    assert_eq!(packs(&bench).len(), 1, "it is git's now");
    bench.assert_sound();
}

/// An open library reads new packs, regardless of their number.
#[test]
fn any_number_of_packs_can_come() {
    let bench = Bench::new();
    let library = bench.library();
    for number in 0..100 {
        bench.commit("plan.md", &format!("{number}\n"));
        bench.git(&["repack", "-dq"]);
    }
    assert_eq!(packs(&bench).len(), 100);
    for number in 0..3 {
        make(&library, &many(number)).unwrap();
    }
    assert_eq!(library.activity(1000).unwrap().len(), 3);
    bench.assert_sound();
}

#[test]
fn what_a_killed_gathering_left_is_removed_by_the_next_change() {
    let bench = Bench::new();
    let library = bench.library();
    make(&library, &change("plan.md", Some("one\n"))).unwrap();
    for name in ["gathered.pack", "gathered.idx"] {
        bench.write(&format!(".git/tabellion/{name}"), "half");
    }
    let lock = bench.path(".git/tabellion/gathering.lock");
    let held = tabellion_platform::try_lock_file(&lock).unwrap().unwrap();
    make(&library, &change("plan.md", Some("two\n"))).unwrap();
    assert_eq!(bench.leftovers().len(), 2, "a process is writing them");
    drop(held);
    make(&library, &change("plan.md", Some("three\n"))).unwrap();
    bench.assert_sound();
}
