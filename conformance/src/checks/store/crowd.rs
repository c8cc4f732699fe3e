//! Calls one after another, at once, and of two processes.

use super::calls::{Store, answered};
use crate::checks::prelude::*;

/// Calls that are sent at once.
const AT_ONCE: usize = 24;
/// Calls of each process.
const BY_TURNS: usize = 8;

pub(super) fn one_by_one(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut store = Store::new(bench, case)?;
    let mut client = store.scene.start()?;
    for _ in 0..bench.pick(8, 40) {
        store.must_store(&mut client)?;
        store.ensure_kept("after the answer")?;
    }
    client.close()?;
    store.ensure_kept("after the server's end")
}

pub(super) fn pipelined(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut store = Store::new(bench, case)?;
    let mut client = store.scene.start()?;
    let posted = post(&mut store, &mut client, AT_ONCE)?;
    for text in answered(&mut client, &posted)? {
        store.acknowledge(text);
    }
    store.ensure_kept(&format!("after {AT_ONCE} calls that were made at once"))
}

pub(super) fn processes(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut store = Store::new(bench, case)?;
    let mut clients = [store.scene.start()?, store.scene.start()?];
    // A call of each makes sure that both have read the store.
    for _ in 0..BY_TURNS {
        for client in &mut clients {
            let _ = store.store(client)?;
        }
        store.ensure_kept("after calls of two servers by turns")?;
    }
    let mut posted = Vec::new();
    for client in &mut clients {
        posted.push(post(&mut store, client, BY_TURNS)?);
    }
    for (client, posted) in clients.iter_mut().zip(&posted) {
        for text in answered(client, posted)? {
            store.acknowledge(text);
        }
    }
    store.ensure_kept("after calls of two servers at once")
}

/// Sends this many calls without waiting for their answers.
pub(super) fn post(
    store: &mut Store<'_>,
    client: &mut Client<'_>,
    many: usize,
) -> Result<Vec<(i64, String)>, Stop> {
    let mut posted = Vec::new();
    for _ in 0..many {
        let text = store.text();
        posted.push((store.post(client, &text)?, text));
    }
    Ok(posted)
}
