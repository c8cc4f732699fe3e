//! A key as its holder has it.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// What keys begin with, so that people and scanners know one when they see it.
const MARK: &str = "tbl";
const ID_DIGITS: usize = 16;
const SECRET_DIGITS: usize = 64;

/// A key as its holder has it: `tbl_ID_SECRET`, both in hexadecimal. It is not shown by mistake.
pub struct Secret {
    id: String,
    secret: String,
}

impl Secret {
    /// A new one, which nobody can guess.
    pub fn random() -> Self {
        let mut bytes = [0; (ID_DIGITS + SECRET_DIGITS) / 2];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        let (id, secret) = bytes.split_at(ID_DIGITS / 2);
        Self {
            id: HEXLOWER.encode(id),
            secret: HEXLOWER.encode(secret),
        }
    }

    /// Reads one; `None` where that is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(MARK)?.strip_prefix('_')?.split_once('_')?;
        let is_hex = |text: &str, digits| {
            text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        (is_hex(id, ID_DIGITS) && is_hex(secret, SECRET_DIGITS)).then(|| Self {
            id: id.into(),
            secret: secret.into(),
        })
    }

    /// Which key it claims to be. That part is no secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is kept of it.
    pub fn digest(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(self.secret.as_bytes()))
    }

    /// Whether that is what was kept of it. How long this takes says nothing of where they differ.
    pub fn is_of(&self, digest: &str) -> bool {
        self.digest().as_bytes().ct_eq(digest.as_bytes()).into()
    }

    /// The whole key, for its holder.
    pub fn reveal(&self) -> String {
        format!("{MARK}_{}_{}", self.id, self.secret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}_{}_…", self.id)
    }
}
