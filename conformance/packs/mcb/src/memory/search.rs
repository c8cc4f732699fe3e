//! Searching: filters apply before the cut, and scores measure how well an entry matches.

use super::{
    ask::{CONTEXT, MEMORY, Memory, READER},
    note::{Filters, Note, Resource},
    program::{Mix, QuestionCase, Step},
    shelf::{self, Shelf},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const FILTERS: Check = Check {
    id: "memory/filters",
    guarantees: &["filters-hold"],
    states: "A search has hits that pass all filters, and all of them, however few there are among many others; only `limit` cuts.",
    explains: "Stores random observations, executions and quality gates that have a word in common, and searches it with random tags, \
               sessions and filters, with and without a limit: all that pass must be found, counted and nothing else. A server that \
               ranks first, cuts and then filters misses what is there.",
    cases: |bench| Ok(cases(bench, "filters")),
    ..Check::must(filters)
};

pub(super) const SCORES: Check = Check {
    id: "memory/scores",
    guarantees: &["scores-descend"],
    states: "Scores are from 0 to 1 and descend, and what is below `min_score` is neither answered nor counted.",
    explains: "Searches random entries for several words, in all ways that have scores. Then it searches again with each score between \
               two hits as the lowest: just those above must be there.",
    cases: |bench| Ok(cases(bench, "scores")),
    ..Check::must(scores)
};

/// Number of questions of a case.
const QUESTIONS: usize = 40;
/// The word that all have in common.
const COMMON: &str = "cents";
/// More than the notes of a case.
const ALL: u64 = 1_000;

/// A search of the common word.
#[derive(Debug, Serialize, Deserialize)]
struct Question {
    is_context: bool,
    limit: u64,
    session: Option<String>,
    tags: Vec<String>,
    /// Pairs of a filter's name and its value.
    filters: Vec<(String, String)>,
    /// Bound on the time: index of the entry with that time, oldest first, and the side.
    bound: Option<(usize, Side)>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Since,
    Until,
}

fn cases(bench: &Bench<'_>, what: &str) -> Vec<Case> {
    let mut dice = bench.dice(what);
    let mix = Mix {
        resources: &[
            Resource::Observation,
            Resource::Observation,
            Resource::Execution,
            Resource::QualityGate,
        ],
        pauses: 1,
        steps: 30,
        ..Mix::ALL
    };
    let case = |number| {
        let mut steps = mix.program(&mut dice);
        for step in &mut steps {
            if let Step::Store(store) = step {
                for name in ["content", "command", "gate_name"] {
                    if let Some(Value::String(text)) = store.data.get_mut(name) {
                        *text = format!("{COMMON}{} {text}", " more".repeat(dice.usize(..4)));
                    }
                }
            }
        }
        let questions = (0..QUESTIONS).map(|_| Question::random(&mut dice, &mix)).collect();
        Case::new(format!("program {number}"), QuestionCase { steps, questions })
    };
    (1..=bench.pick(3, 20)).map(case).collect()
}

impl Question {
    fn random(dice: &mut fastrand::Rng, mix: &Mix) -> Self {
        let Filters { project_id, repo_id, session_id, tags, observation_types } = Filters::random(dice);
        let mut filters = Vec::new();
        let mut given = |name: &str, value: Option<String>| {
            filters.extend(value.map(|value| (name.to_owned(), value)));
        };
        given("project", project_id);
        given("repo", repo_id);
        let words = ["execution", "quality_gate"].map(str::to_owned);
        let other = words[dice.usize(..2)].clone();
        given("type", observation_types.into_iter().next().or((dice.u8(..8) == 0).then_some(other)));
        given("file", (dice.u8(..6) == 0).then(|| "src/a.rs".into()));
        given("branch", (dice.u8(..6) == 0).then(|| "topic/x".into()));
        let side = if dice.bool() { Side::Since } else { Side::Until };
        Self {
            is_context: dice.u8(..5) == 0,
            limit: if dice.bool() { ALL } else { dice.u64(1..6) },
            session: session_id,
            tags,
            filters,
            bound: (dice.u8(..5) == 0).then(|| (dice.usize(..mix.steps), side)),
        }
    }

    /// Returns the arguments, and the notes that pass.
    fn arguments<'s>(&self, shelf: &'s Shelf) -> (Value, Vec<&'s Note>) {
        let mut arguments =
            Map::from_iter([("query".to_owned(), json!(COMMON)), ("limit".to_owned(), json!(self.limit))]);
        let mut filters: Vec<_> =
            self.filters.iter().map(|(name, value)| format!("{name}:{value}")).collect();
        let all: Vec<_> = shelf.notes(Resource::Observation).collect();
        let bound =
            self.bound.and_then(|(place, side)| Some((all.get(place % all.len().max(1))?.at.0, side)));
        match bound {
            Some((time, Side::Since)) => filters.push(format!("since:{time}")),
            Some((time, Side::Until)) => filters.push(format!("until:{time}")),
            None => {}
        }
        if !filters.is_empty() {
            arguments.insert("filters".into(), json!(filters));
        }
        if !self.tags.is_empty() {
            arguments.insert("tags".into(), json!(self.tags));
        }
        if let Some(session) = &self.session {
            arguments.insert("session_id".into(), json!(session));
        }
        let holds = |note: &Note, name: &str, value: &str| match name {
            "project" => note.project == value,
            "repo" => note.repo == value,
            "type" => note.word == value,
            "file" => note.file.as_deref() == Some(value),
            _ => note.branch.as_deref() == Some(value),
        };
        let passes = |note: &&Note| {
            let is_in_time = match bound {
                Some((time, Side::Since)) => note.at.0 >= time,
                Some((time, Side::Until)) => note.at.0 <= time,
                None => true,
            };
            is_in_time
                && (!self.is_context || note.word == "context")
                && self.session.as_deref().is_none_or(|session| note.session == session)
                && self.tags.iter().all(|tag| note.tags.contains(tag))
                && self.filters.iter().all(|(name, value)| holds(note, name, value))
        };
        (arguments.into(), all.into_iter().filter(passes).collect())
    }
}

