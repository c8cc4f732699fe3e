//! Checks mutations in repositories with an unfinished git operation or a lock.

use super::others::same_lines;
use crate::{check::counted, checks::prelude::*, documents::CHANGES, judgement::Shows, ledger, semantics};

pub(super) const ODD_REPOSITORY: Check = Check {
    id: "mutation/odd-repository",
    guarantees: &["no-implicit-edits", "no-partial-application"],
    states: "Whatever the repository's state, a mutation is done completely or refused, and disturbs \
            nothing else in it.",
    explains: "HEAD is detached, or on a branch without commits; a merge, a rebase or a cherry-pick is unfinished; or \
               another program holds one of git's locks. Each mutating call must be refused and change no byte, or \
               succeed with one commit on HEAD, of its document alone. Other documents, the index, merge heads and \
               locks must be unchanged.",
    cases,
    ..Check::must(judge)
};

const DOCUMENT: &str = "notes/plan.md";
const TEXT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";
/// Path of the document on which the merged branches disagree.
const CONTESTED: &str = "README.md";

/// A state of a repository: its name and the git commands that create it. A command after `!` must fail.
type State = (&'static str, &'static [&'static [&'static str]]);

/// States of a repository with two branches that disagree on [`CONTESTED`].
const STATES: [State; 8] = [
    ("a detached HEAD", &[&["checkout", "--quiet", "--detach"]]),
    ("a branch without commits", &[&["checkout", "--quiet", "--orphan", "new"]]),
    ("a merge with a conflict", &[&["!", "merge", "--quiet", "other"]]),
    ("a merge that only needs a commit", &[&["merge", "--quiet", "--no-commit", "--strategy=ours", "other"]]),
    ("a rebase with a conflict", &[&["!", "rebase", "--quiet", "other"]]),
    ("a cherry-pick with a conflict", &[&["!", "cherry-pick", "other"]]),
    ("a revert that only needs a commit", &[&["revert", "--no-commit", "HEAD"]]),
    ("a bisection", &[&["bisect", "start"]]),
];
/// Files of git that another program may have locked. Without the first two, git makes no commit.
const LOCKS: [&str; 3] = ["index", "refs/heads/main", "HEAD"];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let has_any = CHANGES.iter().any(|kind| bench.subject.tool_with(*kind).is_some());
    if !has_any {
        return Ok(Vec::new());
    }
    let states = STATES.iter().map(|(name, _)| Case::new(*name, name));
    let locks = LOCKS.iter().map(|file| Case::new(format!("another program's lock of {file}"), file));
    Ok(states.chain(locks).collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let state: String = case.read()?;
    let quick = [EffectKind::Write, EffectKind::ReplaceSection];
    for &kind in bench.pick(&quick[..], &CHANGES) {
        let with = With { path: DOCUMENT, content: "## Scope\n\nless\n", target: "## Scope" };
        if let Some(call) = bench.subject.placed(kind, with) {
            judge_call(bench, &state, &call)?;
        }
    }
    Ok(())
}

fn judge_call(bench: &Bench<'_>, state: &str, call: &Call) -> Judgement {
    let scene = bench.scene(&[(&*call.path(), TEXT), (CONTESTED, "# Library\n")])?;
    enter_state(&scene, state)?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    let reply = client.make(call)?;
    let after = Moment::capture(&scene)?;
    if matches!(reply, Reply::Refused(_)) {
        before.same(&after)?;
    } else {
        let is_locked_out = bench.subject.should_commit() && LOCKS[..2].contains(&state);
        ensure(!is_locked_out, || {
            format!("the call was accepted although another program holds git's lock of {state}")
        })?;
        judge_accepted(bench, &scene, call, &before, &after)?;
    }
    client.request("tools/list", json!({}))?;
    Ok(())
}

/// Brings the repository into a state.
fn enter_state(scene: &Scene<'_>, state: &str) -> Result<(), Stop> {
    let Some((_, commands)) = STATES.iter().find(|(name, _)| *name == state) else {
        scene.trace(format!("another program locks git's {state}"));
        return Ok(std::fs::write(scene.path(&format!(".git/{state}.lock")), "")?);
    };
    scene.git(&["checkout", "--quiet", "-b", "other"])?;
    scene.put(CONTESTED, "# Another library\n")?;
    scene.commit_all("theirs")?;
    scene.git(&["checkout", "--quiet", "main"])?;
    scene.put(CONTESTED, "# My library\n")?;
    scene.commit_all("mine")?;
    for command in *commands {
        match command {
            ["!", command @ ..] => ensure(scene.git(command).is_err(), || {
                format!("`git {}` found no conflict", command.join(" "))
            })?,
            command => drop(scene.git(command)?),
        }
    }
    Ok(())
}

/// Judges an accepted call.
fn judge_accepted(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    call: &Call,
    before: &Moment,
    after: &Moment,
) -> Judgement {
    let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
    let path = &*call.path();
    let found = scene.read(path);
    semantics::allowed(call, Some(TEXT.as_bytes()), found.as_deref())?;
    before.same_documents(after, &[path])?;
    before.same_around(after)?;
    before.same_control(after)?;
    before.same_in_progress(after)?;
    if !bench.subject.should_commit() {
        return Ok(());
    }
    let (old, new) = (&before.view.library, &after.view.library);
    same_lines("the index", &old.index, &new.index, path)?;
    same_lines("`git status`", &old.status, &new.status, path)?;
    let made = new.commits_since(old).len();
    // On a branch without commits the document is uncommitted, so the server may adopt it in a commit of its own.
    let max_commits = if old.commits.is_empty() { 2 } else { 1 };
    ensure((1..=max_commits).contains(&made), || {
        format!("the call made {} instead of one", counted(made, "commit"))
    })
    .map_err(|stop| stop.shows(Shows::Commits))?;
    let committed = ledger::git(&scene.library(), &["cat-file", "blob", &format!("HEAD:{path}")]).ok();
    ensure(committed.map(String::into_bytes) == found, || {
        format!("the commit does not have the result of {} of `{path}`", semantics::words(kind))
    })?;
    let changed = ["show", "--format=", "--name-only", "--first-parent", "HEAD"];
    let changed = ledger::git(&scene.library(), &scene.own().except(&changed))?;
    ensure(changed.trim_end() == path, || {
        format!("the commit changes {:?} instead of `{path}`", changed.trim_end())
    })
}
