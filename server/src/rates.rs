//! How often callers may do something: so many times in a minute, all of which may be at once. What is remembered of them is
//! bounded: of too many callers, those are forgotten who have done the least lately.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    str::FromStr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::keys::Access;

const MINUTE: Duration = Duration::from_secs(60);
/// So many callers are remembered.
const MOST: usize = 10_000;

/// How often something may be done in a minute; `None` is as often as anybody likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub Option<NonZeroU32>);

/// A text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no rate; write how often in a minute, as in `600`, or `off`")]
pub struct BadRate(String);

impl Rate {
    /// No limit.
    pub const OFF: Self = Self(None);

    /// So often in a minute; 0 is no limit.
    pub const fn a_minute(times: u32) -> Self {
        Self(NonZeroU32::new(times))
    }
}

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        match text.parse() {
            Ok(times) => Ok(Self(Some(times))),
            Err(_) if text == "off" => Ok(Self::OFF),
            Err(_) => Err(BadRate(text.into())),
        }
    }
}

/// What each caller may still do, at one rate.
#[derive(Debug)]
struct Buckets {
    rate: Rate,
    most: usize,
    /// When each caller may do everything again.
    full: Mutex<HashMap<Arc<str>, Instant>>,
    /// How often somebody was told to wait.
    refused: AtomicU64,
}

