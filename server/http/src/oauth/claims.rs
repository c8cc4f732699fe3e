//! The claims of a token whose signature is verified: audience, expiry, subject and scopes.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tabellion_runtime::{Agent, Identity};

use super::{
    error::{LEEWAY, TokenError},
    resource,
};
use crate::keys::{self, Bound, Principal, Scope};

/// The bearer of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The principal, with its scopes.
    pub principal: Arc<Principal>,
    /// Time of the token's expiry.
    pub until: SystemTime,
}

/// Maximum length of a subject or client id, in bytes (OpenID Connect Core, section 2).
const MAX_ID_BYTES: usize = 255;

/// The claims that this server uses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claims {
    /// The subject (`sub`).
    subject: String,
    /// The client (`client_id` or `azp`).
    client: Option<String>,
    /// The name, if it can be used in a commit.
    name: Option<String>,
    /// The e-mail address, if the issuer has verified it.
    email: Option<String>,
    scopes: Vec<Scope>,
    /// The agent (`agent`); `None` if a person makes the calls.
    agent: Option<Agent>,
    /// Expiry, since 1970.
    expires: Duration,
}

impl Claims {
    /// Checks the claims at the time `now`, since 1970.
    pub(super) fn check<'a>(
        payload: Map<String, Value>,
        issuer: &str,
        mut audiences: impl Iterator<Item = &'a String>,
        now: Duration,
    ) -> Result<Self, TokenError> {
        let text = |name| match payload.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(TokenError::Form),
        };
        let short = |text: &str| {
            let fits = (1..=MAX_ID_BYTES).contains(&text.len());
            fits.then(|| text.to_owned()).ok_or(TokenError::Form)
        };
        if text("iss")? != Some(issuer) {
            return Err(TokenError::Issuer);
        }
        let named = texts(payload.get("aud"))?;
        if !audiences.any(|own| named.iter().any(|named| resource::is_same(named, own))) {
            return Err(TokenError::Audience);
        }
        let expires = time(payload.get("exp"))?.ok_or(TokenError::Form)?;
        if now >= expires.saturating_add(LEEWAY) {
            return Err(TokenError::Expired);
        }
        let begins = time(payload.get("nbf"))?.unwrap_or_default();
        if begins > now + LEEWAY {
            return Err(TokenError::Early);
        }
        if payload.contains_key("cnf") {
            return Err(TokenError::Bound);
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
            subject: short(text("sub")?.ok_or(TokenError::Form)?)?,
            client: client.map(short).transpose()?,
            name: name.map(str::to_owned),
            email: email.map(str::to_owned),
            scopes: scopes(&payload)?,
            agent: agent(&payload)?,
            expires,
        })
    }

    /// Returns the bearer of the token of this issuer.
    pub(super) fn bearer(self, issuer: &str) -> Bearer {
        let mut identity = Identity::token(issuer, &self.subject);
        if let Some(client) = &self.client {
            identity = identity.with_client(client);
        }
        let digest = Sha256::digest(identity.to_string().as_bytes());
        let short = HEXLOWER.encode(&digest[..8]);
        let (name, email) = match self.email {
            // Only an issuer that has verified the address knows the person; other names are chosen by the person.
            Some(email) => (self.name, email),
            None => (None, format!("oauth-{short}@tabellion.localhost")),
        };
        let subject = Some(self.subject).filter(|subject| keys::is_name(subject));
        let principal = Principal {
            name: name.or(subject).unwrap_or_else(|| format!("oauth-{short}")),
            email,
            identity,
            scopes: self.scopes,
            bound: Bound { agent: self.agent, ..Bound::default() },
        };
        Bearer { principal: Arc::new(principal), until: UNIX_EPOCH + self.expires + LEEWAY }
    }
}

/// Returns the strings of a value that is either a string or an array of strings.
fn texts(value: Option<&Value>) -> Result<Vec<&str>, TokenError> {
    match value {
        None => Ok(vec![]),
        Some(Value::String(one)) => Ok(vec![one]),
        Some(Value::Array(many)) => many.iter().map(|it| it.as_str().ok_or(TokenError::Form)).collect(),
        Some(_) => Err(TokenError::Form),
    }
}

/// Returns a time since 1970 (RFC 7519, section 2: `NumericDate`), up to the year 5138.
fn time(value: Option<&Value>) -> Result<Option<Duration>, TokenError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let seconds = value.as_f64().filter(|seconds| (0.0..1e11).contains(seconds));
    let seconds = seconds.ok_or(TokenError::Form)?;
    Ok(Some(Duration::from_secs_f64(seconds)))
}

/// Returns the known scopes of `scope` (RFC 9068, section 2.2.3), or of `scp`, which some issuers use.
fn scopes(payload: &Map<String, Value>) -> Result<Vec<Scope>, TokenError> {
    let named = match payload.get("scope") {
        Some(scope) => texts(Some(scope))?,
        None => texts(payload.get("scp"))?,
    };
    let words = named.into_iter().flat_map(|text| text.split(' '));
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

/// Returns the agent that the token is issued to, if any: `NAME@VERSION`, `{"name": …, "version": …}`, or
/// `true` if the agent is to report its own name.
fn agent(payload: &Map<String, Value>) -> Result<Option<Agent>, TokenError> {
    let text = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::String(text) if (1..=MAX_ID_BYTES).contains(&text.len()) => Ok(Some(text.clone())),
        _ => Err(TokenError::Form),
    };
    match payload.get("agent") {
        None | Some(Value::Null | Value::Bool(false)) => Ok(None),
        Some(Value::Bool(_)) => Ok(Some(Agent::default())),
        Some(value @ Value::String(_)) => {
            let text = text(value)?.unwrap_or_default();
            Agent::parse(&text).ok_or(TokenError::Form).map(Some)
        }
        Some(Value::Object(members)) => Ok(Some(Agent::said(
            text(members.get("name").unwrap_or(&Value::Null))?,
            text(members.get("version").unwrap_or(&Value::Null))?,
        ))),
        Some(_) => Err(TokenError::Form),
    }
}
