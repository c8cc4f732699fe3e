//! The first step of every call: the check that the mode of operation allows its tool.

use serde_json::{Map, json};

use crate::{
    answer::Rejection,
    context::CallContext,
    origin::Transport,
    spec::{ContractSpec, ModesSpec, ToolSpec},
    template,
};

/// Value of `rule` in the data of both refusals.
const RULE: &str = "mode";

/// Checks that the call's mode allows `tool`. A tool without modes is allowed in all.
///
/// # Errors
/// The contract's refusal: the mode is not one of the contract's, or not one of the tool's.
pub fn check(
    contract: &'static ContractSpec,
    tool: &'static ToolSpec,
    call: &CallContext,
) -> Result<(), Rejection> {
    let Some(modes) = contract.modes.filter(|_| !tool.modes.is_empty()) else {
        return Ok(());
    };
    let mode = mode(contract, modes, call);
    let sentence = if !modes.names.contains(&&*mode) {
        unknown(modes, &mode)
    } else if !tool.modes.contains(&&*mode) {
        let values = json!({ "tool": tool.name, "mode": mode, "allowed": tool.modes.join(", ") });
        template::render(modes.refused, &values)
    } else {
        return Ok(());
    };
    let data = Map::from_iter([("rule".into(), RULE.into()), ("mode".into(), mode.into())]);
    Err(contract.reject(modes.error, tool, sentence, data))
}

/// Returns the contract's message about an unknown mode; `None` if the message has a placeholder of its own.
pub fn unknown(modes: &ModesSpec, mode: &str) -> Option<String> {
    let values = json!({ "mode": mode, "names": modes.names.join(", ") });
    template::render(modes.unknown, &values)
}

/// Returns the mode of a call: the operator's, else its header's, else the transport's.
fn mode(contract: &ContractSpec, modes: &ModesSpec, call: &CallContext) -> String {
    let origin = &call.origin;
    let set = origin.environment.as_ref().and_then(|environment| environment.mode(contract));
    let of_request = || {
        let header = modes.header.filter(|_| origin.transport == Transport::Http)?;
        origin.header(header).map(str::to_owned)
    };
    set.or_else(of_request).unwrap_or_else(|| modes.default_of(origin.transport).into())
}
