//! Errors of tokens.

use std::time::Duration;

/// Permitted difference between the issuer's clock and this machine's.
pub(super) const LEEWAY: Duration = Duration::from_secs(30);

/// The reason that a token is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a signed JWT in the compact form.
    #[error("this is not an access token")]
    Form,
    /// It has critical headers (`crit`), or another type (`typ`).
    #[error("this kind of token is not accepted here")]
    Kind,
    /// The algorithm is not accepted, or there is no signature.
    #[error("tokens with this signature algorithm are not accepted here")]
    Algorithm,
    /// The key is not one of the issuer's.
    #[error("the token is signed with a key that its issuer does not have")]
    Key,
    /// The signature does not verify.
    #[error("the token's signature is invalid")]
    Signature,
    /// The token has another issuer.
    #[error("the token has another issuer")]
    Issuer,
    /// It was issued for another server.
    #[error("the token is not for this server")]
    Audience,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    Early,
    /// It requires proof of possession of a key (`cnf`), which is not supported.
    #[error("the token is bound to a key, which is not supported here")]
    Bound,
}

/// The reason that a token does not authenticate its sender.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// The token is invalid.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The issuer's keys are not known yet.
    #[error("the issuer's keys could not be fetched yet; try again")]
    NoKeys,
}
