//! A signed token in the compact form (RFC 7515, section 7.1), and whether one of an issuer's keys signed it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};

use super::{
    BadToken,
    jwks::{Key, Material},
};
use tabellion_mcp::json;

/// The longest token, in bytes.
const LONGEST: usize = 16 << 10;
/// What tokens for resource servers call themselves (RFC 9068, section 2.1), and what they are called where an issuer
/// doesn't know better. Other kinds of JWT are made for others (RFC 8725, section 3.11).
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];

/// How a token is signed. All of these are asymmetric: whoever can check a token can't make one.
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
    /// By its name (RFC 7518, 8037, 9864); `None` for one that is not served, such as `none` and `HS256`.
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

    /// How it is checked with this key; `None` where the key is for others.
    fn check(self, material: &Material) -> Option<Check<'_>> {
        let rsa: &'static RsaParameters = match (self, material) {
            (Self::Rs256, Material::Rsa { .. }) => &RSA_PKCS1_2048_8192_SHA256,
            (Self::Rs384, Material::Rsa { .. }) => &RSA_PKCS1_2048_8192_SHA384,
            (Self::Rs512, Material::Rsa { .. }) => &RSA_PKCS1_2048_8192_SHA512,
            (Self::Ps256, Material::Rsa { .. }) => &RSA_PSS_2048_8192_SHA256,
            (Self::Ps384, Material::Rsa { .. }) => &RSA_PSS_2048_8192_SHA384,
            (Self::Ps512, Material::Rsa { .. }) => &RSA_PSS_2048_8192_SHA512,
            (Self::Es256, Material::P256(point)) => {
                return Some(Check::Point(&ECDSA_P256_SHA256_FIXED, point));
            }
            (Self::Es384, Material::P384(point)) => {
                return Some(Check::Point(&ECDSA_P384_SHA384_FIXED, point));
            }
            (Self::EdDsa, Material::Ed25519(point)) => return Some(Check::Point(&ED25519, point)),
            _ => return None,
        };
        let Material::Rsa { n, e } = material else {
            return None;
        };
        Some(Check::Rsa(rsa, RsaPublicKeyComponents { n, e }))
    }
}

/// A way to check a signature.
enum Check<'a> {
    Rsa(&'static RsaParameters, RsaPublicKeyComponents<&'a [u8]>),
    Point(&'static dyn VerificationAlgorithm, &'a [u8]),
}

/// A token that nobody has checked. Nothing that it says is known to be true.
pub(super) struct Token<'a> {
    signed: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
    pub(super) algorithm: Algorithm,
    /// The name of its key, if it says one.
    pub(super) key: Option<String>,
}

impl<'a> Token<'a> {
    /// Takes one apart.
    pub(super) fn parse(text: &'a str) -> Result<Self, BadToken> {
        if text.len() > LONGEST {
            return Err(BadToken::Form);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(BadToken::Form)?;
        let (header, payload) = signed.split_once('.').ok_or(BadToken::Form)?;
        if payload.contains('.') {
            return Err(BadToken::Form);
        }
        let header = object(header)?;
        let text_of = |name| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(BadToken::Form),
        };
        // `b64` would need `crit`. Keys that a token brings along (`jwk`, `jku`, `x5c`, `x5u`) are never looked at.
        let kind = text_of("typ")?.map(str::to_ascii_lowercase);
        let is_known = kind.is_none_or(|kind| TYPES.contains(&kind.as_str()));
        if !is_known || header.contains_key("crit") {
            return Err(BadToken::Kind);
        }
        let algorithm = text_of("alg")?.ok_or(BadToken::Form)?;
        Ok(Self {
            signed,
            payload,
            signature: bytes(signature)?,
            algorithm: Algorithm::named(algorithm).ok_or(BadToken::Algorithm)?,
            key: text_of("kid")?.map(str::to_owned),
        })
    }

    /// Whether it can have been signed with a key of this material.
    pub(super) fn fits(&self, material: &Material) -> bool {
        self.algorithm.check(material).is_some()
    }

    /// What it says, if one of these keys signed it.
    pub(super) fn payload_signed_by<'k>(
        &self,
        keys: impl Iterator<Item = &'k Key>,
    ) -> Result<Map<String, Value>, BadToken> {
        let mut why = BadToken::Key;
        for key in keys {
            if self.is_signed_with(&key.material) {
                return object(self.payload);
            }
            why = BadToken::Signature;
        }
        Err(why)
    }

    fn is_signed_with(&self, material: &Material) -> bool {
        let signed = self.signed.as_bytes();
        match self.algorithm.check(material) {
            Some(Check::Rsa(parameters, key)) => key.verify(parameters, signed, &self.signature).is_ok(),
            Some(Check::Point(algorithm, point)) => {
                let key = UnparsedPublicKey::new(algorithm, point);
                key.verify(signed, &self.signature).is_ok()
            }
            None => false,
        }
    }
}

/// Bytes in the URL's base64, without padding and with no bit too many.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, BadToken> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| BadToken::Form)
}

/// An object in which no name is there twice.
fn object(text: &str) -> Result<Map<String, Value>, BadToken> {
    match json::parse(&bytes(text)?) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(BadToken::Form),
    }
}
