//! API keys, with their secrets.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Prefix of keys, by which people and secret scanners recognise them.
const PREFIX: &str = "tbl";
const ID_DIGITS: usize = 16;
const SECRET_DIGITS: usize = 64;

/// A key with its secret: `tbl_ID_SECRET`, both in hexadecimal. Its `Debug` output leaves out the secret.
pub struct ApiKey {
    id: String,
    secret: String,
}

impl ApiKey {
    /// Returns a new random key.
    pub fn random() -> Self {
        let mut bytes = [0; (ID_DIGITS + SECRET_DIGITS) / 2];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        let (id, secret) = bytes.split_at(ID_DIGITS / 2);
        Self { id: HEXLOWER.encode(id), secret: HEXLOWER.encode(secret) }
    }

    /// Parses a key; `None` if `text` is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
        let is_hex = |text: &str, digits| {
            text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        (is_hex(id, ID_DIGITS) && is_hex(secret, SECRET_DIGITS))
            .then(|| Self { id: id.into(), secret: secret.into() })
    }

    /// Returns the key's id, which is not secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the SHA-256 of the secret, in hexadecimal, as in the file of keys.
    pub fn digest(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(self.secret.as_bytes()))
    }

    /// Returns true if the secret has this digest, in constant time.
    pub fn matches(&self, digest: &str) -> bool {
        self.digest().as_bytes().ct_eq(digest.as_bytes()).into()
    }

    /// Returns the whole key, to show it to its owner.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}_{}_{}", self.id, self.secret)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}_{}_…", self.id)
    }
}
