//! An approval is valid for one call with exactly its arguments, once.

use super::pending::{PendingCall, accept, answer, ask, calls};
use crate::{checks::prelude::*, era::Era, person::Person};

pub(super) const CHECK: Check = Check {
    id: "approval/once",
    guarantees: &["requires-approval"],
    states: "An approval is valid once, and only for the call that it was requested for.",
    explains: "Since 2026-07-28: the approved call is repeated with the same state, also at another server, and the \
               state is sent with different arguments, changed, truncated or omitted. In sessions: the answer is \
               sent twice, and two calls are pending of which one is approved. Exactly the approved call must be \
               done, once.",
    cases,
    ..Check::must(judge)
};

/// Attempts in sessions.
const SESSION_ATTEMPTS: [&str; 2] = ["the answer twice", "two calls at the same time"];
/// Attempts without sessions.
const STATELESS_ATTEMPTS: [&str; 9] = [
    "the same state twice",
    "the same state at another server",
    "other arguments",
    "another file",
    "no state",
    "a state with a changed beginning",
    "a state with a changed end",
    "a truncated state",
    "a state that is not a string",
];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    calls(bench.subject, "x")?;
    let attempts: &[&str] = match bench.subject.era {
        Era::Session => &SESSION_ATTEMPTS,
        Era::Stateless => &STATELESS_ATTEMPTS,
    };
    Ok(attempts.iter().map(|attempt| Case::new(*attempt, attempt)).collect())
}

/// Initial content of the file.
const INITIAL: &str = "{}\n";

/// A call, one with a different text, and one of a different file if the contract has one.
struct Calls {
    call: Call,
    different_text: Call,
    different_file: Option<Call>,
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let attempt: String = case.read()?;
    let mut all = calls(bench.subject, "approved text")?;
    let mut others = calls(bench.subject, "something else")?;
    let different_file = (all.len() > 1).then(|| all.swap_remove(1));
    let calls = Calls { call: all.swap_remove(0), different_text: others.swap_remove(0), different_file };
    let needs_another = attempt == SESSION_ATTEMPTS[1] || attempt == "other arguments";
    if needs_another && calls.call.arguments == calls.different_text.arguments {
        return Err(not_applicable("the call that requires approval has no text that could differ"));
    }
    let path = calls.call.path();
    let scene = bench.scene(&[(&*path, INITIAL)])?;
    let mut client = scene.start()?;
    match bench.subject.era {
        Era::Session => in_session(bench, &scene, &mut client, &calls, &attempt)?,
        Era::Stateless => stateless(bench, &scene, &mut client, &calls, &attempt)?,
    }
    client.request("tools/list", json!({}))?;
    Ok(())
}

fn in_session(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    calls: &Calls,
    attempt: &str,
) -> Judgement {
    let (first, _) = ask(client, bench.subject, &calls.call)?;
    if attempt == SESSION_ATTEMPTS[0] {
        let message = answer(client, &first, &accept())?;
        ensure_done(&message)?;
        let before = Moment::capture(scene)?;
        if let PendingCall::InSession { question, .. } = &first {
            let again = json!({ "jsonrpc": "2.0", "id": question, "result": accept() });
            client.target.send(again.to_string())?;
        }
        client.request("tools/list", json!({}))?;
        ensure_times(scene, &calls.call, 1)?;
        return before.same(&Moment::capture(scene)?);
    }
    let (second, _) = ask(client, bench.subject, &calls.different_text)?;
    let message = answer(client, &second, &Person::Declines.answer().unwrap_or_default())?;
    ensure(Refusal::from_message(&message).is_some(), || {
        "a declined call was done while another call was pending".into()
    })?;
    ensure_times(scene, &calls.different_text, 0)?;
    ensure_times(scene, &calls.call, 0)?;
    ensure_done(&answer(client, &first, &accept())?)?;
    ensure_times(scene, &calls.call, 1)?;
    ensure_times(scene, &calls.different_text, 0)
}

