//! Checks that a mutation makes one commit of one path and returns the commit's id.

use std::iter;

use crate::{
    adapter::Adapter, callers, check::counted, checks::prelude::*, documents::CHANGES, ledger,
    reply::Success, request::examples as examples_of, settled, subject::Commits,
};

pub(super) const ONE_COMMIT: Check = Check {
    id: "mutation/one-commit",
    guarantees: &["commit-per-mutation"],
    states: "An accepted mutation makes exactly one commit, on top of the last one, which changes exactly its document.",
    explains: "Makes a mutating call of each declared effect, and each valid example of the contract's mutating tools, on a \
               library of a few documents, of which a person has changed one that an example does not name. According to git, HEAD must have one new commit whose only parent is the old \
               HEAD, whose only changed path is the call's, and whose content equals the folder's. An example that is \
               refused is tried again on an almost empty library, after the examples of the other tools, and by \
               callers of the roles that may call the tool.",
    cases: |bench| cases(bench, |_| true),
    ..Check::must(judge_one_commit)
};

pub(super) const RETURNED_ID: Check = Check {
    id: "mutation/returned-id",
    guarantees: &["returns-commit"],
    states: "An accepted mutation returns the full id of its commit.",
    explains: "Compares the id in the response with git's HEAD after the call.",
    cases: |bench| cases(bench, |tool| tool.commit.is_some()),
    ..Check::must(judge_returned_id)
};

/// Documents of each case's library.
const DOCUMENTS: &[(&str, &str)] = &[
    (DOCUMENT, "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n"),
    ("notes/other.md", "# Other\n\nStays.\n"),
    (PERSONS, "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";
/// The document that a person has changed when an example is called.
const PERSONS: &str = "README.md";

/// A mutation of one document.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Mutation {
    Effect {
        /// Index of the effect in [`CHANGES`].
        effect: usize,
        path: String,
        content: String,
    },
    /// A valid example of a tool, by its name.
    Example { tool: String, example: String },
}

/// Returns a case for each effect and each valid example of the mutating tools that `fits` accepts.
fn cases(bench: &Bench<'_>, fits: fn(&ToolSpec) -> bool) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (effect, kind) in CHANGES.into_iter().enumerate() {
        if !bench.subject.tool_with(kind).is_some_and(|(tool, _)| fits(tool)) {
            continue;
        }
        let new = (kind == EffectKind::Write).then_some("notes/new.md");
        for path in [DOCUMENT].into_iter().chain(new) {
            let path = bench.subject.place(kind, path);
            let content = "## Scope\n\nLess of it.\n".to_owned();
            let name = format!("{kind} of {path}");
            let effect = Mutation::Effect { effect, path, content };
            cases.push(Case::new(name, effect));
        }
    }
    cases.extend(example_cases(bench, fits));
    Ok(cases)
}

/// Returns a case for each valid example of the mutating tools that `fits` accepts.
pub(super) fn example_cases(bench: &Bench<'_>, fits: fn(&ToolSpec) -> bool) -> Vec<Case> {
    // An adapter maps effects; it does not know an example's other arguments.
    let is_native = matches!(bench.subject.adapter, Adapter::Native);
    let mutating = bench.subject.operations().filter(|tool| is_native && tool.mutating && fits(tool));
    let cases = mutating.flat_map(|tool| {
        let valid = tool.examples.iter().filter(|example| example.valid);
        valid.map(|example| {
            let name = format!("{}: {}", tool.label(), example.name);
            let (tool, example) = (tool.label().to_owned(), example.name.to_owned());
            Case::new(name, Mutation::Example { tool, example })
        })
    });
    cases.collect()
}

/// An accepted mutation, with the library before and after it.
pub(super) struct AcceptedMutation<'a> {
    pub(super) scene: Scene<'a>,
    /// Kept open so that the server can finish its work after the answer.
    _client: Client<'a>,
    pub(super) call: Call,
    done: Success,
    pub(super) before: Moment,
    /// True if HEAD had moved when the answer arrived.
    is_committed: bool,
    pub(super) after: Moment,
}

fn accepted_mutation<'a>(bench: &Bench<'a>, case: &Case) -> Result<AcceptedMutation<'a>, Stop> {
    let (effect, path, content) = match case.read()? {
        Mutation::Effect { effect, path, content } => (effect, path, content),
        Mutation::Example { tool, example } => {
            return accepted_example(bench, &tool, &example, |documents| bench.scene(documents));
        }
    };
    let with = With { path: &path, content: &content, target: "## Scope" };
    let call = bench.request(CHANGES[effect], with)?;
    let scene = bench.scene(DOCUMENTS)?;
    if CHANGES[effect] != EffectKind::Write && scene.read(&path).is_none() {
        scene.put(&path, DOCUMENTS[0].1)?;
        scene.commit_all("the document")?;
    }
    let client = scene.start()?;
    match make(scene, client, call)? {
        Ok(accepted) => Ok(accepted),
        Err(refusal) => Err(refused("a valid call", &refusal)),
    }
}

/// Makes a call; returns the refusal if it is refused.
fn make<'a>(
    scene: Scene<'a>,
    mut client: Client<'a>,
    call: Call,
) -> Result<Result<AcceptedMutation<'a>, Refusal>, Stop> {
    let before = Moment::capture(&scene)?;
    Ok(match client.make(&call)? {
        Reply::Done(done) => Ok(AcceptedMutation {
            is_committed: scene.head() != before.view.library.commits.first().cloned(),
            after: Moment::capture(&scene)?,
            scene,
            _client: client,
            call,
            done,
            before,
        }),
        Reply::Refused(refusal) => Err(refusal),
    })
}

