//! API keys, and the permissions of keys and access tokens.
//!
//! An API key is a secret of 256 random bits with the name of its owner, who is recorded as the author of
//! commits made with it. It is shown once, when it is created; the file of keys contains only its SHA-256.
//! One round is enough, because a random secret of that length can't be guessed. A [`Scope`] is a permission
//! of a key. [`KeyRing`] reads the file again when it changes, so that revoking a key takes effect at once.
//!
//! The headers with keys are the subject of `credentials`, access tokens that of [`oauth`](crate::oauth).

mod api_key;
mod file;
mod ring;
mod scope;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::SystemTime};

use tabellion_gateway::{Access, Grant};
use tabellion_runtime::{Agent, Author, Identity, spec::ScopeWord};

pub use api_key::ApiKey;
pub use file::{KeyFile, KeyFileError, StoredKey};
pub(crate) use file::{is_email, is_name};
pub use ring::KeyRing;
pub use scope::{Scope, ScopeError};

/// The owner of a key or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The identity of its calls, without the agent.
    pub identity: Identity,
    /// Author name of the principal's commits.
    pub name: String,
    /// Author address of the principal's commits.
    pub email: String,
    /// Permissions of the key or token.
    pub scopes: Vec<Scope>,
    /// The org, the user and the agent of its calls, if specified.
    pub bound: Bound,
}

/// The org and the user of calls with a key, for contracts that keep them as rows, and the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bound {
    /// Id of the only org that the calls can access.
    pub org: Option<String>,
    /// Id of the user who makes the calls.
    pub user: Option<String>,
    /// The agent that makes the calls; `None` if a person does.
    pub agent: Option<Agent>,
}

impl Principal {
    /// Returns the principal's permissions in the library of this name; `None` if no scope covers that library.
    pub fn grant_at(self: &Arc<Self>, library: &str, validity: Validity) -> Option<KeyGrant> {
        let scopes = self.scopes.iter().filter(|scope| scope.covers(library));
        let scopes: Vec<_> = scopes.cloned().collect();
        (!scopes.is_empty()).then(|| KeyGrant { principal: self.clone(), scopes, validity })
    }
}

/// Validity of a key or a token.
#[derive(Debug, Clone)]
pub enum Validity {
    /// As long as the key is in the ring.
    WhileKeyExists(Arc<KeyRing>),
    /// Until a point in time.
    Until(SystemTime),
}

/// Permissions of a key or a token in one library.
#[derive(Debug, Clone)]
pub struct KeyGrant {
    /// The owner of the key or token.
    pub principal: Arc<Principal>,
    scopes: Vec<Scope>,
    validity: Validity,
}

impl Grant for KeyGrant {
    fn identity(&self) -> &Identity {
        &self.principal.identity
    }

    fn author(&self) -> Author {
        Author { name: self.principal.name.clone(), email: self.principal.email.clone() }
    }

    fn org(&self) -> Option<&str> {
        self.principal.bound.org.as_deref()
    }

    fn user(&self) -> Option<&str> {
        self.principal.bound.user.as_deref()
    }

    fn agent(&self) -> Option<Agent> {
        self.principal.bound.agent.clone()
    }

    fn allows(&self, contract: &str, access: Access) -> bool {
        self.scopes.iter().any(|scope| scope.allows(contract, access))
    }

    fn scopes(&self, contract: &str) -> Vec<ScopeWord> {
        let scopes = self.scopes.iter().filter(|scope| scope.names_contract(contract));
        scopes.map(Scope::word).collect()
    }

    fn is_valid(&self) -> bool {
        match &self.validity {
            Validity::WhileKeyExists(ring) => ring.has(&self.principal),
            Validity::Until(end) => SystemTime::now() < *end,
        }
    }
}
