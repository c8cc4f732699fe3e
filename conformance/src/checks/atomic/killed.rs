//! Kills servers from outside, without ptrace: at any moment of a mutation, and right after an answer.

use std::{
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{
    fault::{copy_document, judge_immediately, judge_recovery, start_again},
    mutation::{Mutation, library, make_successfully},
};
use crate::{
    WireError,
    checks::prelude::*,
    settled::{self, Baseline},
};

/// Number of kills in the quick and in the full profile.
const KILL_COUNTS: [usize; 2] = [20, 120];

/// A kill during a mutation.
#[derive(Debug, Serialize, Deserialize)]
struct KillPoint {
    mutation: Mutation,
    /// Delay of the kill after the call is sent.
    microseconds: u64,
}

/// Returns kills spread over the duration of each mutation, and a little beyond.
pub(super) fn kill_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut mutations = Mutation::supported(bench)?;
    // A call that awaits approval is not being executed.
    mutations.retain(|it| it.call(bench.subject).is_ok_and(|call| call.tool.approval.is_none()));
    let mutations = nonempty(mutations, "all of the server's mutations require approval")?;
    let durations = mutations.iter().map(|mutation| duration(bench, *mutation));
    let durations: Vec<_> = durations.collect::<Result<_, _>>()?;
    let all = bench.pick(KILL_COUNTS[0], KILL_COUNTS[1]);
    let mut dice = bench.dice("moments");
    let kills = (0..all).map(|number| {
        let at = number % mutations.len();
        let part = (number as f64 + dice.f64()) / all as f64 * 1.2;
        let kill = KillPoint {
            mutation: mutations[at],
            microseconds: (durations[at].as_micros() as f64 * part) as u64,
        };
        Case::new(format!("{}, moment {} of {all}", mutations[at], number + 1), kill)
    });
    Ok(kills.collect())
}

/// Measures the duration of a mutation.
fn duration(bench: &Bench<'_>, mutation: Mutation) -> Result<Duration, Stop> {
    let call = mutation.call(bench.subject)?;
    let scene = library(bench)?;
    let mut client = scene.start()?;
    settled::log(bench.subject, &mut client)?;
    mutation.prepare(bench.subject, &mut client)?;
    let since = Instant::now();
    client.make(&call)?.must("a valid call")?;
    Ok(since.elapsed())
}

/// Kills the server during a mutation and judges the library.
pub(super) fn judge_kill(bench: &Bench<'_>, case: &Case) -> Judgement {
    let point: KillPoint = case.read()?;
    let call = point.mutation.call(bench.subject)?;
    let scene = library(bench)?;
    let mut client = start(&scene)?;
    point.mutation.prepare(bench.subject, &mut client)?;
    let before = Baseline::read(bench, &scene, &mut client)?;
    let id = client.post(call.tool, &call.arguments)?;
    thread::sleep(Duration::from_micros(point.microseconds));
    kill(bench, &client)?;
    let reply = last_reply(bench, &mut client, &call, id)?;
    drop(client);
    judge_immediately(&scene, &call, &before, reply.as_ref(), true)?;
    judge_recovery(bench, &scene, &call, &before, reply.as_ref(), None)
}

/// Returns the server's reply to the call before it was killed, if there was one.
fn last_reply(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    call: &crate::request::Call,
    id: i64,
) -> Result<Option<Reply>, Stop> {
    loop {
        match client.target.receive() {
            Ok(message) if message["id"] == id => {
                return Ok(Some(bench.subject.adapter.reply(call.tool, &message)));
            }
            Ok(_) => {}
            // A truncated line is not an answer.
            Err(WireError::Closed | WireError::NotJson(_) | WireError::NotUtf8(_) | WireError::Io(_)) => {
                return Ok(None);
            }
            Err(WireError::Silent(_)) => {
                return Err(not_shown(
                    "the server outlives its process group, because its command starts it elsewhere: a kill can't be judged",
                ));
            }
            Err(error) => return Err(Stop::Harness(format!("after a kill, {error}"))),
        }
    }
}

/// Returns series of mutations, each made by a server that is killed after its answer.
pub(super) fn restart_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut mutations = Mutation::supported(bench)?;
    // The effect of an undo is known only right after an insertion.
    mutations.retain(|mutation| *mutation != Mutation::Undo);
    let mut cases: Vec<_> =
        mutations.iter().map(|mutation| Case::new(mutation.to_string(), [mutation])).collect();
    // The other mutations need the document, so its deletion is last.
    let rest = mutations.iter().filter(|mutation| **mutation != Mutation::Delete);
    let mut all: Vec<_> = rest.chain(&[Mutation::Delete]).collect();
    all.retain(|mutation| mutations.contains(mutation));
    cases.push(Case::new("one after the other", all));
    Ok(cases)
}

/// Kills each server after its answer and judges the library with a new one.
pub(super) fn judge_restarts(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mutations: Vec<Mutation> = case.read()?;
    let scene = library(bench)?;
    let mut client = start(&scene)?;
    let before = Baseline::read(bench, &scene, &mut client)?;
    let mut files = before.view.library.files.clone();
    for (number, mutation) in mutations.iter().enumerate() {
        let call = mutation.call_with(bench.subject, &format!("Version {number}.\n"))?;
        let after = make_successfully(&mut client, &call, &scene, &files)?;
        kill(bench, &client)?;
        drop(client);
        copy_document(&mut files, &after, &call.path());
        client = start_again(bench, || start(&scene))?;
        before.judge(bench, &scene, &mut client, &files, number + 1)?;
    }
    let last = settled::view(&scene)?;
    kill(bench, &client)?;
    drop(client);
    let mut client = start_again(bench, || start(&scene))?;
    before.judge(bench, &scene, &mut client, &files, mutations.len())?;
    ensure(settled::view(&scene)? == last, || {
        "a kill and a restart without a call changed the library".into()
    })
}

/// Starts a server that can be killed, which an external one can't.
fn start<'a>(scene: &Scene<'a>) -> Result<Client<'a>, Stop> {
    scene.start_by(|_| ())
}

/// Kills the server's process group.
pub(in crate::checks) fn kill(bench: &Bench<'_>, client: &Client<'_>) -> Result<(), Stop> {
    bench.trace.did("the server is killed");
    let id = client.target.id().and_then(|id| i32::try_from(id).ok());
    let group = id.and_then(Pid::from_raw);
    let group = group.ok_or_else(|| Stop::Harness("the server has no process id".into()))?;
    match kill_process_group(group, Signal::KILL) {
        // The server has exited already.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(Stop::Harness(error.to_string())),
    }
}
