//! API keys: who may call over HTTP, and what.
//!
//! A key is a secret of 256 random bits with a name, which becomes the author of what it changes. It is shown once, when it
//! is made; the file has its hash only. As nobody can guess such a secret, one round of SHA-256 is enough to hide
//! it. A [scope](Scope) says what a key may do; [`Ring`] knows who calls, and reads the file again when it has changed, so
//! that a revoked key is of no use from then on.
//!
//! What `Authorization` and `X-API-Key` look like is HTTP's business; this knows keys as texts.

mod command;
mod file;
mod ring;
mod scope;
mod secret;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use command::{KeyCommand, run};
pub use file::{KeyFile, Trouble};
pub use ring::Ring;
pub use scope::{Access, BadScope, Scope};
pub use secret::Secret;

/// Whoever has a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The key's id. It is no secret.
    pub id: String,
    /// What the holder is called.
    pub name: String,
    /// The address that commits of theirs have.
    pub email: String,
    /// What the key is good for.
    pub scopes: Vec<Scope>,
}

impl Holder {
    /// What the key is good for in the library of this name; `None` where that is nothing.
    pub fn at(self: &Arc<Self>, library: &str) -> Option<Grant> {
        let scopes = self.scopes.iter().filter(|scope| scope.is_at(library));
        let scopes: Vec<_> = scopes.cloned().collect();
        (!scopes.is_empty()).then(|| Grant {
            holder: self.clone(),
            scopes,
        })
    }
}

/// What a key is good for in one library.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Whoever has it.
    pub holder: Arc<Holder>,
    scopes: Vec<Scope>,
}

impl Grant {
    /// Whether it is good for this, in the contract of that id.
    pub fn allows(&self, contract: &str, access: Access) -> bool {
        self.scopes.iter().any(|scope| scope.allows(contract, access))
    }
}
