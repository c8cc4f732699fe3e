//! Rate limits.

use std::{num::NonZeroU32, time::Duration};

use crate::{token_bucket::Rate, vocabulary::vocabulary};

vocabulary! {
    /// The unit whose calls a limit counts.
    #[serde(rename_all = "snake_case")]
    pub enum RateLimitPer {
        /// Each caller.
        Caller,
        /// Each session of a caller.
        Session,
    }
}

/// A rate limit per caller, shared by the tools that name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Its name, such as `searching`.
    pub name: &'static str,
    /// Number of calls that can be made at once.
    pub calls: NonZeroU32,
    /// Seconds in which that number is available again.
    pub seconds: u32,
    /// The unit whose calls it counts.
    pub per: RateLimitPer,
}

impl RateLimit {
    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        Rate { times: self.calls, within: Duration::from_secs(self.seconds.into()) }
    }
}
