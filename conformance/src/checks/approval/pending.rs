//! Calls that wait for a person's answer.

use crate::{
    checks::prelude::*,
    layout::DOCUMENT,
    person::{self, Pending, Person},
};

/// Returns a call of every effect whose tool requires approval, with this text.
///
/// # Errors
/// If there are none.
pub(super) fn calls(subject: &Subject, content: &str) -> Result<Vec<Call>, Stop> {
    let with = With { path: DOCUMENT, content, ..With::default() };
    let mut calls = subject.requests(with);
    calls.retain(|call| call.tool.approval.is_some());
    nonempty(calls, "the server has no tool that requires approval")
}

/// A call that awaits a person's answer.
#[derive(Debug)]
pub(super) enum PendingCall {
    /// In a session: ids of the call and of the server's question.
    InSession { call: i64, question: Value },
    /// Without sessions: parameters of the call, and the questions to answer.
    Stateless { params: Value, pending: Pending },
}

/// Makes a call up to the question to the person; returns the pending call and the question's parameters.
///
/// # Errors
/// If the server asks no question.
pub(super) fn ask(
    client: &mut Client<'_>,
    subject: &Subject,
    call: &Call,
) -> Result<(PendingCall, Value), Stop> {
    let params = client.params(call.tool, &call.arguments, Map::new())?;
    let id = client.target.post("tools/call", params.clone())?;
    loop {
        let message = client.target.receive()?;
        if let Some(params) = person::question(&message) {
            let question = message["id"].clone();
            return Ok((PendingCall::InSession { call: id, question }, params.clone()));
        }
        if message["id"] != id || message.get("method").is_some() {
            continue;
        }
        if let Some(pending) = Pending::from_message(&message) {
            let mut questions = pending.questions.values().filter_map(person::question);
            let question = questions.next().cloned();
            let question = question
                .ok_or_else(|| fail("the result asks for a repeated call, but contains no question"))?;
            return Ok((PendingCall::Stateless { params, pending }, question));
        }
        return Err(match subject.adapter.reply(call.tool, &message) {
            Reply::Done(_) => fail("the call was done without asking a person"),
            Reply::Refused(refusal) => {
                fail(format!("the call was refused without asking the person: {}", refusal.message))
            }
        });
    }
}

/// Answers the question with `result`, which can be any JSON; returns the response to the call.
pub(super) fn answer(
    client: &mut Client<'_>,
    pending_call: &PendingCall,
    result: &Value,
) -> Result<Value, Stop> {
    match pending_call {
        PendingCall::InSession { call, question } => {
            let answer = json!({ "jsonrpc": "2.0", "id": question, "result": result });
            client.target.send(answer.to_string())?;
            Ok(client.target.response(*call)?)
        }
        PendingCall::Stateless { params, pending } => {
            let mut params = params.clone();
            let answers = pending.questions.keys().map(|name| (name.clone(), result.clone()));
            pending.repeat(&mut params, Person::Absent);
            params["inputResponses"] = answers.collect::<Map<_, _>>().into();
            Ok(client.target.request("tools/call", params)?)
        }
    }
}

/// Returns the answer of a person who approves.
pub(super) fn accept() -> Value {
    Person::Accepts.answer().unwrap_or_default()
}
