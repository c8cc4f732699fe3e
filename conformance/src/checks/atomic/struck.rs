//! A mutation with a fault at one of its calls, and the judgement of what it leaves.

use std::path::Path;

use super::{
    mutation::{document, ensure_as_answered, is_made, library_in_memory, must, next, start},
    points::{Happening, Point},
};
use crate::{
    check::{Bench, Case},
    client::Client,
    judgement::{Judgement, Stop, ensure},
    ledger::{self, Files},
    reply::Reply,
    request::Call,
    scene::Scene,
    settled::{self, Baseline},
    stepper::Effect,
};

/// How many calls before the fault are shown.
const MAX_SHOWN_CALLS: usize = 12;

/// Judges one point.
pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let point: Point = case.read()?;
    let call = point.mutation.call(bench.subject)?;
    let scene = library_in_memory(bench)?;
    let (mut client, stepper) = start(bench, &scene)?;
    point.mutation.prepare(bench.subject, &mut client)?;
    let before = Baseline::of(bench, &scene, &mut client)?;

    stepper.arm(Some(point.fault()));
    let answer = client.make(&call);
    let calls = stepper.disarm();
    let struck = calls.iter().position(|call| call.effect.is_some());
    let up_to = struck.map_or(0, |at| at + 1);
    for call in &calls[up_to.saturating_sub(MAX_SHOWN_CALLS)..up_to] {
        bench.trace.did(format!("the server calls {call}"));
    }
    let reply = match answer {
        Ok(reply) => Some(reply),
        // A server that is gone has answered nothing; one that hangs has failed.
        Err(stop @ Stop::Fail(_)) => match stepper.wait(bench.subject.launch.patience) {
            Some(_) => None,
            None => return Err(stop),
        },
        Err(stop) => return Err(stop),
    };
    if struck.is_some() && point.happening == Happening::Killed {
        // The answer may have been out before, and the end is not there yet.
        stepper.wait(bench.subject.launch.patience);
    }
    let is_up = stepper.status().is_none() && reply.is_some();

    let once = !matches!(point.happening.effect(), Effect::FailOn(_));
    judge_at_once(&scene, &call, &before, reply.as_ref(), once)?;
    let client = is_up.then_some(client);
    judge_later(bench, &scene, &call, &before, reply.as_ref(), client)
}

/// Judges the library right after a fault: nothing may be torn. What is left to be undone, a restart may undo.
///
/// # Errors
/// The failure.
pub(super) fn judge_at_once(
    scene: &Scene<'_>,
    call: &Call,
    before: &Baseline,
    reply: Option<&Reply>,
    could_undo: bool,
) -> Judgement {
    let files = ledger::files(&scene.library())?;
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
        reply => ensure_as_answered(reply, is_made),
    }
}

/// Judges the library when the server, which may be gone, has made one more mutation, and after a restart.
///
/// # Errors
/// The failure.
pub(super) fn judge_later<'a>(
    bench: &Bench<'a>,
    scene: &Scene<'a>,
    call: &Call,
    before: &Baseline,
    reply: Option<&Reply>,
    up: Option<Client<'a>>,
) -> Judgement {
    let next = next(bench.subject, call)?;
    let is_same = next.path() == call.path();
    // Once another mutation is made of the same document, it can't be told whether the first one was.
    let mut client = match up.filter(|_| !is_same) {
        Some(client) => client,
        None => {
            let mut client = scene.start()?;
            // It may recover only when it is asked for something.
            settled::log(bench.subject, &mut client)?;
            let (files, mutations) = expected(scene, call, before, reply)?;
            before.judge(bench, scene, &mut client, &files, mutations)?;
            client
        }
    };
    let made = is_same
        .then(|| expected(scene, call, before, reply))
        .transpose()?;
    let earlier = ledger::files(&scene.library())?;
    let later = must(&mut client, &next, scene, &earlier)?;
    drop(client);

    let mut client = scene.start()?;
    settled::log(bench.subject, &mut client)?;
    let (mut files, mutations) = match made {
        Some(made) => made,
        None => expected(scene, call, before, reply)?,
    };
    put(&mut files, &later, &next.path());
    before.judge(bench, scene, &mut client, &files, mutations + 1)
}

/// The files that there should be, and how many mutations were made: the call's, if its document says so.
fn expected(
    scene: &Scene<'_>,
    call: &Call,
    before: &Baseline,
    reply: Option<&Reply>,
) -> Result<(Files, usize), Stop> {
    let mut files = before.view.library.files.clone();
    let found = ledger::files(&scene.library())?;
    let is_made = is_made(call, &files, &found)?;
    ensure_as_answered(reply, is_made)?;
    if is_made {
        put(&mut files, &found, &call.path());
    }
    Ok((files, usize::from(is_made)))
}

/// Takes a document over from `found`, where it may be gone.
pub(super) fn put(files: &mut Files, found: &Files, path: &str) {
    match document(found, path).and(found.get_key_value(Path::new(path))) {
        Some((path, file)) => drop(files.insert(path.clone(), file.clone())),
        None => drop(files.remove(Path::new(path))),
    }
}
