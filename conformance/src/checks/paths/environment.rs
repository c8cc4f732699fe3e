//! Checks servers whose environment has git variables that name another repository.

use std::fs;

use crate::{
    checks::prelude::*,
    launch::not_ours,
    ledger, semantics,
    traps::{Program, TRAPS},
};

pub(super) const ENVIRONMENT: Check = Check {
    id: "paths/environment",
    guarantees: &[],
    states: "Git variables in the server's environment lead no call to another repository, and run no \
            program.",
    explains: "Starts the server with `GIT_DIR`, `GIT_INDEX_FILE` and so on, which name another repository, as an \
               editor or a git hook does. Reads and changes must reach the library, its history and its index; the \
               other repository must be unchanged. `attacks/hostile.toml` has the variables.",
    cases: |_| Ok(TRAPS.environment.iter().map(|it| Case::new(&it.id, &it.id)).collect()),
    ..Check::must(judge)
};

const PATH: &str = "notes/plan.md";
/// Kinds of the effects that are tried, in this order.
const KINDS: [EffectKind; 4] =
    [EffectKind::Read, EffectKind::Append, EffectKind::ReplaceSection, EffectKind::Write];
const DOCUMENT: &str = "# Plan\n\n## Scope\n\nAll of it.\n";

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let id: String = case.read()?;
    let environment = TRAPS.environment.iter().find(|environment| environment.id == id);
    let environment = environment.ok_or_else(|| Stop::Harness(format!("unknown environment `{id}`")))?;
    if bench.subject.launch.running().is_some() {
        return Err(not_ours());
    }
    let mut subject: Subject = bench.subject.clone();
    subject.launch.environment.extend(environment.variables.iter().cloned());
    // If the contract permits other documents only, uses those.
    let place = |kind| subject.place(kind, PATH);
    let paths = KINDS.map(place);
    let documents: Vec<_> = paths.iter().map(|path| (path.as_str(), DOCUMENT)).collect();
    let scene = Scene::new(&subject, &bench.trace, &documents)?;
    let program = Program::new(&scene)?;
    let other = scene.path("../outside/other");
    for path in &paths {
        let path = other.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, "# Another library's plan\n\n## Scope\n")?;
    }
    ledger::git(&other, &["init", "--quiet", "--initial-branch=main"])?;
    ledger::git(&other, &["add", "--all"])?;
    ledger::git(&other, &["commit", "--quiet", "-m", "other"])?;

    let before = Moment::capture(&scene)?;
    let mut client = scene.start()?;
    let mut has_call = false;
    for (kind, path) in KINDS.into_iter().zip(&paths) {
        let with = With { path, content: "## Scope\n\nless\n", target: "## Scope" };
        let Some(call) = subject.request(kind, with) else {
            continue;
        };
        has_call = true;
        let (bytes, commits) = (scene.read(path), scene.view()?.library);
        let Some(Reply::Done(done)) = client.make_if_possible(&call)? else {
            continue;
        };
        semantics::allowed(&call, bytes.as_deref(), scene.read(path).as_deref())?;
        if kind == EffectKind::Read {
            let (_, effect) = subject.tool_with(kind).ok_or_else(|| Stop::Harness("no effect".into()))?;
            let read = semantics::content_read(effect, &done.response)?;
            ensure(Some(read.as_bytes()) == bytes.as_deref(), || {
                format!("the read returned another document: {read:?}")
            })?;
        }
        let returns_commit = call.tool.commit.and_then(|at| done.response.pointer(at)).is_some();
        if returns_commit {
            let new = scene.view()?.library.commits_since(&commits).len();
            ensure(new == 1, || format!("the library's history has {new} new commits instead of one"))?;
        }
    }
    if !has_call {
        return Err(not_applicable("the server has no such tools"));
    }
    client.close()?;
    let after = Moment::capture(&scene)?;
    before.same_around(&after)?;
    before.same_documents(&after, &paths.each_ref().map(String::as_str))?;
    before.same_control(&after)?;
    ensure(program.has_run().is_none(), || "the server ran a program that the environment names".into())?;
    let status = &after.view.library.status;
    ensure(status.is_empty() || after.view.library.commits == before.view.library.commits, || {
        format!("`git status` lists uncommitted changes: {status}")
    })?;
    let sound = ledger::fsck(&scene.library());
    ensure(sound.is_ok(), || "`git fsck` finds an error".into())
}
