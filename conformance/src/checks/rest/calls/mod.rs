//! Records of calls: executions, sessions, and limits for each session.
//!
//! Applies to contracts with `executions` and `sessions`, over HTTP, at the endpoints that the contract declares for them. Expiry is tested
//! if the server's clock can be set ahead. The maximum time for which executions are kept is not tested.
//!
//! | module | is for |
//! |---|---|
//! | [`kept`] | requests to the endpoints of executions and sessions, and refusals of them |
//! | [`audit`] | `audit/agrees-with-commits` |
//! | [`killed`] | `audit/killed` |
//! | [`limits`] | `limits/each`, `limits/retry-after`, `limits/shared` |
//! | [`sessions`] | `sessions/most` |
//! | [`expiry`] | `sessions/idle`, `sessions/age` |

mod audit;
mod expiry;
mod kept;
mod killed;
mod limits;
mod sessions;

use tabellion_runtime::ContractSpec;

use crate::check::Check;

pub(in crate::checks) const AUDIT: &[Check] = &[audit::CHECK, killed::CHECK];

pub(in crate::checks) const LIMITS: &[Check] = &[limits::EACH, limits::RETRY_AFTER, limits::SHARED];

pub(in crate::checks) const SESSIONS: &[Check] = &[sessions::CHECK, expiry::IDLE, expiry::AGE];

/// Returns true if the contract keeps executions, and has endpoints.
pub(in crate::checks) fn has_executions(contract: &ContractSpec) -> bool {
    contract.executions.is_some() && !contract.rest.is_empty()
}

/// Returns true if the contract keeps sessions, and has endpoints.
pub(in crate::checks) fn has_sessions(contract: &ContractSpec) -> bool {
    contract.sessions.is_some() && !contract.rest.is_empty()
}
