//! Clients read a document while a person switches between branches, and git rewrites it.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::{
    git::git_with_retry,
    reads::{DOCUMENT, ensure_reads_whole, ensure_whole},
};
use crate::checks::{atomic::torn::version_text, prelude::*};

/// A person who switches between branches that differ in one document.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Switching {
    /// Minimum number of switches; the person continues until the client has made as many reads.
    switches: usize,
    /// Size of the document.
    bytes: usize,
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let switching = Switching { switches: bench.pick(150, 500), bytes: 200_000 };
    let Switching { switches, bytes } = switching;
    let name = format!("{switches} times git switch, with {bytes} bytes read");
    Ok(vec![Case::new(name, switching)])
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let switching: Switching = case.read()?;
    let texts = ["one", "two"].map(|name| version_text(name, switching.bytes));
    let with = With { path: DOCUMENT, content: "", target: "" };
    let read = bench.subject.placed(EffectKind::Read, with);
    let read =
        read.ok_or_else(|| not_applicable("the server has no tool that reads a document by its path"))?;
    let path = &*read.path();
    let scene = bench.scene(&[(path, &texts[0])])?;
    scene.git(&["switch", "--quiet", "--create", "other"])?;
    scene.put(path, &texts[1])?;
    scene.git(&["commit", "--quiet", "--all", "--message", "other"])?;
    let mut client = scene.start()?;
    ensure_reads_whole(&mut client, &read, &texts[1])?;
    scene.trace("a person runs `git switch -` repeatedly");
    let reads = AtomicUsize::new(0);
    let switch = || -> Judgement {
        let mut switches = 0;
        while switches.min(reads.load(Ordering::Relaxed)) < switching.switches {
            git_with_retry(&scene.library(), &["switch", "--quiet", "-"])?;
            switches += 1;
        }
        Ok(())
    };
    let (read, switched) = thread::scope(|scope| {
        let person = scope.spawn(switch);
        let mut read_repeatedly = || -> Judgement {
            while !person.is_finished() {
                ensure_whole(&read, &client.make(&read)?, &texts)?;
                reads.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let done = read_repeatedly();
        // Stops the person even if a read failed.
        reads.store(switching.switches, Ordering::Relaxed);
        (done, person.join())
    });
    read?;
    switched.map_err(|_| Stop::Harness("the person panicked".into()))?
}
