//! Authenticates a request: by an API key or an access token in a header, never in a URL, because URLs are logged in many
//! places.

use std::{collections::BTreeMap, sync::Arc};

use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE},
};
use serde_json::{Value, json};

use super::Mount;
use crate::{
    keys::{ApiKey, KeyGrant, KeyRing, Principal, Scope, Validity},
    oauth::{PublicUrl, RejectedToken, Tokens},
};
use tabellion_mcp::streamable::Refusal;

const API_KEY: &str = "x-api-key";
/// Name of an access token in a query (RFC 6750, section 2.3), which is refused.
const IN_QUERY: &str = "access_token=";
const SCOPES: [&str; 2] = ["read", "write"];

/// The accepted credentials. Without any, every caller may do everything.
#[derive(Debug, Default)]
pub struct Credentials {
    /// The accepted API keys.
    pub keys: Option<Arc<KeyRing>>,
    /// The accepted access tokens.
    pub oauth: Option<OAuth>,
}

/// The accepted access tokens, and how clients obtain them.
#[derive(Debug)]
pub struct OAuth {
    /// Verifies tokens.
    pub tokens: Arc<Tokens>,
    /// The server's URL in tokens.
    pub url: PublicUrl,
    /// Scopes that clients are told to request first.
    pub first: Vec<Scope>,
}

/// The caller of a request, and how long its credential is valid.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) principal: Arc<Principal>,
    validity: Validity,
}

/// What is mounted, by path.
type Mounts = BTreeMap<String, Mount>;

impl Credentials {
    /// Returns true if access tokens can be verified.
    pub(super) fn are_ready(&self) -> bool {
        self.oauth.as_ref().is_none_or(|oauth| oauth.tokens.is_ready())
    }

    /// Returns the caller of a request; `None` if no credentials are required.
    ///
    /// # Errors
    /// With 400 if there is more than one credential or one in the query, with 401 if there is no valid one, and with 503 if
    /// it can't be verified now.
    pub(super) async fn caller(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        mounts: &Mounts,
    ) -> Result<Option<Caller>, Refusal> {
        if self.keys.is_none() && self.oauth.is_none() {
            return Ok(None);
        }
        // A path without a library has no metadata to refer to.
        let path = Some(uri.path()).filter(|path| mounts.contains_key(*path));
        let mut parts = uri.query().into_iter().flat_map(|query| query.split('&'));
        if parts.any(|part| part.starts_with(IN_QUERY)) {
            let why = "a token in a URL can be read by others: send it as `Authorization: Bearer TOKEN`, and a new one, since \
                       this one is known now";
            return Err(self.refused(StatusCode::BAD_REQUEST, "invalid_request", why, path));
        }
        let Some(credential) = sent(headers)? else {
            return Err(self.unknown(path));
        };
        let by_key = |keys: &Arc<KeyRing>| {
            let principal = keys.principal(credential.text()?)?;
            let validity = Validity::WhileKeyExists(keys.clone());
            Some(Caller { principal, validity })
        };
        if let Some(caller) = self.keys.as_ref().and_then(by_key) {
            return Ok(Some(caller));
        }
        let bad = |why: &str| self.refused(StatusCode::UNAUTHORIZED, "invalid_token", why, path);
        let Some(oauth) = &self.oauth else {
            return Err(bad("this key is invalid or was revoked"));
        };
        let token = credential.token().filter(|text| ApiKey::parse(text).is_none());
        let token = token.ok_or_else(|| bad("this key is invalid or was revoked"))?;
        let resources: Vec<_> = match path {
            Some(path) => vec![oauth.url.at(path)],
            None => mounts.keys().map(|path| oauth.url.at(path)).collect(),
        };
        match oauth.tokens.bearer(token, &resources).await {
            Ok(bearer) => Ok(Some(Caller {
                principal: bearer.principal,
                validity: Validity::Until(bearer.until),
            })),
            Err(RejectedToken::Invalid(why)) => Err(bad(&why.to_string())),
            Err(error @ RejectedToken::NoKeys) => Err(Refusal::busy(error.to_string())),
        }
    }

