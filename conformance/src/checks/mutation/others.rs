//! Checks that a mutation preserves a person's uncommitted work, in other documents and in its own.

use std::path::Path;

use super::commit;
use crate::{
    checks::{person, prelude::*},
    documents::CHANGES,
    ledger::{self, Ledger},
    semantics,
};

pub(super) const ONLY_ITS_DOCUMENT: Check = Check {
    id: "mutation/only-its-document",
    guarantees: &["no-implicit-edits", "commit-per-mutation"],
    states: "A mutation touches no other document: not its bytes, its mode, its timestamp, nor its \
            staged changes.",
    explains: "A person has staged changes, unstaged changes, both in one document, new documents and a deletion. \
               Makes each mutating call on yet another document; if the contract declares no effects, each valid example of its \
               mutating tools. All other files with their timestamps, index entries, `git status`, hooks and configuration must be \
               unchanged, and the commit must not contain the person's changes.",
    cases: |bench| {
        let has_effects = CHANGES.iter().any(|kind| bench.subject.tool_with(*kind).is_some());
        if has_effects { cases(bench, &["-"]) } else { Ok(commit::example_cases(bench, |_| true)) }
    },
    ..Check::must(judge_only_its_document)
};

pub(super) const PERSON_UNCOMMITTED: Check = Check {
    id: "mutation/person-uncommitted",
    guarantees: &["no-implicit-edits"],
    states: "A person's uncommitted changes are never lost, and never included in a commit of another \
            document.",
    explains: "Makes each mutating call on a document that a person has changed, staged, both, or just created. Either \
               the call is refused and changes nothing, or the history has the person's bytes as a version of their \
               own. No commit may contain another document.",
    cases: |bench| cases(bench, &["dirty", "staged", "staged and dirty", "untracked", "new and staged"]),
    ..Check::must(judge_person_uncommitted)
};

/// Path of a document in a missing folder.
const NEW: &str = "notes/made/deep.md";

/// A mutation beside a person's work.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Mutation {
    Effect(Change),
    /// A valid example of a tool, by its name.
    Example {
        tool: String,
        example: String,
    },
}

/// A change of a document in a git state.
#[derive(Debug, Serialize, Deserialize)]
struct Change {
    /// Index of the effect in [`CHANGES`].
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
            let change = Change { effect, state: (*state).to_owned() };
            let name = match *state {
                "-" => format!("{kind}"),
                state => format!("{kind}, {state}"),
            };
            cases.push(Case::new(name, change));
        }
    }
    Ok(cases)
}

fn judge_only_its_document(bench: &Bench<'_>, case: &Case) -> Judgement {
    let kind = match case.read()? {
        Mutation::Effect(change) => CHANGES[change.effect],
        Mutation::Example { tool, example } => return judge_example(bench, &tool, &example),
    };
    let (existing, new) = (bench.subject.place(kind, person::DOCUMENT), bench.subject.place(kind, NEW));
    let scene = person::at_work_beside(bench, &[(&existing, person::TEXT)])?;
    let paths = match kind {
        EffectKind::Write => vec![&*existing, &*new],
        _ => vec![&*existing],
    };
    let mut client = scene.start()?;
    for path in paths {
        let with = With { path, content: "## Scope\n\nless\n", target: "## Scope" };
        let call = bench.request(kind, with)?;
        let before = Moment::capture(&scene)?;
        let reply = client.make(&call)?;
        let after = Moment::capture(&scene)?;
        if let Reply::Refused(refusal) = reply {
            before.same(&after)?;
            // A server need not make folders.
            if path == new {
                continue;
            }
            return Err(refused("a valid call", &refusal));
        }
        judge_others(&scene, &before, &after, path)?;
    }
    Ok(())
}

fn judge_example(bench: &Bench<'_>, tool: &str, example: &str) -> Judgement {
    let library = |documents: &[(&str, &str)]| person::at_work_beside(bench, documents);
    let made = commit::accepted_example(bench, tool, example, library)?;
    let path = match made.call.path() {
        path if !path.is_empty() => path,
        // The call does not name its document, but its commit does.
        _ => {
            let changed = made.scene.own().except(&["diff", "--name-only", "HEAD~", "HEAD"]);
            let changed = ledger::git(&made.scene.library(), &changed)?;
            changed.lines().next().unwrap_or_default().to_owned()
        }
    };
    judge_others(&made.scene, &made.before, &made.after, &path)
}

