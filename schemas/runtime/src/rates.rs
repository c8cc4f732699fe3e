//! How often callers may do something: so many times in so long, all of which may be at once.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    call::CallContext,
    dispatch::Rejection,
    failure::{ContractError, Failure, FailureKind},
    spec::{RateLimit, ToolSpec},
};

/// Where an error that says to wait has for how many seconds, in its data.
pub const RETRY_AFTER: &str = "retryAfterSeconds";

/// So many callers are remembered.
const MOST: usize = 10_000;

/// How often something may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// So many times, all of which may be at once,
    pub times: NonZeroU32,
    /// in so long.
    pub within: Duration,
}

/// What each caller may still do, at one rate. What is remembered of them is bounded: of too many callers, those are
/// forgotten who have done the least lately.
#[derive(Debug)]
pub struct Allowance {
    rate: Rate,
    most: usize,
    /// When each caller may do everything again.
    full: Mutex<HashMap<Arc<str>, Instant>>,
    refused: AtomicU64,
}

impl Allowance {
    /// At this rate, for each caller.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            most: MOST,
            full: Mutex::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// Whether `who` may do it, now.
    ///
    /// # Errors
    /// With how long they must wait before they may.
    pub fn look(&self, who: &Arc<str>, now: Instant) -> Result<(), Duration> {
        self.next(who, now, false)
    }

    /// Counts that `who` does it, now.
    ///
    /// # Errors
    /// With how long they must wait before they may. It is not counted then.
    pub fn take(&self, who: &Arc<str>, now: Instant) -> Result<(), Duration> {
        self.next(who, now, true)
    }

    /// How often somebody was told to wait.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn next(&self, who: &Arc<str>, now: Instant, is_done: bool) -> Result<(), Duration> {
        let Rate { times, within } = self.rate;
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let next = full.get(who).map_or(now, |at| now.max(*at)) + within / times.get();
        let over = (next - now).saturating_sub(within);
        if !over.is_zero() {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(over);
        }
        if is_done {
            if full.len() >= self.most && !full.contains_key(who) {
                forget(&mut full, now);
            }
            full.insert(who.clone(), next);
        }
        Ok(())
    }
}

/// Forgets all who may do everything again, or else who is the next to.
fn forget(full: &mut HashMap<Arc<str>, Instant>, now: Instant) {
    let before = full.len();
    full.retain(|_, at| *at > now);
    if full.len() == before {
        let next = full.iter().min_by_key(|(_, at)| **at);
        if let Some(next) = next.map(|(who, _)| who.clone()) {
            full.remove(&next);
        }
    }
}

/// How many whole seconds are as long as that: what somebody is told who must wait.
pub fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// A contract's limits, and what each caller has left of them.
#[derive(Debug)]
pub struct RateLimits(Vec<(&'static RateLimit, Allowance)>);

impl RateLimits {
    /// These, of which nobody has used anything.
    pub fn new(limits: &'static [RateLimit]) -> Self {
        let allowances = limits.iter().map(|limit| (limit, Allowance::new(limit.rate())));
        Self(allowances.collect())
    }

    /// Counts a call of `tool`, whatever becomes of it.
    ///
    /// # Errors
    /// When who calls has done so, or called what shares the limit, too often.
    pub fn count<Error: ContractError>(
        &self,
        tool: &'static ToolSpec,
        call: &CallContext,
    ) -> Result<(), Rejection> {
        let of_tool = |(limit, _): &&(&RateLimit, Allowance)| Some(limit.name) == tool.rate_limit;
        let Some((limit, allowance)) = self.0.iter().find(of_tool) else {
            return Ok(());
        };
        let who = call.counted_as.clone().unwrap_or_default();
        let Err(wait) = allowance.take(&who, Instant::now()) else {
            return Ok(());
        };
        let (times, within, wait) = (limit.calls, limit.seconds, seconds(wait));
        let message = format!(
            "`{}` allows {times} calls in {within} s; nothing was done, try again in {wait} s",
            limit.name
        );
        let failure = Failure::new(FailureKind::RateLimited, message).with(RETRY_AFTER, wait);
        Err(Rejection::Declared(Error::from(failure).answer()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn a_minute(times: u32) -> Allowance {
        let times = NonZeroU32::new(times).unwrap();
        Allowance::new(Rate {
            times,
            within: MINUTE,
        })
    }

    fn who(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn all_may_be_at_once_and_comes_back_bit_by_bit() {
        for times in [1, 3, 60, 7000] {
            let (allowance, begin) = (a_minute(times), Instant::now());
            let takes = |name: &str, now| {
                let who = who(name);
                (0..=times)
                    .take_while(|_| allowance.take(&who, now).is_ok())
                    .count()
            };
            assert_eq!(takes("ada", begin), times as usize);
            let wait = allowance.take(&who("ada"), begin).unwrap_err();
            assert!(wait <= MINUTE / times, "{wait:?}");
            assert_eq!(allowance.look(&who("ada"), begin), Err(wait));
            assert_eq!(takes("bert", begin), times as usize, "others are as before");
            assert!(allowance.refused() >= 3);
            assert_eq!(takes("ada", begin + wait), 1);
            assert_eq!(takes("ada", begin + 3 * MINUTE), times as usize);
        }
    }

    #[test]
    fn a_look_is_not_counted() {
        let (allowance, now) = (a_minute(1), Instant::now());
        for _ in 0..10 {
            allowance.look(&who("ada"), now).unwrap();
        }
        allowance.take(&who("ada"), now).unwrap();
        allowance.look(&who("ada"), now).unwrap_err();
    }

    #[test]
    fn of_too_many_those_are_forgotten_who_did_the_least() {
        let allowance = Allowance {
            most: 3,
            ..a_minute(2)
        };
        let begin = Instant::now();
        for name in ["busy", "busy", "a", "b", "c", "d"] {
            allowance.take(&who(name), begin).unwrap();
        }
        let known = || {
            let mut known: Vec<_> = allowance.full.lock().unwrap().keys().cloned().collect();
            known.sort();
            known
        };
        assert_eq!(known().len(), 3);
        assert!(allowance.take(&who("busy"), begin).is_err(), "{:?}", known());
        allowance.take(&who("e"), begin + MINUTE).unwrap();
        assert_eq!(known(), [who("e")]);
    }

    #[test]
    fn whoever_waits_so_many_seconds_has_waited_long_enough() {
        assert_eq!(
            [0, 1, 1000, 1001].map(|ms| seconds(Duration::from_millis(ms))),
            [0, 1, 1, 2]
        );
    }
}
