//! That nothing happens to what a person is at, in other documents and in the one at hand.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::EffectKind;

use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    checks::person,
    documents::CHANGES,
    judgement::{Judgement, Stop, ensure},
    ledger::{self, Ledger},
    moment::Moment,
    reply::Reply,
    request::With,
    scene::Scene,
    semantics,
};

pub(super) const ONLY_ITS_DOCUMENT: Check = Check {
    id: "mutation/only-its-document",
    severity: Severity::Must,
    guarantees: &["no-implicit-edits", "commit-per-mutation"],
    states: "A mutation touches no other document: not its bytes, its mode, its stamp, nor what is staged of it.",
    explains: "A person has staged changes, changes that are not staged, both in one document, new documents and a deletion. \
               Each mutating call is made on yet another document. Everything of all others must be what it was: files \
               with their stamps, index entries, `git status`, hooks and configuration; and the commit has none of it.",
    cases: |bench| cases(bench, &["-"]),
    judge: only_its_document,
    shrink: as_small_as_can_be,
};

pub(super) const PERSON_UNCOMMITTED: Check = Check {
    id: "mutation/person-uncommitted",
    severity: Severity::Must,
    guarantees: &["no-implicit-edits"],
    states: "What a person has changed and not committed is never lost, and never swept into a commit of another document.",
    explains: "Each mutating call is made on a document that a person has changed, staged, both, or just made. Either the call \
               is refused and nothing changes, or the person's bytes are in the history as a version of their own. No \
               commit may have any other document in it.",
    cases: |bench| {
        cases(
            bench,
            &[
                "dirty",
                "staged",
                "staged and dirty",
                "untracked",
                "new and staged",
            ],
        )
    },
    judge: person_uncommitted,
    shrink: as_small_as_can_be,
};

/// A document in a folder that is not there.
const NEW: &str = "notes/made/deep.md";

/// A change of a document that a person has left in this state.
#[derive(Debug, Serialize, Deserialize)]
struct Change {
    /// Number of the effect in [`CHANGES`].
    effect: usize,
    state: String,
}

fn cases(bench: &Bench<'_>, states: &[&str]) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (effect, kind) in CHANGES.into_iter().enumerate() {
        let quick = [EffectKind::Write, EffectKind::ReplaceSection, EffectKind::Delete];
        if bench.subject.tool_with(kind).is_none() || !bench.pick(quick.contains(&kind), true) {
            continue;
        }
        for state in states {
            let change = Change {
                effect,
                state: (*state).to_owned(),
            };
            let name = match *state {
                "-" => format!("{kind:?}"),
                state => format!("{kind:?}, {state}"),
            };
            cases.push(Case::new(name, change));
        }
    }
    Ok(cases)
}

fn only_its_document(bench: &Bench<'_>, case: &Case) -> Judgement {
    let kind = CHANGES[case.read::<Change>()?.effect];
    let scene = person::at_work(bench)?;
    let paths: &[&str] = match kind {
        EffectKind::Write => &[person::DOCUMENT, NEW],
        _ => &[person::DOCUMENT],
    };
    let mut client = scene.start()?;
    for path in paths {
        let with = With {
            path,
            content: "## Scope\n\nless\n",
            target: "## Scope",
        };
        let call = bench.subject.request(kind, with);
        let call = call.ok_or_else(|| Stop::NotApplicable("the server has no such tool".into()))?;
        let before = Moment::of(&scene)?;
        let reply = client.make(&call)?;
        let after = Moment::of(&scene)?;
        if let Reply::Refused(refusal) = reply {
            // A server need not make folders.
            ensure(*path == NEW, || {
                format!("a valid call was refused: {}", refusal.message)
            })?;
            before.same(&after)?;
            continue;
        }
        before.same_documents(&after, &[path])?;
        before.same_around(&after)?;
        before.same_control(&after)?;
        let (old, new) = (&before.view.library, &after.view.library);
        same_lines("what is staged", &old.index, &new.index, path)?;
        same_lines("`git status`", &old.status, &new.status, path)?;
        commits_only(&scene, old, path)?;
    }
    Ok(())
}

/// Fails unless both texts are the same but for lines about `path`.
pub(super) fn same_lines(what: &str, old: &str, new: &str, path: &str) -> Judgement {
    let others = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.ends_with(path));
        lines.map(String::from).collect()
    };
    let (old, new) = (others(old), others(new));
    ensure(old == new, || {
        let gone = old.iter().filter(|line| !new.contains(line));
        let came = new.iter().filter(|line| !old.contains(line));
        let (gone, came): (Vec<_>, Vec<_>) = (gone.collect(), came.collect());
        format!("{what} of other documents changed, from {gone:?} to {came:?}")
    })
}

/// Fails if a commit since `before` has another document than `path` in it.
fn commits_only(scene: &Scene<'_>, before: &Ledger, path: &str) -> Judgement {
    let last = before.commits.first().cloned().unwrap_or_default();
    let range = format!("{last}..HEAD");
    let named = ["log", "--format=", "--name-only", "-z", &range];
    let changed = ledger::git(&scene.library(), &named)?;
    let mut changed = changed.split(['\0', '\n']).filter(|name| !name.is_empty());
    let other = changed.find(|name| Path::new(name) != Path::new(path));
    ensure(other.is_none(), || {
        let other = other.unwrap_or_default();
        format!("a commit of a change of `{path}` has `{other}` in it, which a person has not committed")
    })
}

fn person_uncommitted(bench: &Bench<'_>, case: &Case) -> Judgement {
    let change: Change = case.read()?;
    let kind = CHANGES[change.effect];
    let scene = person::at_work(bench)?;
    let path = match &*change.state {
        "untracked" | "new and staged" => "notes/mine.md",
        _ => person::DOCUMENT,
    };
    if change.state == "staged and dirty" {
        scene.put(path, "# Mine\n\n## Scope\n\nstaged\n")?;
        scene.git(&["add", path])?;
    }
    let mine = "# Mine\n\nNot committed yet.\n\n## Scope\n\nmine\n";
    scene.put(path, mine)?;
    if change.state == "staged" || change.state == "new and staged" {
        scene.git(&["add", path])?;
    }
    let with = With {
        path,
        content: "## Scope\n\nthe server's\n",
        target: "## Scope",
    };
    let call = bench.subject.request(kind, with);
    let call = call.ok_or_else(|| Stop::NotApplicable("the server has no such tool".into()))?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    let reply = client.make(&call)?;
    let after = Moment::of(&scene)?;
    if let Reply::Refused(_) = reply {
        return before.same(&after);
    }
    semantics::allowed(&call, Some(mine.as_bytes()), scene.read(path).as_deref())?;
    before.same_documents(&after, &[path])?;
    let (old, new) = (&before.view.library, &after.view.library);
    same_lines("what is staged", &old.index, &new.index, path)?;
    commits_only(&scene, old, path)?;
    let kept = new.commits_since(old).into_iter().any(|commit| {
        let blob = ledger::git(
            &scene.library(),
            &["cat-file", "blob", &format!("{commit}:{path}")],
        );
        blob.is_ok_and(|blob| blob == mine)
    });
    ensure(kept, || {
        format!(
            "what a person had in `{path}` ({}) is in no commit, and no longer in the folder",
            change.state
        )
    })
}
