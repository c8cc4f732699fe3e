//! Outcomes of requests without an answer.

use serde_json::{Map, Value};
use tabellion_runtime::{
    ContractSpec, ErrorAnswer, Failure, Proposal, Rejection, Violation,
    rates::{LIMIT, RETRY_AFTER},
};

use crate::access::Access;

/// Code of the errors that contracts declare for malformed requests: JSON-RPC's, as those below.
pub const INVALID_REQUEST: i32 = -32600;
/// Code of the errors that contracts declare for invalid arguments.
pub const INVALID_PARAMS: i32 = -32602;
/// Code of the errors that contracts declare for faults of the server.
pub const INTERNAL_ERROR: i32 = -32603;

/// The reason that a request has no answer. Each protocol renders it in its own form.
#[derive(Debug)]
pub enum CallError {
    /// The request names an object that is not offered.
    NotOffered {
        /// A sentence for people.
        message: String,
    },
    /// Its caller lacks a scope or a role.
    Forbidden {
        /// A sentence for people.
        message: String,
        /// Details, by name.
        data: Map<String, Value>,
    },
    /// Its caller has exhausted a budget.
    TooMany {
        /// The exhausted budget.
        limit: Access,
        /// Seconds until the next request is accepted.
        seconds: u64,
    },
    /// The contract refused it.
    Declared(ErrorAnswer),
    /// A person must approve it first.
    Approval(Box<Proposal>),
    /// The server failed. The details contain the id under which the log reports the cause.
    Internal {
        /// Details, by name.
        data: Map<String, Value>,
    },
}

impl CallError {
    /// The message of [`CallError::Internal`], which does not reveal the cause.
    pub const INTERNAL: &'static str = "the server failed to answer; its log has details";

    /// Returns the value of `WWW-Authenticate` (RFC 6750) of a refusal with these details; `None` if the caller lacks no scope.
    pub fn challenge(data: &Value) -> Option<String> {
        let scope = data["scope"].as_str()?;
        Some(format!(r#"Bearer realm="tabellion", error="insufficient_scope", scope="{scope}""#))
    }

    /// Returns the error for an unknown `kind`.
    pub fn unknown(kind: &str, name: &str) -> Self {
        Self::NotOffered { message: format!("unknown {kind} `{}`", name.escape_debug()) }
    }

    /// Returns the error for a tool that a read-only server does not offer.
    pub(crate) fn withheld(name: &str) -> Self {
        Self::NotOffered {
            message: format!(
                "this server is read-only, so `{name}` is not offered; its operator can start it without `--read-only`"
            ),
        }
    }

    /// Returns the details of [`CallError::TooMany`].
    pub fn too_many_details(limit: Access, seconds: u64) -> Map<String, Value> {
        Map::from_iter([(LIMIT.to_owned(), limit.as_str().into()), (RETRY_AFTER.to_owned(), seconds.into())])
    }

    /// Returns the message of [`CallError::TooMany`].
    pub fn too_many(seconds: u64) -> String {
        format!("too many requests in a minute; nothing was done, try again in {seconds} s")
    }
}

/// Returns the rejection of a request with invalid conditions: the same as for invalid arguments.
pub(crate) fn invalid_conditions(spec: &ContractSpec, violations: &[Violation]) -> Rejection {
    let declared = spec.errors.iter().find(|error| error.code == INVALID_PARAMS);
    let Failure { message, data, .. } = Failure::violations(violations);
    Rejection::Declared(match declared {
        Some(error) => spec.answer(error, message, data),
        None => ErrorAnswer { name: "INVALID_PARAMS", code: INVALID_PARAMS, message, data },
    })
}
