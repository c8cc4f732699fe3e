//! Rate limits per caller: reads, writes, and invalid credentials per address.

use std::{net::IpAddr, num::NonZeroU32, str::FromStr, sync::Arc, time::Duration};

use tabellion_gateway::{Access, Budget};
use tabellion_runtime::token_bucket::{self, RateLimiter};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// A number of requests per minute, all of which can be made at once; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePerMinute(pub Option<NonZeroU32>);

/// The error of a text that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rate; give a number of requests per minute, such as `600`, or `off`")]
pub struct RateError(String);

impl RatePerMinute {
    /// No limit.
    pub const OFF: Self = Self(None);

    /// Returns a limit of `times` per minute; 0 is unlimited.
    pub const fn a_minute(times: u32) -> Self {
        Self(NonZeroU32::new(times))
    }
}

impl FromStr for RatePerMinute {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        match text.parse() {
            Ok(times) => Ok(Self(Some(times))),
            Err(_) if text == "off" => Ok(Self::OFF),
            Err(_) => Err(RateError(text.into())),
        }
    }
}

/// A rate limiter, or none.
#[derive(Debug)]
struct OptionalLimiter(Option<RateLimiter>);

impl OptionalLimiter {
    fn new(rate: RatePerMinute) -> Self {
        let within = MINUTE;
        Self(rate.0.map(|times| RateLimiter::new(token_bucket::Rate { times, within })))
    }

    fn check(&self, caller: &Arc<str>) -> Result<(), Duration> {
        match &self.0 {
            Some(limiter) => limiter.check(caller, now()),
            None => Ok(()),
        }
    }

    fn take(&self, caller: &Arc<str>) -> Result<(), Duration> {
        match &self.0 {
            Some(limiter) => limiter.take(caller, now()),
            None => Ok(()),
        }
    }

    fn refused(&self) -> u64 {
        self.0.as_ref().map_or(0, RateLimiter::refused)
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// The limits of reads and of writes, per caller.
#[derive(Debug)]
pub struct Rates {
    reads: OptionalLimiter,
    writes: OptionalLimiter,
}

impl Rates {
    /// Creates limiters with these rates.
    pub fn new(reads: RatePerMinute, writes: RatePerMinute) -> Self {
        Self { reads: OptionalLimiter::new(reads), writes: OptionalLimiter::new(writes) }
    }

    /// Returns the number of rejected requests for `access`.
    pub fn refused(&self, access: Access) -> u64 {
        self.limiter(access).refused()
    }

    fn limiter(&self, access: Access) -> &OptionalLimiter {
        match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        }
    }
}

/// The limits for one caller.
#[derive(Debug, Clone)]
pub struct CallerBudget {
    rates: Arc<Rates>,
    caller: Arc<str>,
}

impl CallerBudget {
    /// Returns the budget of the caller with this id.
    pub fn new(rates: Arc<Rates>, caller: impl Into<Arc<str>>) -> Self {
        Self { rates, caller: caller.into() }
    }
}

impl Budget for CallerBudget {
    fn caller(&self) -> &Arc<str> {
        &self.caller
    }

    fn take(&self, access: Access) -> Result<(), Duration> {
        self.rates.limiter(access).take(&self.caller)
    }
}

/// The limit of invalid credentials per address.
#[derive(Debug)]
pub struct Failures(OptionalLimiter);

impl Failures {
    /// Creates a limiter with this rate.
    pub fn new(rate: RatePerMinute) -> Self {
        Self(OptionalLimiter::new(rate))
    }

    /// Checks that the address may try credentials.
    ///
    /// # Errors
    /// With the time to wait, if it has sent too many invalid ones.
    pub fn allow(&self, from: IpAddr) -> Result<(), Duration> {
        self.0.check(&address(from))
    }

    /// Counts invalid credentials.
    pub fn count(&self, from: IpAddr) {
        // Concurrent requests may have used up the limit meanwhile; this one was already checked.
        let _ = self.0.take(&address(from));
    }

    /// Returns the number of rejected requests.
    pub fn refused(&self) -> u64 {
        self.0.refused()
    }
}

/// Returns the id of an anonymous caller, from the address. For IPv6 it is the /64 network, which one host can use whole.
pub fn address(of: IpAddr) -> Arc<str> {
    match of.to_canonical() {
        IpAddr::V4(address) => address.to_string().into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64").into()
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn reads_and_writes_of_each_caller_are_counted_separately() {
        let rates = Arc::new(Rates::new(RatePerMinute::a_minute(3), RatePerMinute::a_minute(1)));
        let (ada, bert) = (CallerBudget::new(rates.clone(), "ada"), CallerBudget::new(rates.clone(), "bert"));
        let reads = |who: &CallerBudget| (0..4).take_while(|_| who.take(Access::Read).is_ok()).count();
        assert_eq!([reads(&ada), reads(&bert)], [3, 3]);
        ada.take(Access::Write).unwrap();
        assert_eq!(ada.take(Access::Write), Err(MINUTE));
        assert_eq!([Access::Read, Access::Write].map(|access| rates.refused(access)), [2, 1]);
        advance(MINUTE / 3).await;
        assert_eq!(reads(&ada), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_no_call_waits() {
        let budget = CallerBudget::new(Arc::new(Rates::new(RatePerMinute::OFF, RatePerMinute::OFF)), "ada");
        for access in [Access::Read, Access::Write].repeat(5000) {
            budget.take(access).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn invalid_credentials_are_counted_by_network() {
        let failures = Failures::new(RatePerMinute::a_minute(2));
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        for _ in 0..10 {
            failures.allow(at("192.0.2.1")).unwrap();
        }
        failures.count(at("192.0.2.1"));
        failures.count(at("::ffff:192.0.2.1"));
        failures.count(at("2001:db8:1:2::a"));
        failures.count(at("2001:db8:1:2:ffff::b"));
        for (address, allowed) in
            [("192.0.2.1", false), ("192.0.2.2", true), ("2001:db8:1:2::c", false), ("2001:db8:1:3::a", true)]
        {
            assert_eq!(failures.allow(at(address)).is_ok(), allowed, "{address}");
        }
        assert_eq!(failures.refused(), 2);
        advance(MINUTE).await;
        failures.allow(at("192.0.2.1")).unwrap();
    }

    #[test]
    fn a_rate_is_a_number_or_off() {
        for (text, expected) in [
            ("600", Some(RatePerMinute::a_minute(600))),
            ("off", Some(RatePerMinute::OFF)),
            ("1", Some(RatePerMinute::a_minute(1))),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        for text in ["", "0", "-1", "1.5", "OFF", "10/s"] {
            assert_eq!(text.parse::<RatePerMinute>(), Err(RateError(text.into())));
        }
    }
}
