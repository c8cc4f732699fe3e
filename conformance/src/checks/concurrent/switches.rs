//! Clients read a document while a person switches between branches, and git writes it anew.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::EffectKind;

use super::{
    git::insist,
    reads::{DOCUMENT, ensure_whole},
};
use crate::{
    check::{Bench, Case},
    checks::atomic::torn::lines,
    judgement::{Judgement, Stop},
    request::With,
};

/// Branches that differ in one document, a person, and a client.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Switching {
    /// How often the person switches, at least: until as many readings were made.
    switches: usize,
    bytes: usize,
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let switching = Switching {
        switches: bench.pick(150, 500),
        bytes: 200_000,
    };
    let Switching { switches, bytes } = switching;
    let named = format!("{switches} times git switch, with {bytes} bytes read");
    Ok(vec![Case::new(named, switching)])
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let switching: Switching = case.read()?;
    let texts = ["one", "two"].map(|of| lines(of, switching.bytes));
    let with = With {
        path: DOCUMENT,
        content: "",
        target: "",
    };
    let read = bench.subject.request(EffectKind::Read, with);
    let read = read.ok_or_else(|| Stop::NotApplicable("the server reads no document by its path".into()))?;
    let scene = bench.scene(&[(DOCUMENT, &texts[0])])?;
    scene.git(&["switch", "--quiet", "--create", "other"])?;
    scene.put(DOCUMENT, &texts[1])?;
    scene.git(&["commit", "--quiet", "--all", "--message", "other"])?;
    let mut client = scene.start()?;
    scene.trace("a person runs `git switch -`, over and over");
    let readings = AtomicUsize::new(0);
    let switch = || -> Judgement {
        let mut switches = 0;
        while switches.min(readings.load(Ordering::Relaxed)) < switching.switches {
            insist(&scene.library(), &["switch", "--quiet", "-"])?;
            switches += 1;
        }
        Ok(())
    };
    let (read, switched) = thread::scope(|scope| {
        let person = scope.spawn(switch);
        let mut read_on = || -> Judgement {
            while !person.is_finished() {
                ensure_whole(&read, &client.make(&read)?, &texts)?;
                readings.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let done = read_on();
        // Whatever came of the readings, the person is done.
        readings.store(switching.switches, Ordering::Relaxed);
        (done, person.join())
    });
    read?;
    switched.map_err(|_| Stop::Harness("the person panicked".into()))?
}