/// Makes a valid example, as the first caller and on the first library for which the server accepts it. `library` creates one of
/// these documents.
pub(super) fn accepted_example<'a>(
    bench: &Bench<'a>,
    tool: &str,
    example: &str,
    library: impl Fn(&[(&str, &str)]) -> Result<Scene<'a>, Stop>,
) -> Result<AcceptedMutation<'a>, Stop> {
    let found = bench.subject.operations().find(|it| it.name == tool);
    let found = found.ok_or_else(|| not_applicable(format!("the server has no tool `{tool}`")))?;
    let mut examples = found.examples.iter().filter(|it| it.valid && it.name == example);
    let arguments = examples.next().map(|it| it.input.clone());
    let arguments =
        arguments.ok_or_else(|| not_applicable(format!("the contract has no valid example `{example}`")))?;
    let call = Call { tool: found, arguments };
    let mutating = || bench.subject.operations().filter(|tool| tool.mutating);
    let all = || mutating().flat_map(|tool| examples_of(tool).map(move |arguments| Call { tool, arguments }));
    let named: Vec<_> = all().map(|call| call.path()).filter(|path| is_plain(path)).collect();
    let full: Vec<_> =
        named.iter().map(|path| (path.as_str(), DOCUMENTS[0].1)).chain(DOCUMENTS.iter().copied()).collect();
    let empty = [(PERSONS, "# Library\n")];
    let libraries = [(&full[..], false), (&empty, false), (&full, true)];
    let auth = bench.subject.contract.auth.iter();
    let roles = auth.flat_map(|auth| auth.roles).filter(|role| found.roles.contains(&role.name));
    let callers = iter::once(None).chain(roles.map(Some));
    let mut refusal = String::new();
    for (role, (documents, others_first)) in callers.flat_map(|role| libraries.map(|it| (role, it))) {
        let scene = library(documents)?;
        let mut client = match callers::open(bench, &scene, role) {
            // The server has no caller of this role for the suite.
            Err(Stop::NotApplicable(_)) => continue,
            client => client?,
        };
        let others = all().filter(|other| others_first && other.tool.label() != tool);
        for other in others {
            client.make(&other)?;
        }
        if !["", PERSONS].contains(&&*call.path()) {
            scene.put(PERSONS, "# Library\n\nNot committed yet.\n")?;
        }
        match make(scene, client, call.clone())? {
            Ok(accepted) => return Ok(accepted),
            Err(refused) => refusal = refused.message,
        }
    }
    Err(not_shown(format!(
        "`{tool}` refuses its valid example \"{example}\" on each library that was tried: {refusal}"
    )))
}

/// Returns true if a document can have this path.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|part| !["", ".", "..", ".git"].contains(&part))
}

fn judge_one_commit(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mutation = accepted_mutation(bench, case)?;
    let commits = mutation.after.view.library.commits_since(&mutation.before.view.library);
    let is_late = || settled::wait_for_commit(&mutation.scene, &mutation.before.view.library);
    if bench.subject.commits != Commits::Never && !mutation.is_committed && is_late()? {
        return Err(fail("the call was answered before its commit was made"));
    }
    ensure(commits.len() == 1, || {
        format!("the call made {} instead of one", counted(commits.len(), "commit"))
    })?;
    let root = mutation.scene.library();
    let parents = ledger::git(&root, &["rev-list", "--parents", "--max-count=1", "HEAD"])?;
    let parents: Vec<_> = parents.split_whitespace().skip(1).collect();
    ensure(parents == [mutation.before.view.library.commits[0].as_str()], || {
        format!("the commit's parents are {parents:?} instead of the last commit")
    })?;
    let changed =
        ledger::git(&root, &mutation.scene.own().except(&["diff", "--name-only", "HEAD~", "HEAD"]))?;
    let (changed, path) = (changed.lines().collect::<Vec<_>>(), mutation.call.path());
    let is_one = match changed[..] {
        // The written text may have been there before.
        [] => mutation.before.view.library.files == mutation.after.view.library.files,
        [changed] => path.is_empty() || changed == path,
        _ => false,
    };
    ensure(is_one, || {
        let expected = if path.is_empty() { "one document" } else { &path };
        format!("the commit changes {changed:?} instead of `{expected}`")
    })?;
    let (before, after) = (&mutation.before.view.library.status, &mutation.after.view.library.status);
    ensure(before == after, || format!("`git status` lists uncommitted changes: {after}"))
}

fn judge_returned_id(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mutation = accepted_mutation(bench, case)?;
    let Some(returned) = commit_id(mutation.call.tool, &mutation.done.response) else {
        return Err(fail("the response has no commit id"));
    };
    let head = mutation.after.view.library.commits.first().cloned().unwrap_or_default();
    ensure(returned == head && head != mutation.before.view.library.commits[0], || {
        format!("the response has commit `{returned}` instead of `{head}`")
    })
}

fn commit_id(tool: &ToolSpec, response: &Value) -> Option<String> {
    let id = response.pointer(tool.commit?)?.as_str()?;
    Some(id.to_owned())
}
