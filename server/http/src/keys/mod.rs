//! Who may call over HTTP, and what; and API keys, one way to say who it is.
//!
//! A key is a secret of 256 random bits with a name, which becomes the author of what it changes. It is shown once, when it
//! is made; the file has its hash only. As nobody can guess such a secret, one round of SHA-256 is enough to hide
//! it. A [scope](Scope) says what a key may do; [`Ring`] knows who calls, and reads the file again when it has changed, so
//! that a revoked key is of no use from then on.
//!
//! What `Authorization` and `X-API-Key` look like is HTTP's business; this knows keys as texts. Access tokens, the other way,
//! are [`oauth`](crate::oauth)'s; what they allow is said here too.

mod file;
mod ring;
mod scope;
mod secret;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::SystemTime};

use tabellion_mcp::{Access, Grant};
use tabellion_runtime::Author;

pub use file::{Entry, KeyFile, Trouble};
pub(crate) use file::{is_email, is_name};
pub use ring::Ring;
pub use scope::{BadScope, Scope};
pub use secret::Secret;

/// Whoever has a key or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The key's id, or whose token it is. It is no secret.
    pub id: String,
    /// What the holder is called.
    pub name: String,
    /// The address that commits of theirs have.
    pub email: String,
    /// What it is good for.
    pub scopes: Vec<Scope>,
}

impl Holder {
    /// What it is good for in the library of this name, while it has that standing; `None` where that is nothing.
    pub fn at(self: &Arc<Self>, library: &str, standing: Standing) -> Option<KeyGrant> {
        let scopes = self.scopes.iter().filter(|scope| scope.is_at(library));
        let scopes: Vec<_> = scopes.cloned().collect();
        (!scopes.is_empty()).then(|| KeyGrant {
            holder: self.clone(),
            scopes,
            standing,
        })
    }
}

/// For how long something is good.
#[derive(Debug, Clone)]
pub enum Standing {
    /// As long as the key is in its file.
    Key(Arc<Ring>),
    /// Until that time.
    Until(SystemTime),
}

/// What a key or a token is good for in one library.
#[derive(Debug, Clone)]
pub struct KeyGrant {
    /// Whoever has it.
    pub holder: Arc<Holder>,
    scopes: Vec<Scope>,
    standing: Standing,
}

impl Grant for KeyGrant {
    fn id(&self) -> &str {
        &self.holder.id
    }

    fn author(&self) -> Author {
        Author {
            name: self.holder.name.clone(),
            email: self.holder.email.clone(),
        }
    }

    fn allows(&self, contract: &str, access: Access) -> bool {
        self.scopes.iter().any(|scope| scope.allows(contract, access))
    }

    fn is_valid(&self) -> bool {
        match &self.standing {
            Standing::Key(ring) => ring.has(&self.holder),
            Standing::Until(end) => SystemTime::now() < *end,
        }
    }
}
