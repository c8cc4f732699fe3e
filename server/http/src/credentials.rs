//! Authentication of requests, by an API key or an access token in a header. Credentials in URLs are rejected, because URLs
//! are logged in many places.

use std::{collections::BTreeMap, sync::Arc};

use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE},
};
use serde_json::{Value, json};

use super::mount::Mount;
use crate::{
    keys::{ApiKey, KeyGrant, KeyRing, Principal, Scope, Validity},
    oauth::{AuthenticationError, PublicUrl, Tokens},
};
use tabellion_rest::Refusal;

const API_KEY: &str = "x-api-key";
/// Parameter for an access token in a query (RFC 6750, section 2.3), which is rejected.
const IN_QUERY: &str = "access_token=";
const SCOPES: [&str; 3] = ["read", "write", "review"];

/// The accepted credentials. Without any, every request has all permissions.
#[derive(Debug, Default)]
pub struct Credentials {
    /// API keys.
    pub keys: Option<Arc<KeyRing>>,
    /// Access tokens.
    pub oauth: Option<OAuth>,
}

/// Access tokens and the resource that they are issued for.
#[derive(Debug)]
pub struct OAuth {
    /// Verifies tokens.
    pub tokens: Arc<Tokens>,
    /// The URL of this server in tokens.
    pub url: PublicUrl,
    /// The scopes that clients are advised to request first.
    pub first: Vec<Scope>,
}

/// The authenticated caller of a request, and the validity of the credential.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) principal: Arc<Principal>,
    validity: Validity,
}

/// The mounts by path.
type Mounts = BTreeMap<String, Mount>;

impl Credentials {
    /// Returns true if credentials can be verified: the file of API keys can be read, and the issuer's keys are known.
    pub(super) fn are_ready(&self) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.is_readable())
            && self.oauth.as_ref().is_none_or(|oauth| oauth.tokens.is_ready())
    }

    /// Authenticates a request; `None` if no credentials are required.
    ///
    /// # Errors
    /// 400 if there is more than one credential, or one in the query; 401 without a valid one; 503 while API keys can't be
    /// read or the issuer's keys are unknown.
    pub(super) async fn caller(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        mounts: &Mounts,
    ) -> Result<Option<Caller>, Refusal> {
        if self.keys.is_none() && self.oauth.is_none() {
            return Ok(None);
        }
        // Paths without a mount are not mentioned in the challenge.
        let path = mount_of(mounts, uri.path());
        let mut parts = uri.query().into_iter().flat_map(|query| query.split('&'));
        if parts.any(|part| part.starts_with(IN_QUERY)) {
            let why = "a token in a URL is logged in many places: get a new one, and send it as \
                       `Authorization: Bearer TOKEN`";
            return Err(self.refused(StatusCode::BAD_REQUEST, "invalid_request", why, path));
        }
        let Some(credential) = Credential::from_headers(headers)? else {
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
        let is_key = credential.text().is_some_and(|text| ApiKey::parse(text).is_some());
        if is_key && self.keys.as_ref().is_some_and(|keys| !keys.is_readable()) {
            return Err(Refusal::busy(
                "the server can't read its API keys now; keep the key, and try again later",
            ));
        }
        let bad = |why: &str| {
            let refusal = self.refused(StatusCode::UNAUTHORIZED, "invalid_token", why, path);
            refusal.because("bad")
        };
        let Some(oauth) = &self.oauth else {
            return Err(bad("this key is invalid or was revoked"));
        };
        let token = match credential {
            Credential::Bearer(text) if !is_key => text,
            _ => return Err(bad("this key is invalid or was revoked")),
        };
        let resources: Vec<_> = match path {
            Some(path) => vec![oauth.url.resource(path)],
            None => mounts.keys().map(|path| oauth.url.resource(path)).collect(),
        };
        match oauth.tokens.bearer(token, &resources).await {
            Ok(bearer) => {
                Ok(Some(Caller { principal: bearer.principal, validity: Validity::Until(bearer.until) }))
            }
            Err(AuthenticationError::Token(why)) => Err(bad(&why.to_string())),
            Err(error @ AuthenticationError::NoKeys) => Err(Refusal::busy(error.to_string())),
        }
    }

    /// Returns a caller's permissions in the library mounted at `path`.
    ///
    /// # Errors
    /// 403 if no scope covers the library.
    pub(super) fn grant(&self, caller: Caller, path: &str, library: &str) -> Result<KeyGrant, Refusal> {
        let Caller { principal, validity } = caller;
        principal.grant_at(library, validity).ok_or_else(|| {
            let why = format!("{} has no permission for this library", principal.name);
            let refusal = self.refused(StatusCode::FORBIDDEN, "insufficient_scope", &why, Some(path));
            refusal.because("scope")
        })
    }

    /// Adds the URL of the metadata (RFC 9728) to the challenge of a response that rejects a request.
    pub(super) fn complete(&self, headers: &mut HeaderMap, path: &str) {
        if let (Some(oauth), Some(challenge)) = (&self.oauth, headers.get_mut(WWW_AUTHENTICATE))
            && let Ok(text) = challenge.to_str()
        {
            *challenge = value(&format!("{text}, resource_metadata=\"{}\"", oauth.url.metadata(path)));
        }
    }

    /// Returns the answer to a request without credentials.
    fn unknown(&self, path: Option<&str>) -> Refusal {
        let by_key =
            "send a key as `Authorization: Bearer KEY`; the operator makes one with `tabellion key create`";
        let by_token = "send an access token as `Authorization: Bearer TOKEN`; `WWW-Authenticate` names where to get one";
        let why = if self.oauth.is_some() { by_token } else { by_key };
        let challenge = value(&format!("Bearer realm=\"tabellion\"{}", self.advice(path)));
        let refusal = Refusal::new(StatusCode::UNAUTHORIZED, why).because("missing");
        refusal.header(WWW_AUTHENTICATE, challenge)
    }

    fn refused(&self, status: StatusCode, error: &str, why: &str, path: Option<&str>) -> Refusal {
        let advice = self.advice(path);
        let challenge = value(&format!("Bearer realm=\"tabellion\", error=\"{error}\"{advice}"));
        Refusal::new(status, why).header(WWW_AUTHENTICATE, challenge)
    }

    /// Returns the challenge's scope and metadata URL.
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
    /// Returns the metadata of the library at `path` (RFC 9728): the accepted tokens, and their issuer.
    pub(super) fn metadata(&self, path: &str) -> Value {
        json!({
            "resource": self.url.resource(path),
            "authorization_servers": [self.tokens.issuer()],
            "scopes_supported": SCOPES,
            "bearer_methods_supported": ["header"],
            "resource_name": "Tabellion",
        })
    }
}

