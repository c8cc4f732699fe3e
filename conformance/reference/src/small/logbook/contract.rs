//! The contract `logbook`, and codes of its errors.

use tabellion_runtime::ContractSpec;

/// The example of `tabellion-codegen`.
#[path = "../../../../../codegen/examples/logbook/generated/logbook.rs"]
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub, reason = "the server has an engine of its own")]
mod generated;

pub(crate) static CONTRACT: &ContractSpec = &generated::CONTRACT;

/// Codes of the contract's errors.
pub(super) const INVALID: i64 = -32602;
pub(super) const NOT_FOUND: i64 = -32001;
pub(super) const CONFLICT: i64 = -32002;
pub(super) const FAILED: i64 = -32603;
/// A code that the contract does not declare.
pub(super) const UNDECLARED: i64 = -32050;
