//! Who makes a request and what they may do, as far as MCP needs to know it.
//!
//! A transport that authenticates its callers passes a [`Grant`] and a [`Budget`] with each request. How a caller is
//! authenticated, and where a budget is kept, is the transport's.

use std::{fmt, sync::Arc, time::Duration};

use tabellion_runtime::Author;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It reads.
    Read,
    /// It changes something. A caller that may write may read as well.
    Write,
}

impl Access {
    /// Returns the access as scopes spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What an authenticated caller may do in one library.
pub trait Grant: fmt::Debug + Send + Sync {
    /// Returns the caller's id, which is no secret and the same in all of the caller's requests.
    fn id(&self) -> &str;

    /// Returns the author of commits that the caller makes.
    fn author(&self) -> Author;

    /// Returns whether the caller has this access to the contract.
    fn allows(&self, contract: &str, access: Access) -> bool;

    /// Returns whether the grant is still valid: neither expired nor revoked.
    fn is_valid(&self) -> bool;
}

/// How many requests a caller may still make.
pub trait Budget: fmt::Debug + Send + Sync {
    /// Returns the name that the caller is counted under.
    fn caller(&self) -> &Arc<str>;

    /// Counts one request.
    ///
    /// # Errors
    /// The time to wait before the caller may make it.
    fn take(&self, access: Access) -> Result<(), Duration>;
}