/// Returns the path of the mount that contains a path: the mount's own, or that of its endpoints; `None` if there is none.
fn mount_of<'m>(mounts: &'m Mounts, path: &str) -> Option<&'m str> {
    let mut all = mounts.iter();
    let found = all.find(|(mount, served)| match path.strip_prefix(mount.as_str()) {
        None => false,
        Some("") => true,
        Some(below) => served
            .rest
            .iter()
            .flat_map(|rest| rest.endpoints())
            .any(|endpoint| endpoint.variables_of(below).is_some()),
    });
    found.map(|(mount, _)| mount.as_str())
}

/// Returns true if a request has credentials.
pub(super) fn are_sent(headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION) || headers.contains_key(API_KEY)
}

/// The credential of a request.
#[derive(Debug, Clone, Copy)]
enum Credential<'a> {
    /// From `Authorization: Bearer`: a key or an access token.
    Bearer(&'a str),
    /// From `X-API-Key`.
    Key(&'a str),
    /// A header that cannot be read.
    Unreadable,
}

impl<'a> Credential<'a> {
    /// Returns the credential in `headers`, if there is one.
    ///
    /// # Errors
    /// With 400 if there is more than one.
    fn from_headers(headers: &'a HeaderMap) -> Result<Option<Self>, Refusal> {
        let bearers = headers.get_all(AUTHORIZATION).iter();
        let bearers = bearers.map(|value| bearer(value).map(Self::Bearer));
        let keys = headers.get_all(API_KEY).iter();
        let keys = keys.map(|value| value.to_str().ok().map(Self::Key));
        let mut sent = bearers.chain(keys);
        let first = sent.next();
        if sent.next().is_some() {
            let why = "there is more than one key or token; send one, in `Authorization` or in `X-API-Key`";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
        }
        Ok(first.map(|first| first.unwrap_or(Self::Unreadable)))
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Bearer(text) | Self::Key(text) => Some(text),
            Self::Unreadable => None,
        }
    }
}

/// Returns the token of `Bearer TOKEN` (RFC 6750, section 2.1).
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start_matches(' '))
}

/// Returns a header's value from visible ASCII.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("it is of visible ASCII")
}
