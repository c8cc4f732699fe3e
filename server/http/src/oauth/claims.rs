//! What a token says, once it is known who signed it: for whom it is, until when, whose it is, and what it allows.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use data_encoding::HEXLOWER;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{BadToken, Bearer, LEEWAY, resource};
use crate::keys::{self, Principal, Scope};

/// The longest name of a subject or client, in bytes. OpenID Connect has 255 for the first.
const LONGEST: usize = 255;

/// Bytes that are percent-encoded in ids, so that a subject and a client can be joined by `/` and read in a log.
const UNSAFE_IN_ID: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'@')
    .remove(b':')
    .remove(b'|');

/// What is known of a token's bearer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claims {
    /// Who it was made for.
    subject: String,
    /// The program that it was given to; empty where that is not said.
    client: String,
    /// What they are called, if that can stand in a commit.
    name: Option<String>,
    /// Their address, where the issuer has verified it.
    email: Option<String>,
    scopes: Vec<Scope>,
    /// From when on it is no longer good, since 1970.
    expires: Duration,
}

impl Claims {
    /// Reads what a token says at the time `now`, which is counted from 1970.
    pub(super) fn check<'a>(
        payload: Map<String, Value>,
        issuer: &str,
        mut audiences: impl Iterator<Item = &'a String>,
        now: Duration,
    ) -> Result<Self, BadToken> {
        let text = |name| match payload.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(BadToken::Form),
        };
        let short = |text: &str| {
            let fits = (1..=LONGEST).contains(&text.len());
            fits.then(|| text.to_owned()).ok_or(BadToken::Form)
        };
        if text("iss")? != Some(issuer) {
            return Err(BadToken::Issuer);
        }
        let named = texts(payload.get("aud"))?;
        if !audiences.any(|own| named.iter().any(|named| resource::is_same(named, own))) {
            return Err(BadToken::Audience);
        }
        let expires = time(payload.get("exp"))?.ok_or(BadToken::Form)?;
        if now >= expires.saturating_add(LEEWAY) {
            return Err(BadToken::Expired);
        }
        let begins = time(payload.get("nbf"))?.unwrap_or_default();
        if begins > now + LEEWAY {
            return Err(BadToken::Early);
        }
        if payload.contains_key("cnf") {
            return Err(BadToken::Bound);
        }
        let client = match text("client_id")? {
            Some(client) => Some(client),
            None => text("azp")?,
        };
        let verified = payload.get("email_verified") == Some(&Value::Bool(true));
        let email = text("email")?.filter(|email| verified && keys::is_email(email));
        let called = [text("name")?, text("preferred_username")?];
        let name = called.into_iter().flatten().find(|name| keys::is_name(name));
        Ok(Self {
            subject: short(text("sub")?.ok_or(BadToken::Form)?)?,
            client: client.map_or(Ok(String::new()), short)?,
            name: name.map(str::to_owned),
            email: email.map(str::to_owned),
            scopes: scopes(&payload)?,
            expires,
        })
    }

    /// Whose token it is.
    pub(super) fn bearer(self) -> Bearer {
        let id = format!(
            "oauth:{}/{}",
            percent_encode(&self.subject),
            percent_encode(&self.client)
        );
        let digest = Sha256::digest(id.as_bytes());
        let short = HEXLOWER.encode(&digest[..8]);
        let subject = Some(self.subject).filter(|subject| keys::is_name(subject));
        let name = self.name.or(subject).unwrap_or_else(|| format!("oauth-{short}"));
        let email = self
            .email
            .unwrap_or_else(|| format!("oauth-{short}@tabellion.localhost"));
        let principal = Principal {
            id,
            name,
            email,
            scopes: self.scopes,
        };
        Bearer {
            principal: Arc::new(principal),
            until: UNIX_EPOCH + self.expires + LEEWAY,
        }
    }
}

/// One text or a list of them.
fn texts(value: Option<&Value>) -> Result<Vec<&str>, BadToken> {
    match value {
        None => Ok(vec![]),
        Some(Value::String(one)) => Ok(vec![one]),
        Some(Value::Array(many)) => many.iter().map(|it| it.as_str().ok_or(BadToken::Form)).collect(),
        Some(_) => Err(BadToken::Form),
    }
}

/// A time since 1970 (RFC 7519, section 2: `NumericDate`). Years that no clock has are none.
fn time(value: Option<&Value>) -> Result<Option<Duration>, BadToken> {
    let Some(value) = value else {
        return Ok(None);
    };
    let seconds = value.as_f64().filter(|seconds| (0.0..1e11).contains(seconds));
    let seconds = seconds.ok_or(BadToken::Form)?;
    Ok(Some(Duration::from_secs_f64(seconds)))
}

/// What is allowed: of `scope` (RFC 9068, section 2.2.3), or of `scp`, as some issuers call it, what means something here.
fn scopes(payload: &Map<String, Value>) -> Result<Vec<Scope>, BadToken> {
    let named = match payload.get("scope") {
        Some(scope) => texts(Some(scope))?,
        None => texts(payload.get("scp"))?,
    };
    let words = named.into_iter().flat_map(|text| text.split(' '));
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

fn percent_encode(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, UNSAFE_IN_ID)
}
