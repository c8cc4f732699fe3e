//! Answers that are not approvals: declined, dismissed, no person available, and malformed acceptances.

use super::pending::{PendingCall, answer, ask, calls};
use crate::{checks::prelude::*, person::Person};

pub(super) const DECLINED: Check = Check {
    id: "approval/declined",
    guarantees: &["requires-approval", "refusals-write-nothing"],
    states: "A call that a person declines or dismisses, or for which no person can be asked, is refused, and \
             nothing changes.",
    explains: "Every call that requires approval is made with a person who declines, a person who dismisses the \
               question, a client that does not support questions, and a client that disconnects while the question \
               is open. Each call must be refused, and every byte, commit and timestamp must stay unchanged. The \
               check also verifies that the question was asked.",
    cases: declined_cases,
    ..Check::must(declined)
};

pub(super) const MALFORMED: Check = Check {
    id: "approval/odd-answer",
    guarantees: &["requires-approval"],
    states: "Only an answer that accepts is an approval.",
    explains: "The question is answered with an empty object, with an error, with unknown words, and with `accept` \
               of another type, in another member or under another name; in a session also under another id. The \
               call must change nothing, and the server must answer the next request.",
    cases: malformed_cases,
    ..Check::must(malformed)
};

/// A call that requires approval, and the end of its question.
#[derive(Debug, Serialize, Deserialize)]
struct QuestionEnd {
    /// Index of the call.
    call: usize,
    /// The person asked; `None` if the client closes the connection first.
    person: Option<Person>,
}

const TEXT: &str = "unapproved text";

fn declined_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (number, call) in calls(bench.subject, TEXT)?.iter().enumerate() {
        for (name, person) in [
            ("declined", Some(Person::Declines)),
            ("closed", Some(Person::Cancels)),
            ("no person to ask", Some(Person::Absent)),
            ("the client ends", None),
        ] {
            let ending = QuestionEnd { call: number, person };
            cases.push(Case::new(format!("{}: {name}", call.path()), ending));
        }
    }
    Ok(cases)
}

fn declined(bench: &Bench<'_>, case: &Case) -> Judgement {
    let ending: QuestionEnd = case.read()?;
    let all = calls(bench.subject, TEXT)?;
    let call = &all[ending.call.min(all.len() - 1)];
    let scene = bench.scene(&[(&*call.path(), "{}\n")])?;
    let before = Moment::capture(&scene)?;
    let Some(person) = ending.person else {
        let mut client = scene.start()?;
        ask(&mut client, bench.subject, call)?;
        client.close()?;
        return before.same(&Moment::capture(&scene)?);
    };
    let mut client = scene.start_for(person)?;
    let reply = client.make(call)?;
    if let Reply::Done(_) = reply {
        return Err(fail("the call was done without approval"));
    }
    let was_asked = !client.questions.is_empty();
    ensure(was_asked != (person == Person::Absent), || {
        if was_asked {
            "the server asked a question although the client does not support questions".into()
        } else {
            "the call was refused without asking the person".into()
        }
    })?;
    before.same(&Moment::capture(&scene)?)
}

/// Returns results that are not acceptances.
fn malformed_answers() -> [Value; 10] {
    [
        json!({}),
        json!(null),
        json!("accept"),
        json!([{ "action": "accept" }]),
        json!({ "action": true }),
        json!({ "action": "" }),
        json!({ "action": "yes" }),
        json!({ "action": ["accept"] }),
        json!({ "answer": "accept", "content": { "action": "accept" } }),
        json!({ "action": "decline", "content": { "approved": true, "action": "accept" } }),
    ]
}

/// Malformed deliveries of an answer.
const MALFORMED_DELIVERIES: [&str; 3] = ["an error", "under another name", "no answer"];

fn malformed_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    calls(bench.subject, TEXT)?;
    let answers = malformed_answers().into_iter();
    let answers = answers.map(|answer| Case::new(format!("answered {answer}"), json!({ "answer": answer })));
    let deliveries = MALFORMED_DELIVERIES.map(|delivery| Case::new(delivery, json!({ "way": delivery })));
    Ok(answers.chain(deliveries).collect())
}

fn malformed(bench: &Bench<'_>, case: &Case) -> Judgement {
    let all = calls(bench.subject, TEXT)?;
    let call = &all[0];
    let scene = bench.scene(&[(&*call.path(), "{}\n")])?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    let (pending_call, _) = ask(&mut client, bench.subject, call)?;
    let message = match case.data["way"].as_str() {
        None => answer(&mut client, &pending_call, &case.data["answer"])?,
        Some(delivery) => match pending_call {
            PendingCall::InSession { call, question } => {
                let accept = super::pending::accept();
                let mut answer = match delivery {
                    "an error" => json!({ "id": question, "error": { "code": -1, "message": "accept" } }),
                    _ => json!({ "id": "another", "result": accept }),
                };
                answer["jsonrpc"] = "2.0".into();
                if delivery != "no answer" {
                    client.target.send(answer.to_string())?;
                }
                if delivery != "an error" {
                    // The call is still pending; the server must answer other requests meanwhile.
                    client.request("tools/list", json!({}))?;
                    before.same(&Moment::capture(&scene)?)?;
                    let result = Person::Declines.answer();
                    let answer = json!({ "jsonrpc": "2.0", "id": question, "result": result });
                    client.target.send(answer.to_string())?;
                }
                client.target.response(call)?
            }
            PendingCall::Stateless { mut params, pending } => {
                pending.repeat(&mut params, Person::Absent);
                match delivery {
                    "an error" => {
                        let error = json!({ "error": { "code": -1, "message": "accept" } });
                        let names = pending.questions.keys();
                        params["inputResponses"] = names
                            .map(|name| (name.clone(), error.clone()))
                            .collect::<serde_json::Map<_, _>>()
                            .into();
                    }
                    "under another name" => {
                        params["inputResponses"] = json!({ "another": super::pending::accept() });
                    }
                    _ => {}
                }
                client.target.request("tools/call", params)?
            }
        },
    };
    ensure(Refusal::from_message(&message).is_some(), || "the call was done without approval".into())?;
    before.same(&Moment::capture(&scene)?)?;
    client.request("tools/list", json!({}))?;
    Ok(())
}