fn stateless(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    calls: &Calls,
    attempt: &str,
) -> Judgement {
    let (pending_call, _) = ask(client, bench.subject, &calls.call)?;
    let PendingCall::Stateless { params, pending } = &pending_call else {
        return Err(fail("the server asked with a request, which this revision does not have"));
    };
    let mut repeated = params.clone();
    pending.repeat(&mut repeated, Person::Accepts);
    let state = pending.state.clone().unwrap_or_default();
    let text = state.as_str().unwrap_or_default();
    let mut again = repeated.clone();
    let mut other_server = None;
    let is_used = attempt.starts_with("the same state");
    match attempt {
        "the same state twice" | "the same state at another server" => {
            ensure_done(&client.target.request("tools/call", repeated)?)?;
            if attempt == "the same state at another server" {
                other_server = Some(scene.start()?);
            }
        }
        "other arguments" => again["arguments"] = sent_arguments(client, &calls.different_text)?,
        "another file" => match &calls.different_file {
            Some(call) => again["arguments"] = sent_arguments(client, call)?,
            None => return Ok(()),
        },
        "no state" => {
            again.as_object_mut().map(|params| params.remove("requestState"));
        }
        "a state that is not a string" => again["requestState"] = json!({ "approved": true, "was": state }),
        "a truncated state" => {
            again["requestState"] = text[..text.floor_char_boundary(text.len() / 2)].into()
        }
        changed => {
            let at_end = changed.ends_with("end");
            let place = if at_end { text.len().saturating_sub(8) } else { 8.min(text.len() / 2) };
            again["requestState"] = with_changed_character(text, place).into();
        }
    }
    let before = Moment::capture(scene)?;
    let message = match &mut other_server {
        Some(other) => other.target.request("tools/call", again)?,
        None => client.target.request("tools/call", again)?,
    };
    ensure(Refusal::from_message(&message).is_some(), || {
        format!("an approval was accepted again or for a different call ({attempt}): {}", short(&message))
    })?;
    ensure_times(scene, &calls.call, usize::from(is_used))?;
    before.same(&Moment::capture(scene)?)
}

/// Returns the arguments of a call, as the server gets them.
fn sent_arguments(client: &Client<'_>, call: &Call) -> Result<Value, Stop> {
    let params = client.params(call.tool, &call.arguments, Map::new())?;
    Ok(params["arguments"].clone())
}

/// Returns the beginning of the message's result.
fn short(message: &Value) -> String {
    message["result"].to_string().chars().take(200).collect()
}

/// Returns the text with its first letter or digit at or after `place` changed.
fn with_changed_character(text: &str, place: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if let Some(byte) = bytes.iter_mut().skip(place).find(|byte| byte.is_ascii_alphanumeric()) {
        *byte = if *byte == b'A' { b'B' } else { b'A' };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fails if the response is a refusal.
fn ensure_done(message: &Value) -> Judgement {
    match Refusal::from_message(message) {
        None => Ok(()),
        Some(refusal) => Err(refused("an approved call", &refusal)),
    }
}

/// Fails unless the call's text occurs in its file exactly `times` times; or, if it has none, unless it has changed the file that
/// often.
fn ensure_times(scene: &Scene<'_>, call: &Call, times: usize) -> Judgement {
    let path = call.path();
    let content = scene.read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&content).into_owned();
    let arguments = call.arguments.to_string();
    let Some(word) = ["something else", "approved text"].into_iter().find(|word| arguments.contains(word))
    else {
        let is_changed = text != INITIAL;
        return ensure(is_changed == (times > 0), || {
            format!("`{path}` was {}changed by {times} approved calls", if is_changed { "" } else { "not " })
        });
    };
    let found = text.matches(word).count();
    ensure(found == times, || format!("{word:?} occurs in `{path}` {found} times instead of {times}"))
        .map_err(|stop| stop.showing(&path, None, Some(&content)))
}
