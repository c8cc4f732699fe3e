//! Tools that a person must approve of: nothing is done without them, and nothing else than they were shown.
//!
//! The person is the tester's own ([`Person`]). In a session the server's question comes as a request while the call waits;
//! since 2026-07-28 it is the call's answer, and the call is made again with what was said.

mod answers;
mod once;
mod shown;

use serde_json::{Map, Value, json};

use crate::{
    Subject,
    check::Check,
    client::Client,
    judgement::{Stop, fail},
    layout::DOCUMENT,
    person::{self, Pending, Person},
    reply::Reply,
    request::{Call, With},
};

pub(super) const CHECKS: &[Check] = &[
    answers::DECLINED,
    answers::ODD,
    shown::SHOWN,
    shown::STALE,
    once::CHECK,
];

/// A call of every effect whose tool needs approval, with this text.
///
/// # Errors
/// When the contract has none.
fn calls(subject: &Subject, content: &str) -> Result<Vec<Call>, Stop> {
    let with = With {
        path: DOCUMENT,
        content,
        ..With::default()
    };
    let mut calls = subject.requests(with);
    calls.retain(|call| call.tool.approval.is_some());
    if calls.is_empty() {
        return Err(Stop::NotApplicable(
            "the server has no tool that needs approval".into(),
        ));
    }
    Ok(calls)
}

/// A call that waits for a person.
#[derive(Debug)]
enum Waiting {
    /// In a session: the ids of the call and of the question.
    InSession { call: i64, question: Value },
    /// Its parameters, and what is to be answered.
    Answered { params: Value, pending: Pending },
}

/// Makes a call up to where the person is asked; the question's parameters come along.
///
/// # Errors
/// If no person is asked.
fn ask(client: &mut Client<'_>, subject: &Subject, call: &Call) -> Result<(Waiting, Value), Stop> {
    let params = client.params(call.tool, &call.arguments, Map::new())?;
    let id = client.target.post("tools/call", params.clone())?;
    loop {
        let message = client.target.receive()?;
        if let Some(asked) = person::question(&message) {
            let question = message["id"].clone();
            return Ok((Waiting::InSession { call: id, question }, asked.clone()));
        }
        if message["id"] != id || message.get("method").is_some() {
            continue;
        }
        if let Some(pending) = Pending::of(&message) {
            let mut asked = pending.questions.values().filter_map(person::question);
            let asked = asked.next().cloned();
            let asked = asked.ok_or_else(|| fail("the call is to be made again, and nothing is asked"))?;
            return Ok((Waiting::Answered { params, pending }, asked));
        }
        return Err(match subject.adapter.reply(call.tool, &message) {
            Reply::Done(_) => fail("the call was done, and no person was asked"),
            Reply::Refused(refusal) => fail(format!(
                "the call was refused, and the person was not asked: {}",
                refusal.message
            )),
        });
    }
}

/// Says what the person answers, whatever that is; the response to the call.
///
/// # Errors
/// When there is none.
fn answer(client: &mut Client<'_>, waiting: &Waiting, said: &Value) -> Result<Value, Stop> {
    match waiting {
        Waiting::InSession { call, question } => {
            let answer = json!({ "jsonrpc": "2.0", "id": question, "result": said });
            client.target.send(answer.to_string())?;
            response(client, *call)
        }
        Waiting::Answered { params, pending } => {
            let mut params = params.clone();
            let answers = pending.questions.keys().map(|name| (name.clone(), said.clone()));
            pending.repeat(&mut params, Person::Absent);
            params["inputResponses"] = answers.collect::<Map<_, _>>().into();
            Ok(client.target.request("tools/call", params)?)
        }
    }
}

/// The response to the call with this id; other messages in between are dropped.
fn response(client: &mut Client<'_>, id: i64) -> Result<Value, Stop> {
    loop {
        let message = client.target.receive()?;
        if message["id"] == id && message.get("method").is_none() {
            return Ok(message);
        }
    }
}

/// What a person says who approves.
fn accept() -> Value {
    Person::Accepts.answer().unwrap_or_default()
}
