//! Signing in: single-use links, cookies, and the tokens of forms.
//!
//! A link has 128 random bits and is valid for two minutes; a cookie has 256 and expires after eight idle
//! hours, or seven days. Only their SHA-256 is stored. A form's token is an HMAC of its purpose with the
//! cookie as the key, so that no other site can forge the form.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::data::{Doorkeeper, Person};

/// Validity of a link.
const LINK_TIME: Duration = Duration::from_secs(2 * 60);
/// Idle time after which a sign-in ends.
const IDLE_TIME: Duration = Duration::from_secs(8 * 60 * 60);
/// Maximum time of a sign-in.
const MAX_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Interval for storing the time of last use.
const STORE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Maximum number of sign-ins; a further one ends the least recently used.
const MAX_SIGN_INS: usize = 1_000;

/// The sign-ins of one server.
pub(crate) struct SignIns {
    doorkeeper: Arc<dyn Doorkeeper>,
    all: Mutex<HashMap<String, SignIn>>,
    links: Mutex<HashMap<String, Link>>,
}

/// A sign-in, stored under the digest of its cookie.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SignIn {
    person: String,
    /// Seconds since 1970.
    began: u64,
    used: u64,
}

struct Link {
    person: Person,
    until: SystemTime,
}

/// A person who has signed in, and the secret for the tokens of forms.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) person: Person,
    cookie: String,
}

impl Visitor {
    /// Returns the token of a form with this purpose.
    pub(crate) fn token(&self, purpose: &str) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.cookie.as_bytes()).expect("a key may have any length");
        mac.update(purpose.as_bytes());
        HEXLOWER.encode(&mac.finalize().into_bytes())
    }

    /// Returns true if a form with this purpose has the right token.
    pub(crate) fn made(&self, purpose: &str, token: &str) -> bool {
        self.token(purpose).as_bytes().ct_eq(token.as_bytes()).into()
    }

    /// Returns the digest of the cookie, which identifies the sign-in.
    pub(crate) fn digest(&self) -> String {
        digest(&self.cookie)
    }
}

/// A sign-in, for display to its person.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Its id.
    pub(crate) digest: String,
    /// Time of its beginning.
    pub(crate) began: SystemTime,
    /// Time of its last use.
    pub(crate) used: SystemTime,
}

impl SignIns {
    pub(crate) fn new(doorkeeper: Arc<dyn Doorkeeper>) -> Self {
        let stored = doorkeeper.load();
        let all = stored.and_then(|text| serde_json::from_str(&text).ok());
        Self { doorkeeper, all: Mutex::new(all.unwrap_or_default()), links: Mutex::default() }
    }

    pub(crate) fn doorkeeper(&self) -> &dyn Doorkeeper {
        &*self.doorkeeper
    }

    /// Makes a link for a person; returns its token.
    pub(crate) fn link(&self, person: Person) -> String {
        let token = random::<16>();
        let until = SystemTime::now() + LINK_TIME;
        let mut links = self.links.lock();
        links.retain(|_, link| link.until > SystemTime::now());
        links.insert(digest(&token), Link { person, until });
        token
    }

    /// Returns the person of a valid link.
    pub(crate) fn linked(&self, token: &str) -> Option<Person> {
        let links = self.links.lock();
        let link = links.get(&digest(token))?;
        (link.until > SystemTime::now()).then(|| link.person.clone())
    }

    /// Consumes a link; returns the new cookie.
    pub(crate) fn follow(&self, token: &str) -> Option<String> {
        let link = self.links.lock().remove(&digest(token))?;
        (link.until > SystemTime::now()).then(|| self.begin(&link.person))
    }

    /// Signs a person in; returns the cookie.
    pub(crate) fn begin(&self, person: &Person) -> String {
        let (cookie, now) = (random::<32>(), seconds(SystemTime::now()));
        let sign_in = SignIn { person: person.id.clone(), began: now, used: now };
        let mut all = self.all.lock();
        all.retain(|_, sign_in| sign_in.holds(now));
        if all.len() >= MAX_SIGN_INS
            && let Some((least, _)) = all.iter().min_by_key(|(_, sign_in)| sign_in.used)
        {
            let least = least.clone();
            all.remove(&least);
        }
        all.insert(digest(&cookie), sign_in);
        self.store(&all);
        cookie
    }

    /// Returns the visitor with this cookie, if its sign-in has not ended and its person is still known.
    pub(crate) fn visitor(&self, cookie: &str) -> Option<Visitor> {
        let (name, now) = (digest(cookie), seconds(SystemTime::now()));
        let mut all = self.all.lock();
        let sign_in = all.get_mut(&name).filter(|sign_in| sign_in.holds(now))?;
        let person = sign_in.person.clone();
        let is_old = now.saturating_sub(sign_in.used) > STORE_INTERVAL.as_secs();
        sign_in.used = now;
        if is_old {
            self.store(&all);
        }
        drop(all);
        Some(Visitor { person: self.doorkeeper.by_id(&person)?, cookie: cookie.to_owned() })
    }

