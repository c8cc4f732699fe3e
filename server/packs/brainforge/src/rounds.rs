//! Single-flight work: callers that arrive during a run share the next one.

use parking_lot::{Condvar, Mutex};

/// Runs work, one round at a time. Callers that arrive during a round wait for the next one and share it, since a change may have
/// happened after the current round looked.
pub(super) struct Rounds<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

struct State<T> {
    /// Number of the last round that began.
    begun: u64,
    goes_on: bool,
    /// Number and result of the last round that succeeded.
    last: Option<(u64, T)>,
}

impl<T: Copy> Rounds<T> {
    pub(super) fn new() -> Self {
        let state = State { begun: 0, goes_on: false, last: None };
        Self { state: Mutex::new(state), ended: Condvar::new() }
    }

    /// Returns the result of a round that begins after this call.
    ///
    /// # Errors
    /// That of `work`, if the caller's own round fails. Callers that waited for it run their own.
    pub(super) fn run<E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut state = self.state.lock();
        let needed = state.begun + 1;
        loop {
            if let Some((number, result)) = state.last
                && number >= needed
            {
                return Ok(result);
            }
            if !state.goes_on {
                break;
            }
            self.ended.wait(&mut state);
        }
        state.begun += 1;
        state.goes_on = true;
        let number = state.begun;
        drop(state);
        let _going = Going(self);
        let result = work()?;
        self.state.lock().last = Some((number, result));
        Ok(result)
    }
}

/// A round in progress; dropping it ends the round, even during a panic.
struct Going<'r, T>(&'r Rounds<T>);

impl<T> Drop for Going<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().goes_on = false;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicU64, Ordering::SeqCst},
        },
        thread,
    };

    use super::*;

    #[test]
    fn callers_share_a_round_that_began_after_they_asked() {
        const CALLERS: u64 = 8;
        let (rounds, ran) = (Rounds::new(), AtomicU64::new(0));
        let clock = AtomicU64::new(0);
        let start = Barrier::new(CALLERS as usize);
        thread::scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..200 {
                        let asked = clock.fetch_add(1, SeqCst);
                        let began = rounds.run(|| {
                            ran.fetch_add(1, SeqCst);
                            let began = clock.fetch_add(1, SeqCst);
                            thread::yield_now();
                            Ok::<_, ()>(began)
                        });
                        assert!(began.unwrap() > asked);
                    }
                });
            }
        });
        assert!((1..=CALLERS * 200).contains(&ran.load(SeqCst)));
    }

    #[test]
    fn callers_of_a_round_that_failed_try_their_own() {
        let rounds = Rounds::new();
        assert_eq!(rounds.run(|| Err::<u64, _>("full")), Err("full"));
        assert_eq!(rounds.run(|| Ok::<_, &str>(1)), Ok(1));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = rounds.run::<&str>(|| panic!("it broke"));
        }));
        assert!(panicked.is_err());
        assert_eq!(rounds.run(|| Ok::<_, &str>(2)), Ok(2));
    }
}
