//! Several clients at the same time.

use std::{
    sync::Barrier,
    thread::{self, ScopedJoinHandle},
};

use crate::judgement::Stop;

/// Lets each client work in a thread of its own, and all of them begin at the same time; returns their results, in order.
///
/// # Errors
/// The first failure, once all have ended.
pub fn at_once<Client: Send, Done: Send>(
    clients: Vec<Client>,
    work: impl Fn(Client) -> Result<Done, Stop> + Sync,
) -> Result<Vec<Done>, Stop> {
    let barrier = Barrier::new(clients.len());
    let begin = |client| {
        barrier.wait();
        work(client)
    };
    let begin = &begin;
    thread::scope(|scope| {
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || begin(client))).collect();
        // All are joined, also after a failure: the scope would panic with a client that is not.
        let results: Vec<_> = threads.into_iter().map(join).collect();
        results.into_iter().collect()
    })
}

/// Waits for the thread of a client; returns its result.
///
/// # Errors
/// If the client failed or panicked.
pub fn join<Done>(thread: ScopedJoinHandle<'_, Result<Done, Stop>>) -> Result<Done, Stop> {
    thread.join().unwrap_or_else(|_| Err(Stop::Harness("a client panicked".into())))
}
