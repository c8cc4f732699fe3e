//! Answers that are not approvals: declined, dismissed, no one to ask, and look-alikes of a yes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Waiting, answer, ask, calls, response};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop, ensure, fail},
    moment::Moment,
    person::Person,
    reply::{Refusal, Reply},
};

pub(super) const DECLINED: Check = Check {
    id: "approval/declined",
    severity: Severity::Must,
    guarantees: &["requires-approval", "refusals-write-nothing"],
    states: "A call that a person declines or dismisses, or for which no person can be asked, is refused, \
            and nothing changes.",
    explains: "Every call that needs approval is made by a client whose person says no, one whose person closes the question, \
               one that can't ask, and one that ends while the question is open. Each must be refused with every byte, commit \
               and stamp as it was. Whether the question was asked at all is looked at, too.",
    cases: declined_cases,
    judge: declined,
    shrink: as_small_as_can_be,
};

pub(super) const ODD: Check = Check {
    id: "approval/odd-answer",
    severity: Severity::Must,
    guarantees: &["requires-approval"],
    states: "Only an answer that accepts is an approval.",
    explains: "The question is answered with nothing, with an error, with unknown words, with `accept` of another type, in \
               another member or under another name; in a session also under another id. Nothing may be done then, and the \
               server must answer the next request.",
    cases: odd_cases,
    judge: odd,
    shrink: as_small_as_can_be,
};

/// A call of those that need approval, and how its question ends.
#[derive(Debug, Serialize, Deserialize)]
struct Ending {
    /// Its number.
    call: usize,
    /// The person who is asked; `None` if the client ends first.
    person: Option<Person>,
}

const TEXT: &str = "not approved of";

fn declined_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (number, call) in calls(bench.subject, TEXT)?.iter().enumerate() {
        for (name, person) in [
            ("declined", Some(Person::Declines)),
            ("closed", Some(Person::Cancels)),
            ("no person to ask", Some(Person::Absent)),
            ("the client ends", None),
        ] {
            let ending = Ending { call: number, person };
            cases.push(Case::new(format!("{}: {name}", call.path()), ending));
        }
    }
    Ok(cases)
}

fn declined(bench: &Bench<'_>, case: &Case) -> Judgement {
    let ending: Ending = case.read()?;
    let all = calls(bench.subject, TEXT)?;
    let call = &all[ending.call.min(all.len() - 1)];
    let scene = bench.scene(&[(&*call.path(), "{}\n")])?;
    let before = Moment::of(&scene)?;
    let Some(person) = ending.person else {
        let mut client = scene.start()?;
        ask(&mut client, bench.subject, call)?;
        client.close()?;
        return before.same(&Moment::of(&scene)?);
    };
    let mut client = scene.start_for(person)?;
    let reply = client.make(call)?;
    if let Reply::Done(_) = reply {
        return Err(fail("the call was done without approval"));
    }
    let was_asked = !client.questions.is_empty();
    ensure(was_asked != (person == Person::Absent), || {
        if was_asked {
            "the client can't ask, and was asked to".into()
        } else {
            "the call was refused, and the person was not asked".into()
        }
    })?;
    before.same(&Moment::of(&scene)?)
}

/// Answers that accept nothing.
fn odd_answers() -> [Value; 10] {
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

/// How an answer is given otherwise than it should be.
const ODD_WAYS: [&str; 3] = ["an error", "under another name", "no answer"];

fn odd_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    calls(bench.subject, TEXT)?;
    let answers = odd_answers().into_iter();
    let answers = answers.map(|answer| Case::new(format!("answered {answer}"), json!({ "answer": answer })));
    let ways = ODD_WAYS.map(|way| Case::new(way, json!({ "way": way })));
    Ok(answers.chain(ways).collect())
}

fn odd(bench: &Bench<'_>, case: &Case) -> Judgement {
    let all = calls(bench.subject, TEXT)?;
    let call = &all[0];
    let scene = bench.scene(&[(&*call.path(), "{}\n")])?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    let (waiting, _) = ask(&mut client, bench.subject, call)?;
    let message = match case.data["way"].as_str() {
        None => answer(&mut client, &waiting, &case.data["answer"])?,
        Some(way) => match waiting {
            Waiting::InSession { call, question } => {
                let accept = super::accept();
                let said = match way {
                    "an error" => json!({ "id": question, "error": { "code": -1, "message": "accept" } }),
                    _ => json!({ "id": "another", "result": accept }),
                };
                let mut said = said;
                said["jsonrpc"] = "2.0".into();
                if way != "no answer" {
                    client.target.send(said.to_string())?;
                }
                if way != "an error" {
                    // It goes on waiting; what follows must be answered all the same.
                    client.request("tools/list", json!({}))?;
                    before.same(&Moment::of(&scene)?)?;
                    let said = Person::Declines.answer();
                    let said = json!({ "jsonrpc": "2.0", "id": question, "result": said });
                    client.target.send(said.to_string())?;
                }
                response(&mut client, call)?
            }
            Waiting::Answered { mut params, pending } => {
                pending.repeat(&mut params, Person::Absent);
                match way {
                    "an error" => {
                        let error = json!({ "error": { "code": -1, "message": "accept" } });
                        let names = pending.questions.keys();
                        params["inputResponses"] = names
                            .map(|name| (name.clone(), error.clone()))
                            .collect::<serde_json::Map<_, _>>()
                            .into();
                    }
                    "under another name" => {
                        params["inputResponses"] = json!({ "another": super::accept() });
                    }
                    _ => {}
                }
                client.target.request("tools/call", params)?
            }
        },
    };
    ensure(Refusal::of(&message).is_some(), || {
        "the call was done without approval".into()
    })?;
    before.same(&Moment::of(&scene)?)?;
    client.request("tools/list", json!({}))?;
    Ok(())
}
