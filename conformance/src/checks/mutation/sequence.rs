//! Checks a sequence of mutations: as many commits and log entries, and a sound repository.

use std::collections::BTreeSet;

use super::log;
use crate::{
    check::{counted, fewer_steps},
    checks::prelude::*,
    documents::CHANGES,
    judgement::Shows,
    ledger, semantics,
};

pub(super) const SEQUENCE: Check = Check {
    id: "mutation/sequence",
    guarantees: &["commit-per-mutation", "log-entry-per-mutation", "returns-commit"],
    states: "Ten mutations are ten commits in a straight line and ten log entries, and the repository \
            is sound.",
    explains: "Makes ten random mutations of a few documents. Each must have its declared effect. At the end git must \
               have ten commits, each with one parent, in the order of the log entries, and `git fsck --strict` and \
               `git status` must print nothing.",
    cases,
    shrink: fewer_steps::<MutationStep>,
    ..Check::must(judge)
};

const PATHS: [&str; 3] = ["notes/plan.md", "notes/other.md", "notes/new.md"];
const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";

#[derive(Debug, Clone, Serialize, Deserialize)]
struct MutationStep {
    /// Index of the effect in [`CHANGES`].
    effect: usize,
    /// Index of the path in [`PATHS`].
    path: usize,
    content: String,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let has = |effect: &usize| bench.subject.tool_with(CHANGES[*effect]).is_some();
    let known: Vec<_> = (0..CHANGES.len()).filter(has).collect();
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let mut dice = bench.dice("mutation/sequence");
    let mut steps = || -> Vec<MutationStep> {
        let step = |number| MutationStep {
            effect: known[dice.usize(..known.len())],
            path: dice.usize(..PATHS.len()),
            content: format!("## Part {number}\n\ntext {number}\n\n## Scope\n\nscope {number}\n"),
        };
        (0..10).map(step).collect()
    };
    let cases = (0..bench.pick(3, 30)).map(|number| Case::new(format!("sequence {number}"), steps()));
    Ok(cases.collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let steps: Vec<MutationStep> = case.read()?;
    let place = |kind, path: usize| bench.subject.place(kind, PATHS[path]);
    let places = steps.iter().flat_map(|step| [0, 1].map(|path| place(CHANGES[step.effect], path)));
    let places: BTreeSet<_> = places.collect();
    let scene = bench.scene(&places.iter().map(|path| (&**path, DOCUMENT)).collect::<Vec<_>>())?;
    let mut client = scene.start()?;
    let before = scene.view()?.library;
    let mut paths = Vec::new();
    for MutationStep { effect, path, content } in &steps {
        let path = &*place(CHANGES[*effect], *path);
        let with = With { path, content, target: "## Scope" };
        let call = bench.request(CHANGES[*effect], with)?;
        let before_call = scene.read(path);
        let is_possible = semantics::change(&call, before_call.as_deref()).is_ok();
        let Some(reply) = client.make_if_possible(&call)? else {
            continue;
        };
        match reply {
            Reply::Done(_) => {
                semantics::allowed(&call, before_call.as_deref(), scene.read(path).as_deref())?;
                paths.push(path.to_owned());
            }
            Reply::Refused(refusal) if is_possible => {
                let what = semantics::words(Some(CHANGES[*effect]));
                return Err(refused(format!("{what} of `{path}`"), &refusal));
            }
            Reply::Refused(_) => {}
        }
    }
    let after = scene.view()?.library;
    let mut commits = after.commits_since(&before);
    commits.reverse();
    ensure(commits.len() == paths.len(), || {
        format!("{} made {}", counted(paths.len(), "mutation"), counted(commits.len(), "commit"))
    })
    .map_err(|stop| stop.shows(Shows::Commits))?;
    let range = format!("{}..HEAD", before.commits.first().cloned().unwrap_or_default());
    let merges = ledger::git(&scene.library(), &["rev-list", "--min-parents=2", &range])?;
    ensure(merges.is_empty(), || "the history has a merge commit".into())?;
    ensure(after.status.is_empty(), || format!("`git status` lists uncommitted changes: {}", after.status))?;
    let sound = ledger::fsck(&scene.library());
    ensure(sound.is_ok(), || {
        let why = sound.err().map(|error| error.to_string()).unwrap_or_default();
        format!("`git fsck` finds an error: {why}")
    })?;
    let entries = match log::entries(bench, &mut client) {
        Err(Stop::NotApplicable(_)) => return Ok(()),
        entries => entries?,
    };
    let expected: Vec<_> = paths.into_iter().zip(commits).collect();
    ensure(entries == expected, || format!("the log has {entries:?}, but the history has {expected:?}"))
        .map_err(|stop| stop.shows(Shows::Log))
}
