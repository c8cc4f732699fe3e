//! Signing in: people with keys, or the person whose account the server runs under.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    net::IpAddr,
    path::PathBuf,
    sync::Arc,
};

use tabellion_gateway::{Access, Grant as _, LocalCaller};
use tabellion_http::{
    Limits,
    keys::{KeyRing, Principal, Validity},
    rates::Failures,
};
use tabellion_library::Library;
use tabellion_page::data::{Doorkeeper, May, Person};
use tabellion_platform as platform;
use tabellion_runtime::{Agent, CallContext, ContractSpec, Identity, identity::Method, spec::CallerKind};

use super::CLIENT;

/// Id of the person whose account the server runs under.
const LOCAL: &str = "local";
/// Name of the store of sign-ins.
const SIGN_INS: &str = "page-sign-ins";
/// Size limit of that store, in bytes.
const MAX_SIGN_INS: u64 = 1 << 20;
/// The role that decides on proposals, and the one that changes documents.
pub(crate) const REVIEWER: &str = "reviewer";
const OWNER: &str = "owner";

/// Signs people in, and determines their permissions.
pub struct Door {
    keys: Option<Arc<KeyRing>>,
    failures: Failures,
    /// The person whose account the server runs under.
    local: LocalCaller,
    /// The place where sign-ins outlive a restart, if there is one.
    kept: Option<Kept>,
}

/// The place of the store of sign-ins.
pub enum Kept {
    /// Next to a library.
    Library(Arc<Library>),
    /// In the folder of rows.
    Rows(PathBuf),
}

impl Kept {
    fn load(&self) -> Option<String> {
        match self {
            Self::Library(library) => library.kept_aside(SIGN_INS),
            Self::Rows(folder) => {
                let bytes = platform::read_regular(&folder.join(SIGN_INS), MAX_SIGN_INS).ok()?;
                String::from_utf8(bytes).ok()
            }
        }
    }

    fn store(&self, text: &str) -> io::Result<()> {
        match self {
            Self::Library(library) => library.keep_aside(SIGN_INS, text),
            Self::Rows(folder) => {
                let path = folder.join(SIGN_INS);
                platform::create_own(&path)?;
                let mut options = OpenOptions::new();
                options.write(true).truncate(true);
                platform::open_to_write(&path, &mut options)?.write_all(text.as_bytes())
            }
        }
    }
}

impl Door {
    /// Lets people with keys in; without a ring, the person whose account the server runs under.
    pub fn new(keys: Option<Arc<KeyRing>>, local: LocalCaller, kept: Option<Kept>) -> Arc<Self> {
        let failures = Failures::new(Limits::default().failures);
        Arc::new(Self { keys, failures, local, kept })
    }

    /// Returns the person whose account the server runs under.
    pub fn local(&self) -> Person {
        Person { id: LOCAL.into(), name: self.local.user.clone() }
    }

    /// Returns the name of a caller whose identity is in the log: that of the key's holder or of the account,
    /// after that of the agent that acted for them. Returns the identity itself if the key is unknown by now.
    pub(crate) fn name_of(&self, caller: &str) -> String {
        let Ok(identity) = caller.parse::<Identity>() else {
            return caller.to_owned();
        };
        let by_id = |id: &str| Some(self.keys.as_ref()?.by_id(id)?.name.clone());
        let name = match identity.method() {
            Method::ApiKey => by_id(identity.subject()),
            Method::Local => Some(identity.subject().to_owned()),
            Method::AccessToken => None,
        };
        match (name, identity.agent()) {
            (Some(name), Some(agent)) => format!("{agent}/{name}"),
            (Some(name), None) => name,
            (None, _) => caller.to_owned(),
        }
    }

    fn principal(&self, who: &Person) -> Option<Arc<Principal>> {
        self.keys.as_ref()?.by_id(&who.id)
    }

