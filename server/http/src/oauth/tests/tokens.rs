//! Claims of tokens: subject, audience, expiry.

use std::{sync::LazyLock, time::Duration};

use proptest::{
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Map, Value, json};

use super::{
    authority::{Authority, ISSUER, claims, now},
    *,
};
use tabellion_gateway::{Access, Grant as _};
use tabellion_runtime::Identity;

use crate::keys::Validity;

const HERE: &str = "https://notes.example/mcp";

/// Tokens of an authority whose keys are in a file of the folder.
fn tokens(authority: &Authority, folder: &tempfile::TempDir, audiences: &[&str]) -> Tokens {
    let file = folder.path().join("jwks.json");
    std::fs::write(&file, authority.keys().to_string()).unwrap();
    let source = Source::new(file.to_str().unwrap(), PollingLimits::default()).unwrap();
    let audiences = audiences.iter().copied().map(String::from).collect();
    Tokens::new(ISSUER.parse().unwrap(), audiences, source)
}

/// Valid claims with these changes; `null` removes a claim.
fn changed(changes: &Value) -> Value {
    let mut claims = claims(HERE, "read write:notes openid");
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

async fn denied(tokens: &Tokens, authority: &Authority, claims: &Value) -> Option<TokenError> {
    match tokens.bearer(&authority.token(claims), &[HERE.into()]).await {
        Ok(_) => None,
        Err(AuthenticationError::Token(why)) => Some(why),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_token_must_be_for_this_server_and_not_expired() {
    let (authority, folder) = (Authority::new(), tempfile::TempDir::new().unwrap());
    let tokens = tokens(&authority, &folder, &["api-1"]);
    let now = now();
    let far = 60;
    for (changes, expected) in [
        (json!({}), None),
        (json!({ "iss": null }), Some(TokenError::Issuer)),
        (json!({ "iss": "https://login.example/tenant/" }), Some(TokenError::Issuer)),
        (json!({ "iss": "https://login.example" }), Some(TokenError::Issuer)),
        (json!({ "iss": [ISSUER] }), Some(TokenError::Form)),
        (json!({ "aud": null }), Some(TokenError::Audience)),
        (json!({ "aud": [] }), Some(TokenError::Audience)),
        (json!({ "aud": "https://notes.example" }), Some(TokenError::Audience)),
        (json!({ "aud": "https://notes.example/mcp/other" }), Some(TokenError::Audience)),
        (json!({ "aud": ["https://other.example/mcp", HERE] }), None),
        (json!({ "aud": "HTTPS://NOTES.example/mcp" }), None),
        (json!({ "aud": "api-1" }), None),
        (json!({ "aud": "api-2" }), Some(TokenError::Audience)),
        (json!({ "aud": [HERE, 7] }), Some(TokenError::Form)),
        (json!({ "exp": null }), Some(TokenError::Form)),
        (json!({ "exp": "tomorrow" }), Some(TokenError::Form)),
        (json!({ "exp": -1 }), Some(TokenError::Form)),
        (json!({ "exp": 1e300 }), Some(TokenError::Form)),
        (json!({ "exp": now - far }), Some(TokenError::Expired)),
        (json!({ "exp": 0 }), Some(TokenError::Expired)),
        // Accepted difference between clocks.
        (json!({ "exp": now as f64 - 1.5 }), None),
        (json!({ "nbf": now + far }), Some(TokenError::Early)),
        (json!({ "nbf": now + 10 }), None),
        (json!({ "sub": null }), Some(TokenError::Form)),
        (json!({ "sub": "" }), Some(TokenError::Form)),
        (json!({ "sub": "a".repeat(256) }), Some(TokenError::Form)),
        (json!({ "client_id": 7 }), Some(TokenError::Form)),
        (json!({ "client_id": null }), None),
        (json!({ "cnf": { "jkt": "x" } }), Some(TokenError::Bound)),
        (json!({ "scope": null }), None),
        (json!({ "scope": { "read": true } }), Some(TokenError::Form)),
    ] {
        let found = denied(&tokens, &authority, &changed(&changes)).await;
        assert_eq!(found, expected, "{changes}");
    }
}

#[tokio::test]
async fn a_token_has_a_principal_with_scopes() {
    let (authority, folder) = (Authority::new(), tempfile::TempDir::new().unwrap());
    let tokens = tokens(&authority, &folder, &[]);
    let principal = async |changes: Value| {
        let token = authority.token(&changed(&changes));
        tokens.bearer(&token, &[HERE.into()]).await.unwrap().principal
    };
    let ada = |client: Option<&str>| {
        let ada = Identity::token(ISSUER, "ada");
        client.map_or(ada.clone(), |client| ada.with_client(client))
    };
    let email = json!({ "email": "ada@example.org", "email_verified": true });
    let known = |mut claims: Value| {
        let both = email.as_object().unwrap().clone();
        claims.as_object_mut().unwrap().extend(both);
        claims
    };
    for (changes, identity, name) in [
        (json!({}), ada(Some("agent")), "ada"),
        (json!({ "client_id": null, "azp": "other" }), ada(Some("other")), "ada"),
        (json!({ "client_id": null }), ada(None), "ada"),
        (known(json!({ "name": "Ada Example" })), ada(Some("agent")), "Ada Example"),
        (known(json!({ "preferred_username": "ada1" })), ada(Some("agent")), "ada1"),
        // The name of a person without a verified address is ignored.
        (json!({ "name": "s1@example.com" }), ada(Some("agent")), "ada"),
        (json!({ "name": "agent:helper/s1@example.com" }), ada(Some("agent")), "ada"),
        (known(json!({ "name": "Ada\nCo-authored-by: x" })), ada(Some("agent")), "ada"),
        (known(json!({ "name": "Ada <x>" })), ada(Some("agent")), "ada"),
        (json!({ "sub": "a/b", "client_id": "c" }), Identity::token(ISSUER, "a/b").with_client("c"), "a/b"),
        (json!({ "sub": "a\n\u{fc}" }), Identity::token(ISSUER, "a\n\u{fc}").with_client("agent"), "oauth-"),
    ] {
        let principal = principal(changes.clone()).await;
        assert_eq!(principal.identity, identity, "{changes}");
        assert!(principal.name.starts_with(name), "{changes}: {}", principal.name);
        assert_eq!(
            principal.email.ends_with("@tabellion.localhost"),
            changes.get("email").is_none(),
            "{}",
            principal.email
        );
    }
    for (changes, email) in [
        (json!({ "email": "ada@example.org", "email_verified": true }), Some("ada@example.org")),
        (json!({ "email": "ada@example.org" }), None),
        (json!({ "email": "ada@example.org", "email_verified": "true" }), None),
        (json!({ "email": "<ada@example.org>", "email_verified": true }), None),
    ] {
        let found = principal(changes.clone()).await.email.clone();
        assert_eq!(email.is_some_and(|email| email == found), email.is_some(), "{changes}: {found}");
        assert_ne!(email.is_none(), found.starts_with("ada"), "{changes}: {found}");
    }
    // Principals that differ in client or subject are different authors.
    let emails = [
        principal(json!({})).await.email.clone(),
        principal(json!({ "client_id": "b" })).await.email.clone(),
        principal(json!({ "sub": "b" })).await.email.clone(),
    ];
    assert!(emails[0] != emails[1] && emails[0] != emails[2] && emails[1] != emails[2]);

    for (claim, agent) in [
        (json!("helper@1.2"), Some((Some("helper"), Some("1.2")))),
        (json!("helper"), Some((Some("helper"), None))),
        (json!({ "name": "helper", "version": "1.2" }), Some((Some("helper"), Some("1.2")))),
        (json!({ "version": null }), Some((None, None))),
        (json!(true), Some((None, None))),
        (json!(false), None),
        (json!(null), None),
    ] {
        let principal = principal(json!({ "agent": claim })).await;
        let found = principal.bound.agent.as_ref();
        let found = found.map(|agent| (agent.name.as_deref(), agent.version.as_deref()));
        assert_eq!(found, agent, "{claim}");
    }
    for claim in [json!(""), json!("@"), json!(7), json!(["helper"]), json!({ "name": 7 })] {
        let found = denied(&tokens, &authority, &changed(&json!({ "agent": claim }))).await;
        assert_eq!(found, Some(TokenError::Form), "{claim}");
    }

    for (changes, contract, access, allowed) in [
        (json!({}), "plans", Access::Read, true),
        (json!({}), "plans", Access::Write, false),
        (json!({}), "notes", Access::Write, true),
        (json!({ "scope": "write" }), "plans", Access::Write, true),
        (json!({ "scope": "writer offline_access" }), "plans", Access::Read, false),
        (json!({ "scope": null }), "plans", Access::Read, false),
        (json!({ "scope": null, "scp": ["read"] }), "plans", Access::Read, true),
        (json!({ "scope": null, "scp": "openid write" }), "plans", Access::Write, true),
        (json!({ "scope": "write@other" }), "plans", Access::Read, false),
    ] {
        let grant = principal(changes.clone()).await.grant_at("", Validity::Until(SystemTime::now()));
        let found = grant.is_some_and(|grant| grant.allows(contract, access));
        assert_eq!(found, allowed, "{changes}: {access:?} of {contract}");
    }
}

#[tokio::test]
async fn a_payload_must_be_an_object_with_distinct_names() {
    let (authority, folder) = (Authority::new(), tempfile::TempDir::new().unwrap());
    let tokens = tokens(&authority, &folder, &[]);
    let good = claims(HERE, "read").to_string();
    let twice = format!(r#"{},"aud":"{HERE}"}}"#, good.trim_end_matches('}'));
    let header = json!({ "alg": "EdDSA" }).to_string();
    for (payload, fine) in [(&*good, true), (&twice, false), ("[]", false), ("", false), ("{} {}", false)] {
        let token = authority.sign(&header, payload);
        let found = tokens.bearer(&token, &[HERE.into()]).await;
        assert_eq!(found.is_ok(), fine, "{payload}: {found:?}");
    }
    let claims = Claims::check(Map::new(), ISSUER, [].iter(), Duration::ZERO);
    assert_eq!(claims, Err(TokenError::Issuer));
}

proptest! {
    /// A token with any changed byte is refused, and claims of any form grant no more than they contain.
    #[test]
    fn a_changed_token_is_refused(at in any::<Index>(), byte in any::<u8>(), cut in any::<Index>(), claims in claims_of_any_form()) {
        static ISSUED: LazyLock<(Authority, tempfile::TempDir)> =
            LazyLock::new(|| (Authority::new(), tempfile::TempDir::new().unwrap()));
        let (authority, folder) = &*ISSUED;
        let tokens = tokens(authority, folder, &[]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bearer = |token: &str| runtime.block_on(tokens.bearer(token, &[HERE.into()]));
        let good = authority.token(&changed(&json!({})));
        prop_assert!(bearer(&good).is_ok());
        let mut bytes = good.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes).map_err(drop) {
            prop_assert!(text == good || bearer(&text).is_err(), "{}", text);
        }
        prop_assert!(bearer(&good[..cut.index(good.len())]).is_err());
        if let Ok(bearer) = bearer(&authority.token(&changed(&claims))) {
            let subject = claims["sub"].as_str().unwrap_or("ada");
            prop_assert_eq!(bearer.principal.identity.subject(), subject);
            prop_assert_eq!(bearer.principal.identity.to_string().parse(), Ok(bearer.principal.identity.clone()));
        }
    }
}

/// Claims with values of any form in place of good ones.
fn claims_of_any_form() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!([])),
        Just(json!([HERE, 1])),
        Just(json!({ "name": "x", "version": 1 })),
    ];
    let name = select(vec![
        "iss",
        "aud",
        "exp",
        "nbf",
        "sub",
        "client_id",
        "azp",
        "name",
        "email",
        "email_verified",
        "agent",
        "scope",
        "scp",
        "cnf",
    ]);
    proptest::collection::btree_map(name, value, 0..4).prop_map(|claims| json!(claims))
}
