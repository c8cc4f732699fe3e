//! The identity of a caller, made by the server from checked credentials.

use std::{fmt, str::FromStr, sync::Arc};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use crate::{text, vocabulary::vocabulary};

/// Bytes that are percent-encoded in the parts of an identity, including all separators of parts.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@').remove(b'|');
/// Maximum length of the name of a client or agent, in characters; the rest is cut off.
const MAX_PROGRAM_CHARS: usize = 200;

vocabulary! {
    /// The credentials that identify a caller.
    #[serde(rename_all = "snake_case")]
    #[derive(Hash)]
    pub enum Method {
        /// An API key. The subject is the key's id.
        ApiKey,
        /// An access token. The subject is that of the token.
        AccessToken,
        /// An account on this machine, at a terminal or on standard input and output. The subject is the account's name.
        Local,
    }
}

/// The identity of a caller. It alone decides which sessions, executions, limits, idempotency keys and proposals belong to the caller.
///
/// The text form is `METHOD:ISSUER/SUBJECT;client=NAME;agent=NAME`, without absent parts. Parts are percent-encoded, so that no name,
/// address or claim makes one identity look like another. People are shown [`KnownCaller::name`](crate::KnownCaller::name) instead.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Identity {
    method: Method,
    issuer: Option<Arc<str>>,
    subject: Arc<str>,
    client: Option<Arc<str>>,
    agent: Option<Arc<str>>,
}

/// A text that is not an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an identity, such as `local:ada` or `access_token:https%3A%2F%2Fissuer.example/42`")]
pub struct IdentityError;

impl Identity {
    /// Returns the holder of the API key with this id.
    pub fn key(id: &str) -> Self {
        Self::new(Method::ApiKey, None, id)
    }

    /// Returns the subject of an issuer's token.
    pub fn token(issuer: &str, subject: &str) -> Self {
        Self::new(Method::AccessToken, Some(issuer), subject)
    }

    /// Returns the person with this account on this machine.
    pub fn local(account: &str) -> Self {
        Self::new(Method::Local, None, account)
    }

    fn new(method: Method, issuer: Option<&str>, subject: &str) -> Self {
        Self { method, issuer: issuer.map(Arc::from), subject: subject.into(), client: None, agent: None }
    }

    /// Returns the same subject, calling with this client.
    #[must_use]
    pub fn with_client(self, name: &str) -> Self {
        Self { client: Some(truncate(name)), ..self }
    }

    /// Returns the agent of this name, which acts for the subject.
    #[must_use]
    pub fn with_agent(self, name: &str) -> Self {
        Self { agent: Some(truncate(name)), ..self }
    }

    /// Returns the kind of credentials.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the subject: the id of a key, the subject of a token, or an account.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the name of the agent that acts for the subject, if one does.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns true if both are one owner: the same person, with any client, or the same agent of a person.
    pub fn is_same_actor(&self, other: &Self) -> bool {
        let without_client =
            |it: &Self| Self { client: it.client.clone().filter(|_| it.agent.is_some()), ..it.clone() };
        without_client(self) == without_client(other)
    }
}

/// The names of a caller, which are chosen by people. A comparison of them can refuse a call, never permit one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PersonNames<'a> {
    /// The name that people are shown: the address, if there is one.
    pub(crate) shown: &'a str,
    /// The person's own name, if `shown` is the address.
    pub(crate) own: Option<&'a str>,
}

impl PersonNames<'_> {
    /// Returns true if both can be one person: by their addresses if both have one, else by any name. Compares without case, compatibility
    /// forms, invisible characters and the number of blanks.
    pub(crate) fn may_be(self, other: Self) -> bool {
        let [a, b] = [self, other].map(|names| (spelling(names.shown), names.own.map(spelling)));
        let have_addresses =
            [self, other].iter().all(|names| names.own.is_some() || names.shown.contains('@'));
        let is_any_name_shared = || {
            let mut all = [Some(&a.0), a.1.as_ref()].into_iter().flatten();
            all.any(|name| *name == b.0 || b.1.as_ref() == Some(name))
        };
        a.0 == b.0 || (!have_addresses && is_any_name_shared())
    }
}

/// Returns the form in which names of people are compared.
fn spelling(name: &str) -> String {
    let name = text::folded(&name.nfkc().collect::<String>());
    // Left by the lower case of `İ`.
    let name = name.replace("i\u{307}", "i");
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((local, domain)) = name.rsplit_once('@') else { return name };
    let local = local.strip_prefix("mailto:").unwrap_or(local);
    let (domain, _) = idna::domain_to_unicode(domain.trim_end_matches('.'));
    format!("{local}@{}", text::folded(&domain))
}

fn truncate(name: &str) -> Arc<str> {
    name.chars().take(MAX_PROGRAM_CHARS).collect::<String>().into()
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |text| utf8_percent_encode(text, ENCODED);
        write!(f, "{}:", self.method)?;
        if let Some(issuer) = &self.issuer {
            write!(f, "{}/", encoded(issuer))?;
        }
        write!(f, "{}", encoded(&self.subject))?;
        for (name, part) in [("client", &self.client), ("agent", &self.agent)] {
            if let Some(part) = part {
                write!(f, ";{name}={}", encoded(part))?;
            }
        }
        Ok(())
    }
}

