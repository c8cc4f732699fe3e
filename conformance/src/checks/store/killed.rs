//! A server that is killed.

use super::{calls::Store, crowd::post};
use crate::{
    check::{Bench, Case},
    judgement::Judgement,
    reply::Refusal,
};

/// Calls that are sent before a server is killed in the middle of them.
const AT_ONCE: usize = 16;

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut store = Store::new(bench, case)?;
    for answers in bench.pick(&[1, 2, 5, 9][..], &[1, 2, 3, 4, 5, 7, 9, 12, 14, 15]) {
        let mut client = store.scene.start()?;
        store.must_store(&mut client)?;
        client.target.kill();
        store.ensure_kept("after a kill right after the answer")?;
        let mut client = store.scene.start()?;
        let posted = post(&mut store, &mut client, AT_ONCE)?;
        for _ in 0..*answers {
            let message = client.receive()?;
            let answered = posted.iter().find(|(id, _)| message["id"] == *id);
            if let Some((_, text)) = answered.filter(|_| Refusal::from_message(&message).is_none()) {
                store.acknowledge(text.clone());
            }
        }
        client.target.kill();
        store.ensure_kept("after a kill in the middle of many calls")?;
        let mut client = store.scene.start()?;
        store.must_store(&mut client)?;
        store.ensure_kept("after a kill, and a call of the server that was started then")?;
    }
    Ok(())
}
