//! Checks that a mutation makes one commit of one path and returns the commit's id.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::{ToolSpec, spec::EffectKind};

use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    client::Client,
    documents::CHANGES,
    judgement::{Judgement, Stop, ensure, fail, refused},
    ledger,
    reply::{Reply, Success},
    request::{Call, With},
    scene::{Scene, View},
};

pub(super) const ONE_COMMIT: Check = Check {
    id: "mutation/one-commit",
    severity: Severity::Must,
    guarantees: &["commit-per-mutation"],
    states: "An accepted mutation makes exactly one commit, on top of the last one, which changes exactly its document.",
    explains: "Makes each mutating call on a library of a few documents. According to git, HEAD must have one new commit \
               whose only parent is the old HEAD, whose only changed path is the call's, and whose content equals the \
               folder's.",
    cases,
    judge: judge_one_commit,
    shrink: as_small_as_can_be,
};

pub(super) const RETURNED_ID: Check = Check {
    id: "mutation/returned-id",
    severity: Severity::Must,
    guarantees: &["returns-commit"],
    states: "An accepted mutation returns the full id of its commit.",
    explains: "Compares the id in the response with git's HEAD after the call.",
    cases,
    judge: judge_returned_id,
    shrink: as_small_as_can_be,
};

/// Documents of each case's library.
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
    /// Index of the effect in [`CHANGES`].
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

/// An accepted mutation, with the library before and after it.
struct AcceptedMutation<'a> {
    scene: Scene<'a>,
    /// Kept open so that the server can finish its work after the answer.
    _client: Client<'a>,
    call: Call,
    path: String,
    done: Success,
    before: View,
    after: View,
}

fn accepted_mutation<'a>(bench: &Bench<'a>, case: &Case) -> Result<AcceptedMutation<'a>, Stop> {
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
        Reply::Done(done) => Ok(AcceptedMutation {
            after: scene.view()?,
            scene,
            _client: client,
            call,
            path: mutation.path,
            done,
            before,
        }),
        Reply::Refused(refusal) => Err(refused("a valid call", &refusal)),
    }
}

fn judge_one_commit(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mutation = accepted_mutation(bench, case)?;
    let commits = mutation.after.library.commits_since(&mutation.before.library);
    ensure(commits.len() == 1, || {
        format!("the call made {} commits instead of one", commits.len())
    })?;
    let root = mutation.scene.library();
    let parents = ledger::git(&root, &["rev-list", "--parents", "--max-count=1", "HEAD"])?;
    let parents: Vec<_> = parents.split_whitespace().skip(1).collect();
    ensure(parents == [mutation.before.library.commits[0].as_str()], || {
        format!("the commit's parents are {parents:?} instead of the last commit")
    })?;
    let named = mutation
        .scene
        .own()
        .except(&["diff", "--name-only", "HEAD~", "HEAD"]);
    let changed = ledger::git(&root, &named)?;
    ensure(
        changed.lines().collect::<Vec<_>>() == [mutation.path.as_str()],
        || {
            format!(
                "the commit changes {:?} instead of `{}`",
                changed.trim(),
                mutation.path
            )
        },
    )?;
    ensure(mutation.after.library.status.is_empty(), || {
        format!(
            "`git status` lists uncommitted changes: {}",
            mutation.after.library.status
        )
    })
}

fn judge_returned_id(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mutation = accepted_mutation(bench, case)?;
    let Some(returned) = commit_id(mutation.call.tool, &mutation.done.response) else {
        return Err(fail("the response has no commit id"));
    };
    let head = mutation
        .after
        .library
        .commits
        .first()
        .cloned()
        .unwrap_or_default();
    ensure(
        returned == head && head != mutation.before.library.commits[0],
        || format!("the response has commit `{returned}` instead of `{head}`"),
    )
}

/// Returns the commit id of a response.
fn commit_id(tool: &ToolSpec, response: &Value) -> Option<String> {
    let id = response.pointer(tool.commit?)?.as_str()?;
    Some(id.to_owned())
}
