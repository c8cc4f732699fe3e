//! Signatures and headers.

use serde_json::{Value, json};

use super::{
    authority::{ALGORITHMS, Authority, encoded, rfc7515},
    *,
};

/// Returns the result of verifying a token with these keys.
fn checked(keys: &Value, token: &str) -> Result<Value, TokenError> {
    let keys = KeySet::parse(keys.to_string().as_bytes()).unwrap();
    let token = Token::parse(token)?;
    token.payload_signed_by(keys.fitting(&token)).map(Value::Object)
}

#[test]
fn the_examples_of_the_rfcs_verify() {
    let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let joe = json!({ "iss": "joe", "exp": 1_300_819_380, "http://example.com/is_root": true });
    let p256 = json!({
        "kty": "EC",
        "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    let ed = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
    for (key, header, payload, signature, expected) in [
        (
            rfc7515(),
            "eyJhbGciOiJSUzI1NiJ9",
            payload,
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
            Ok(joe.clone()),
        ),
        (
            p256,
            "eyJhbGciOiJFUzI1NiJ9",
            payload,
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            Ok(joe),
        ),
        // RFC 8037, appendix A.4. Its payload is not an object, which is detected only if the signature is valid.
        (
            ed,
            "eyJhbGciOiJFZERTQSJ9",
            "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
            Err(TokenError::Form),
        ),
    ] {
        let keys = json!({ "keys": [key] });
        assert_eq!(checked(&keys, &format!("{header}.{payload}.{signature}")), expected);
        // One flipped bit.
        let flipped = if let Some(rest) = signature.strip_prefix('c') {
            format!("d{rest}")
        } else {
            format!("A{}", &signature[1..])
        };
        let found = checked(&keys, &format!("{header}.{payload}.{flipped}"));
        assert_eq!(found, Err(TokenError::Signature));
    }
}

#[test]
fn an_algorithm_verifies_only_with_a_key_of_its_type() {
    let authority = Authority::new();
    for (algorithm, own) in ALGORITHMS {
        for (_, key) in ALGORITHMS {
            let header = json!({ "alg": algorithm, "kid": key }).to_string();
            let found = checked(&authority.keys(), &authority.sign(&header, "{}"));
            let expected = if key == own { Ok(json!({})) } else { Err(TokenError::Key) };
            assert_eq!(found, expected, "{algorithm} with {key}");
        }
        // Without a key id, each key of the kind is tried.
        let header = json!({ "alg": algorithm }).to_string();
        assert_eq!(checked(&authority.keys(), &authority.sign(&header, "{}")), Ok(json!({})));
        let other = Authority::new().sign(&header, "{}");
        let expected = if own == "rsa" { Ok(json!({})) } else { Err(TokenError::Signature) };
        assert_eq!(checked(&authority.keys(), &other), expected, "{algorithm} of another issuer");
    }
}

#[test]
fn a_token_with_another_type_or_critical_header_is_rejected() {
    let authority = Authority::new();
    let keys = authority.keys();
    let mine = Authority::new();
    let own_key = mine.keys()["keys"][0].clone();
    for (header, expected) in [
        (r#"{"alg":"EdDSA"}"#.to_owned(), Ok(json!({}))),
        (r#"{"alg":"EdDSA","typ":"JWT"}"#.into(), Ok(json!({}))),
        (r#"{"alg":"EdDSA","typ":"at+jwt"}"#.into(), Ok(json!({}))),
        (r#"{"alg":"EdDSA","typ":"application/AT+JWT"}"#.into(), Ok(json!({}))),
        (r#"{"alg":"EdDSA","typ":"dpop+jwt"}"#.into(), Err(TokenError::Kind)),
        (r#"{"alg":"EdDSA","typ":"logout+jwt"}"#.into(), Err(TokenError::Kind)),
        (r#"{"alg":"EdDSA","crit":["exp"]}"#.into(), Err(TokenError::Kind)),
        (r#"{"alg":"EdDSA","crit":[],"b64":false}"#.into(), Err(TokenError::Kind)),
        (r#"{"alg":"none"}"#.into(), Err(TokenError::Algorithm)),
        (r#"{"alg":"None"}"#.into(), Err(TokenError::Algorithm)),
        (r#"{"alg":"HS256","kid":"ed"}"#.into(), Err(TokenError::Algorithm)),
        (r#"{"alg":"HS256","kid":"secret"}"#.into(), Err(TokenError::Algorithm)),
        (r#"{"alg":"ES256K"}"#.into(), Err(TokenError::Algorithm)),
        (r#"{"alg":"eddsa"}"#.into(), Err(TokenError::Algorithm)),
        (r#"{"alg":["EdDSA"]}"#.into(), Err(TokenError::Form)),
        (r#"{"alg":"EdDSA","alg":"none"}"#.into(), Err(TokenError::Form)),
        (r#"{"alg":"EdDSA","kid":7}"#.into(), Err(TokenError::Form)),
        (r#"{"alg":"EdDSA","kid":"unknown"}"#.into(), Err(TokenError::Key)),
        (r#"{"alg":"EdDSA","kid":"../../ed"}"#.into(), Err(TokenError::Key)),
        ("{}".into(), Err(TokenError::Form)),
        ("[]".into(), Err(TokenError::Form)),
        (String::new(), Err(TokenError::Form)),
    ] {
        assert_eq!(checked(&keys, &authority.sign(&header, "{}")), expected, "{header}");
    }
    // A key in the token's header is ignored.
    for header in [
        json!({ "alg": "EdDSA", "jwk": own_key }),
        json!({ "alg": "EdDSA", "kid": "ed", "jwk": own_key }),
        json!({ "alg": "EdDSA", "kid": "ed", "jku": "https://attacker.example/keys", "x5u": "https://attacker.example" }),
    ] {
        let token = mine.sign(&header.to_string(), "{}");
        assert_eq!(checked(&keys, &token), Err(TokenError::Signature), "{header}");
    }
}

#[test]
fn a_changed_token_is_rejected() {
    let authority = Authority::new();
    let good = authority.sign(r#"{"alg":"EdDSA"}"#, r#"{"sub":"ada"}"#);
    let parts: Vec<_> = good.split('.').collect();
    let [header, payload, signature] = parts[..] else {
        panic!("{good}");
    };
    let bert = encoded(br#"{"sub":"bert"}"#);
    for (token, expected) in [
        (format!("{header}.{bert}.{signature}"), TokenError::Signature),
        (format!("{header}.{payload}."), TokenError::Signature),
        (format!("{header}.{payload}.{}", &signature[..80]), TokenError::Signature),
        (format!("{header}.{payload}"), TokenError::Form),
        (format!("{good}."), TokenError::Form),
        (format!("{good}.{payload}"), TokenError::Form),
        (format!("{header}.{payload}.{signature}=="), TokenError::Form),
        (format!("{header}.{payload}.{signature} "), TokenError::Form),
        (format!("{header}=.{payload}.{signature}"), TokenError::Form),
        (format!("..{signature}"), TokenError::Form),
        (String::new(), TokenError::Form),
        (".".repeat(1000), TokenError::Form),
        (format!("{header}.{}.{signature}", "A".repeat(20_000)), TokenError::Form),
    ] {
        assert_eq!(checked(&authority.keys(), &token), Err(expected), "{token:.200}");
    }
}
