//! Processes that are killed in the middle of batches, and several processes on one index.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::source::{Bench, Log, document, member, open};
use crate::{Change, Filters, Search};

/// Names the folder of the index that a child process writes.
const FOLDER: &str = "TABELLION_TEST_INDEX";
/// Number of times that a process is killed.
const KILLS: u64 = 10;
/// Number of changes of the source.
const CHANGES: i64 = 6000;

/// The source that parent and children share: each third change replaces a document, each fifth removes one.
fn log(step: usize) -> Log {
    let log = Log { step, ..Log::default() };
    for at in 0..CHANGES {
        let id = |at: i64| format!("d{at}");
        log.add(match at % 15 {
            2 | 5 | 8 => Change::Put(member(&id(at - 2), &format!("g{}", at % 11), at, "replaced apple")),
            4 | 9 | 14 => Change::Remove(id(at - 3)),
            _ => Change::Put(member(&id(at), &format!("g{}", at % 7), at, &format!("apple pear{}", at % 50))),
        });
    }
    log
}

#[test]
#[ignore = "run by the tests below"]
fn follows_the_source_until_killed() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let log = log(37);
    let index = open(&folder).unwrap();
    for needed in (0..=CHANGES).step_by(37) {
        index.search(&log, needed, &Search::new("apple", 10)).unwrap();
    }
}

fn child(folder: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "tests::crash::follows_the_source_until_killed"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Expects exactly the first `at` changes in the index, and returns `at`, the change that its status reports.
fn is_whole(folder: &Path) -> i64 {
    let index = open(folder).unwrap();
    let at = index.status().unwrap().at;
    let prefix = Log::default();
    let changes = log(0).changes.into_inner();
    prefix.changes.lock().extend(changes.into_iter().take(usize::try_from(at).unwrap()));
    let expected = Bench::new();
    expected.index.update(&prefix, at).unwrap();
    for query in ["apple", "replaced", "pear7 pear8"] {
        let found = index.search_as_is(at, &Search::new(query, 10_000)).unwrap();
        assert_eq!(found, expected.search_all(query), "{query} at {at}");
    }
    at
}

impl Bench {
    fn search_all(&self, query: &str) -> crate::Hits {
        let search = Search::new(query, 10_000).filtered(Filters::default());
        self.index.search_as_is(0, &search).unwrap()
    }
}

#[test]
fn a_killed_process_leaves_the_index_before_or_after_a_batch() {
    let bench = Bench::new();
    let mut reached = vec![];
    for kill in 0..KILLS {
        let mut child = child(bench.folder.path());
        let start = Instant::now();
        // A process that starts late, on a busy machine, gets time to change a document.
        let before = bench.index.status().unwrap().at;
        while bench.index.status().unwrap().at <= before && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(kill * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        reached.push(is_whole(bench.folder.path()));
    }
    assert!(reached.is_sorted() && reached[0] > 0, "{reached:?}");
    let log = log(500);
    bench.index.update(&log, CHANGES).unwrap();
    assert_eq!(is_whole(bench.folder.path()), CHANGES);
}

#[test]
fn several_processes_follow_one_source() {
    let bench = Bench::new();
    let children: Vec<Child> = (0..3).map(|_| child(bench.folder.path())).collect();
    let log = log(53);
    let threads = [0, 1].map(|offset| {
        let (index, log) = (&bench.index, &log);
        move || {
            for needed in (offset..=CHANGES).step_by(101) {
                index.search(log, needed, &Search::new("apple", 10)).unwrap();
                assert!(index.status().unwrap().is_current(needed));
            }
        }
    });
    std::thread::scope(|scope| {
        threads.map(|thread| scope.spawn(thread)).map(|thread| thread.join().unwrap())
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    bench.index.update(&log, CHANGES).unwrap();
    assert_eq!(is_whole(bench.folder.path()), CHANGES);
}

#[test]
fn a_rebuild_is_seen_whole_or_not_at_all() {
    let bench = Bench::with_documents((0..300).map(|at| document(&format!("d{at}"), "old apple")));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = vec![];
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                seen.push(bench.search("apple", Filters::default()).total);
            }
            seen
        });
        for round in 1..6 {
            let documents =
                (0..300 + round * 100).map(|at| Ok(document(&format!("r{round} {at}"), "new apple")));
            bench.index.rebuild(documents, round, None).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        let seen = reader.join().unwrap();
        assert!(seen.iter().all(|total| total % 100 == 0 && *total >= 300), "{seen:?}");
    });
}
