//! What is kept of calls: executions, sessions, and limits for each session.
//!
//! Applies to contracts with `executions` and `sessions`, over HTTP, at the endpoints that the contract declares for them. What needs another
//! clock is tested where the server's can be set ahead; that executions are kept no longer than the contract says, is not.
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

/// Names of the families.
const AUDIT: &str = "audit";
const LIMITS: &str = "limits";
const SESSIONS: &str = "sessions";

pub(in crate::checks) const CHECKS: &[Check] = &[
    audit::CHECK,
    killed::CHECK,
    limits::EACH,
    limits::RETRY_AFTER,
    limits::SHARED,
    sessions::CHECK,
    expiry::IDLE,
    expiry::AGE,
];

/// Returns true if the family is about what is kept of calls.
pub(in crate::checks) fn is_family(family: &str) -> bool {
    [AUDIT, LIMITS, SESSIONS].contains(&family)
}

/// Returns true if the family can say anything about the contract.
pub(in crate::checks) fn is_of(contract: &ContractSpec, family: &str) -> bool {
    let is_kept = match family {
        AUDIT => contract.executions.is_some(),
        _ => contract.sessions.is_some(),
    };
    is_kept && !contract.rest.is_empty()
}
