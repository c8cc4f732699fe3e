//! `rateLimits` and `rateLimit`: limits on each caller's calls of the tools that share them.

use std::num::NonZeroU32;

use proc_macro2::Literal;
use quote::{format_ident, quote};
use serde::Deserialize;
use tabellion_runtime::{
    FailureKind,
    spec::{self, RateLimitPer},
};

use super::{Emitted, Key, State, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    leak::list,
    pointer,
    problem::Problem,
    rust::literal,
};

/// A limit on the calls of the tools that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RateLimit {
    pub calls: u32,
    pub seconds: u32,
    #[serde(default = "caller")]
    pub per: RateLimitPer,
}

fn caller() -> RateLimitPer {
    RateLimitPer::Caller
}

pub(super) struct RateLimits;

impl Key for RateLimits {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let limits = &contract.spec.rate_limits;
        for (name, limit) in limits {
            if limit.per == RateLimitPer::Session && contract.spec.sessions.is_none() {
                problems.push(contract.document.problem(
                    format!("{}/per", pointer::push("/rateLimits", name)),
                    "callers have no sessions",
                    "add `sessions`, or remove `per`",
                ));
            }
            if !contract.operations().any(|tool| shares(tool, name)) {
                problems.push(contract.document.problem(
                    pointer::push("/rateLimits", name),
                    format!("no tool has the limit `{name}`"),
                    format!("add `\"rateLimit\": \"{name}\"` to a tool, or remove it"),
                ));
            }
        }
        for tool in contract.operations() {
            if let Some(name) = tool.spec.rate_limit
                && !limits.contains_key(name)
            {
                problems.push(tool.document.problem(
                    "/rateLimit",
                    format!("there is no limit `{name}`"),
                    "add it to `rateLimits` in contract.json, or correct its spelling",
                ));
            }
        }
    }

    fn failures(&self, tool: &Tool) -> &'static [FailureKind] {
        match tool.spec.rate_limit {
            None => &[],
            Some(_) => &[FailureKind::RateLimited],
        }
    }

    /// A caller who kept to a limit must still do so at the same rate.
    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let (before, after) = match (limit(old), limit(new)) {
            (None, None) => return,
            (None, Some((_, RateLimit { calls, seconds, .. }))) => {
                return changes.breaking(format!("it is limited to {calls} calls in {seconds} seconds"));
            }
            (Some(_), None) => return changes.compatible("it is no longer rate limited"),
            (Some(before), Some(after)) => (before, after),
        };
        let often = |limit: RateLimit, other: RateLimit| u64::from(limit.calls) * u64::from(other.seconds);
        let (now, then) = (often(after.1, before.1), often(before.1, after.1));
        if now < then || after.1.calls < before.1.calls {
            changes.breaking("it may be called less often");
        } else if (before.1.calls, before.1.seconds) != (after.1.calls, after.1.seconds) {
            changes.compatible("it may be called more often");
        }
        match (before.1.per, after.1.per) {
            (RateLimitPer::Session, RateLimitPer::Caller) => {
                changes.breaking("all sessions of a caller share its rate limit");
            }
            (RateLimitPer::Caller, RateLimitPer::Session) => {
                changes.compatible("each session of a caller has its rate limit to itself");
            }
            _ => {}
        }
        for other in old.contract.operations() {
            let name = other.label();
            let shared_before = shares(other, before.0);
            let shares_now = new.contract.operation(name).is_some_and(|other| shares(other, after.0));
            if shares_now && !shared_before {
                changes.breaking(format!("it shares its rate limit with `{name}`"));
            }
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let limits = &contract.spec.rate_limits;
        if limits.is_empty() {
            return Emitted::default();
        }
        let count = Literal::usize_unsuffixed(limits.len());
        let limits = table(contract).map(|limit| {
            let calls = Literal::u32_unsuffixed(limit.calls.get());
            let calls = quote!(NonZeroU32::new(#calls).expect("a rate limit permits calls"));
            literal::with_fields(&limit, &[("calls", calls)])
        });
        Emitted {
            fields: quote!(rate_limits: &RATE_LIMITS,),
            items: vec![quote! {
                /// How often tools may be called.
                pub static RATE_LIMITS: [spec::RateLimit; #count] = [#(#limits),*];
            }],
            state: Some(State {
                name: format_ident!("rate_limits"),
                of_type: quote!(tabellion_runtime::RateLimits),
                value: quote!(tabellion_runtime::RateLimits::new(&RATE_LIMITS)),
            }),
            before: quote!(self.rate_limits.count::<ToolError>(operation, call)?;),
            ..Emitted::default()
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.rate_limits = list(self::table(contract));
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.rate_limit = tool.spec.rate_limit;
    }
}

/// Returns the table of a contract's limits.
fn table(contract: &Contract) -> impl Iterator<Item = spec::RateLimit> {
    contract.spec.rate_limits.iter().filter_map(|(name, limit)| {
        let calls = NonZeroU32::new(limit.calls)?;
        Some(spec::RateLimit { name, calls, seconds: limit.seconds, per: limit.per })
    })
}

/// Returns true if `tool` has the limit `name`.
fn shares(tool: &Tool, name: &str) -> bool {
    tool.spec.rate_limit == Some(name)
}

/// Returns the limit of a tool and its name.
fn limit(of: ToolOf<'_>) -> Option<(&'static str, RateLimit)> {
    let name = of.tool.spec.rate_limit?;
    Some((name, *of.contract.spec.rate_limits.get(name)?))
}