impl Buckets {
    fn new(rate: Rate) -> Self {
        Self {
            rate,
            most: MOST,
            full: Mutex::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// Whether `who` may do it now, or how long they must wait. It is counted if `is_done`.
    fn may(&self, who: &Arc<str>, is_done: bool) -> Result<(), Duration> {
        let Some(times) = self.rate.0 else {
            return Ok(());
        };
        let (each, now) = (MINUTE / times.get(), Instant::now());
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let next = full.get(who).map_or(now, |at| now.max(*at)) + each;
        let over = (next - now).saturating_sub(MINUTE);
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

/// How often callers may look at something, and change something.
#[derive(Debug)]
pub struct Rates {
    reads: Buckets,
    writes: Buckets,
}

impl Rates {
    /// These rates, for each caller.
    pub fn new(reads: Rate, writes: Rate) -> Self {
        Self {
            reads: Buckets::new(reads),
            writes: Buckets::new(writes),
        }
    }

    /// How often somebody was told to wait before they do this.
    pub fn refused(&self, access: Access) -> u64 {
        self.of(access).refused.load(Ordering::Relaxed)
    }

    fn of(&self, access: Access) -> &Buckets {
        match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        }
    }
}

/// What one caller may do.
#[derive(Debug, Clone)]
pub struct Budget {
    rates: Arc<Rates>,
    who: Arc<str>,
}

impl Budget {
    /// That of the caller who is called so.
    pub fn new(rates: Arc<Rates>, who: impl Into<Arc<str>>) -> Self {
        Self {
            rates,
            who: who.into(),
        }
    }

    /// Counts that they do this once.
    ///
    /// # Errors
    /// With how long they must wait before they may.
    pub fn take(&self, access: Access) -> Result<(), Duration> {
        self.rates.of(access).may(&self.who, true)
    }
}

/// How often who calls from one address may be wrong about who they are.
#[derive(Debug)]
pub struct Failures(Buckets);

impl Failures {
    /// At this rate.
    pub fn new(rate: Rate) -> Self {
        Self(Buckets::new(rate))
    }

    /// Whether who calls from there may try once more.
    ///
    /// # Errors
    /// With how long they must wait before they may.
    pub fn allow(&self, from: IpAddr) -> Result<(), Duration> {
        self.0.may(&address(from), false)
    }

    /// They were wrong.
    pub fn count(&self, from: IpAddr) {
        // Others from there may have been wrong meanwhile; then it makes no difference.
        let _ = self.0.may(&address(from), true);
    }

    /// How often somebody was told to wait.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }
}

/// What somebody is called of whom only the address is known. Of IPv6, one has the whole of a network.
pub fn address(of: IpAddr) -> Arc<str> {
    match of.to_canonical() {
        IpAddr::V4(address) => address.to_string().into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64").into()
        }
    }
}

/// How many whole seconds are as long as that, for `Retry-After`.
pub fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minutes_worth_may_be_at_once_and_comes_back_bit_by_bit() {
        for times in [1, 3, 60, 7000] {
            let rates = Arc::new(Rates::new(Rate::a_minute(times), Rate::a_minute(1)));
            let (ada, bert) = (
                Budget::new(rates.clone(), "ada"),
                Budget::new(rates.clone(), "bert"),
            );
            let reads = |who: &Budget| (0..=times).take_while(|_| who.take(Access::Read).is_ok()).count();
            assert_eq!(reads(&ada), times as usize);
            let wait = ada.take(Access::Read).unwrap_err();
            assert!(wait <= MINUTE / times, "{wait:?}");
            // Others, and what is counted apart, are as before.
            assert_eq!(reads(&bert), times as usize);
            ada.take(Access::Write).unwrap();
            assert!(ada.take(Access::Write).is_err());
            assert!(rates.refused(Access::Read) >= 3 && rates.refused(Access::Write) == 1);
            advance(wait).await;
            assert_eq!(reads(&ada), 1);
            advance(2 * MINUTE).await;
            assert_eq!(reads(&ada), times as usize);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_nobody_waits() {
        let budget = Budget::new(Arc::new(Rates::new(Rate::OFF, Rate::OFF)), "ada");
        for access in [Access::Read, Access::Write].repeat(5000) {
            budget.take(access).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_too_many_those_are_forgotten_who_did_the_least() {
        let buckets = Buckets {
            most: 3,
            ..Buckets::new(Rate::a_minute(2))
        };
        let who = |name: &str| Arc::<str>::from(name);
        for name in ["busy", "busy", "a", "b", "c", "d"] {
            buckets.may(&who(name), true).unwrap();
        }
        let known = || {
            let mut known: Vec<_> = buckets.full.lock().unwrap().keys().cloned().collect();
            known.sort();
            known
        };
        assert_eq!(known().len(), 3);
        assert!(buckets.may(&who("busy"), true).is_err(), "{:?}", known());
        advance(MINUTE).await;
        buckets.may(&who("e"), true).unwrap();
        assert_eq!(known(), [who("e")]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_is_wrong_is_counted_and_by_network() {
        let failures = Failures::new(Rate::a_minute(2));
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        for _ in 0..10 {
            failures.allow(at("192.0.2.1")).unwrap();
        }
        failures.count(at("192.0.2.1"));
        failures.count(at("::ffff:192.0.2.1"));
        failures.count(at("2001:db8:1:2::a"));
        failures.count(at("2001:db8:1:2:ffff::b"));
        for (address, allowed) in [
            ("192.0.2.1", false),
            ("192.0.2.2", true),
            ("2001:db8:1:2::c", false),
            ("2001:db8:1:3::a", true),
        ] {
            assert_eq!(failures.allow(at(address)).is_ok(), allowed, "{address}");
        }
        assert_eq!(failures.refused(), 2);
        advance(MINUTE).await;
        failures.allow(at("192.0.2.1")).unwrap();
    }

    #[test]
    fn a_rate_is_a_number_or_off() {
        for (text, expected) in [
            ("600", Some(Rate::a_minute(600))),
            ("off", Some(Rate::OFF)),
            ("1", Some(Rate::a_minute(1))),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        for text in ["", "0", "-1", "1.5", "OFF", "10/s"] {
            assert_eq!(text.parse::<Rate>(), Err(BadRate(text.into())));
        }
        assert_eq!(
            [0, 1, 1000, 1001].map(|ms| seconds(Duration::from_millis(ms))),
            [0, 1, 1, 2]
        );
    }
}