    /// Returns the caller's permissions in the library at `path`.
    ///
    /// # Errors
    /// With 403 if there are none.
    pub(super) fn grant(&self, caller: Caller, path: &str, library: &str) -> Result<KeyGrant, Refusal> {
        let Caller { principal, validity } = caller;
        principal.grant_at(library, validity).ok_or_else(|| {
            let why = format!("{} has no permission in this library", principal.name);
            self.refused(StatusCode::FORBIDDEN, "insufficient_scope", &why, Some(path))
        })
    }

    /// Adds the reference to the metadata (`WWW-Authenticate`) to a refusal.
    pub(super) fn complete(&self, headers: &mut HeaderMap, path: &str) {
        if let (Some(oauth), Some(challenge)) = (&self.oauth, headers.get_mut(WWW_AUTHENTICATE))
            && let Ok(text) = challenge.to_str()
        {
            *challenge = value(&format!(
                "{text}, resource_metadata=\"{}\"",
                oauth.url.metadata(path)
            ));
        }
    }

    /// Returns the refusal of a request without credentials.
    fn unknown(&self, path: Option<&str>) -> Refusal {
        let by_key =
            "send a key as `Authorization: Bearer KEY`; the operator creates one with `tabellion key create`";
        let by_token =
            "send an access token as `Authorization: Bearer TOKEN`; `WWW-Authenticate` says where to get one";
        let why = if self.oauth.is_some() { by_token } else { by_key };
        let challenge = value(&format!("Bearer realm=\"tabellion\"{}", self.advice(path)));
        Refusal::new(StatusCode::UNAUTHORIZED, why).header(WWW_AUTHENTICATE, challenge)
    }

    fn refused(&self, status: StatusCode, error: &str, why: &str, path: Option<&str>) -> Refusal {
        let advice = self.advice(path);
        let challenge = value(&format!("Bearer realm=\"tabellion\", error=\"{error}\"{advice}"));
        Refusal::new(status, why).header(WWW_AUTHENTICATE, challenge)
    }

    /// Returns the parameters of `WWW-Authenticate`: the scope to request, and where the metadata is.
    fn advice(&self, path: Option<&str>) -> String {
        let Some(oauth) = &self.oauth else {
            return String::new();
        };
        let metadata = path.map(|path| format!(", resource_metadata=\"{}\"", oauth.url.metadata(path)));
        let first: Vec<_> = oauth.first.iter().map(Scope::to_string).collect();
        format!(", scope=\"{}\"{}", first.join(" "), metadata.unwrap_or_default())
    }
}

impl OAuth {
    /// Returns the metadata of the library at `path` (RFC 9728): which tokens are accepted for it, and who issues them.
    pub(super) fn metadata(&self, path: &str) -> Value {
        json!({
            "resource": self.url.at(path),
            "authorization_servers": [self.tokens.issuer()],
            "scopes_supported": SCOPES,
            "bearer_methods_supported": ["header"],
            "resource_name": "Tabellion",
        })
    }
}

/// Returns true if a request carries credentials.
pub(super) fn are_sent(headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION) || headers.contains_key(API_KEY)
}

/// The credential of a request; `None` for one that is not in the expected form.
#[derive(Clone, Copy)]
enum Credential<'a> {
    Bearer(Option<&'a str>),
    ApiKey(Option<&'a str>),
}

impl<'a> Credential<'a> {
    fn text(self) -> Option<&'a str> {
        match self {
            Self::Bearer(text) | Self::ApiKey(text) => text,
        }
    }

    /// Returns the text if it may be an access token.
    fn token(self) -> Option<&'a str> {
        match self {
            Self::Bearer(text) => text,
            Self::ApiKey(_) => None,
        }
    }
}

/// Returns the credential of a request, if it has one.
///
/// # Errors
/// With 400 if there is more than one.
fn sent(headers: &HeaderMap) -> Result<Option<Credential<'_>>, Refusal> {
    let bearers = headers.get_all(AUTHORIZATION).iter().map(bearer);
    let keys = headers.get_all(API_KEY).iter().map(|key| key.to_str().ok());
    let mut credentials = bearers
        .map(Credential::Bearer)
        .chain(keys.map(Credential::ApiKey));
    let credential = credentials.next();
    if credentials.next().is_some() {
        let why = "there is more than one key or token; send one, in `Authorization` or in `X-API-Key`";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
    }
    Ok(credential)
}

/// Returns the token of `Bearer TOKEN` (RFC 6750, section 2.1).
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}

/// Converts a text of visible ASCII to a header's value.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("the text is visible ASCII")
}
