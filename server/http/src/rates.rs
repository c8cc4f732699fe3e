//! How often callers may do something: so many times in a minute, all of which may be at once.

use std::{net::IpAddr, num::NonZeroU32, str::FromStr, sync::Arc, time::Duration};

use tabellion_mcp::{Access, Budget};
use tabellion_runtime::token_bucket::{self, RateLimiter};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

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

/// What each caller may still do, if there is a limit.
#[derive(Debug)]
struct Left(Option<RateLimiter>);

impl Left {
    fn new(rate: Rate) -> Self {
        let within = MINUTE;
        Self(
            rate.0
                .map(|times| RateLimiter::new(token_bucket::Rate { times, within })),
        )
    }

    fn look(&self, who: &Arc<str>) -> Result<(), Duration> {
        self.0.as_ref().map_or(Ok(()), |left| left.check(who, now()))
    }

    fn take(&self, who: &Arc<str>) -> Result<(), Duration> {
        self.0.as_ref().map_or(Ok(()), |left| left.take(who, now()))
    }

    fn refused(&self) -> u64 {
        self.0.as_ref().map_or(0, RateLimiter::refused)
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// How often callers may look at something, and change something.
#[derive(Debug)]
pub struct Rates {
    reads: Left,
    writes: Left,
}

impl Rates {
    /// These rates, for each caller.
    pub fn new(reads: Rate, writes: Rate) -> Self {
        Self {
            reads: Left::new(reads),
            writes: Left::new(writes),
        }
    }

    /// How often somebody was told to wait before they do this.
    pub fn refused(&self, access: Access) -> u64 {
        self.of(access).refused()
    }

    fn of(&self, access: Access) -> &Left {
        match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        }
    }
}

/// What one caller may do.
#[derive(Debug, Clone)]
pub struct CallerBudget {
    rates: Arc<Rates>,
    who: Arc<str>,
}

impl CallerBudget {
    /// That of the caller who is called so.
    pub fn new(rates: Arc<Rates>, who: impl Into<Arc<str>>) -> Self {
        Self {
            rates,
            who: who.into(),
        }
    }
}

impl Budget for CallerBudget {
    fn caller(&self) -> &Arc<str> {
        &self.who
    }

    fn take(&self, access: Access) -> Result<(), Duration> {
        self.rates.of(access).take(&self.who)
    }
}

/// How often who calls from one address may be wrong about who they are.
#[derive(Debug)]
pub struct Failures(Left);

impl Failures {
    /// At this rate.
    pub fn new(rate: Rate) -> Self {
        Self(Left::new(rate))
    }

    /// Whether who calls from there may try once more.
    ///
    /// # Errors
    /// With how long they must wait before they may.
    pub fn allow(&self, from: IpAddr) -> Result<(), Duration> {
        self.0.look(&address(from))
    }

    /// They were wrong.
    pub fn count(&self, from: IpAddr) {
        // Others from there may have been wrong meanwhile; then it makes no difference.
        let _ = self.0.take(&address(from));
    }

    /// How often somebody was told to wait.
    pub fn refused(&self) -> u64 {
        self.0.refused()
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

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn looks_and_changes_are_counted_apart_each_for_each() {
        let rates = Arc::new(Rates::new(Rate::a_minute(3), Rate::a_minute(1)));
        let (ada, bert) = (
            CallerBudget::new(rates.clone(), "ada"),
            CallerBudget::new(rates.clone(), "bert"),
        );
        let reads = |who: &CallerBudget| (0..4).take_while(|_| who.take(Access::Read).is_ok()).count();
        assert_eq!([reads(&ada), reads(&bert)], [3, 3]);
        ada.take(Access::Write).unwrap();
        assert_eq!(ada.take(Access::Write), Err(MINUTE));
        assert_eq!(
            [Access::Read, Access::Write].map(|access| rates.refused(access)),
            [2, 1]
        );
        advance(MINUTE / 3).await;
        assert_eq!(reads(&ada), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_nobody_waits() {
        let budget = CallerBudget::new(Arc::new(Rates::new(Rate::OFF, Rate::OFF)), "ada");
        for access in [Access::Read, Access::Write].repeat(5000) {
            budget.take(access).unwrap();
        }
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
    }
}
