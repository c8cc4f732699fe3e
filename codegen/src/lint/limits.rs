//! That every limit limits something, and is one where it is named.

use crate::{contract::Contract, pointer, problem::Problem};

/// Checks the limits, and each tool against them.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    let limits = &contract.spec.rate_limits;
    let named = |tool: &crate::contract::Tool| tool.spec.rate_limit.clone();
    for name in limits.keys() {
        if !contract
            .tools
            .iter()
            .any(|tool| named(tool).as_ref() == Some(name))
        {
            problems.push(contract.document.problem(
                pointer::push("/rateLimits", name),
                format!("no tool has the limit `{name}`"),
                format!("say `\"rateLimit\": \"{name}\"` where it holds, or remove it"),
            ));
        }
    }
    for tool in &contract.tools {
        if let Some(name) = named(tool).filter(|name| !limits.contains_key(name)) {
            problems.push(tool.document.problem(
                "/rateLimit",
                format!("there is no limit `{name}`"),
                "add it to `rateLimits` in contract.json, or correct its spelling",
            ));
        }
    }
}
