//! Checks that the log has each mutation once, and no refused call.

use std::collections::BTreeSet;

use crate::{
    checks::prelude::*,
    documents::on_section,
    judgement::accepted,
    request::{self},
};

pub(super) const LOG_ENTRY: Check = Check {
    id: "mutation/log-entry",
    guarantees: &["log-entry-per-mutation"],
    states: "An accepted mutation adds exactly one entry to the log, with its path and its commit, \
            after the earlier ones.",
    explains: "Makes seven mutations of several kinds and documents, with a person's commit among them. After each, \
               the log must have one new entry at its end, with the call's path and git's HEAD. A restart must not \
               change the log.",
    ..Check::must(judge_log_entry)
};

pub(super) const REFUSED_NOTHING: Check = Check {
    id: "mutation/refused-nothing",
    guarantees: &["errors-write-nothing", "commit-per-mutation", "log-entry-per-mutation"],
    states: "A refused call makes no commit and no entry in the log.",
    explains: "After one accepted mutation, makes calls on missing documents and headings, and with the contract's \
               invalid examples. The history and the log must be unchanged.",
    ..Check::must(judge_refused_nothing)
};

const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";

/// Returns the path and the commit of each log entry.
pub(super) fn entries(bench: &Bench<'_>, client: &mut Client<'_>) -> Result<Vec<(String, String)>, Stop> {
    let none = || not_applicable("the server has no log");
    let log = bench.subject.contract.log.ok_or_else(none)?;
    let tool = bench.subject.contract.operation(log.tool).ok_or_else(none)?;
    if !bench.subject.adapter.has(tool, None) {
        return Err(none());
    }
    let arguments = request::examples(tool).next().ok_or_else(none)?;
    let response = client.call(tool, &arguments)?.must("reading the log")?.response;
    let entries = response.pointer(log.entries).and_then(Value::as_array);
    let entries = entries.ok_or_else(|| fail(format!("the log has no entries at `{}`", log.entries)))?;
    let text = |entry: &Value, at: &str| {
        let text = entry.pointer(at).and_then(Value::as_str);
        text.map(String::from).ok_or_else(|| fail(format!("a log entry has no string at `{at}`")))
    };
    entries.iter().map(|entry| Ok((text(entry, log.path)?, text(entry, log.commit)?))).collect()
}

fn head(scene: &Scene<'_>) -> Result<String, Stop> {
    Ok(scene.git(&["rev-parse", "HEAD"])?.trim().to_owned())
}

fn judge_log_entry(bench: &Bench<'_>, _: &Case) -> Judgement {
    use EffectKind::{Append, Delete, InsertAfter, Prepend, ReplaceSection, Write};
    let steps = [
        (Write, "notes/new.md"),
        (Append, "notes/plan.md"),
        (InsertAfter, "notes/plan.md"),
        (Prepend, "notes/größe & so on.md"),
        (ReplaceSection, "notes/plan.md"),
        (Delete, "notes/plan.md"),
        (Write, "notes/plan.md"),
    ];
    let existing = steps[1..].iter().map(|(kind, path)| bench.subject.place(*kind, path));
    let existing: BTreeSet<_> = existing.collect();
    let scene = bench.scene(&existing.iter().map(|path| (&**path, DOCUMENT)).collect::<Vec<_>>())?;
    let mut client = scene.start()?;
    let mut expected = entries(bench, &mut client)?;
    let mut made = 0;
    for (kind, path) in steps {
        let with = With { path, content: "## Part\n\nmore\n", target: "## Scope" };
        let Some(call) = bench.subject.placed(kind, with) else {
            continue;
        };
        client.make(&call)?.must("a valid call")?;
        made += 1;
        scene.settle();
        expected.push((call.path(), head(&scene)?));
        same_entries(&expected, &entries(bench, &mut client)?, "after a mutation")?;
        if made == 3 {
            scene.put("notes/person.md", "# A person's\n")?;
            scene.git(&["add", "notes/person.md"])?;
            scene.git(&["commit", "--quiet", "-m", "a person's"])?;
            let listed = entries(bench, &mut client)?;
            if bench.subject.is_native() {
                same_entries(&expected, &listed, "after a person's commit")?;
            } else {
                // Git's own history may serve as the log, with a person's commits.
                expected = listed;
            }
        }
    }
    if made == 0 {
        return Err(not_applicable("the server has no such tools"));
    }
    client.close()?;
    same_entries(&expected, &entries(bench, &mut scene.start()?)?, "after a restart")
}

fn same_entries(expected: &[(String, String)], found: &[(String, String)], when: &str) -> Judgement {
    ensure(expected == found, || {
        let last = |entries: &[(String, String)]| entries.last().cloned();
        let count = (expected.len(), found.len());
        let (expected, found) = (last(expected), last(found));
        format!(
            "{when}, the log has {} entries instead of {}; the last is {found:?} instead of {expected:?}",
            count.1, count.0
        )
    })
}

fn judge_refused_nothing(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = bench.scene(&[("notes/plan.md", DOCUMENT)])?;
    let mut client = scene.start()?;
    let first = With { path: "notes/first.md", content: "# First\n", target: "" };
    if let Some(call) = bench.subject.placed(EffectKind::Write, first) {
        client.make(&call)?;
    }
    let (before, log) = (scene.view()?, entries(bench, &mut client)?);
    let with = |path, target| With { path, content: "## Scope\n\nless\n", target };
    let calls = bench.subject.requests(with("notes/missing.md", "## Scope")).into_iter();
    let calls = calls.chain(bench.subject.requests(with("notes/plan.md", "## Missing")));
    for call in calls.filter(|call| call.tool.mutating) {
        let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
        let path = call.path();
        let is_missing = scene.read(&path).is_none() && kind != Some(EffectKind::Write);
        if !is_missing && !kind.is_some_and(on_section) {
            continue;
        }
        let Some(reply) = client.make_if_possible(&call)? else {
            continue;
        };
        if matches!(reply, Reply::Done(_)) {
            return Err(accepted(format!("an impossible call was accepted: {}", call.arguments)));
        }
    }
    for tool in bench.subject.operations().filter(|tool| tool.mutating) {
        for arguments in request::invalid_examples(tool) {
            client.call(tool, &arguments)?;
        }
    }
    same_entries(&log, &entries(bench, &mut client)?, "after refused calls")?;
    before.same(&scene.view()?, "a refused call")
}
