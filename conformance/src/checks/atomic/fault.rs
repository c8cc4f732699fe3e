//! Runs a mutation with a fault at one of its system calls, and judges the library afterwards.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{
    mutation::{
        document, ensure_reply_matches, is_made, library_in_memory, make_successfully, next_mutation,
    },
    points::{FaultKind, Point},
};
use crate::{
    checks::prelude::*,
    ledger::Files,
    settled::{self, Baseline},
    stepper::{Counting, Effect, Stepper},
};

/// Number of system calls before the fault in the trace.
const MAX_SHOWN_CALLS: usize = 12;
/// Time between two tries after a fault.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Runs and judges the case of one point.
pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let point: Point = case.read()?;
    let call = point.mutation.call(bench.subject)?;
    let scene = library_in_memory(bench)?;
    let (mut client, stepper) = scene.start_stepped(Counting::WhenArmed)?;
    point.mutation.prepare(bench.subject, &mut client)?;
    let before = Baseline::read(bench, &scene, &mut client)?;

    stepper.arm(Some(point.fault()));
    let answer = client.make(&call);
    let reply = reply_after_fault(bench, &stepper, answer, point.kind)?;
    let is_up = stepper.status().is_none() && reply.is_some();

    let once = !matches!(point.kind.effect(), Effect::FailOn(_));
    judge_immediately(&scene, &call, &before, reply.as_ref(), once)?;
    let client = is_up.then_some(client);
    judge_recovery(bench, &scene, &call, &before, reply.as_ref(), client)
}

/// Stops counting system calls, records those up to the fault in the trace, and returns the reply; `None` if the server exited without an
/// answer.
///
/// # Errors
/// If the server neither answered nor exited.
pub(in crate::checks) fn reply_after_fault(
    bench: &Bench<'_>,
    stepper: &Stepper,
    answer: Result<Reply, Stop>,
    kind: FaultKind,
) -> Result<Option<Reply>, Stop> {
    let calls = stepper.disarm();
    let fault = calls.iter().position(|call| call.effect.is_some());
    let up_to = fault.map_or(0, |at| at + 1);
    for call in &calls[up_to.saturating_sub(MAX_SHOWN_CALLS)..up_to] {
        bench.trace.did(format!("the server calls {call}"));
    }
    let reply = match answer {
        Ok(reply) => Some(reply),
        // A server that exited gave no answer; one that hangs fails.
        Err(stop) if stop.is_of_server() => match stepper.wait(bench.subject.launch.patience) {
            Some(_) => None,
            None => return Err(stop),
        },
        Err(stop) => return Err(stop),
    };
    if fault.is_some() && kind == FaultKind::Killed {
        // The server may have answered before it exits.
        stepper.wait(bench.subject.launch.patience);
    }
    Ok(reply)
}

/// Judges the library right after a fault: every document has its old or its new content.
///
/// A refused call must not have changed its document if the server `could_undo` it; otherwise a restart may still undo it.
pub(super) fn judge_immediately(
    scene: &Scene<'_>,
    call: &Call,
    before: &Baseline,
    reply: Option<&Reply>,
    could_undo: bool,
) -> Judgement {
    let files = scene.files()?;
    let was = &before.view.library.files;
    let is_made = is_made(call, was, &files)?;
    for (path, expected) in was {
        let is_of_call = path.to_str() == Some(&call.path());
        let found = files.get(path);
        ensure(is_of_call || found == Some(expected), || {
            format!("`{}` has changed, although no call changes it", path.display())
        })?;
    }
    match reply {
        Some(Reply::Refused(_)) if !could_undo => Ok(()),
        reply => ensure_reply_matches(reply, is_made),
    }
}

