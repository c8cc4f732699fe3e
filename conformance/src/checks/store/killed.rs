//! A server that is killed.

use super::{calls::Store, crowd::post};
use crate::{
    checks::{atomic::points::spread, prelude::*},
    stepper::{Counting, Effect, Fault},
};

/// Calls that are sent before a server is killed in the middle of them.
const AT_ONCE: usize = 16;
/// Calls one after another before a kill. The server is also killed earlier if an answer comes before its text is stored.
const ONE_BY_ONE: usize = 8;

/// Maximum number of system calls of a call that the server is killed at, in the quick and in the full profile.
const MAX_POINTS: [usize; 2] = [5, 60];

const AFTER_ANSWER: &str = "after a kill right after the answer";
const AMONG_CALLS: &str = "after a kill in the middle of many calls";
const AFTER_RESTART: &str = "after a kill, and a call of the server that was started then";

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut store = Store::new(bench, case)?;
    kill_within_a_call(bench, &mut store)?;
    for answers in bench.pick(&[2, 9][..], &[1, 2, 3, 4, 5, 7, 9, 12, 14, 15]) {
        let mut client = store.scene.start()?;
        for _ in 0..ONE_BY_ONE {
            store.must_store(&mut client)?;
            client = kill_if_late(&store, client, AFTER_ANSWER)?;
        }
        client.target.kill();
        store.ensure_kept(AFTER_ANSWER)?;
        let mut client = store.scene.start()?;
        let posted = post(&mut store, &mut client, AT_ONCE)?;
        for _ in 0..*answers {
            let message = client.receive()?;
            let answered = posted.iter().find(|(id, _)| message["id"] == *id);
            if let Some((_, text)) = answered.filter(|_| Refusal::from_message(&message).is_none()) {
                store.acknowledge(text.clone());
            }
        }
        kill_if_late(&store, client, AMONG_CALLS)?.target.kill();
        store.ensure_kept(AMONG_CALLS)?;
        let mut client = store.scene.start()?;
        store.must_store(&mut client)?;
        store.ensure_kept(AFTER_RESTART)?;
    }
    Ok(())
}

/// Kills the server before system calls of a call that change the store, if this machine permits to trace it: a file that is
/// truncated and written again is empty for some microseconds only.
fn kill_within_a_call(bench: &Bench<'_>, store: &mut Store<'_>) -> Judgement {
    let (mut client, stepper) = match store.scene.start_stepped(Counting::WhenArmed) {
        Err(Stop::NotShown(reason)) if reason.cause.is_none() => return Ok(()),
        started => started?,
    };
    store.must_store(&mut client)?;
    stepper.arm(None);
    store.must_store(&mut client)?;
    let calls = stepper.disarm().len();
    client.target.kill();
    let max = bench.pick(MAX_POINTS[0], MAX_POINTS[1]);
    for point in spread(calls, max, &mut bench.dice("store")) {
        let (mut client, stepper) = store.scene.start_stepped(Counting::WhenArmed)?;
        store.must_store(&mut client)?;
        store.ensure_kept(AFTER_RESTART)?;
        stepper.arm(Some(Fault { at: point + 1, effect: Effect::Kill }));
        match store.store(&mut client) {
            Err(stop) if !stop.is_of_server() => return Err(stop),
            // The answer may come before the kill.
            _ => client.target.kill(),
        }
        store.ensure_kept("after a kill in the middle of a call")?;
    }
    Ok(())
}

/// Kills the server if an acknowledged text is not in the store at this moment.
///
/// A server that stores a text some microseconds after its answer loses it only if a kill hits that gap. So the server is paused and
/// the store is read after each answer: every answer is an attempt, and none costs a restart.
fn kill_if_late<'a>(store: &Store<'a>, client: Client<'a>, when: &str) -> Result<Client<'a>, Stop> {
    client.target.pause();
    if store.ensure_kept(when).is_ok() {
        client.target.resume();
        return Ok(client);
    }
    client.target.kill();
    store.ensure_kept(when)?;
    store.scene.start()
}
