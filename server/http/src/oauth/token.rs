//! Signed tokens in the compact form (RFC 7515, section 7.1).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use tabellion_gateway::json;

use super::error::TokenError;

/// Maximum size of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;
/// Types of access tokens: RFC 9068, section 2.1, and plain `jwt`, which some issuers use. Other types are for other
/// purposes (RFC 8725, section 3.11).
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];

/// A signature algorithm. All are asymmetric, so that a verifier can't forge tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    /// Returns the algorithm of this name (RFC 7518, 8037, 9864); `None` if it is not supported, such as `none` and `HS256`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }
}

/// A parsed token before verification. No part of it can be trusted.
pub(super) struct Token<'a> {
    pub(super) signed: &'a str,
    pub(super) payload: &'a str,
    pub(super) signature: Vec<u8>,
    pub(super) algorithm: Algorithm,
    /// Id of its key (`kid`), if specified.
    pub(super) key: Option<String>,
}

impl<'a> Token<'a> {
    /// Parses a token in the compact form.
    pub(super) fn parse(text: &'a str) -> Result<Self, TokenError> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Form);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenError::Form)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Form)?;
        if payload.contains('.') {
            return Err(TokenError::Form);
        }
        let header = object(header)?;
        let text_of = |name| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(TokenError::Form),
        };
        // `b64` would require `crit`. Keys in the header (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
        let kind = text_of("typ")?.map(str::to_ascii_lowercase);
        let is_known = kind.is_none_or(|kind| TYPES.contains(&kind.as_str()));
        if !is_known || header.contains_key("crit") {
            return Err(TokenError::Kind);
        }
        let algorithm = text_of("alg")?.ok_or(TokenError::Form)?;
        Ok(Self {
            signed,
            payload,
            signature: bytes(signature)?,
            algorithm: Algorithm::named(algorithm).ok_or(TokenError::Algorithm)?,
            key: text_of("kid")?.map(str::to_owned),
        })
    }
}

/// Decodes base64url without padding; trailing bits must be zero.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Form)
}

/// Decodes a JSON object; its names must be distinct.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, TokenError> {
    match json::parse(&bytes(text)?) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(TokenError::Form),
    }
}
