//! A token bucket per caller, refilled at a constant rate (GCRA).
//!
//! The state of a bucket is one time, the *theoretical arrival time* at which it is full again.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Maximum number of callers whose state is stored.
const CAPACITY: usize = 10_000;

/// Capacity and refill time of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Size of the bucket.
    pub times: NonZeroU32,
    /// Time in which an empty bucket fills up.
    pub within: Duration,
}

impl Rate {
    /// Takes a token of a bucket that is full again in `full_in`; returns the time until it is full after that.
    ///
    /// # Errors
    /// The time until there is a token; none is taken then.
    pub fn take(self, full_in: Duration) -> Result<Duration, Duration> {
        // A bucket can't be emptier than empty: a larger value was stored by a clock that was ahead.
        let full_in = full_in.min(self.within) + self.within / self.times.get();
        let wait = full_in.saturating_sub(self.within);
        if wait.is_zero() { Ok(full_in) } else { Err(wait) }
    }
}

/// A token bucket per caller, all with one rate.
///
/// Memory is bounded: beyond the capacity, the state of the caller whose bucket is fullest is dropped.
#[derive(Debug)]
pub struct RateLimiter {
    rate: Rate,
    capacity: usize,
    /// The theoretical arrival time of each caller.
    arrivals: Mutex<HashMap<Arc<str>, Instant>>,
    refused: AtomicU64,
}

impl RateLimiter {
    /// Creates a limiter with full buckets.
    pub fn new(rate: Rate) -> Self {
        Self { rate, capacity: CAPACITY, arrivals: Mutex::default(), refused: AtomicU64::new(0) }
    }

    /// Checks that `caller` has a token left, without taking it.
    ///
    /// # Errors
    /// The time until there is one.
    pub fn check(&self, caller: &Arc<str>, now: Instant) -> Result<(), Duration> {
        self.next(caller, now).map(drop)
    }

    /// Takes a token of `caller`.
    ///
    /// # Errors
    /// The time until there is one; none is taken then.
    pub fn take(&self, caller: &Arc<str>, now: Instant) -> Result<(), Duration> {
        let (mut arrivals, next) = self.next(caller, now)?;
        if arrivals.len() >= self.capacity && !arrivals.contains_key(caller) {
            forget(&mut arrivals, now);
        }
        arrivals.insert(caller.clone(), next);
        Ok(())
    }

    /// Returns the number of rejected calls.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The theoretical arrival time after one more token, and the lock to record it.
    fn next(&self, caller: &Arc<str>, now: Instant) -> Result<(Arrivals<'_>, Instant), Duration> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let full_in = arrivals.get(caller).map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        match self.rate.take(full_in) {
            Ok(full_in) => Ok((arrivals, now + full_in)),
            Err(wait) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(wait)
            }
        }
    }
}

type Arrivals<'a> = MutexGuard<'a, HashMap<Arc<str>, Instant>>;

/// Drops the callers with a full bucket or, if there are none, the one whose bucket is full next.
fn forget(arrivals: &mut HashMap<Arc<str>, Instant>, now: Instant) {
    let before = arrivals.len();
    arrivals.retain(|_, at| *at > now);
    if arrivals.len() == before {
        let next = arrivals.iter().min_by_key(|(_, at)| **at);
        if let Some(next) = next.map(|(caller, _)| caller.clone()) {
            arrivals.remove(&next);
        }
    }
}

/// Returns `wait` in whole seconds, rounded up.
pub fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn a_minute(times: u32) -> RateLimiter {
        let times = NonZeroU32::new(times).unwrap();
        RateLimiter::new(Rate { times, within: MINUTE })
    }

    fn caller(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn a_full_bucket_can_be_emptied_at_once_and_refills_evenly() {
        for times in [1, 3, 60, 7000] {
            let (limiter, begin) = (a_minute(times), Instant::now());
            let takes = |name: &str, now| {
                let caller = caller(name);
                (0..=times).take_while(|_| limiter.take(&caller, now).is_ok()).count()
            };
            assert_eq!(takes("ada", begin), times as usize);
            let wait = limiter.take(&caller("ada"), begin).unwrap_err();
            assert!(wait <= MINUTE / times, "{wait:?}");
            assert_eq!(limiter.check(&caller("ada"), begin), Err(wait));
            assert_eq!(takes("bert", begin), times as usize, "callers do not share a bucket");
            assert!(limiter.refused() >= 3);
            assert_eq!(takes("ada", begin + wait), 1);
            assert_eq!(takes("ada", begin + 3 * MINUTE), times as usize);
        }
    }

    #[test]
    fn a_check_takes_no_token() {
        let (limiter, now) = (a_minute(1), Instant::now());
        for _ in 0..10 {
            limiter.check(&caller("ada"), now).unwrap();
        }
        limiter.take(&caller("ada"), now).unwrap();
        limiter.check(&caller("ada"), now).unwrap_err();
    }

    #[test]
    fn over_capacity_the_fullest_bucket_is_forgotten() {
        let limiter = RateLimiter { capacity: 3, ..a_minute(2) };
        let begin = Instant::now();
        for name in ["busy", "busy", "a", "b", "c", "d"] {
            limiter.take(&caller(name), begin).unwrap();
        }
        let known = || {
            let mut known: Vec<_> = limiter.arrivals.lock().unwrap().keys().cloned().collect();
            known.sort();
            known
        };
        assert_eq!(known().len(), 3);
        assert!(limiter.take(&caller("busy"), begin).is_err(), "{:?}", known());
        limiter.take(&caller("e"), begin + MINUTE).unwrap();
        assert_eq!(known(), [caller("e")]);
    }

    #[test]
    fn seconds_to_wait_are_rounded_up() {
        assert_eq!([0, 1, 1000, 1001].map(|ms| seconds(Duration::from_millis(ms))), [0, 1, 1, 2]);
    }
}
