//! Checks of request ids.

use std::collections::HashMap;

use super::calls::{library, read_call, short};
use crate::{checks::prelude::*, era::Era, talk::is_answer};

pub(super) const CHECK: Check = Check {
    id: "wire/ids",
    guarantees: &[],
    states: "A response has its request's id, equal and of the same type, and each request has exactly \
            one response.",
    explains: "Sends requests with many kinds of strings and integers as ids, one by one and many at once without \
               waiting. A forbidden id (null, a fraction, an object) and a repeated id may be refused, ignored or \
               served, but the server must answer the next request.",
    cases,
    shrink,
    ..Check::must(judge)
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ids {
    /// Requests with these ids, each sent after the previous response.
    OneByOne(Vec<Value>),
    /// This number of requests, sent before any response is read.
    AtOnce(usize),
    /// An id that MCP forbids.
    Forbidden(Value),
    /// An id that is used again after its first response.
    Twice(Value),
}

/// The largest integer that every JSON library preserves.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let integers = [0, 1, -1, 65_536, 2_147_483_648, -2_147_483_649, MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER]
        .map(Value::from);
    let texts =
        ["a", "", "1", "-1", "null", "é \u{1f600}", "\"quoted\\\"", "a\nb", "{}", &"long".repeat(500)]
            .map(Value::from);
    let mut cases = vec![
        Case::new("integers", Ids::OneByOne(integers.into())),
        Case::new("texts", Ids::OneByOne(texts.into())),
        Case::new("many at once", Ids::AtOnce(bench.pick(100, 1_000))),
        Case::new("the same number twice", Ids::Twice(json!(5))),
        Case::new("the same text twice", Ids::Twice(json!("five"))),
    ];
    for id in [Value::Null, json!(1.5), json!(true), json!([1]), json!({ "a": 1 })] {
        cases.push(Case::new(format!("the id {id}"), Ids::Forbidden(id)));
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let since = talk.heard.len();
    match case.read()? {
        Ids::OneByOne(ids) => {
            for id in &ids {
                judge_request(&mut talk, id)?;
            }
            ensure_answered_once(&talk.settle(since)?, &ids)
        }
        Ids::AtOnce(requests) => {
            let call = read_call(bench)?;
            let params = talk.params(&scene, call.tool, &call.arguments)?;
            let ids: Vec<_> = (0..requests)
                .map(|number| if number % 2 == 0 { json!(number) } else { json!(format!("{number}")) })
                .collect();
            for (number, id) in ids.iter().enumerate() {
                match number % 3 {
                    0 => talk.post(id, "tools/list", json!({}))?,
                    _ => talk.post(id, "tools/call", params.clone())?,
                }
            }
            let mut missing = ids.len();
            while missing > 0 {
                missing -= usize::from(is_answer(&talk.hear()?));
            }
            ensure_answered_once(&talk.settle(since)?, &ids)
        }
        Ids::Forbidden(id) => {
            talk.post(&id, "tools/list", json!({}))?;
            for message in talk.settle(since)? {
                let has_id = message.get("id").is_none_or(|other| *other == id || other.is_null());
                ensure(!is_answer(&message) || has_id, || {
                    format!("a request with the id {id} was answered with another id: {}", short(&message))
                })?;
            }
            Ok(())
        }
        Ids::Twice(id) => {
            judge_request(&mut talk, &id)?;
            if bench.subject.era == Era::Stateless {
                // Without sessions, ids are unique only among pending requests.
                return judge_request(&mut talk, &id);
            }
            talk.post(&id, "tools/list", json!({}))?;
            let mut answers = talk.settle(since)?.into_iter().filter(is_answer);
            ensure(answers.all(|answer| answer.get("id").is_none_or(|other| *other == id)), || {
                format!("a request with the id {id} was answered with another id")
            })
        }
    }
}

/// Sends a request, and fails unless the next answer is its own.
fn judge_request(talk: &mut Talk<'_>, id: &Value) -> Judgement {
    talk.post(id, "tools/list", json!({}))?;
    loop {
        let message = talk.hear()?;
        if is_answer(&message) {
            return ensure(message["id"] == *id && message.get("result").is_some(), || {
                format!("the request with the id {id} was answered with {}", short(&message))
            });
        }
    }
}

fn ensure_answered_once(messages: &[Value], ids: &[Value]) -> Judgement {
    let mut answers: HashMap<String, usize> = HashMap::new();
    for answer in messages.iter().filter(|message| is_answer(message)) {
        *answers.entry(answer["id"].to_string()).or_default() += 1;
    }
    for id in ids {
        let times = answers.remove(&id.to_string()).unwrap_or(0);
        ensure(times == 1, || format!("the request with the id {id} was answered {times} times"))?;
    }
    ensure_none(answers.into_keys().next(), |id| format!("an answer has the id {id}, but no request had it"))
}

/// Returns each id as a case of its own, or fewer requests at once.
fn shrink(case: &Case) -> Vec<Case> {
    match case.read() {
        Ok(Ids::OneByOne(ids)) if ids.len() > 1 => {
            let one = |id: Value| Case::new(format!("the id {id}"), Ids::OneByOne(vec![id]));
            ids.into_iter().map(one).collect()
        }
        Ok(Ids::AtOnce(requests)) if requests > 2 => {
            let fewer = [2, requests / 2, requests - 1];
            fewer.map(|requests| Case::new(format!("{requests} at once"), Ids::AtOnce(requests))).into()
        }
        _ => Vec::new(),
    }
}
