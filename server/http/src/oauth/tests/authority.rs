//! A fake authorization server: a key set and tokens.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa::{KeyPairComponents, PublicKeyComponents},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
        RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
    },
};
use serde_json::{Value, json};

/// The issuer's identifier.
pub(crate) const ISSUER: &str = "https://login.example/tenant";

/// All algorithms, each with the name of its key.
pub(crate) const ALGORITHMS: [(&str, &str); 10] = [
    ("RS256", "rsa"),
    ("RS384", "rsa"),
    ("RS512", "rsa"),
    ("PS256", "rsa"),
    ("PS384", "rsa"),
    ("PS512", "rsa"),
    ("ES256", "p256"),
    ("ES384", "p384"),
    ("EdDSA", "ed"),
    ("Ed25519", "ed"),
];

/// An authorization server with a key of each kind. The RSA key is that of RFC 7515, appendix A.2.
pub(crate) struct Authority {
    ed: Ed25519KeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    rsa: RsaKeyPair,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ec = |algorithm: &'static EcdsaSigningAlgorithm| {
            let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap()
        };
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            p256: ec(&ECDSA_P256_SHA256_FIXED_SIGNING),
            p384: ec(&ECDSA_P384_SHA384_FIXED_SIGNING),
            rsa: rsa(),
        }
    }

    /// Its public keys.
    pub(crate) fn keys(&self) -> Value {
        let point = |name: &str, curve: &str, key: &EcdsaKeyPair| {
            let (x, y) = key.public_key().as_ref()[1..].split_at(key.public_key().as_ref().len() / 2);
            json!({ "kty": "EC", "kid": name, "crv": curve, "x": encoded(x), "y": encoded(y), "use": "sig" })
        };
        let rsa = rfc7515();
        json!({ "keys": [
            { "kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": encoded(self.ed.public_key().as_ref()) },
            point("p256", "P-256", &self.p256),
            point("p384", "P-384", &self.p384),
            { "kty": "RSA", "kid": "rsa", "n": rsa["n"], "e": rsa["e"], "key_ops": ["verify"] },
            { "kty": "oct", "kid": "secret", "k": "c2VjcmV0" },
        ] })
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(&json!({ "alg": "EdDSA", "kid": "ed", "typ": "at+jwt" }).to_string(), &claims.to_string())
    }

    /// A token with this header, signed with its algorithm's key; with the Ed25519 key if the algorithm is unknown.
    pub(crate) fn sign(&self, header: &str, payload: &str) -> String {
        let signed = format!("{}.{}", encoded(header.as_bytes()), encoded(payload.as_bytes()));
        let says: Value = serde_json::from_str(header).unwrap_or_default();
        let (random, bytes) = (SystemRandom::new(), signed.as_bytes());
        let rsa = |encoding: &'static dyn RsaEncoding| {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(encoding, &random, bytes, &mut signature).unwrap();
            signature
        };
        let signature = match says["alg"].as_str().unwrap_or_default() {
            "RS256" => rsa(&RSA_PKCS1_SHA256),
            "RS384" => rsa(&RSA_PKCS1_SHA384),
            "RS512" => rsa(&RSA_PKCS1_SHA512),
            "PS256" => rsa(&RSA_PSS_SHA256),
            "PS384" => rsa(&RSA_PSS_SHA384),
            "PS512" => rsa(&RSA_PSS_SHA512),
            "ES256" => self.p256.sign(&random, bytes).unwrap().as_ref().to_vec(),
            "ES384" => self.p384.sign(&random, bytes).unwrap().as_ref().to_vec(),
            "none" => vec![],
            _ => self.ed.sign(bytes).as_ref().to_vec(),
        };
        format!("{signed}.{}", encoded(&signature))
    }
}

/// Returns the claims of a valid token for `resource` with these scopes.
pub(crate) fn claims(resource: &str, scope: &str) -> Value {
    json!({
        "iss": ISSUER,
        "aud": resource,
        "exp": now() + 300,
        "sub": "ada",
        "client_id": "agent",
        "scope": scope,
    })
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

pub(super) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The key of RFC 7515, appendix A.2.
pub(super) fn rfc7515() -> Value {
    serde_json::from_str(include_str!("rfc7515-a2.json")).unwrap()
}

fn rsa() -> RsaKeyPair {
    let key = rfc7515();
    let part = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
    let components = KeyPairComponents {
        public_key: PublicKeyComponents { n: part("n"), e: part("e") },
        d: part("d"),
        p: part("p"),
        q: part("q"),
        dP: part("dp"),
        dQ: part("dq"),
        qInv: part("qi"),
    };
    RsaKeyPair::from_components(&components).unwrap()
}
