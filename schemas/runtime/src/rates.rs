//! Counts calls against the limits that a contract declares.

use std::time::Instant;

use crate::{
    answer::Rejection,
    context::CallContext,
    failure::{ContractError, Failure, FailureKind},
    spec::{RateLimit, ToolSpec},
    token_bucket::{RateLimiter, seconds},
};

pub use crate::failure::{LIMIT, RETRY_AFTER};

/// A contract's limits, with a limiter for each.
#[derive(Debug)]
pub struct RateLimits(Vec<(&'static RateLimit, RateLimiter)>);

impl RateLimits {
    /// Creates a limiter for each of `limits`.
    pub fn new(limits: &'static [RateLimit]) -> Self {
        let limiters = limits.iter().map(|limit| (limit, RateLimiter::new(limit.rate())));
        Self(limiters.collect())
    }

    /// Counts a call of `tool`, whether or not it succeeds.
    ///
    /// # Errors
    /// If the caller has exceeded the tool's limit.
    pub fn count<Error: ContractError>(
        &self,
        tool: &'static ToolSpec,
        call: &CallContext,
    ) -> Result<(), Rejection> {
        let of_tool = |(limit, _): &&(&RateLimit, RateLimiter)| Some(limit.name) == tool.rate_limit;
        let Some((limit, limiter)) = self.0.iter().find(of_tool) else {
            return Ok(());
        };
        // Servers with shared limits have counted it already.
        let taken = call.limit.unwrap_or_else(|| {
            let caller = call.counted_as.clone().unwrap_or_default();
            limiter.take(&caller, Instant::now())
        });
        let Err(wait) = taken else { return Ok(()) };
        let (times, within, wait) = (limit.calls, limit.seconds, seconds(wait));
        let message = format!(
            "`{}` allows {times} calls in {within} s; nothing was done, try again in {wait} s",
            limit.name
        );
        let failure = Failure::new(FailureKind::RateLimited, message);
        let failure = failure.with(LIMIT, limit.name).with(RETRY_AFTER, wait);
        Err(Rejection::Declared(Error::from(failure).answer()))
    }
}
