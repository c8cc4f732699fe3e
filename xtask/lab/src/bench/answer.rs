//! Calls of the server that is measured, and their answers.

use serde_json::Value;

use xtask::Outcome;

/// Number of calls in flight in the rows of concurrent calls.
pub(super) const IN_FLIGHT: usize = 32;

/// Fails if a call was refused.
pub(super) fn succeeded(answer: &Value) -> Outcome {
    if answer["result"]["isError"] == true || answer.get("error").is_some() {
        return Err(answer.to_string().into());
    }
    Ok(())
}
