//! The caller of a request and its permissions.
//!
//! A transport that authenticates its callers passes a [`Grant`] and a [`Budget`] with each request. The
//! transport determines the method of authentication and the place of budgets.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tabellion_runtime::{Agent, Author, Identity, ToolSpec, spec::ScopeWord};

/// The kind of access that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reads only.
    Read,
    /// Changes data. Write access includes read access.
    Write,
}

impl Access {
    /// Returns the access that a call of `tool` needs. A call that selects no operation is refused to any caller.
    pub fn needed_by(tool: &'static ToolSpec, arguments: &Map<String, Value>) -> Self {
        match tool.operation_of(arguments) {
            Some(operation) if operation.mutating => Self::Write,
            _ => Self::Read,
        }
    }

    /// Returns the access as written in scopes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// The permissions of an authenticated caller in one library.
pub trait Grant: fmt::Debug + Send + Sync {
    /// Returns the caller's identity, without the agent. It is not secret, and the same in all of the caller's requests.
    fn identity(&self) -> &Identity;

    /// Returns the author of the caller's commits.
    fn author(&self) -> Author;

    /// Returns the org that the caller is bound to, for contracts that keep orgs as rows.
    fn org(&self) -> Option<&str> {
        None
    }

    /// Returns the caller's user, for contracts that keep users as rows.
    fn user(&self) -> Option<&str> {
        None
    }

    /// Returns the calling agent; `None` if a person calls.
    fn agent(&self) -> Option<Agent> {
        None
    }

    /// Returns true if the caller has this access to the contract.
    fn allows(&self, contract: &str, access: Access) -> bool;

    /// Returns the permissions of the caller's key or token in the contract.
    fn scopes(&self, contract: &str) -> Vec<ScopeWord> {
        let words = [(Access::Write, ScopeWord::Write), (Access::Read, ScopeWord::Read)];
        let allowed = words.into_iter().filter(|(access, _)| self.allows(contract, *access));
        allowed.map(|(_, word)| word).collect()
    }

    /// Returns true if the grant is neither expired nor revoked.
    fn is_valid(&self) -> bool;
}

/// The number of requests that a caller can still make.
pub trait Budget: fmt::Debug + Send + Sync {
    /// Returns the name under which the caller's requests are counted.
    fn caller(&self) -> &Arc<str>;

    /// Counts one request.
    ///
    /// # Errors
    /// Returns the time to wait if the caller has exhausted its budget.
    fn take(&self, access: Access) -> Result<(), Duration>;
}
