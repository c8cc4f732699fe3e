//! Lists and their readers: filters apply before a list is cut, and the caller's provenance is not a filter.

use super::{
    ask::{CONTEXT, Caller, MEMORY, Memory},
    note::{Filters, Note, Resource},
    program::{Mix, QuestionCase},
    shelf,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const LISTED: Check = Check {
    id: "memory/listed",
    guarantees: &["filters-hold"],
    states: "A list without a query has the newest entries that pass all filters, counts all that do, and previews the beginning of \
             each.",
    explains: "Stores random entries and asks for lists of each resource with random filters and limits. A server that filters after \
               it cut the list misses entries that are there. A preview has at most 120 characters, of the entry's text from its \
               beginning, whatever the script.",
    cases: |bench| Ok(cases(bench, "listed")),
    ..Check::must(listed)
};

pub(super) const NO_FILTER: Check = Check {
    id: "memory/no-filter",
    guarantees: &["provenance-never-filters"],
    states: "Callers of every session, project, repository and machine are answered the same.",
    explains: "Stores random entries, and makes each reading call as each of several callers, who differ in all of their provenance. A \
               memory that hides what another session stored forgets everything when the session ends.",
    cases: |bench| Ok(cases(bench, "no filter")),
    ..Check::must(no_filter)
};

/// Maximum number of characters of a preview.
const MAX_PREVIEW_CHARS: usize = 120;
/// Number of questions of a case.
const QUESTIONS: usize = 30;

/// A list of a resource, with filters and a limit.
type Question = (Resource, Filters, u64);

fn cases(bench: &Bench<'_>, what: &str) -> Vec<Case> {
    Mix::ALL.questions(bench, what, QUESTIONS, |dice| -> Question {
        let resource = Resource::random(dice);
        (resource, Filters::random(dice).fit("list", resource), dice.u64(1..12))
    })
}

fn listed(bench: &Bench<'_>, case: &Case) -> Judgement {
    let QuestionCase::<Question> { steps, questions } = case.read()?;
    let (mut memory, shelf) = shelf::play(bench, &steps)?;
    for (resource, asked, limit) in questions {
        let mut arguments = asked.arguments();
        arguments.insert("limit".into(), limit.into());
        let arguments = Value::Object(arguments);
        let answer = memory.read("list", resource, &arguments)?;
        let what = format!("a list of `{}` by `{arguments}`", resource.word());
        let all = shelf.newest(resource, &asked);
        let expected: Vec<_> = all.iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
        let listed = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let [found, passing]: [Vec<_>; 2] = [
            listed.iter().map(|entry| entry["id"].as_str().unwrap_or_default()).collect(),
            expected.iter().map(|note| note.id.as_str()).collect(),
        ];
        ensure(found == passing, || {
            format!("{what} has {found:?}, where {passing:?} are the newest that pass")
        })?;
        ensure(answer["total"] == all.len() && answer["count"] == found.len(), || {
            let (total, count) = (&answer["total"], &answer["count"]);
            format!("{what} counts {count} of {total}, where {} pass", all.len())
        })?;
        for (entry, note) in listed.iter().zip(expected) {
            previews(entry, note).map_err(|why| fail(format!("{what}: {why}")))?;
        }
    }
    Ok(())
}

/// Describes the defect of an entry of a list.
fn previews(entry: &Value, note: &Note) -> Result<(), String> {
    let preview = entry["content_preview"].as_str().unwrap_or_default();
    let many = preview.chars().count();
    if many > MAX_PREVIEW_CHARS {
        return Err(format!("a preview has {many} characters: {preview:?}"));
    }
    let is_whole = preview == note.content;
    // A mark can replace the cut text.
    let cut = preview.trim_end_matches(['…', '.']);
    let is_beginning = note.content.starts_with(cut) && !cut.is_empty() && many >= MAX_PREVIEW_CHARS / 2;
    if note.resource.has_text() && !is_whole && !is_beginning {
        return Err(format!("the preview {preview:?} is not the beginning of {:?}", note.content));
    }
    if entry["observation_type"] != note.word.as_str() {
        return Err(format!("a `{}` is listed as {}", note.word, entry["observation_type"]));
    }
    if entry["tags"] != json!(note.tags) {
        return Err(format!("{} are listed as the tags {:?}", entry["tags"], note.tags));
    }
    Ok(())
}

fn no_filter(bench: &Bench<'_>, case: &Case) -> Judgement {
    let QuestionCase::<Question> { steps, questions } = case.read()?;
    let (mut memory, shelf) = shelf::play(bench, &steps)?;
    for resource in Resource::ALL {
        let anchor = shelf.notes(resource).next().map(|note| note.id.clone());
        let asked = questions.iter().find(|(of, ..)| *of == resource);
        let filtered = asked.map_or_else(|| json!({}), |(_, asked, _)| asked.arguments().into());
        let mut trials = vec![
            ("list", json!({ "limit": 1_000 })),
            ("list", filtered),
            ("list", json!({ "query": "prices cents" })),
            ("inject", json!({ "query": "prices cents", "max_tokens": 10_000 })),
            ("inject", json!({ "max_tokens": 300 })),
        ];
        if let Some(id) = anchor {
            trials.push(("timeline", json!({ "anchor_id": id })));
            if resource != Resource::Session {
                trials.push(("get", json!({ "ids": [id] })));
            }
        }
        for (action, arguments) in trials {
            same(&mut memory, &[action, resource.word()], &arguments)?;
        }
    }
    for is in [MEMORY, CONTEXT] {
        same(&mut memory, is, &json!({ "query": "prices cents память", "limit": 100 }))?;
    }
    Ok(())
}

/// Fails unless all callers get the same answer.
fn same(memory: &mut Memory<'_, '_>, is: &[&str], arguments: &Value) -> Judgement {
    let first = memory.must(Caller(0), is, arguments)?;
    for other in (1..Caller::MANY).map(Caller) {
        let answer = memory.must(other, is, arguments)?;
        ensure(answer == first, || {
            format!(
                "`{}` with `{arguments}` is answered otherwise to a caller of `{}` in `{}` than to one of `{}` in `{}`: {answer} and \
                 {first}",
                is.join(" "),
                other.session(),
                other.project(),
                Caller(0).session(),
                Caller(0).project()
            )
        })?;
    }
    Ok(())
}
