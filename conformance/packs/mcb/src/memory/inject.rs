//! Contexts: whole entries within a budget.

use super::{
    note::{Filters, Note, Resource},
    program::{Mix, QuestionCase},
    shelf::{self, Shelf},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "memory/inject",
    guarantees: &["budgets-hold"],
    states: "A context has whole entries, never more than its budget, the most useful first; what does not fit is skipped.",
    explains: "Stores random entries and asks for contexts of each resource with random budgets, limits, tags and filters. Without a \
               query or tags, the entries are the newest that fit, exactly; with tags, those that share more come first. A token is \
               four characters. Each entry is `[TYPE] id: content` and an empty line; what is counted is what is in the text.",
    cases: |bench| Ok(cases(bench)),
    ..Check::must(judge)
};

/// Number of questions of a case.
const QUESTIONS: usize = 50;
/// Characters of a token.
const CHARS_PER_TOKEN: usize = 4;
/// Default numbers of entries and tokens.
const DEFAULTS: (usize, usize) = (10, 2_000);

#[derive(Debug, Serialize, Deserialize)]
struct Question {
    resource: Resource,
    query: Option<String>,
    limit: Option<usize>,
    max_tokens: Option<usize>,
    #[serde(flatten)]
    asked: Filters,
}

fn cases(bench: &Bench<'_>) -> Vec<Case> {
    Mix::ALL.questions(bench, "inject", QUESTIONS, |dice| {
        let resource = Resource::random(dice);
        let asked = if dice.bool() {
            Filters::random(dice)
        } else {
            Filters { tags: Filters::random_tags(dice), ..Filters::default() }
        };
        Question {
            resource,
            query: (dice.u8(..4) == 0).then(|| "prices are cents".to_owned()),
            limit: dice.bool().then(|| dice.usize(1..8)),
            max_tokens: (dice.u8(..4) > 0).then(|| dice.usize(1..400)),
            asked: asked.fit("inject", resource),
        }
    })
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let QuestionCase::<Question> { steps, questions } = case.read()?;
    let (mut memory, shelf) = shelf::play(bench, &steps)?;
    for question in questions {
        let mut arguments = question.asked.arguments();
        let given = [
            ("query", question.query.as_deref().map(Value::from)),
            ("limit", question.limit.map(Value::from)),
            ("max_tokens", question.max_tokens.map(Value::from)),
        ];
        for (name, value) in given {
            arguments.extend(value.map(|value| (name.to_owned(), value)));
        }
        let arguments = Value::Object(arguments);
        let answer = memory.read("inject", question.resource, &arguments)?;
        let what = format!("a context of `{}` by `{arguments}`", question.resource.word());
        judge_one(&shelf, &question, &answer, &what)?;
    }
    Ok(())
}

fn judge_one(shelf: &Shelf, question: &Question, answer: &Value, what: &str) -> Judgement {
    let context = answer["context"].as_str().unwrap_or_default();
    let chars = context.chars().count();
    let limit = question.limit.unwrap_or(DEFAULTS.0);
    let max_chars = question.max_tokens.unwrap_or(DEFAULTS.1) * CHARS_PER_TOKEN;
    ensure(chars <= max_chars, || {
        format!("{what} has {chars} characters, {} tokens: {context:?}", chars.div_ceil(CHARS_PER_TOKEN))
    })?;
    ensure(answer["estimated_tokens"] == chars.div_ceil(CHARS_PER_TOKEN), || {
        let tokens = &answer["estimated_tokens"];
        format!("{what} is said to be {tokens} tokens, and has {chars} characters")
    })?;
    let ids: Vec<_> = answer["observation_ids"].as_array().into_iter().flatten().collect();
    let ids: Vec<_> = ids.into_iter().map(|id| id.as_str().unwrap_or_default()).collect();
    ensure(answer["observation_count"] == ids.len() && ids.len() <= limit, || {
        format!("{what} counts {} of {ids:?}", answer["observation_count"])
    })?;
    // Tags rank entries; they do not filter.
    let selected = Filters { tags: Vec::new(), ..question.asked.clone() };
    let all = shelf.newest(question.resource, &selected);
    let mut taken: Vec<&Note> = Vec::new();
    for id in &ids {
        let note = all.iter().find(|note| note.id == *id);
        let is_new = !taken.iter().any(|other| other.id == *id);
        match note.filter(|_| is_new) {
            Some(note) => taken.push(note),
            None => ensure(false, || format!("{what} has `{id}` twice, or though it does not pass"))?,
        }
    }
    if question.resource.has_text() {
        let right: String = taken.iter().map(|note| entry(note)).collect();
        ensure(context == right, || {
            format!("{what} is {context:?}, where its entries are {right:?}, whole")
        })?;
    }
    let is_cut = answer["truncated"] == true;
    let is_all = taken.len() == all.len();
    ensure(!(is_cut && is_all), || format!("{what} has all, and says `truncated`"))?;
    if question.query.is_none() && question.asked.tags.is_empty() && question.resource.has_text() {
        let (right, is_skipping) = newest_that_fit(&all, limit, max_chars);
        ensure(ids == right, || format!("{what} has {ids:?}, where {right:?} are the newest that fit"))?;
        ensure(!is_skipping || is_cut, || {
            format!("{what} leaves out what does not fit without saying `truncated`")
        })?;
    }
    if question.query.is_none() && !question.asked.tags.is_empty() {
        let shared = |note: &&Note| question.asked.tags.iter().filter(|tag| note.tags.contains(tag)).count();
        let shares: Vec<_> = taken.iter().map(shared).collect();
        ensure(shares.is_sorted_by(|one, next| one >= next), || {
            format!("{what} has entries that share {shares:?} of the tags, in this order")
        })?;
    }
    Ok(())
}

fn entry(note: &Note) -> String {
    format!("[{}] {}: {}\n\n", note.word.to_uppercase(), note.id, note.content)
}

/// Returns the ids of the newest entries that fit, and true if one before the limit did not fit.
fn newest_that_fit<'n>(all: &[&'n Note], limit: usize, max_chars: usize) -> (Vec<&'n str>, bool) {
    let (mut ids, mut left, mut is_skipping) = (Vec::new(), max_chars, false);
    for note in all {
        if ids.len() == limit {
            break;
        }
        match left.checked_sub(entry(note).chars().count()) {
            Some(rest) => {
                left = rest;
                ids.push(note.id.as_str());
            }
            None => is_skipping = true,
        }
    }
    (ids, is_skipping)
}
