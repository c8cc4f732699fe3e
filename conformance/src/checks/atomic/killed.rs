//! Servers that are killed from outside, where nothing has to be stepped through: at any moment, and right after an answer.

use std::{
    os::unix::process::CommandExt,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use super::{
    mutation::{Mutation, library, must},
    struck::{judge_at_once, judge_later, put},
};
use crate::{
    WireError,
    check::{Bench, Case},
    client::Client,
    judgement::{Judgement, Stop, ensure, fail},
    reply::Reply,
    scene::Scene,
    settled::{self, Baseline},
};

/// How many moments are tried in the quick profile, and in the full one.
const MAX_MOMENTS: [usize; 2] = [20, 120];

/// A mutation during which the server is killed.
#[derive(Debug, Serialize, Deserialize)]
struct Moment {
    mutation: Mutation,
    /// So long after the call was sent.
    microseconds: u64,
}

/// Moments all over the time that a mutation takes, and somewhat later.
pub(super) fn moments(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut mutations = Mutation::of(bench)?;
    // What waits for a person is not under way.
    mutations.retain(|it| {
        it.call(bench.subject)
            .is_ok_and(|call| call.tool.approval.is_none())
    });
    if mutations.is_empty() {
        return Err(Stop::NotApplicable(
            "all of the server's changes wait for a person".into(),
        ));
    }
    let took = mutations.iter().map(|mutation| took(bench, *mutation));
    let took: Vec<_> = took.collect::<Result<_, _>>()?;
    let all = bench.pick(MAX_MOMENTS[0], MAX_MOMENTS[1]);
    let mut dice = bench.dice("moments");
    let moments = (0..all).map(|number| {
        let at = number % mutations.len();
        let part = (number as f64 + dice.f64()) / all as f64 * 1.2;
        let moment = Moment {
            mutation: mutations[at],
            microseconds: (took[at].as_micros() as f64 * part) as u64,
        };
        Case::new(
            format!("{}, moment {} of {all}", mutations[at], number + 1),
            moment,
        )
    });
    Ok(moments.collect())
}

/// How long a mutation takes.
fn took(bench: &Bench<'_>, mutation: Mutation) -> Result<Duration, Stop> {
    let call = mutation.call(bench.subject)?;
    let scene = library(bench)?;
    let mut client = scene.start()?;
    settled::log(bench.subject, &mut client)?;
    mutation.prepare(bench.subject, &mut client)?;
    let since = Instant::now();
    match client.make(&call)? {
        Reply::Done(_) => Ok(since.elapsed()),
        Reply::Refused(refusal) => Err(fail(format!("a valid call was refused: {}", refusal.message))),
    }
}

/// Kills the server at a moment of a mutation.
pub(super) fn at_a_moment(bench: &Bench<'_>, case: &Case) -> Judgement {
    let moment: Moment = case.read()?;
    let call = moment.mutation.call(bench.subject)?;
    let scene = library(bench)?;
    let mut client = start(bench, &scene)?;
    moment.mutation.prepare(bench.subject, &mut client)?;
    let before = Baseline::of(bench, &scene, &mut client)?;
    let id = client.post(call.tool, &call.arguments)?;
    thread::sleep(Duration::from_micros(moment.microseconds));
    kill(bench, &client)?;
    let reply = last_reply(bench, &mut client, &call, id)?;
    drop(client);
    judge_at_once(&scene, &call, &before, reply.as_ref(), true)?;
    judge_later(bench, &scene, &call, &before, reply.as_ref(), None)
}

/// The answer to the call that a server gave before it died, if it did.
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
            // A line that was cut off is no answer.
            Err(WireError::Closed | WireError::NotJson(_) | WireError::Io(_)) => return Ok(None),
            Err(error) => return Err(Stop::Harness(format!("after a kill, {error}"))),
        }
    }
}

/// How many mutations are made, each by a server that is killed after its answer.
pub(super) fn lives(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut mutations = Mutation::of(bench)?;
    // Its effect is known right after an insertion alone.
    mutations.retain(|mutation| *mutation != Mutation::Undo);
    let mut cases: Vec<_> = mutations
        .iter()
        .map(|mutation| Case::new(mutation.to_string(), [mutation]))
        .collect();
    // The document must be there as long as it is changed.
    let rest = mutations.iter().filter(|mutation| **mutation != Mutation::Delete);
    let mut all: Vec<_> = rest.chain(&[Mutation::Delete]).collect();
    all.retain(|mutation| mutations.contains(mutation));
    cases.push(Case::new("one after the other", all));
    Ok(cases)
}

/// Kills servers after their answers, and looks at what others find.
pub(super) fn after_answers(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mutations: Vec<Mutation> = case.read()?;
    let scene = library(bench)?;
    let mut client = start(bench, &scene)?;
    let before = Baseline::of(bench, &scene, &mut client)?;
    let mut files = before.view.library.files.clone();
    for (number, mutation) in mutations.iter().enumerate() {
        let call = mutation.call_with(bench.subject, &format!("Version {number}.\n"))?;
        let after = must(&mut client, &call, &scene, &files)?;
        kill(bench, &client)?;
        drop(client);
        put(&mut files, &after, &call.path());
        client = start(bench, &scene)?;
        before.judge(bench, &scene, &mut client, &files, number + 1)?;
    }
    let last = settled::view(&scene)?;
    kill(bench, &client)?;
    drop(client);
    let mut client = start(bench, &scene)?;
    before.judge(bench, &scene, &mut client, &files, mutations.len())?;
    ensure(settled::view(&scene)? == last, || {
        "a kill and a restart without any call have changed the library".into()
    })
}

/// Starts a server that can be killed together with its children.
fn start<'a>(bench: &Bench<'a>, scene: &Scene<'a>) -> Result<Client<'a>, Stop> {
    let target = scene.connect_by(|command| {
        command.process_group(0);
    })?;
    Client::open(bench.subject, target, scene.library())
}

fn kill(bench: &Bench<'_>, client: &Client<'_>) -> Result<(), Stop> {
    bench.trace.did("the server is killed");
    let id = client.target.id().and_then(|id| i32::try_from(id).ok());
    let group = id.and_then(Pid::from_raw);
    let group = group.ok_or_else(|| Stop::Harness("the server has no process id".into()))?;
    match kill_process_group(group, Signal::KILL) {
        // It has ended by itself.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(Stop::Harness(error.to_string())),
    }
}
