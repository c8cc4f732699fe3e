//! Libraries whose repository has git run a program.

use std::fs;

use serde_json::json;

use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop, ensure},
    ledger,
    moment::Moment,
    request::With,
    traps::{Program, TRAPS},
};

pub(super) const CONFIG: Check = Check {
    id: "paths/hostile-config",
    severity: Severity::Must,
    guarantees: &[],
    states: "No call runs a program that the library brings along: by its configuration, its attributes or its hooks.",
    explains: "A library that was copied from elsewhere comes with `.git/config` and hooks, which name programs that git runs \
               for fsmonitor, filters, diffs, signatures, connections and so on. Each of them is set to a program that \
               leaves a mark; then every tool is called, on a clean document, on one that a person has changed, and on a \
               new one. There must be no mark. `attacks/hostile.toml` has the configurations.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";

fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(TRAPS
        .config
        .iter()
        .map(|config| Case::new(&config.id, &config.id))
        .collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let id: String = case.read()?;
    let config = TRAPS.config.iter().find(|config| config.id == id);
    let config = config.ok_or_else(|| Stop::Harness(format!("there is no configuration `{id}`")))?;
    let scene = bench.scene(&[("notes/plan.md", DOCUMENT), ("notes/dirty.md", DOCUMENT)])?;
    let program = Program::new(&scene)?;
    config.prepare(&scene, &program)?;
    let before = Moment::of(&scene)?;
    let own = fs::read(scene.path(".git/config"))?;
    config.arm(&scene, &program)?;
    let armed = fs::read(scene.path(".git/config"))?;
    let mut client = scene.start()?;
    client.request("tools/list", json!({}))?;
    for path in ["notes/plan.md", "notes/dirty.md", "notes/new.md"] {
        let with = With {
            path,
            content: "## Scope\n\nless\n",
            target: "## Scope",
        };
        for call in bench.subject.requests(with) {
            if path == "notes/dirty.md" || scene.read(path).is_none() {
                scene.put(path, format!("{DOCUMENT}\nA person's, for {}.\n", call.tool.name))?;
            }
            client.attempt(call.tool, &call.arguments)?;
        }
    }
    client.close()?;
    ensure(program.has_run().is_none(), || {
        let how = program.has_run().unwrap_or_default();
        let how = how.lines().next().unwrap_or_default().to_owned();
        format!("a program that the library names was run ({}): {how}", config.why)
    })?;
    ensure(fs::read(scene.path(".git/config"))? == armed, || {
        "the library's configuration changed".into()
    })?;
    config.disarm(&scene, &own)?;
    before.same_around(&Moment::of(&scene)?)?;
    let sound = ledger::fsck(&scene.library());
    ensure(sound.is_ok(), || {
        format!(
            "the repository is no longer sound: {}",
            sound.err().map(|e| e.to_string()).unwrap_or_default()
        )
    })
}
