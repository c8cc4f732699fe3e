//! OAuth 2 access tokens, issued by an authorization server.
//!
//! This is the resource server's part of MCP's authorization specification (2025-11-25 and 2026-07-28): a token is a JWT
//! (RFC 7519, 9068) that the configured issuer has signed for this server (RFC 8707). Verification follows RFC 8725:
//! algorithms are on a list, a key is used only for its declared purpose, and keys in a token's header are ignored. `ring`
//! verifies signatures. Scopes have the same meaning as those of API keys ([`keys`](crate::keys)).
//!
//! ```text
//! Authorization → Token (token, jws) → KeySet (jwks ← source ← file | https) → Claims → Principal
//! ```
//!
//! The headers with tokens are the subject of `credentials`. This server issues no tokens.

mod claims;
mod error;
mod fetch;
mod jwks;
mod jws;
mod resource;
mod source;
mod token;

pub use self::{
    claims::Bearer,
    error::{AuthenticationError, TokenError},
};
#[cfg(test)]
pub(crate) mod tests;

use std::time::{SystemTime, UNIX_EPOCH};

use self::{claims::Claims, token::Token};

pub use jwks::{KeySet, KeySetError};
pub(crate) use resource::WELL_KNOWN;
pub use resource::{Issuer, PublicUrl, UrlError};
pub use source::{PollingLimits, Source, SourceError};

/// The tokens of one issuer.
#[derive(Debug)]
pub struct Tokens {
    issuer: Issuer,
    audiences: Vec<String>,
    source: Source,
}

impl Tokens {
    /// Accepts tokens that `issuer` signs with the keys of `source`, for the requested resource or one of `audiences`.
    pub fn new(issuer: Issuer, audiences: Vec<String>, source: Source) -> Self {
        Self { issuer, audiences, source }
    }

    /// Returns the issuer's URL.
    pub fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// Returns true if the issuer's keys are known.
    pub fn is_ready(&self) -> bool {
        self.source.current().is_some()
    }

    /// Fetches the issuer's keys regularly; never returns.
    pub async fn keep_fresh(&self) {
        self.source.keep_fresh().await;
    }

    /// Verifies a token, which must be issued for one of the URIs `resources`.
    ///
    /// # Errors
    /// If it is invalid, or the issuer's keys are unknown.
    pub async fn bearer(&self, token: &str, resources: &[String]) -> Result<Bearer, AuthenticationError> {
        let token = Token::parse(token)?;
        let mut keys = self.source.current();
        if keys.as_ref().is_none_or(|keys| keys.fitting(&token).next().is_none()) {
            // The issuer may have a new key.
            keys = self.source.again(keys).await;
        }
        let keys = keys.ok_or(AuthenticationError::NoKeys)?;
        let payload = token.payload_signed_by(keys.fitting(&token))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let accepted = resources.iter().chain(&self.audiences);
        let claims = Claims::check(payload, self.issuer.as_str(), accepted, now)?;
        Ok(claims.bearer(self.issuer.as_str()))
    }
}
