//! How often tools may be called.

use std::{num::NonZeroU32, time::Duration};

use crate::token_bucket::Rate;

/// How often a caller may call the tools that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// What is limited: `searching`.
    pub name: &'static str,
    /// So many calls, all of which may be at once,
    pub calls: NonZeroU32,
    /// in so many seconds.
    pub seconds: u32,
}

impl RateLimit {
    /// The same as a rate.
    pub fn rate(&self) -> Rate {
        Rate {
            times: self.calls,
            within: Duration::from_secs(self.seconds.into()),
        }
    }
}
