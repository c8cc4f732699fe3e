//! Webhooks by which a forge reports that a branch has moved. The signature is checked before anything else; no decision depends on the
//! body, so that a replayed request only costs a fetch.

use std::{fmt, io, path::Path, sync::Arc, time::SystemTime};

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use hyper::HeaderMap;
use ring::hmac;
use subtle::ConstantTimeEq as _;
use tabellion_platform::read_text;

/// Minimum length of a secret, in bytes.
const MIN_SECRET: usize = 16;
/// Maximum difference, in seconds, between the clock of a forge that signs the time and this machine's.
const MAX_SKEW: u64 = 5 * 60;
/// Headers with the hexadecimal HMAC-SHA-256 of the body, and the value's prefix: for GitHub, Forgejo, and Gitea.
const OF_BODY: [(&str, &str); 3] =
    [("x-hub-signature-256", "sha256="), ("x-forgejo-signature", ""), ("x-gitea-signature", "")];
/// Prefix of a secret that is a Base64 key (Standard Webhooks, which GitLab follows).
const ENCODED: &str = "whsec_";

/// The secret with which a forge signs its requests.
pub struct HookSecret(String);

/// The reaction to a branch that has moved at the forge.
pub struct Hook {
    /// The secret.
    pub secret: Arc<HookSecret>,
    /// Starts a fetch of the branch, without waiting for it.
    pub fetch: Box<dyn Fn() + Send + Sync>,
}

impl HookSecret {
    /// Reads the secret in a file: its text, without line endings.
    ///
    /// # Errors
    /// If it can't be read, or is too short.
    pub fn read(file: &Path) -> io::Result<Self> {
        let secret = read_text(file)?.trim().to_owned();
        if secret.len() < MIN_SECRET {
            let why = format!(
                "the secret has less than {MIN_SECRET} characters; write a random one (`openssl rand -hex 32`)"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Self(secret))
    }

    /// Returns true if the sender of a request knows the secret.
    pub(super) fn signed(&self, headers: &HeaderMap, body: &[u8], now: SystemTime) -> bool {
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        let signs_body = |(name, begin): &(&str, &str)| {
            let signature = header(name)?.strip_prefix(begin)?;
            let signature = HEXLOWER_PERMISSIVE.decode(signature.as_bytes()).ok()?;
            hmac::verify(&key, body, &signature).ok()
        };
        let is_token = |token: &str| bool::from(token.as_bytes().ct_eq(self.0.as_bytes()));
        OF_BODY.iter().any(|of| signs_body(of).is_some())
            || self.signs_time(&header, body, now).is_some()
            || header("x-gitlab-token").is_some_and(is_token)
    }

    /// Checks a signature of Standard Webhooks, which covers id, time and body.
    fn signs_time<'h>(
        &self,
        header: &impl Fn(&str) -> Option<&'h str>,
        body: &[u8],
        now: SystemTime,
    ) -> Option<()> {
        let [id, time, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(header);
        let (id, time, signatures) = (id?, time?, signatures?);
        let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        if time.parse::<u64>().ok()?.abs_diff(now) > MAX_SKEW {
            return None;
        }
        let key = match self.0.strip_prefix(ENCODED) {
            Some(encoded) => BASE64.decode(encoded.as_bytes()).ok()?,
            None => self.0.clone().into_bytes(),
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let signed = [format!("{id}.{time}.").as_bytes(), body].concat();
        let is_ours = |signature: &str| {
            let signature = signature.strip_prefix("v1,")?;
            hmac::verify(&key, &signed, &BASE64.decode(signature.as_bytes()).ok()?).ok()
        };
        signatures.split(' ').find_map(is_ours)
    }
}

impl fmt::Debug for HookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookSecret")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    /// A secret, headers, a body, the time, and true if the request is signed.
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u64, bool);

    /// The first and the fifth case are the examples of GitHub's and of Standard Webhooks' documents.
    #[test]
    fn signatures_of_forges_are_known() {
        const GITHUB: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let spoken = "It's a Secret to Everybody";
        let encoded = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let standard = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            (
                "webhook-signature",
                "v1,bm9ldHUjKzFob2VudXRob2VodWUzMjRvdWVvdW9ldQo= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
        ];
        let body = "{\"test\": 2432232314}";
        let cases: [Case<'_>; 12] = [
            (spoken, &[("x-hub-signature-256", GITHUB)], "Hello, World!", 0, true),
            (spoken, &[("x-hub-signature-256", GITHUB)], "Hello, World?", 0, false),
            (spoken, &[("x-hub-signature-256", &GITHUB[7..])], "Hello, World!", 0, false),
            (spoken, &[("x-gitea-signature", &GITHUB[7..])], "Hello, World!", 0, true),
            (encoded, &standard, body, 1_614_265_330, true),
            (encoded, &standard, body, 1_614_265_330 + 299, true),
            (encoded, &standard, body, 1_614_265_330 + 301, false),
            (encoded, &standard, "{}", 1_614_265_330, false),
            (encoded, &standard[1..], body, 1_614_265_330, false),
            (spoken, &[("x-gitlab-token", spoken)], "", 0, true),
            (spoken, &[("x-gitlab-token", "It's no Secret to Everyone")], "", 0, false),
            (spoken, &[], "Hello, World!", 0, false),
        ];
        for (secret, headers, body, seconds, expected) in cases {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(
                    HeaderName::from_bytes(name.as_bytes()).unwrap(),
                    HeaderValue::from_str(value).unwrap(),
                );
            }
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let signed = HookSecret(secret.to_owned()).signed(&map, body.as_bytes(), now);
            assert_eq!(signed, expected, "{headers:?} {body} {seconds}");
        }
    }

    #[test]
    fn a_short_secret_is_refused() {
        for (text, expected) in [("0123456789abcdef\n", true), ("0123456789abcde\n", false), ("", false)] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            assert_eq!(HookSecret::read(file.path()).is_ok(), expected, "{text}");
        }
    }
}