    /// Lists the sign-ins of a person, the most recently used first.
    pub(crate) fn of_person(&self, person: &Person) -> Vec<Listed> {
        let now = seconds(SystemTime::now());
        let all = self.all.lock();
        let own = all.iter().filter(|(_, sign_in)| sign_in.person == person.id && sign_in.holds(now));
        let time = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let mut own: Vec<_> = own
            .map(|(digest, sign_in)| Listed {
                digest: digest.clone(),
                began: time(sign_in.began),
                used: time(sign_in.used),
            })
            .collect();
        own.sort_by_key(|listed| std::cmp::Reverse(listed.used));
        own
    }

    /// Ends a sign-in of a person.
    pub(crate) fn end(&self, person: &Person, digest: &str) {
        let mut all = self.all.lock();
        if all.get(digest).is_some_and(|sign_in| sign_in.person == person.id) {
            all.remove(digest);
            self.store(&all);
        }
    }

    fn store(&self, all: &HashMap<String, SignIn>) {
        match serde_json::to_string(all) {
            Ok(text) => self.doorkeeper.store(&text),
            Err(error) => tracing::error!(%error, "the sign-ins can't be stored"),
        }
    }
}

impl SignIn {
    fn holds(&self, now: u64) -> bool {
        now < self.used + IDLE_TIME.as_secs() && now < self.began + MAX_TIME.as_secs()
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns `N` random bytes in hexadecimal.
pub(crate) fn random<const N: usize>() -> String {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    HEXLOWER.encode(&bytes)
}

/// Returns the SHA-256 of a text in hexadecimal.
pub(crate) fn digest(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// Knows one person, until revoked, and keeps the stored text.
    #[derive(Default)]
    struct Door {
        is_revoked: Mutex<bool>,
        kept: Mutex<Option<String>>,
    }

    fn eve() -> Person {
        Person { id: "key:1".into(), name: "Eve".into() }
    }

    impl Doorkeeper for Door {
        fn by_key(&self, _: &str, _: IpAddr) -> Result<Person, String> {
            Ok(eve())
        }

        fn by_id(&self, id: &str) -> Option<Person> {
            Some(eve()).filter(|eve| eve.id == id && !*self.is_revoked.lock())
        }

        fn has_keys(&self) -> bool {
            true
        }

        fn load(&self) -> Option<String> {
            self.kept.lock().clone()
        }

        fn store(&self, text: &str) {
            *self.kept.lock() = Some(text.into());
        }
    }

    #[test]
    fn a_link_holds_once() {
        let sign_ins = SignIns::new(Arc::new(Door::default()));
        let token = sign_ins.link(eve());
        assert_eq!(sign_ins.linked(&token), Some(eve()), "looking does not use it up");
        let cookie = sign_ins.follow(&token).expect("it holds");
        assert!(sign_ins.visitor(&cookie).is_some());
        assert_eq!(sign_ins.follow(&token), None);
        assert_eq!(sign_ins.linked(&token), None);
        sign_ins.links.lock().values_mut().for_each(|link| link.until = UNIX_EPOCH);
        let late = sign_ins.link(eve());
        sign_ins.links.lock().values_mut().for_each(|link| link.until = UNIX_EPOCH);
        assert_eq!(sign_ins.follow(&late), None);
    }

    #[test]
    fn a_sign_in_ends_with_its_time_its_key_or_its_person() {
        let door = Arc::new(Door::default());
        let sign_ins = SignIns::new(door.clone());
        let cookie = sign_ins.begin(&eve());
        assert!(sign_ins.visitor(&cookie).is_some());
        assert!(sign_ins.visitor(&random::<32>()).is_none());
        let again = SignIns::new(door.clone());
        assert!(again.visitor(&cookie).is_some(), "a restart keeps it");
        let stored = door.load().expect("stored");
        assert!(!stored.contains(&cookie), "only its digest is kept");
        *door.is_revoked.lock() = true;
        assert!(again.visitor(&cookie).is_none(), "a revoked key ends it");
        *door.is_revoked.lock() = false;
        for (used, began) in [(IDLE_TIME, IDLE_TIME), (Duration::ZERO, MAX_TIME)] {
            let cookie = again.begin(&eve());
            let now = SystemTime::now();
            if let Some(sign_in) = again.all.lock().get_mut(&digest(&cookie)) {
                sign_in.used = seconds(now - used);
                sign_in.began = seconds(now - began);
            }
            assert!(again.visitor(&cookie).is_none(), "{used:?} {began:?}");
        }
        let cookie = again.begin(&eve());
        let digest = again.visitor(&cookie).expect("it holds").digest();
        let other = Person { id: "key:2".into(), ..eve() };
        again.end(&other, &digest);
        assert!(again.visitor(&cookie).is_some(), "people end their own");
        again.end(&eve(), &digest);
        assert!(again.visitor(&cookie).is_none());
    }

    #[test]
    fn a_forms_token_is_of_its_sign_in_and_its_purpose() {
        let sign_ins = SignIns::new(Arc::new(Door::default()));
        let visitor = |cookie: &str| sign_ins.visitor(cookie).expect("signed in");
        let (one, two) = (visitor(&sign_ins.begin(&eve())), visitor(&sign_ins.begin(&eve())));
        let token = one.token("review/1");
        for (visitor, purpose, token, expected) in [
            (&one, "review/1", token.as_str(), true),
            (&one, "review/2", &token, false),
            (&two, "review/1", &token, false),
            (&one, "review/1", "", false),
        ] {
            assert_eq!(visitor.made(purpose, token), expected, "{purpose} {token}");
        }
    }
}
