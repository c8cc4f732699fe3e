//! An approval is good for one call, with exactly its arguments, once.

use serde_json::{Value, json};

use super::{Waiting, accept, answer, ask, calls, response};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    client::Client,
    era::Era,
    judgement::{Judgement, Stop, ensure, fail},
    moment::Moment,
    person::Person,
    reply::Refusal,
    request::Call,
    scene::Scene,
};

pub(super) const CHECK: Check = Check {
    id: "approval/once",
    severity: Severity::Must,
    guarantees: &["requires-approval"],
    states: "An approval is valid once, and only for the call that it was requested for.",
    explains: "Since 2026-07-28: the call that was approved of is made again with the same state, also at another server; the \
               state comes with other arguments, changed, cut or left out. In sessions: the answer is given twice; two calls \
               wait at the same time, and one of them is approved of. What was approved of must be done once, and nothing \
               else.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

/// What is tried in sessions.
const IN_SESSION: [&str; 2] = ["the answer twice", "two calls at the same time"];
/// What is tried where calls stand for themselves.
const STATELESS: [&str; 9] = [
    "the same state twice",
    "the same state at another server",
    "other arguments",
    "another file",
    "no state",
    "a state with a changed beginning",
    "a state with a changed end",
    "a state that is cut",
    "a state that is no text",
];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    calls(bench.subject, "x")?;
    let ways: &[&str] = match bench.subject.era {
        Era::Session => &IN_SESSION,
        Era::Stateless => &STATELESS,
    };
    Ok(ways.iter().map(|way| Case::new(*way, way)).collect())
}

const HELD: &str = "{}\n";

/// What is asked for: a call, one with another text, and one of another file if there is one.
struct Calls {
    call: Call,
    other: Call,
    elsewhere: Option<Call>,
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let way: String = case.read()?;
    let mut all = calls(bench.subject, "approved of")?;
    let mut others = calls(bench.subject, "something else")?;
    let elsewhere = (all.len() > 1).then(|| all.swap_remove(1));
    let calls = Calls {
        call: all.swap_remove(0),
        other: others.swap_remove(0),
        elsewhere,
    };
    let path = calls.call.path();
    let scene = bench.scene(&[(&*path, HELD)])?;
    let mut client = scene.start()?;
    match bench.subject.era {
        Era::Session => in_session(bench, &scene, &mut client, &calls, &way)?,
        Era::Stateless => stateless(bench, &scene, &mut client, &calls, &way)?,
    }
    client.request("tools/list", json!({}))?;
    Ok(())
}

fn in_session(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    calls: &Calls,
    way: &str,
) -> Judgement {
    let (first, _) = ask(client, bench.subject, &calls.call)?;
    if way == IN_SESSION[0] {
        let message = answer(client, &first, &accept())?;
        ensure_done(&message)?;
        let before = Moment::of(scene)?;
        if let Waiting::InSession { question, .. } = &first {
            let again = json!({ "jsonrpc": "2.0", "id": question, "result": accept() });
            client.target.send(again.to_string())?;
        }
        client.request("tools/list", json!({}))?;
        ensure_times(scene, &calls.call, 1)?;
        return before.same(&Moment::of(scene)?);
    }
    let (second, _) = ask(client, bench.subject, &calls.other)?;
    let message = answer(client, &second, &Person::Declines.answer().unwrap_or_default())?;
    ensure(Refusal::of(&message).is_some(), || {
        "a declined call was done while another call waited".into()
    })?;
    ensure_times(scene, &calls.other, 0)?;
    ensure_times(scene, &calls.call, 0)?;
    ensure_done(&answer(client, &first, &accept())?)?;
    ensure_times(scene, &calls.call, 1)?;
    ensure_times(scene, &calls.other, 0)
}

fn stateless(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    calls: &Calls,
    way: &str,
) -> Judgement {
    let (waiting, _) = ask(client, bench.subject, &calls.call)?;
    let Waiting::Answered { params, pending } = &waiting else {
        return Err(fail("a call that stands for itself was asked of by a request"));
    };
    let mut repeated = params.clone();
    pending.repeat(&mut repeated, Person::Accepts);
    let state = pending.state.clone().unwrap_or_default();
    let text = state.as_str().unwrap_or_default();
    let mut again = repeated.clone();
    let mut other_server = None;
    let is_used = way.starts_with("the same state");
    match way {
        "the same state twice" | "the same state at another server" => {
            let id = client.target.post("tools/call", repeated)?;
            ensure_done(&response(client, id)?)?;
            if way == "the same state at another server" {
                other_server = Some(scene.start()?);
            }
        }
        "other arguments" => {
            again["arguments"] =
                client.params(calls.other.tool, &calls.other.arguments, Default::default())?["arguments"]
                    .clone()
        }
        "another file" => {
            let Some(elsewhere) = &calls.elsewhere else {
                return Ok(());
            };
            again["arguments"] =
                client.params(elsewhere.tool, &elsewhere.arguments, Default::default())?["arguments"].clone();
        }
        "no state" => {
            again.as_object_mut().map(|params| params.remove("requestState"));
        }
        "a state that is no text" => again["requestState"] = json!({ "approved": true, "was": state }),
        "a state that is cut" => {
            again["requestState"] = text[..text.floor_char_boundary(text.len() / 2)].into()
        }
        changed => {
            let at_end = changed.ends_with("end");
            let place = if at_end {
                text.len().saturating_sub(8)
            } else {
                8.min(text.len() / 2)
            };
            again["requestState"] = with_another_letter(text, place).into();
        }
    }
    let before = Moment::of(scene)?;
    let message = match &mut other_server {
        Some(other) => other.target.request("tools/call", again)?,
        None => client.target.request("tools/call", again)?,
    };
    ensure(Refusal::of(&message).is_some(), || {
        format!(
            "an approval was good once more, or for something else ({way}): {}",
            short(&message)
        )
    })?;
    ensure_times(scene, &calls.call, usize::from(is_used))?;
    before.same(&Moment::of(scene)?)
}

fn short(message: &Value) -> String {
    message["result"].to_string().chars().take(200).collect()
}

/// The text with another letter in that place, or the next where a letter is.
fn with_another_letter(text: &str, place: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if let Some(byte) = bytes
        .iter_mut()
        .skip(place)
        .find(|byte| byte.is_ascii_alphanumeric())
    {
        *byte = if *byte == b'A' { b'B' } else { b'A' };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn ensure_done(message: &Value) -> Judgement {
    match Refusal::of(message) {
        None => Ok(()),
        Some(refusal) => Err(fail(format!(
            "what was approved of was refused: {}",
            refusal.message
        ))),
    }
}

/// Fails unless the call's text stands in its file so many times.
fn ensure_times(scene: &Scene<'_>, call: &Call, times: usize) -> Judgement {
    let path = call.path();
    let found = scene.read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&found).into_owned();
    let word = match call.arguments.to_string() {
        all if all.contains("something else") => "something else",
        _ => "approved of",
    };
    let there = text.matches(word).count();
    ensure(there == times, || {
        format!("{word:?} is in `{path}` {there} times, and should be {times} times")
    })
    .map_err(|stop| stop.showing(&path, None, Some(&found)))
}
