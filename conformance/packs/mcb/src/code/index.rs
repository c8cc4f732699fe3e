//! The index and its status, also after restarts, kills and `clear`.

use std::{collections::BTreeSet, thread, time::Duration};

use super::{
    hit::Hit,
    server::{CLEAR, CODE, SHOP, STATUS as STATUS_OF, Server},
    tree::{self, COMMON, Tree},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const STATUS: Check = Check {
    id: "index/status",
    guarantees: &["status-is-true"],
    states: "What the status says is indexed is found by the next search, and its numbers are those of the files.",
    explains: "Indexes trees, with files among them that can't be indexed, asks for the status until it is `idle`, and searches at once: \
               each file must be found by its word, and the numbers of the status must be those of the files. What was never indexed has \
               no status, and an emptied folder no files. A server that answers \"indexed\" when nothing is leaves agents to conclude that \
               the code does not exist.",
    cases: |bench| {
        let mut dice = bench.dice("status");
        let sizes: &[usize] = bench.pick(&[1, 12], &[0, 1, 5, 12, 40]);
        let case = |many: &usize| Case::new(format!("{many} files"), tree::random(&mut dice, *many));
        Ok(sizes.iter().map(case).collect())
    },
    ..Check::must(|bench, case| status(bench, &case.read()?))
};

pub(super) const RESTART: Check = Check {
    id: "index/restart",
    guarantees: &["index-survives"],
    states: "After a restart, all that was indexed is found as before, without another run.",
    explains: "Indexes a tree, searches, restarts the server and searches again: the same hits in the same order, and the same status. \
               A server with its index in memory finds nothing, or builds it anew at each start.",
    cases: |bench| {
        let mut dice = bench.dice("restart");
        let cases = 1..=bench.pick(1, 5);
        let case = |number| Case::new(format!("tree {number}"), tree::random(&mut dice, 15));
        Ok(cases.map(case).collect())
    },
    ..Check::must(|bench, case| restart(bench, &case.read()?))
};

pub(super) const KILLED: Check = Check {
    id: "index/killed",
    guarantees: &["index-survives"],
    states: "A run that a killed server did not end is ended by the next one: all is found then, and nothing twice.",
    explains: "Begins to index a tree, kills the server at different moments of the run, some of them twice, and starts it again. A run that \
               ends before that is begun anew. The run \
               must become `idle`, each file must be found by its word, and no chunk twice. A server that forgets its run, or takes what \
               is there for all, misses files for ever.",
    cases: |bench| {
        let mut dice = bench.dice("killed");
        let delays: &[u64] = bench.pick(&[0, 1, 3, 6], &[0, 1, 2, 4, 8, 16, 32, 64, 128, 256]);
        let case = |delay: &u64| {
            let tree = tree::random(&mut dice, 240);
            let killed = Killed { tree, delays: vec![*delay; 1 + dice.usize(..2)] };
            Case::new(format!("after {delay} ms"), killed)
        };
        Ok(delays.iter().map(case).collect())
    },
    ..Check::must(|bench, case| killed(bench, &case.read()?))
};

pub(super) const CLEARED: Check = Check {
    id: "index/clear",
    guarantees: &["index-survives"],
    states: "A collection that is cleared is gone, also after a restart; others stay, and the same files can be indexed again.",
    explains: "Indexes a tree into two collections and clears one of them. It has no status and no hits then; the other one finds all. \
               Then it is indexed again, which must find all files. A server that keeps the hashes of files skips all of them.",
    cases: |bench| Ok(vec![Case::new("a tree", tree::random(&mut bench.dice("clear"), 10))]),
    ..Check::must(|bench, case| clear(bench, &case.read()?))
};

/// A run that is killed, once or more.
#[derive(Debug, Serialize, Deserialize)]
struct Killed {
    tree: Tree,
    /// Milliseconds before each kill.
    delays: Vec<u64>,
}

/// Maximum number of attempts to kill a run before it ends.
const MAX_BEGINNINGS: usize = 12;

/// Largest size of files in the check of the status.
const MAX_SIZE: usize = 20_000;

fn status(bench: &Bench<'_>, files: &Tree) -> Judgement {
    let mut server = Server::start(bench)?;
    let before = server.must(STATUS_OF, &json!({}))?;
    ensure(before["count"] == 0 && before["collections"] == json!([]), || {
        format!("nothing was indexed, but the status is {before}")
    })?;
    let never = json!({ "collection": "never" });
    let why = "although there is no such collection";
    server.must_not(STATUS_OF, &never, why)?;
    server.must_not(CODE, &json!({ "collection": "never", "query": COMMON }), why)?;
    server.put_tree(files)?;
    server.put("shop/src/odd.rs", b"fn odd() { \"\xff\xfe\" }\n")?;
    server.put("shop/src/large.rs", "// large\n".repeat(MAX_SIZE / 8))?;
    let status = server.index(&json!({ "max_file_size": MAX_SIZE }))?;
    numbers(&mut server, &status, files.len(), &["src/large.rs", "src/odd.rs"])?;
    server.holds(files, &[], "when the status was `idle`")?;
    // All files are removed, but not their folder.
    for folder in tree::FOLDERS {
        let folder = server.path(&format!("{SHOP}/{folder}"));
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
    }
    let status = server.index(&json!({ "max_file_size": MAX_SIZE }))?;
    numbers(&mut server, &status, 0, &[])?;
    let words: Vec<_> = files.values().map(|source| source.word).collect();
    server.holds(&Tree::new(), &words, "when all files were removed")
}

/// Fails unless the numbers of a status count `indexed` files, and these that can't be indexed.
fn numbers(
    server: &mut Server<'_, '_>,
    status: &serde_json::Value,
    indexed: usize,
    failed: &[&str],
) -> Judgement {
    let total = indexed + failed.len();
    let counted = status["files_total"] == total && status["files_failed"] == failed.len();
    let told = status["failures"].as_array().into_iter().flatten();
    let mut told: Vec<_> = told.filter_map(|file| file["path"].as_str()).collect();
    told.sort_unstable();
    ensure(counted && told == failed, || {
        format!("there are {total} files, of which {failed:?} can't be indexed, but the status is {status}")
    })?;
    let done = status["files_done"].as_u64().unwrap_or(u64::MAX);
    ensure((indexed as u64..=total as u64).contains(&done), || {
        format!("{indexed} files can be indexed, but the status is {status}")
    })?;
    let hits = server.search(COMMON, &json!({ "collection": SHOP }))?;
    let files: BTreeSet<_> = hits.iter().map(|hit| &hit.file_path).collect();
    ensure(files.len() == indexed, || format!("{indexed} files have `{COMMON}`, but it finds {files:?}"))?;
    let chunks = status["chunks"].as_u64().unwrap_or_default();
    ensure(chunks >= hits.len() as u64 && (chunks == 0) == (indexed == 0), || {
        format!("`{COMMON}` finds {} chunks, but the status is {status}", hits.len())
    })
}

fn restart(bench: &Bench<'_>, files: &Tree) -> Judgement {
    let mut server = Server::start(bench)?;
    server.put_tree(files)?;
    let before = server.index(&json!({}))?;
    let found = server.search(COMMON, &json!({}))?;
    let mut server = server.restarted()?;
    let after = server.idle(SHOP)?;
    let names = ["files_total", "files_done", "chunks", "operation_id", "finished_at"];
    let differs = names.iter().find(|name| before[**name] != after[**name]);
    ensure(differs.is_none(), || format!("the status was {before}, and is {after} after a restart"))?;
    let again = server.search(COMMON, &json!({}))?;
    let places = |hits: &[Hit]| -> Vec<_> {
        let place = |hit: &Hit| (hit.file_path.clone(), hit.start, hit.end);
        hits.iter().map(place).collect()
    };
    ensure(places(&found) == places(&again), || {
        format!(
            "`{COMMON}` finds {} chunks, and after a restart {}, or in another order",
            found.len(),
            again.len()
        )
    })?;
    server.holds(files, &[], "after a restart")
}

fn killed(bench: &Bench<'_>, killed: &Killed) -> Judgement {
    let mut server = Server::start(bench)?;
    server.put_tree(&killed.tree)?;
    server.begin(&json!({}))?;
    let mut delays = killed.delays.iter().copied().map(Duration::from_millis);
    let mut delay = delays.next().unwrap_or_default();
    // A run that has ended can't be killed: then it begins anew, with less time.
    for _ in 0..MAX_BEGINNINGS {
        thread::sleep(delay);
        if server.status(SHOP)?["state"] != "idle" {
            break;
        }
        delay /= 2;
        server.must(CLEAR, &json!({ "collection": SHOP }))?;
        server.begin(&json!({}))?;
    }
    server = server.killed()?;
    for delay in delays {
        thread::sleep(delay);
        server = server.killed()?;
    }
    let status = server.idle(SHOP)?;
    ensure(status["files_total"] == killed.tree.len(), || {
        format!("there are {} files, but the status is {status}", killed.tree.len())
    })?;
    server.holds(&killed.tree, &[], "after the server was killed and the run ended")?;
    let found = server.search(COMMON, &json!({}))?;
    let places: BTreeSet<_> = found.iter().map(|hit| (&hit.file_path, hit.start, hit.end)).collect();
    ensure(places.len() == found.len(), || {
        "after the server was killed and the run ended, a chunk is found twice".into()
    })
}

fn clear(bench: &Bench<'_>, files: &Tree) -> Result<(), Stop> {
    let mut server = Server::start(bench)?;
    server.put_tree(files)?;
    server.index(&json!({}))?;
    server.index(&json!({ "collection": "other" }))?;
    let cleared = json!({ "collection": SHOP });
    let answer = server.must(CLEAR, &cleared)?;
    ensure(answer["files"] == files.len() && answer["cleared"] == true, || {
        format!("a collection of {} files was cleared, but the answer is {answer}", files.len())
    })?;
    for time in ["when the collection was cleared", "after a restart"] {
        let why = format!("although {time} there is no such collection");
        server.must_not(STATUS_OF, &cleared, &why)?;
        server.must_not(CLEAR, &cleared, &why)?;
        server.must_not(CODE, &json!({ "collection": SHOP, "query": COMMON }), &why)?;
        let all = server.search(COMMON, &json!({}))?;
        let other = server.search(COMMON, &json!({ "collection": "other" }))?;
        ensure(all.len() == other.len() && !other.is_empty(), || {
            format!("{time}, the other collection has {} hits, and all have {}", other.len(), all.len())
        })?;
        server = server.restarted()?;
    }
    server.index(&json!({}))?;
    server.holds(files, &[], "when the cleared collection was indexed again")
}
