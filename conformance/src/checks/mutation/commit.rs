//! That there is one commit, of one path, with the id that was returned.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::{ToolSpec, spec::EffectKind};

use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    client::Client,
    documents::CHANGES,
    judgement::{Judgement, Stop, ensure, fail},
    ledger,
    reply::{Done, Reply},
    request::{Call, With},
    scene::{Scene, View},
};

pub(super) const ONE_COMMIT: Check = Check {
    id: "mutation/one-commit",
    severity: Severity::Must,
    guarantees: &["commit-per-mutation"],
    states: "An accepted mutation makes exactly one commit, on top of the last one, which changes exactly its document.",
    explains: "Each mutating call is made on a library of a few documents. Then git is asked, not the server: HEAD must \
               have one new commit whose only parent is the old HEAD, whose only changed path is the call's, and whose \
               content is what lies in the folder.",
    cases,
    judge: one_commit,
    shrink: as_small_as_can_be,
};

pub(super) const RETURNED_ID: Check = Check {
    id: "mutation/returned-id",
    severity: Severity::Must,
    guarantees: &["returns-commit"],
    states: "An accepted mutation returns the full id of the commit that it made.",
    explains: "The id in the response is compared with what git says HEAD is after the call.",
    cases,
    judge: returned_id,
    shrink: as_small_as_can_be,
};

/// The documents that each case begins with.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        DOCUMENT,
        "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n",
    ),
    ("notes/other.md", "# Other\n\nStays.\n"),
    ("README.md", "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";

/// A mutation of one document.
#[derive(Debug, Serialize, Deserialize)]
struct Mutation {
    /// Number of the effect in [`CHANGES`].
    effect: usize,
    path: String,
    content: String,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (effect, kind) in CHANGES.into_iter().enumerate() {
        if bench.subject.tool_with(kind).is_none() {
            continue;
        }
        let new = (kind == EffectKind::Write).then_some("notes/new.md");
        for path in [DOCUMENT].into_iter().chain(new) {
            let content = "## Scope\n\nLess of it.\n".to_owned();
            let name = format!("{kind:?} of {path}");
            cases.push(Case::new(
                name,
                Mutation {
                    effect,
                    path: path.to_owned(),
                    content,
                },
            ));
        }
    }
    Ok(cases)
}

/// A mutation that was accepted, with everything before and after.
struct Made<'a> {
    scene: Scene<'a>,
    /// Kept, so that what the server does after its answer is not cut off.
    _client: Client<'a>,
    call: Call,
    path: String,
    done: Done,
    before: View,
    after: View,
}

fn make<'a>(bench: &Bench<'a>, case: &Case) -> Result<Made<'a>, Stop> {
    let mutation: Mutation = case.read()?;
    let scene = bench.scene(DOCUMENTS)?;
    let mut client = scene.start()?;
    let with = With {
        path: &mutation.path,
        content: &mutation.content,
        target: "## Scope",
    };
    let call = bench.subject.request(CHANGES[mutation.effect], with);
    let call = call.ok_or_else(|| Stop::NotApplicable("the server has no such tool".into()))?;
    let before = scene.view()?;
    match client.make(&call)? {
        Reply::Done(done) => Ok(Made {
            after: scene.view()?,
            scene,
            _client: client,
            call,
            path: mutation.path,
            done,
            before,
        }),
        Reply::Refused(refusal) => Err(fail(format!("a valid call was refused: {}", refusal.message))),
    }
}

fn one_commit(bench: &Bench<'_>, case: &Case) -> Judgement {
    let made = make(bench, case)?;
    let commits = made.after.library.commits_since(&made.before.library);
    ensure(commits.len() == 1, || {
        format!("the call made {} commits instead of one", commits.len())
    })?;
    let root = made.scene.library();
    let parents = ledger::git(&root, &["rev-list", "--parents", "--max-count=1", "HEAD"])?;
    let parents: Vec<_> = parents.split_whitespace().skip(1).collect();
    ensure(parents == [made.before.library.commits[0].as_str()], || {
        format!("the commit's parents are {parents:?} instead of the last commit")
    })?;
    let changed = ledger::git(&root, &["diff", "--name-only", "HEAD~", "HEAD"])?;
    ensure(
        changed.lines().collect::<Vec<_>>() == [made.path.as_str()],
        || {
            format!(
                "the commit changes {:?} instead of `{}`",
                changed.trim(),
                made.path
            )
        },
    )?;
    ensure(made.after.library.status.is_empty(), || {
        format!(
            "git finds changes that are not committed: {}",
            made.after.library.status
        )
    })
}

fn returned_id(bench: &Bench<'_>, case: &Case) -> Judgement {
    let made = make(bench, case)?;
    let Some(returned) = commit(made.call.tool, &made.done.response) else {
        return Err(fail("the response has no commit id"));
    };
    let head = made.after.library.commits.first().cloned().unwrap_or_default();
    ensure(returned == head && head != made.before.library.commits[0], || {
        format!("`{returned}` was returned; the commit that was made is `{head}`")
    })
}

/// The commit that a response names.
fn commit(tool: &ToolSpec, response: &Value) -> Option<String> {
    let id = response.pointer(tool.commit?)?.as_str()?;
    Some(id.to_owned())
}
