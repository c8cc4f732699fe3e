//! That every limit limits something, and is one where it is named.

use crate::{contract::Contract, pointer, problem::Problem};

/// Checks the limits, and each tool against them.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    let limits = &contract.spec.rate_limits;
    for name in limits.keys() {
        let mut tools = contract.tools.iter();
        if !tools.any(|tool| tool.spec.rate_limit.as_ref() == Some(name)) {
            problems.push(contract.document.problem(
                pointer::push("/rateLimits", name),
                format!("no tool has the limit `{name}`"),
                format!("say `\"rateLimit\": \"{name}\"` where it holds, or remove it"),
            ));
        }
    }
    for tool in &contract.tools {
        if let Some(name) = &tool.spec.rate_limit
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