fn filters(bench: &Bench<'_>, case: &Case) -> Judgement {
    let QuestionCase::<Question> { steps, questions } = case.read()?;
    let (mut memory, shelf) = shelf::play(bench, &steps)?;
    for question in questions {
        let is = if question.is_context { CONTEXT } else { MEMORY };
        let (arguments, passing) = question.arguments(&shelf);
        let answer = memory.must(READER, is, &arguments)?;
        let what = format!("the search `{}` by `{arguments}`", is.join(" "));
        let found = ids(&answer, "observation_id");
        let right: Vec<_> = passing.iter().map(|note| note.id.as_str()).collect();
        let wrong = found.iter().find(|id| !right.contains(id));
        if let Some(wrong) = wrong {
            let note = shelf.0.iter().find(|note| note.id == *wrong);
            return ensure(false, || format!("{what} has `{wrong}`, which does not pass: {note:?}"));
        }
        let limit = usize::try_from(question.limit).unwrap_or(usize::MAX);
        ensure(found.len() == right.len().min(limit) && answer["count"] == found.len(), || {
            format!("{what} has {found:?} and counts {}, where {right:?} pass", answer["count"])
        })?;
        ensure(answer["total"] == right.len(), || {
            format!("{what} has {} hits in all, where {} pass", answer["total"], right.len())
        })?;
    }
    Ok(())
}

fn ids<'v>(answer: &'v Value, member: &str) -> Vec<&'v str> {
    let hits = answer["results"].as_array().into_iter().flatten();
    hits.map(|hit| hit[member].as_str().unwrap_or_default()).collect()
}

fn scores(bench: &Bench<'_>, case: &Case) -> Judgement {
    let QuestionCase::<Question> { steps, .. } = case.read()?;
    let (mut memory, _) = shelf::play(bench, &steps)?;
    let queries = ["cents", "prices are cents", "Zähler wait cents", "память", "passed tests of prices"];
    for query in queries {
        for is in [MEMORY, CONTEXT] {
            let all = json!({ "query": query, "limit": ALL });
            let answer = memory.must(READER, is, &all)?;
            let scores = descending(&answer, "similarity_score", query)?;
            lowest(&mut memory, is, query, &answer, &scores)?;
        }
        for resource in Resource::ALL {
            let answer = memory.read("list", resource, &json!({ "query": query, "limit": ALL }))?;
            descending(&answer, "relevance_score", query)?;
        }
    }
    Ok(())
}

/// Returns the scores of an answer, which must be from 0 to 1 and descend.
fn descending(answer: &Value, member: &str, query: &str) -> Result<Vec<f64>, Stop> {
    let hits = answer["results"].as_array().into_iter().flatten();
    let scores: Vec<_> = hits.map(|hit| hit[member].as_f64().unwrap_or(f64::NAN)).collect();
    ensure(scores.iter().all(|score| (0.0..=1.0).contains(score)), || {
        format!("scores for `{query}` are not from 0 to 1: {scores:?}")
    })?;
    ensure(scores.is_sorted_by(|one, next| one >= next), || {
        format!("scores for `{query}` do not descend: {scores:?}")
    })?;
    Ok(scores)
}

/// Searches again with lowest scores between those of the hits.
fn lowest(
    memory: &mut Memory<'_, '_>,
    is: &[&str],
    query: &str,
    answer: &Value,
    scores: &[f64],
) -> Judgement {
    let between = scores.windows(2).enumerate();
    let between = between.filter(|(_, pair)| pair[0] - pair[1] > 1e-6);
    let between = between.map(|(place, pair)| (place + 1, f64::midpoint(pair[0], pair[1])));
    let top = scores.first().filter(|top| **top < 0.999).map(|top| (0, f64::midpoint(*top, 1.0)));
    for (many, lowest) in between.chain(top).take(6) {
        let asked = json!({ "query": query, "limit": ALL, "min_score": lowest });
        let cut = memory.must(READER, is, &asked)?;
        let right = &ids(answer, "observation_id")[..many];
        let found = ids(&cut, "observation_id");
        ensure(found == right && cut["total"] == many, || {
            format!(
                "with the lowest score {lowest}, `{query}` finds {found:?} and {} in all, where {right:?} have it",
                cut["total"]
            )
        })?;
    }
    Ok(())
}
