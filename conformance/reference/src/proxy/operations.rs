//! Defects of tools with several operations.

use std::{fs, io};

use tabellion_runtime::{ContractSpec, ToolSpec};

use super::{
    message::{Call, Reply},
    server::Proxy,
};
use crate::mutant::Mutant;

/// The example of `tabellion-codegen`.
#[path = "../../../../codegen/examples/desk/generated/desk.rs"]
#[rustfmt::skip]
mod generated;

pub(crate) static CONTRACT: &ContractSpec = &generated::CONTRACT;

/// Answers a call of a tool with operations as the mutant does.
pub(super) fn answer(
    mutant: Mutant,
    tool: &'static ToolSpec,
    call: &Call,
    proxy: &mut Proxy,
) -> io::Result<Reply> {
    let mut reply = proxy.forward(call)?;
    if !reply.is_refused() {
        return Ok(reply);
    }
    match (mutant, tool.operation_of(&call.arguments)) {
        (Mutant::UnsupportedLeavesAFile, None) => {
            fs::write(proxy.folder.join("log.md"), "# Asked for nothing\n")?;
        }
        (Mutant::TakesNearest, None) => {
            for operation in tool.operations() {
                let nearest = fitted(call, operation);
                if reply.is_refused() && nearest.text("action") == call.text("action") {
                    reply = proxy.forward(&nearest)?;
                }
            }
        }
        (Mutant::IgnoresUnused, Some(operation)) => reply = proxy.forward(&fitted(call, operation))?,
        (Mutant::NamesNoArgument, Some(_)) => {
            reply = proxy.refuse("these are not the right arguments");
        }
        _ => {}
    }
    Ok(reply)
}

/// Returns a call of an operation, with those of the arguments that it takes.
fn fitted(call: &Call, operation: &ToolSpec) -> Call {
    let wire = operation.input.wire();
    let mut fitted = call.clone();
    fitted.arguments.retain(|name, _| wire["properties"].get(name).is_some());
    if let Some(chosen) = operation.operation {
        for (selector, value) in chosen.select.iter().zip(chosen.is) {
            fitted = fitted.with(selector.trim_start_matches('/'), *value);
        }
    }
    fitted
}
