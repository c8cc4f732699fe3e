//! Many callers over the two pipes of one process.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::Target;

use super::{caller::Caller, tally::Usage};
use xtask::Outcome;

use crate::call::ANSWER_TIMEOUT;

/// Lets all callers call for this many seconds, then receives the answers still in flight.
pub(super) fn run(mut server: Target, callers: Vec<Caller>, seconds: u64) -> Outcome<(Vec<Caller>, Usage)> {
    server.patience = ANSWER_TIMEOUT;
    server.initialize("2025-11-25")?;
    let id = server.id().ok_or("the server has no process id")?;
    let mut callers = callers;
    let mut usage = Usage::begins(id);
    let mut under_way: HashMap<Value, usize> = HashMap::new();
    let begin = |server: &mut Target, callers: &mut [Caller], number: usize| {
        let (tool, arguments) = callers[number].next();
        server.post("tools/call", json!({ "name": tool, "arguments": arguments }))
    };
    let (since, length) = (Instant::now(), Duration::from_secs(seconds));
    for number in 0..callers.len() {
        let id = begin(&mut server, &mut callers, number)?;
        under_way.insert(id.into(), number);
    }
    while !under_way.is_empty() {
        let answer = server.receive()?;
        let Some(number) = under_way.remove(&answer["id"]) else {
            continue;
        };
        callers[number].answered(Ok(answer));
        let elapsed = since.elapsed();
        if elapsed > length / 2 {
            usage.is_half_way();
        }
        if elapsed < length {
            let id = begin(&mut server, &mut callers, number)?;
            under_way.insert(id.into(), number);
        }
    }
    usage.ends();
    server.close()?;
    Ok((callers, usage))
}
