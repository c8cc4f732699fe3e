//! Verification of signed tokens.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};

use super::{
    error::TokenError,
    jwks::{Key, Material},
    token::{Algorithm, Token, object},
};

impl Algorithm {
    /// Returns the verifier for this key; `None` if the key is for another algorithm.
    fn verifier(self, material: &Material) -> Option<Verifier<'_>> {
        let rsa: &'static RsaParameters = match (self, material) {
            (Self::Rs256, Material::Rsa { .. }) => &RSA_PKCS1_2048_8192_SHA256,
            (Self::Rs384, Material::Rsa { .. }) => &RSA_PKCS1_2048_8192_SHA384,
            (Self::Rs512, Material::Rsa { .. }) => &RSA_PKCS1_2048_8192_SHA512,
            (Self::Ps256, Material::Rsa { .. }) => &RSA_PSS_2048_8192_SHA256,
            (Self::Ps384, Material::Rsa { .. }) => &RSA_PSS_2048_8192_SHA384,
            (Self::Ps512, Material::Rsa { .. }) => &RSA_PSS_2048_8192_SHA512,
            (Self::Es256, Material::P256(point)) => {
                return Some(Verifier::Point(&ECDSA_P256_SHA256_FIXED, point));
            }
            (Self::Es384, Material::P384(point)) => {
                return Some(Verifier::Point(&ECDSA_P384_SHA384_FIXED, point));
            }
            (Self::EdDsa, Material::Ed25519(point)) => return Some(Verifier::Point(&ED25519, point)),
            _ => return None,
        };
        let Material::Rsa { n, e } = material else {
            return None;
        };
        Some(Verifier::Rsa(rsa, RsaPublicKeyComponents { n, e }))
    }
}

/// A key, ready to verify a signature.
enum Verifier<'a> {
    Rsa(&'static RsaParameters, RsaPublicKeyComponents<&'a [u8]>),
    Point(&'static dyn VerificationAlgorithm, &'a [u8]),
}

impl Token<'_> {
    /// Returns true if the algorithm can use a key of this material.
    pub(super) fn fits(&self, material: &Material) -> bool {
        self.algorithm.verifier(material).is_some()
    }

    /// Returns the payload if one of these keys signed it.
    pub(super) fn payload_signed_by<'k>(
        &self,
        keys: impl Iterator<Item = &'k Key>,
    ) -> Result<Map<String, Value>, TokenError> {
        let mut why = TokenError::Key;
        for key in keys {
            if self.is_signed_with(&key.material) {
                return object(self.payload);
            }
            why = TokenError::Signature;
        }
        Err(why)
    }

    fn is_signed_with(&self, material: &Material) -> bool {
        let signed = self.signed.as_bytes();
        match self.algorithm.verifier(material) {
            Some(Verifier::Rsa(parameters, key)) => key.verify(parameters, signed, &self.signature).is_ok(),
            Some(Verifier::Point(algorithm, point)) => {
                let key = UnparsedPublicKey::new(algorithm, point);
                key.verify(signed, &self.signature).is_ok()
            }
            None => false,
        }
    }
}
