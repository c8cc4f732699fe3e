//! The used keys of a key set.

use serde_json::{Value, json};

use super::{authority::Authority, *};

/// A key of an authorization server, with further members.
fn with(key: &Value, more: &Value) -> Value {
    let mut key = key.clone();
    for (name, value) in more.as_object().unwrap() {
        key[name] = value.clone();
    }
    key
}

#[test]
fn a_key_is_used_only_for_its_purpose() {
    let keys = Authority::new().keys();
    let (ed, p256, rsa) = (&keys["keys"][0], &keys["keys"][1], &keys["keys"][3]);
    let short = "AQ".repeat(127);
    for (key, expected) in [
        (with(ed, &json!({})), Ok(())),
        (with(ed, &json!({ "use": "sig", "alg": "EdDSA", "key_ops": ["sign", "verify"] })), Ok(())),
        (with(ed, &json!({ "use": "enc" })), Err(KeySetError::Empty)),
        (with(ed, &json!({ "key_ops": ["encrypt"] })), Err(KeySetError::Empty)),
        (with(ed, &json!({ "key_ops": "verify" })), Err(KeySetError::Empty)),
        (with(ed, &json!({ "alg": "HS256" })), Err(KeySetError::Empty)),
        (with(ed, &json!({ "crv": "X25519" })), Err(KeySetError::Empty)),
        (with(ed, &json!({ "x": "AAAA" })), Err(KeySetError::Empty)),
        (with(p256, &json!({ "crv": "P-384" })), Err(KeySetError::Empty)),
        (with(p256, &json!({ "crv": "secp256k1" })), Err(KeySetError::Empty)),
        (with(p256, &json!({ "y": null })), Err(KeySetError::Empty)),
        (with(rsa, &json!({ "n": short })), Err(KeySetError::Empty)),
        (with(rsa, &json!({ "n": format!("AAAA{}", rsa["n"].as_str().unwrap()) })), Ok(())),
        (json!({ "kty": "oct", "k": "c2VjcmV0" }), Err(KeySetError::Empty)),
        (json!("key"), Err(KeySetError::Empty)),
    ] {
        let text = json!({ "keys": [key] }).to_string();
        assert_eq!(KeySet::parse(text.as_bytes()).map(drop), expected, "{text}");
    }
    for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
        assert_eq!(KeySet::parse(text.as_bytes()), Err(KeySetError::Form), "{text}");
    }
}

#[test]
fn a_key_with_an_algorithm_is_used_with_no_other() {
    let authority = Authority::new();
    let rsa = with(&authority.keys()["keys"][3], &json!({ "alg": "PS256" }));
    let keys = KeySet::parse(json!({ "keys": [rsa] }).to_string().as_bytes()).unwrap();
    for (algorithm, fits) in [("PS256", true), ("RS256", false), ("PS384", false)] {
        let token = authority.sign(&json!({ "alg": algorithm }).to_string(), "{}");
        let token = Token::parse(&token).unwrap();
        assert_eq!(keys.fitting(&token).next().is_some(), fits, "{algorithm}");
    }
}
