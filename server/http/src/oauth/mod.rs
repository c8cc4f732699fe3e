//! OAuth 2 access tokens: who calls over HTTP, as an authorization server says it.
//!
//! This is the resource server's part of MCP's authorization specification (2025-11-25 and 2026-07-28): a token is a JWT
//! (RFC 7519, 9068) that the one issuer has signed for exactly this server (RFC 8707). It is checked as RFC 8725 wants it:
//! algorithms are those of a list, a key is only used for what it is made for, nothing that a token says of its own keys
//! is listened to. Signatures are `ring`'s business. What the scopes of a token allow is what those of an API key allow
//! ([`keys`](crate::keys)).
//!
//! ```text
//! Authorization → Token (jws) → KeySet (jwks ← source ← file | https) → Claims → Principal
//! ```
//!
//! How a token is sent and asked for is HTTP's business. Tokens are not made here.

mod claims;
mod fetch;
mod jwks;
mod jws;
mod resource;
mod source;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use self::{claims::Claims, jws::Token};
use crate::keys::Principal;

pub use jwks::{BadSet, KeySet};
pub(crate) use resource::WELL_KNOWN;
pub use resource::{BadUrl, Issuer, PublicUrl};
pub use source::{Pace, Source, Unavailable};

/// How far the clocks of an issuer and of this machine may be apart.
const LEEWAY: Duration = Duration::from_secs(30);

/// Why a token is not good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// Not a signed JWT in the compact form.
    #[error("this is no access token")]
    Form,
    /// It needs something that is not known here (`crit`), or is for something else (`typ`).
    #[error("this kind of token is not served here")]
    Kind,
    /// Signed with something that is not allowed, or with nothing.
    #[error("tokens signed in this way are not served here")]
    Algorithm,
    /// Its key is none of the issuer's.
    #[error("the token is signed with a key that its issuer does not have")]
    Key,
    /// The signature is another one.
    #[error("the token's signature is not good")]
    Signature,
    /// Somebody else made it.
    #[error("the token has another issuer")]
    Issuer,
    /// It is for somebody else.
    #[error("the token is not for this server")]
    Audience,
    /// It was good.
    #[error("the token has expired")]
    Expired,
    /// It will be good.
    #[error("the token is not good yet")]
    Early,
    /// Whoever sends it would have to prove that it is theirs, by means that are not served (`cnf`).
    #[error("the token is bound to a key, which is not served here")]
    Bound,
}

/// Why a token has nobody.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// It is not good.
    #[error(transparent)]
    Bad(#[from] BadToken),
    /// Nobody can say whether it is.
    #[error("the issuer's keys could not be had yet; try again")]
    NoKeys,
}

/// Whoever sent a token, and how long it is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// Who it is, and what they may do.
    pub principal: Arc<Principal>,
    /// When the token is no longer good.
    pub until: SystemTime,
}

/// The tokens of one issuer.
#[derive(Debug)]
pub struct Tokens {
    issuer: Issuer,
    audiences: Vec<String>,
    source: Source,
}

impl Tokens {
    /// Those that `issuer` signs with the keys of `source`: for the resource that is called, or for one of `audiences`.
    pub fn new(issuer: Issuer, audiences: Vec<String>, source: Source) -> Self {
        Self {
            issuer,
            audiences,
            source,
        }
    }

    /// Who makes them.
    pub fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// Whether the issuer's keys were ever had.
    pub fn is_ready(&self) -> bool {
        self.source.current().is_some()
    }

    /// Keeps the issuer's keys fresh, for ever.
    pub async fn keep_fresh(&self) {
        self.source.keep_fresh().await;
    }

    /// Who sends this token, which must be for one of the URIs `resources`.
    ///
    /// # Errors
    /// When it is not good, or when the issuer's keys were never had.
    pub async fn bearer(&self, token: &str, resources: &[String]) -> Result<Bearer, Denied> {
        let token = Token::parse(token)?;
        let mut keys = self.source.current();
        if keys
            .as_ref()
            .is_none_or(|keys| keys.fitting(&token).next().is_none())
        {
            // The issuer may have a new key.
            keys = self.source.again(keys).await;
        }
        let keys = keys.ok_or(Denied::NoKeys)?;
        let payload = token.payload_signed_by(keys.fitting(&token))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let accepted = resources.iter().chain(&self.audiences);
        let claims = Claims::check(payload, self.issuer.as_str(), accepted, now)?;
        Ok(claims.bearer())
    }
}
