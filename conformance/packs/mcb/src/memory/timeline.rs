//! Timelines: the exact notes before and after an anchor.

use super::{
    ask::{Memory, READER},
    note::{Filters, Note, Resource},
    program::{Mix, QuestionCase},
    shelf::{self, Shelf},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "memory/timeline",
    guarantees: &["timelines-are-exact"],
    states: "A timeline has just the neighbours of its anchor that it is asked for, of its resource, in the order of arrival, also \
             within one second.",
    explains: "Stores random entries within a few seconds, and asks for timelines around each with random depths, windows and filters: \
               the entries, their order and their offsets must be the model's. Filters hold for neighbours, not for the anchor; a \
               window bounds both sides. An anchor that is not there, or of another resource, is refused.",
    cases: |bench| Ok(cases(bench)),
    ..Check::must(judge)
};

/// Number of questions of a case.
const QUESTIONS: usize = 60;
/// Default number of neighbours on each side.
const DEFAULT_DEPTH: u64 = 5;

#[derive(Debug, Serialize, Deserialize)]
struct Question {
    resource: Resource,
    /// Index of the anchor among the resource's entries, oldest first.
    anchor: usize,
    before: Option<u64>,
    after: Option<u64>,
    window: Option<u64>,
    #[serde(flatten)]
    asked: Filters,
}

fn cases(bench: &Bench<'_>) -> Vec<Case> {
    let mix = Mix { pauses: 3, steps: 30, ..Mix::ALL };
    mix.questions(bench, "timeline", QUESTIONS, |dice| {
        let resource = Resource::random(dice);
        let mut depth = || dice.bool().then(|| dice.u64(..7));
        let (before, after) = (depth(), depth());
        let window = dice.bool().then(|| dice.u64(..4));
        let is_filtered = dice.bool();
        let asked = if is_filtered { Filters::random(dice) } else { Filters::default() };
        let anchor = dice.usize(..mix.steps);
        Question { resource, anchor, before, after, window, asked: asked.fit("timeline", resource) }
    })
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let QuestionCase::<Question> { steps, questions } = case.read()?;
    let (mut memory, shelf) = shelf::play(bench, &steps)?;
    for question in questions {
        around(&mut memory, &shelf, &question)?;
    }
    for resource in Resource::ALL {
        by_query(&mut memory, resource)?;
        let ids = shelf.0.iter().filter(|note| !resource.has(note.resource));
        let ids = ids.map(|note| note.id.as_str()).take(2).chain(["no-such-id"]);
        for id in ids {
            let is = ["timeline", resource.word()];
            let reply = memory.ask(READER, &is, &json!({ "anchor_id": id }))?;
            ensure(matches!(reply, Reply::Refused(_)), || {
                format!("a timeline of `{}` around `{id}`, which is none, was answered", resource.word())
            })?;
        }
    }
    Ok(())
}

/// Asks one question.
fn around(memory: &mut Memory<'_, '_>, shelf: &Shelf, question: &Question) -> Judgement {
    let mut all = shelf.newest(question.resource, &Filters::default());
    all.reverse();
    if all.is_empty() {
        return Ok(());
    }
    let place = question.anchor % all.len();
    let anchor = all[place];
    let is_near = |note: &Note| {
        let distance = note.at.0.abs_diff(anchor.at.0);
        question.asked.passes(note) && question.window.is_none_or(|window| distance <= window)
    };
    let depth = |asked: Option<u64>| usize::try_from(asked.unwrap_or(DEFAULT_DEPTH)).unwrap_or(usize::MAX);
    let before = all[..place].iter().rev().filter(|note| is_near(note));
    let mut expected: Vec<_> = before.take(depth(question.before)).collect();
    let first = -i64::try_from(expected.len()).unwrap_or_default();
    expected.reverse();
    expected.push(&anchor);
    let after = all[place + 1..].iter().filter(|note| is_near(note));
    expected.extend(after.take(depth(question.after)));

    let mut arguments = question.asked.arguments();
    arguments.insert("anchor_id".into(), anchor.id.as_str().into());
    for (name, value) in
        [("depth_before", question.before), ("depth_after", question.after), ("window_secs", question.window)]
    {
        if let Some(value) = value {
            arguments.insert(name.into(), value.into());
        }
    }
    let arguments = Value::Object(arguments);
    let answer = memory.read("timeline", question.resource, &arguments)?;
    let what = format!("a timeline of `{}` by `{arguments}`", question.resource.word());
    let found = answer["timeline"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_at = |entry: &Value, name: &str| entry[name].as_i64().unwrap_or(i64::MIN);
    let shown: Vec<_> = found
        .iter()
        .map(|entry| (is_at(entry, "offset"), entry["observation_id"].as_str().unwrap_or_default()))
        .collect();
    let right: Vec<_> = (first..).zip(expected.iter().map(|note| note.id.as_str())).collect();
    ensure(shown == right, || format!("{what} has {shown:?}, where {right:?} lie around the anchor"))?;
    ensure(answer["anchor_id"] == anchor.id.as_str() && answer["count"] == found.len(), || {
        format!("{what} is of another anchor, or counts wrongly: {answer}")
    })?;
    for (entry, note) in found.iter().zip(expected) {
        let has_time = (is_at(entry, "created_at"), is_at(entry, "seq")) == note.at;
        let has_text = !note.resource.has_text() || entry["content"] == note.content.as_str();
        ensure(has_time && has_text, || {
            format!("{what} has {entry}, where {:?} was stored at {:?}", note.content, note.at)
        })?;
    }
    Ok(())
}

/// Fails unless the anchor of a query is the best match of a list.
fn by_query(memory: &mut Memory<'_, '_>, resource: Resource) -> Judgement {
    let query = "cents";
    let best = memory.read("list", resource, &json!({ "query": query, "limit": 1 }))?;
    let word = resource.word();
    match best["results"][0]["id"].as_str() {
        Some(id) => {
            let answer = memory.read("timeline", resource, &json!({ "query": query }))?;
            ensure(answer["anchor_id"] == id, || {
                format!(
                    "a timeline of `{word}` is around {}, where the best match is `{id}`",
                    answer["anchor_id"]
                )
            })
        }
        None => match memory.ask(READER, &["timeline", word], &json!({ "query": query }))? {
            Reply::Refused(_) => Ok(()),
            Reply::Done(done) => Err(fail(format!(
                "a timeline of `{word}` around what is not there was answered: {}",
                done.response
            ))),
        },
    }
}