impl FromStr for Identity {
    type Err = IdentityError;

    /// The inverse of [`Display`](fmt::Display); every other text is refused.
    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let decoded = |part: &str| -> Result<Arc<str>, IdentityError> {
            let decoded = percent_decode_str(part).decode_utf8();
            decoded.map(Arc::from).map_err(|_| IdentityError)
        };
        let (method, rest) = text.split_once(':').ok_or(IdentityError)?;
        let mut parts = rest.split(';');
        let who = parts.next().unwrap_or_default();
        let (issuer, subject) = match who.split_once('/') {
            Some((issuer, subject)) => (Some(decoded(issuer)?), subject),
            None => (None, who),
        };
        let mut identity = Self {
            method: serde_json::from_value(method.into()).map_err(|_| IdentityError)?,
            issuer,
            subject: decoded(subject)?,
            client: None,
            agent: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("client", name)) => identity.client = Some(decoded(name)?),
                Some(("agent", name)) => identity.agent = Some(decoded(name)?),
                _ => return Err(IdentityError),
            }
        }
        (identity.to_string() == text).then_some(identity).ok_or(IdentityError)
    }
}

impl TryFrom<String> for Identity {
    type Error = IdentityError;

    fn try_from(text: String) -> Result<Self, IdentityError> {
        text.parse()
    }
}

impl From<Identity> for String {
    fn from(identity: Identity) -> Self {
        identity.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_identity() -> impl Strategy<Value = Identity> {
        fn part() -> impl Strategy<Value = String> {
            prop_oneof!["[a-c:;=/%@ ]{0,4}", ".{0,4}"]
        }
        let who = prop_oneof![
            part().prop_map(|id| Identity::key(&id)),
            (part(), part()).prop_map(|(issuer, subject)| Identity::token(&issuer, &subject)),
            part().prop_map(|account| Identity::local(&account)),
        ];
        (who, proptest::option::of(part()), proptest::option::of(part())).prop_map(
            |(mut who, client, agent)| {
                who = client.into_iter().fold(who, |who, name| who.with_client(&name));
                agent.into_iter().fold(who, |who, name| who.with_agent(&name))
            },
        )
    }

    proptest! {
        #[test]
        fn a_text_is_one_identity(a in any_identity(), b in any_identity()) {
            prop_assert_eq!(a.to_string().parse(), Ok(a.clone()));
            prop_assert_eq!(a == b, a.to_string() == b.to_string());
            // The prefix of an idempotency key ends at the first space.
            prop_assert!(a.to_string().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }

    #[test]
    fn a_person_is_the_same_with_any_client_and_an_agent_is_another() {
        let ada = Identity::token("https://issuer.example", "ada");
        let agent = ada.clone().with_agent("helper");
        for (other, expected) in [
            (ada.clone(), true),
            (ada.clone().with_client("browser"), true),
            (agent.clone(), false),
            (Identity::token("https://other.example", "ada"), false),
            (Identity::token("https://issuer.example", "ADA"), false),
            (Identity::local("ada"), false),
            (Identity::key("ada"), false),
        ] {
            assert_eq!(ada.is_same_actor(&other), expected, "{other}");
        }
        assert!(!agent.is_same_actor(&agent.clone().with_client("another")));
        assert!(!agent.is_same_actor(&ada.with_agent("Helper")));
    }

    #[test]
    fn spellings_of_a_name_or_an_address_are_one_person() {
        for (a, b, expected) in [
            ("Ann Lee", "ann\u{a0} LEE", true),
            ("Ann\u{ad}Lee", "AnnLee", true),
            ("\u{130}pek", "ipek", true),
            ("\u{130}PEK@x.org", "ipek@x.org", true),
            ("ann@x.org", "mailto:Ann@X.org.", true),
            ("ann@b\u{fc}cher.de", "ann@xn--bcher-kva.de", true),
            ("ann@B\u{dc}CHER.de", "ann@XN--BCHER-KVA.de", true),
            ("ann@www.\u{4f8b}\u{3048}.jp", "ann@www.xn--r8jz45g.jp", true),
            ("ann@\u{4f8b}\u{3048}.jp", "ann@xn--r8jz45g.jp", true),
            ("ann@b\u{fc}cher.de", "ann@bucher.de", false),
            ("ann@xn--99999999.de", "ann@xn--99999998.de", false),
            ("ann@x.org", "bob@x.org", false),
        ] {
            let names = |shown| PersonNames { shown, own: None };
            assert_eq!(names(a).may_be(names(b)), expected, "{a} {b}");
        }
    }

    #[test]
    fn texts_of_other_forms_are_refused() {
        for text in [
            "",
            "ada",
            "ada@example.com",
            "agent:helper/ada",
            "api_key:%61",
            "api_key:a;agent",
            "local:a;role=b",
            "key:a",
        ] {
            assert_eq!(text.parse::<Identity>(), Err(IdentityError), "{text}");
        }
    }
}
