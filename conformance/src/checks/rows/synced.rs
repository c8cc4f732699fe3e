//! The state of the disk when a change is answered.

use std::{collections::BTreeSet, path::PathBuf};

use super::stepped::{self, Mutation};
use crate::{
    checks::prelude::*,
    stepper::{Call, Counting, OUTPUT},
};

pub(super) const CHECK: Check = Check {
    id: "rows/synced-before-answer",
    guarantees: &["acknowledged-is-durable"],
    states: "Between the last write to a data file and the answer lies a sync of that file.",
    explains: "Records the system calls of a creation, an update and a deletion with `ptrace`. What is written to the data folder must \
               be synced (`fsync`, `fdatasync`, `syncfs`) before the answer is written to standard output, or a loss of power undoes \
               what was acknowledged. Locks, SQLite's `-shm` files, and marks of what was acknowledged (`*.mark`) hold no data.",
    cases,
    ..Check::must(judge)
};

/// Beginnings of the names of calls that change a file's content.
const WRITES: &[&str] =
    &["write", "pwrite", "sendfile", "splice", "copy_file_range", "truncate", "ftruncate"];
const SYNCS: &[&str] = &["fsync", "fdatasync"];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    if bench.subject.launch.is_http() {
        return Err(not_applicable("over HTTP, the suite does not see when the server answers"));
    }
    let all = Mutation::all(bench)?.into_iter();
    Ok(all.map(|mutation| Case::new(mutation.name(), mutation)).collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mutation: Mutation = case.read()?;
    let scene = Scene::of_rows(bench.subject, &bench.trace)?;
    let (mut rows, stepper) = stepped::start(bench, &scene, Counting::WhenArmed)?;
    let request = mutation.prepare(bench, &mut rows)?;
    // Writes that are still pending for earlier calls do not belong to this one.
    rows.wake()?;
    stepper.record_with_output();
    let reply = rows.send(&request)?;
    let calls = stepper.disarm();
    reply.must("a valid call")?;
    for call in &calls {
        bench.trace.did(format!("the server calls {call}"));
    }
    let answer = calls.iter().position(|call| call.name == OUTPUT);
    let answer = answer.ok_or_else(|| Stop::Harness("the answer was not recorded".into()))?;
    let (written, unsynced) = written(&calls[..answer]);
    ensure(written > 0, || "the change was answered before anything was written".into())?;
    ensure_none(unsynced.first(), |path| {
        format!("the change was answered before what was written to `{}` was synced", path.display())
    })
}

/// Returns the number of writes, and the files that were written and not synced.
fn written(calls: &[Call]) -> (usize, BTreeSet<PathBuf>) {
    let (mut writes, mut unsynced) = (0, BTreeSet::new());
    let has = |names: &[&str], call: &Call| names.iter().any(|name| call.name.starts_with(name));
    for call in calls {
        let Some(path) = call.paths.first().filter(|path| is_data(path)) else {
            continue;
        };
        if has(WRITES, call) {
            writes += 1;
            unsynced.insert(path.clone());
        } else if has(SYNCS, call) {
            unsynced.remove(path);
        } else if call.name == "syncfs" {
            unsynced.clear();
        } else if call.name.starts_with("unlink") {
            unsynced.remove(path);
        } else if let (true, Some(to)) = (call.name.starts_with("rename"), call.paths.get(1)) {
            // A file that replaces another is only as durable as its own content.
            let is_unsynced = unsynced.remove(path);
            unsynced.remove(to);
            if is_unsynced {
                unsynced.insert(to.clone());
            }
        }
    }
    (writes, unsynced)
}

fn is_data(path: &std::path::Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.ends_with("-shm") && !name.ends_with(".mark") && !name.contains("lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_synced_after_its_last_write() {
        let call = |line: &&str| {
            let mut words = line.split(' ');
            Call {
                name: Box::leak(words.next().expect("a name").to_owned().into_boxed_str()),
                paths: words.map(PathBuf::from).collect(),
                effect: None,
            }
        };
        for (calls, writes, unsynced) in [
            (&["openat a", "write a"][..], 1, &["a"][..]),
            (&["pwrite64 a", "fdatasync a"], 1, &[]),
            (&["pwrite64 a", "fsync a", "pwrite64 a"], 2, &["a"]),
            (&["write a", "write b", "fsync b"], 2, &["a"]),
            (&["write a", "fsync b"], 1, &["a"]),
            (&["write t", "rename t a"], 1, &["a"]),
            (&["write t", "fsync t", "rename t a"], 1, &[]),
            (&["write t", "unlink t"], 1, &[]),
            (&["write a-shm", "write x.lock"], 0, &[]),
            (&["write a", "syncfs a"], 1, &[]),
        ] {
            let calls: Vec<_> = calls.iter().map(call).collect();
            let unsynced = unsynced.iter().map(PathBuf::from).collect();
            assert_eq!(written(&calls), (writes, unsynced), "{calls:?}");
        }
    }
}
