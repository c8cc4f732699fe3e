//! Checks libraries whose repository configures programs for git to run.

use std::fs;

use crate::{
    checks::prelude::*,
    ledger,
    traps::{Program, TRAPS},
};

pub(super) const CONFIG: Check = Check {
    id: "paths/hostile-config",
    guarantees: &[],
    states: "No call runs a program that the library configures, by git's configuration, attributes or \
            hooks.",
    explains: "A copied library comes with `.git/config` and hooks, which name programs that git runs for fsmonitor, \
               filters, diffs, signatures, connections and so on. Sets each of them to a program that leaves a mark, \
               then calls every tool on a clean document, on one that a person has changed, and on a new one. No \
               program may have left its mark. `attacks/hostile.toml` has the configurations.",
    cases: |_| Ok(TRAPS.config.iter().map(|config| Case::new(&config.id, &config.id)).collect()),
    ..Check::must(judge)
};

const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let id: String = case.read()?;
    let config = TRAPS.config.iter().find(|config| config.id == id);
    let config = config.ok_or_else(|| Stop::Harness(format!("unknown configuration `{id}`")))?;
    let scene = bench.scene(&[("notes/plan.md", DOCUMENT), ("notes/dirty.md", DOCUMENT)])?;
    let program = Program::new(&scene)?;
    config.prepare(&scene, &program)?;
    let before = Moment::capture(&scene)?;
    let own = fs::read(scene.path(".git/config"))?;
    config.arm(&scene, &program)?;
    let armed = fs::read(scene.path(".git/config"))?;
    let mut client = scene.start()?;
    client.request("tools/list", json!({}))?;
    for path in ["notes/plan.md", "notes/dirty.md", "notes/new.md"] {
        let with = With { path, content: "## Scope\n\nless\n", target: "## Scope" };
        for call in bench.subject.requests(with) {
            let placed = &*call.path();
            if path == "notes/dirty.md" || !placed.is_empty() && scene.read(placed).is_none() {
                scene.put(
                    if placed.is_empty() { path } else { placed },
                    format!("{DOCUMENT}\nA person's, for {}.\n", call.tool.label()),
                )?;
            }
            client.attempt(call.tool, &call.arguments)?;
        }
    }
    client.close()?;
    ensure_none(program.has_run(), |how| {
        let how = how.lines().next().unwrap_or_default();
        format!("the server ran a program that the library configures ({}): {how}", config.why)
    })?;
    ensure(fs::read(scene.path(".git/config"))? == armed, || "the library's configuration changed".into())?;
    config.disarm(&scene, &own)?;
    before.same_around(&Moment::capture(&scene)?)?;
    let sound = ledger::fsck(&scene.library());
    ensure(sound.is_ok(), || {
        format!("`git fsck` finds an error: {}", sound.err().map(|e| e.to_string()).unwrap_or_default())
    })
}
