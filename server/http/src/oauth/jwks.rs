//! Key sets of an issuer (RFC 7517), reduced to the supported keys.

use serde_json::{Map, Value};

use super::token::{self, Algorithm, Token};
use tabellion_gateway::json;

/// The reason that a text is not a usable key set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// The text is not a JSON Web Key Set.
    #[error("this is not a JSON Web Key Set (an object with an array `keys`)")]
    Form,
    /// None of its keys can be used.
    #[error("it has no public key for signatures: RSA of at least 2048 bits, P-256, P-384 or Ed25519")]
    Empty,
}

/// The keys of an issuer.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySet(Vec<Key>);

/// A key of the set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Its id (`kid`).
    id: Option<String>,
    /// The only algorithm for the key (`alg`), if specified.
    algorithm: Option<Algorithm>,
    pub(super) material: Material,
}

/// A public key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Parses a key set. Keys of other types, or for other uses, are ignored.
    ///
    /// # Errors
    /// If it is not a key set, or has no usable key.
    pub fn parse(text: &[u8]) -> Result<Self, KeySetError> {
        let Ok(Value::Object(mut set)) = json::parse(text) else {
            return Err(KeySetError::Form);
        };
        let Some(Value::Array(keys)) = set.remove("keys") else {
            return Err(KeySetError::Form);
        };
        let keys: Vec<_> = keys.iter().filter_map(Value::as_object).filter_map(key).collect();
        if keys.is_empty() { Err(KeySetError::Empty) } else { Ok(Self(keys)) }
    }

    /// Returns the keys that may have signed the token.
    pub(super) fn fitting<'a>(&'a self, token: &'a Token<'_>) -> impl Iterator<Item = &'a Key> {
        self.0.iter().filter(|key| {
            token.key.as_ref().is_none_or(|id| key.id.as_ref() == Some(id))
                && key.algorithm.is_none_or(|algorithm| algorithm == token.algorithm)
                && token.fits(&key.material)
        })
    }
}

fn key(key: &Map<String, Value>) -> Option<Key> {
    let text = |name| key.get(name).and_then(Value::as_str);
    let part = |name| text(name).and_then(|text| token::bytes(text).ok());
    let is_for_signatures = key.get("use").is_none_or(|it| it == "sig");
    let checks = |uses: &Value| uses.as_array().is_some_and(|uses| uses.iter().any(|it| it == "verify"));
    if !is_for_signatures || !key.get("key_ops").is_none_or(checks) {
        return None;
    }
    let algorithm = match key.get("alg") {
        None => None,
        Some(name) => Some(name.as_str().and_then(Algorithm::named)?),
    };
    let point = |size: usize| {
        let (x, y) = (part("x")?, part("y")?);
        (x.len() == size && y.len() == size).then(|| [&[4], &x[..], &y].concat())
    };
    let material = match (text("kty")?, text("crv")) {
        ("RSA", _) => {
            let (n, e) = (number(part("n")?), number(part("e")?));
            (n.len() >= 256).then_some(Material::Rsa { n, e })?
        }
        ("EC", Some("P-256")) => Material::P256(point(32)?),
        ("EC", Some("P-384")) => Material::P384(point(48)?),
        ("OKP", Some("Ed25519")) => Material::Ed25519(part("x").filter(|x| x.len() == 32)?),
        _ => return None,
    };
    Some(Key { id: text("kid").map(str::to_owned), algorithm, material })
}

/// Strips the leading zeros of a number's bytes.
fn number(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}