/// Makes one more mutation and restarts the server; judges the library after each.
///
/// `running` is the server after the fault; without it a new server is started first.
pub(super) fn judge_recovery<'a>(
    bench: &Bench<'a>,
    scene: &Scene<'a>,
    call: &Call,
    before: &Baseline,
    reply: Option<&Reply>,
    running: Option<Client<'a>>,
) -> Judgement {
    let next = next_mutation(bench.subject, call)?;
    let same_document = next.path() == call.path();
    // After a second mutation of the same document, the effect of the first can't be determined.
    let mut client = match running.filter(|_| !same_document) {
        Some(client) => client,
        None => {
            let mut client = start_again(bench, || scene.start())?;
            // The server may recover only on its first call.
            settled::log(bench.subject, &mut client)?;
            let (files, mutations) = expected(scene, call, before, reply)?;
            before.judge(bench, scene, &mut client, &files, mutations)?;
            client
        }
    };
    let made = same_document.then(|| expected(scene, call, before, reply)).transpose()?;
    let earlier = scene.files()?;
    let later = in_time(bench, || make_successfully(&mut client, &next, scene, &earlier));
    let later = match later {
        Err(Stop::NotShown(shown))
            if shown.cause.is_some() && !same_document && makes_otherwise(bench, &next)? =>
        {
            let what = format!(
                "after the fault, the server does not make a change that it makes otherwise: {}",
                shown.why
            );
            return Err(fail(what).because(shown.cause));
        }
        later => later?,
    };
    drop(client);

    let mut client = start_again(bench, || scene.start())?;
    settled::log(bench.subject, &mut client)?;
    let (mut files, mutations) = match made {
        Some(made) => made,
        None => expected(scene, call, before, reply)?,
    };
    copy_document(&mut files, &later, &next.path());
    before.judge(bench, scene, &mut client, &files, mutations + 1)
}

/// Starts a server after a fault.
///
/// # Errors
/// If none answers in time.
pub(super) fn start_again<'a>(
    bench: &Bench<'a>,
    start: impl Fn() -> Result<Client<'a>, Stop>,
) -> Result<Client<'a>, Stop> {
    let started = in_time(bench, || {
        let mut client = start()?;
        // In some eras, the start is not an exchange.
        client.request("tools/list", Value::Object(Map::new()))?;
        Ok(client)
    });
    started.map_err(|stop| match stop {
        Stop::NotShown(shown) if shown.cause.is_some() => {
            let what = format!("after the fault, no server starts any more: {}", shown.why);
            fail(what).because(shown.cause)
        }
        stop => stop,
    })
}

/// Repeats `work` while the server refuses it or does not answer, up to the time limit of an answer: locks of a dead server may have to
/// expire first.
fn in_time<T>(bench: &Bench<'_>, mut work: impl FnMut() -> Result<T, Stop>) -> Result<T, Stop> {
    let begun = Instant::now();
    loop {
        match work() {
            Err(Stop::NotShown(shown))
                if shown.cause.is_some() && begun.elapsed() < bench.subject.launch.patience =>
            {
                thread::sleep(RETRY_INTERVAL);
            }
            done => return done,
        }
    }
}

/// Returns true if the server makes a change in a library without a fault.
fn makes_otherwise(bench: &Bench<'_>, call: &Call) -> Result<bool, Stop> {
    let scene = library_in_memory(bench)?;
    let mut client = scene.start()?;
    Ok(make_successfully(&mut client, call, &scene, &scene.files()?).is_ok())
}

/// Returns the expected files and the number of mutations made, which is 1 if the call changed its document.
fn expected(
    scene: &Scene<'_>,
    call: &Call,
    before: &Baseline,
    reply: Option<&Reply>,
) -> Result<(Files, usize), Stop> {
    let mut files = before.view.library.files.clone();
    let found = scene.files()?;
    let is_made = is_made(call, &files, &found)?;
    ensure_reply_matches(reply, is_made)?;
    if is_made {
        copy_document(&mut files, &found, &call.path());
    }
    Ok((files, usize::from(is_made)))
}

/// Copies a document from `found` to `files`; removes it if `found` lacks it.
pub(super) fn copy_document(files: &mut Files, found: &Files, path: &str) {
    match document(found, path).and(found.get_key_value(Path::new(path))) {
        Some((path, file)) => drop(files.insert(path.clone(), file.clone())),
        None => drop(files.remove(Path::new(path))),
    }
}
