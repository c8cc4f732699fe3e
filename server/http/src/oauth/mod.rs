//! OAuth 2 access tokens, issued by an authorization server.
//!
//! This is the resource server's part of MCP's authorization specification (2025-11-25 and 2026-07-28): a token is a JWT (RFC
//! 7519, 9068) that the configured issuer signed for exactly this server (RFC 8707). It is verified as RFC 8725 requires:
//! with algorithms of an allow-list, each key only for its purpose, ignoring what the token says about its own keys. `ring`
//! verifies signatures. Scopes are those of API keys ([`keys`](crate::keys)).
//!
//! ```text
//! Authorization → Token (jws) → KeySet (jwks ← source ← file | https) → Claims → Principal
//! ```
//!
//! `credentials` reads tokens from requests and answers requests without one. Tokens are not issued
//! here.

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

pub use jwks::{KeySet, KeySetError};
pub(crate) use resource::WELL_KNOWN;
pub use resource::{Issuer, PublicUrl, UrlError};
pub use source::{FetchIntervals, Source, SourceError};

/// Tolerated difference between the clocks of the issuer and of this machine.
const LEEWAY: Duration = Duration::from_secs(30);

/// Why a token is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a signed JWT in the compact form.
    #[error("not an access token")]
    Form,
    /// It requires an unsupported extension (`crit`), or is for another purpose (`typ`).
    #[error("this kind of token is not supported")]
    Kind,
    /// The algorithm is not permitted, or there is no signature.
    #[error("tokens with this signature algorithm are not supported")]
    Algorithm,
    /// The issuer has no such key.
    #[error("the token is signed with a key that its issuer does not have")]
    Key,
    /// The signature does not verify.
    #[error("the token's signature does not verify")]
    Signature,
    /// The issuer is not the configured one.
    #[error("the token is from a different issuer")]
    Issuer,
    /// The audience is not this server.
    #[error("the token is not for this server")]
    Audience,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet")]
    Early,
    /// The token is bound to a client's key (`cnf`), which is not supported.
    #[error("the token is bound to a client's key, which is not supported")]
    Bound,
}

/// Why a token is rejected.
#[derive(Debug, thiserror::Error)]
pub enum RejectedToken {
    /// The token is invalid.
    #[error(transparent)]
    Invalid(#[from] TokenError),
    /// The token can't be verified, because the issuer's keys were never fetched.
    #[error("the issuer's keys could not be fetched yet; try again")]
    NoKeys,
}

/// The bearer of a token, and its expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// Identity and permissions.
    pub principal: Arc<Principal>,
    /// Expiry of the token.
    pub until: SystemTime,
}

/// Verifies the tokens of one issuer.
#[derive(Debug)]
pub struct Tokens {
    issuer: Issuer,
    audiences: Vec<String>,
    source: Source,
}

impl Tokens {
    /// Accepts tokens that `issuer` signs with the keys of `source`, for the called resource or for one of `audiences`.
    pub fn new(issuer: Issuer, audiences: Vec<String>, source: Source) -> Self {
        Self {
            issuer,
            audiences,
            source,
        }
    }

    /// Returns the issuer.
    pub fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// Returns true if the issuer's keys are known.
    pub fn is_ready(&self) -> bool {
        self.source.current().is_some()
    }

    /// Refreshes the issuer's keys for ever.
    pub async fn keep_fresh(&self) {
        self.source.keep_fresh().await;
    }

    /// Returns the bearer of a token, which must be for one of the URIs `resources`.
    ///
    /// # Errors
    /// If the token is invalid, or if the issuer's keys were never fetched.
    pub async fn bearer(&self, token: &str, resources: &[String]) -> Result<Bearer, RejectedToken> {
        let token = Token::parse(token)?;
        let mut keys = self.source.current();
        if keys
            .as_ref()
            .is_none_or(|keys| keys.fitting(&token).next().is_none())
        {
            // The issuer may have a new key.
            keys = self.source.refetch(keys).await;
        }
        let keys = keys.ok_or(RejectedToken::NoKeys)?;
        let payload = token.payload_signed_by(keys.fitting(&token))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let accepted = resources.iter().chain(&self.audiences);
        let claims = Claims::check(payload, self.issuer.as_str(), accepted, now)?;
        Ok(claims.bearer())
    }
}