/// Fails unless all but the document at `path` is as before.
fn judge_others(scene: &Scene<'_>, before: &Moment, after: &Moment, path: &str) -> Judgement {
    before.same_documents(after, &[path])?;
    before.same_around(after)?;
    before.same_control(after)?;
    let (old, new) = (&before.view.library, &after.view.library);
    same_lines("the index", &old.index, &new.index, path)?;
    same_lines("`git status`", &old.status, &new.status, path)?;
    commits_only(scene, old, path)
}

/// Fails if the texts differ in lines that do not end with `path`.
pub(super) fn same_lines(what: &str, old: &str, new: &str, path: &str) -> Judgement {
    let others = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.ends_with(path));
        lines.map(String::from).collect()
    };
    let (old, new) = (others(old), others(new));
    ensure(old == new, || {
        let removed = old.iter().filter(|line| !new.contains(line));
        let added = new.iter().filter(|line| !old.contains(line));
        let (removed, added): (Vec<_>, Vec<_>) = (removed.collect(), added.collect());
        format!("{what} changed for other documents, from {removed:?} to {added:?}")
    })
}

/// Fails if a commit since `before` changes a document other than `path`.
fn commits_only(scene: &Scene<'_>, before: &Ledger, path: &str) -> Judgement {
    let last = before.commits.first().cloned().unwrap_or_default();
    let range = format!("{last}..HEAD");
    let named = ["log", "--format=", "--name-only", "-z", &range];
    let named = scene.own().except(&named);
    let changed = ledger::git(&scene.library(), &named)?;
    let mut changed = changed.split(['\0', '\n']).filter(|name| !name.is_empty());
    let other = changed.find(|name| Path::new(name) != Path::new(path));
    ensure_none(other, |other| {
        format!("a commit for `{path}` also has a person's uncommitted changes of `{other}`")
    })
}

fn judge_person_uncommitted(bench: &Bench<'_>, case: &Case) -> Judgement {
    let change: Change = case.read()?;
    let kind = CHANGES[change.effect];
    let (is_new, path) = match &*change.state {
        "untracked" | "new and staged" => (true, "notes/mine.md"),
        _ => (false, person::DOCUMENT),
    };
    let path = &*bench.subject.place(kind, path);
    let committed = [(path, person::TEXT)];
    let scene = person::at_work_beside(bench, if is_new { &[] } else { &committed })?;
    if change.state == "staged and dirty" {
        scene.put(path, "# Mine\n\n## Scope\n\nstaged\n")?;
        scene.git(&["add", path])?;
    }
    let mine = "# Mine\n\nNot committed yet.\n\n## Scope\n\nmine\n";
    scene.put(path, mine)?;
    if change.state == "staged" || change.state == "new and staged" {
        scene.git(&["add", path])?;
    }
    let with = With { path, content: "## Scope\n\nthe server's\n", target: "## Scope" };
    let call = bench.request(kind, with)?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    let reply = client.make(&call)?;
    let after = Moment::capture(&scene)?;
    if let Reply::Refused(_) = reply {
        return before.same(&after);
    }
    semantics::allowed(&call, Some(mine.as_bytes()), scene.read(path).as_deref())?;
    before.same_documents(&after, &[path])?;
    let (old, new) = (&before.view.library, &after.view.library);
    same_lines("the index", &old.index, &new.index, path)?;
    commits_only(&scene, old, path)?;
    // Without commits, the person's text is kept where the call does not replace it, as judged above.
    if !bench.subject.should_commit() {
        return Ok(());
    }
    let kept = new.commits_since(old).into_iter().any(|commit| {
        let blob = ledger::git(&scene.library(), &["cat-file", "blob", &format!("{commit}:{path}")]);
        blob.is_ok_and(|blob| blob == mine)
    });
    ensure(kept, || {
        format!(
            "the person's version of `{path}` ({}) is neither in a commit nor in the folder",
            change.state
        )
    })
}