    /// Returns the permissions of a person with respect to all of `contracts` over the library of this name.
    /// The page shows whole documents and their history to people who may read all of them: in contracts with
    /// roles, only owners, since sensitive texts are theirs.
    pub(crate) fn may(&self, who: &Person, library: &str, contracts: &[&'static ContractSpec]) -> May {
        if who.id == LOCAL && self.keys.is_none() {
            return May { review: true, read: true, inspect: true, decide: true, undo: true, role: REVIEWER };
        }
        let (Some(principal), Some(ring)) = (self.principal(who), &self.keys) else {
            return May::default();
        };
        let Some(grant) = principal.grant_at(library, Validity::WhileKeyExists(ring.clone())) else {
            return May::default();
        };
        let has = |contract: &ContractSpec, role: &str| {
            let scopes = grant.scopes(contract.id);
            let roles = contract.auth.map(|auth| auth.roles_of(CallerKind::Human, &scopes));
            roles.is_some_and(|roles| roles.contains(&role))
        };
        let may_all = |access| {
            contracts.iter().all(|contract| match contract.auth {
                Some(_) => has(contract, OWNER),
                None => grant.allows(contract.id, access),
            })
        };
        let decide = contracts.iter().any(|contract| has(contract, REVIEWER));
        let (read, undo) = (may_all(Access::Read), may_all(Access::Write));
        May {
            review: decide || contracts.iter().any(|contract| has(contract, OWNER)),
            read,
            inspect: undo,
            decide,
            undo,
            role: match (decide, undo) {
                (true, _) => REVIEWER,
                (false, true) => OWNER,
                (false, false) => "reader",
            },
        }
    }

    /// Returns the context of a call of `contract` by a person; `None` if the person may not call it.
    pub(crate) fn call(
        &self,
        who: &Person,
        library: &str,
        contract: &'static ContractSpec,
    ) -> Option<CallContext> {
        let call = CallContext { client: Some(CLIENT.into()), ..CallContext::default() };
        if who.id == LOCAL && self.keys.is_none() {
            let local = LocalCaller { role: contract.auth.map(|_| REVIEWER.into()), ..self.local.clone() };
            return Some(local.makes(call, contract, Agent::default()));
        }
        let ring = self.keys.clone()?;
        let grant = self.principal(who)?.grant_at(library, Validity::WhileKeyExists(ring))?;
        let caller = tabellion_gateway::person(contract, &grant).map(Arc::new);
        Some(CallContext {
            author: Some(grant.author()),
            caller,
            identity: Some(grant.identity().clone()),
            org: grant.org().map(Arc::from),
            user: grant.user().map(Arc::from),
            ..call
        })
    }
}

impl Doorkeeper for Door {
    fn by_key(&self, key: &str, address: IpAddr) -> Result<Person, String> {
        if self.failures.allow(address).is_err() {
            return Err("Too many wrong keys came from your address; wait a minute.".into());
        }
        let principal = self.keys.as_ref().and_then(|keys| keys.principal(key));
        let Some(principal) = principal else {
            if self.keys.as_ref().is_some_and(|keys| !keys.is_readable()) {
                return Err("The server can't read its keys now; try again later.".into());
            }
            self.failures.count(address);
            return Err("This key is wrong, or was revoked.".into());
        };
        if principal.bound.agent.is_some() {
            return Err("This is an agent's key; people sign in with their own.".into());
        }
        Ok(person(&principal))
    }

    fn by_id(&self, id: &str) -> Option<Person> {
        match &self.keys {
            Some(keys) => keys.by_id(id).map(|principal| person(&principal)),
            None => Some(self.local()).filter(|local| local.id == id),
        }
    }

    fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    fn load(&self) -> Option<String> {
        self.kept.as_ref()?.load()
    }

    fn store(&self, text: &str) {
        if let Some(kept) = &self.kept
            && let Err(error) = kept.store(text)
        {
            tracing::warn!(%error, "sign-ins will not outlive this server");
        }
    }
}

fn person(principal: &Principal) -> Person {
    Person { id: principal.identity.subject().to_owned(), name: principal.name.clone() }
}
