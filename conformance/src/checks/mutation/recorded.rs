//! Checks that each mutation is recorded once, for contracts without a log tool.

use tabellion_runtime::spec::ResourceSpec;

use crate::{checks::prelude::*, layout::DOCUMENT, request::invalid_examples};

pub(super) const CHECK: Check = Check {
    id: "mutation/recorded",
    guarantees: &["log-entry-per-entry", "commit-per-entry", "log-entry-per-edit", "commit-per-edit"],
    states: "An accepted mutation is recorded once, a refused one not at all.",
    explains: "Makes a mutation of every effect that takes no section id, with invalid calls in between. If the \
               contract has a resource with a list of items with times, that list is the log: it must have one new \
               entry after each mutation, and the same entries after a restart. Otherwise git's log is the record: it \
               must have one new commit, whose message names the document.",
    ..Check::must(judge)
};

/// Returns the resource that is the log: its schema has a list whose items have a time.
fn resource(subject: &Subject) -> Option<&'static ResourceSpec> {
    let has_times = |schema: &Value| {
        let mut members = schema["properties"].as_object().into_iter().flatten();
        members.any(|(_, member)| {
            let mut items = member["items"]["properties"].as_object().into_iter().flatten();
            items.any(|(_, item)| item["format"] == "date-time")
        })
    };
    let mut resources = subject.contract.resources.iter();
    resources.find(|resource| has_times(&resource.schema.wire()))
}

/// Reads the entries of the log.
fn entries(client: &mut Client<'_>, resource: &ResourceSpec) -> Result<Vec<Value>, Stop> {
    let message = client.request("resources/read", json!({ "uri": resource.uri }))?;
    let text = message.pointer("/result/contents/0/text").and_then(Value::as_str);
    let text = text.ok_or_else(|| fail(format!("`{}` can't be read: {}", resource.uri, message["error"])))?;
    let response: Value =
        serde_json::from_str(text).map_err(|_| fail(format!("`{}` is not JSON", resource.uri)))?;
    let mut lists = response.as_object().into_iter().flatten().filter_map(|(_, member)| member.as_array());
    let list = lists.next().cloned();
    list.ok_or_else(|| fail(format!("`{}` has no list", resource.uri)))
}

fn judge(bench: &Bench<'_>, _: &Case) -> Judgement {
    let subject = bench.subject;
    let with = With { path: DOCUMENT, content: "recorded", target: "Recorded" };
    let is_tested = |call: &Call| {
        let effect = call.tool.effect(&call.arguments);
        call.tool.mutating && effect.is_some_and(|effect| effect.section.is_none())
    };
    let calls: Vec<_> = subject.requests(with).into_iter().filter(is_tested).collect();
    let calls = nonempty(calls, "the server has no such tools")?;
    let log = resource(subject);
    let places = subject.places(DOCUMENT);
    let scene =
        bench.scene(&places.iter().map(|path| (&**path, "# Plan\n\nIntro.\n")).collect::<Vec<_>>())?;
    let mut client = scene.start()?;
    let mut expected = match log {
        Some(log) => entries(&mut client, log)?,
        None => Vec::new(),
    };
    for call in &calls {
        let before = Moment::capture(&scene)?;
        for arguments in invalid_examples(call.tool) {
            client.call(call.tool, &arguments)?;
        }
        before.same(&Moment::capture(&scene)?)?;
        client.make(call)?.must("a valid call")?;
        let commits = scene.view()?.library.commits_since(&before.view.library).len();
        ensure(commits == 1, || format!("`{}` made {commits} commits instead of one", call.tool.label()))?;
        match log {
            Some(log) => ensure_one_more(&mut expected, entries(&mut client, log)?, call.tool.label())?,
            None => {
                let message = scene.git(&["log", "--max-count=1", "--format=%B"])?;
                ensure(message.contains(&call.path()), || {
                    format!("the commit's message does not name `{}`: {message:?}", call.path())
                })?;
            }
        }
    }
    client.close()?;
    let Some(log) = log else {
        return Ok(());
    };
    ensure(entries(&mut scene.start()?, log)? == expected, || "a restart changed the log".into())
}

/// Fails unless `found` is `known` with one new entry at either end.
fn ensure_one_more(known: &mut Vec<Value>, found: Vec<Value>, tool: &str) -> Judgement {
    let (old, new) = (known.len(), found.len());
    ensure(new == old + 1, || format!("`{tool}` changed the number of log entries from {old} to {new}"))?;
    ensure(found[..old] == known[..] || found[1..] == known[..], || {
        format!("`{tool}` changed earlier log entries")
    })?;
    *known = found;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_duplicate_or_changed_entry_fails() {
        let judged = |found: &[i32]| {
            let mut known = vec![json!(1), json!(2)];
            ensure_one_more(&mut known, found.iter().map(|it| json!(it)).collect(), "x").is_ok()
        };
        assert!(judged(&[1, 2, 3]) && judged(&[3, 1, 2]));
        for wrong in [&[1, 2][..], &[1, 2, 3, 3], &[1, 9, 3], &[]] {
            assert!(!judged(wrong), "{wrong:?}");
        }
    }
}
