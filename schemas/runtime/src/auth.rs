//! The caller, and whether the contract lets it call.
//!
//! A server authenticates its callers and hands each in as a [`KnownCaller`]. Only contracts with `auth` look at it: there, an
//! operation names the roles of which a caller must have one, and a caller's key must permit what the operation does.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{
    answer::Rejection,
    boundary::failed,
    context::CallContext,
    failure::{ContractError, Failure, FailureKind},
    identity::Identity,
    spec::{AuthSpec, CallerKind, ContractSpec, ScopeWord, ToolSpec},
};

/// Name, in the data of errors about callers, of the reason: `missing`, `bad`, `role` or `scope`.
pub const REASON: &str = "reason";
/// Name, in the data of errors about callers, of what the call needs.
pub const NEEDS: &str = "needs";

/// A caller, as the server has authenticated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCaller {
    /// Whether it is a person or a program.
    pub kind: CallerKind,
    /// The identity, which alone decides what the caller owns.
    pub identity: Identity,
    /// The name shown to people: a verified address, an account, or the name of a key's owner; for an agent, with the agent's name. A
    /// comparison of it can refuse a call, never permit one.
    pub name: Arc<str>,
    /// What an agent says of itself.
    pub agent: Option<Agent>,
    /// Names of its roles in the contract.
    pub roles: Vec<&'static str>,
    /// What its key permits in the contract.
    pub scopes: Vec<ScopeWord>,
}

/// An agent's name and version, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// The name.
    pub name: Option<String>,
    /// The version.
    pub version: Option<String>,
}

impl Agent {
    /// Returns the agent with a client's name and version. Blank ones count as absent.
    pub fn said(name: Option<String>, version: Option<String>) -> Self {
        let is_said = |part: &String| !part.trim().is_empty();
        Self {
            name: name.filter(is_said),
            version: version.filter(is_said),
        }
    }

    /// Reads `NAME@VERSION` or `NAME`; `None` if a part is blank.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, version) = match text.rsplit_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let is_said = |part: &str| !part.trim().is_empty();
        (is_said(name) && version.is_none_or(is_said)).then(|| Self {
            name: Some(name.into()),
            version: version.map(str::to_owned),
        })
    }

    /// Returns what is known here, else by `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self.name {
            None => other,
            Some(_) => self,
        }
    }
}

impl fmt::Display for Agent {
    /// Writes `NAME@VERSION`, as far as they are known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_deref().unwrap_or("unknown"))?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

impl KnownCaller {
    /// Returns a person whose key permits `scopes`, with the roles that `auth` gives them.
    pub fn human(auth: &AuthSpec, identity: Identity, name: &str, scopes: Vec<ScopeWord>) -> Self {
        Self {
            kind: CallerKind::Human,
            identity,
            name: name.into(),
            agent: None,
            roles: auth.roles_of(CallerKind::Human, &scopes),
            scopes,
        }
    }

    /// Returns an agent that acts for the person `holder`, whom people know as `name`. It never has the scope `review`.
    pub fn agent(
        auth: &AuthSpec,
        agent: Agent,
        holder: Identity,
        name: &str,
        mut scopes: Vec<ScopeWord>,
    ) -> Self {
        scopes.retain(|scope| *scope != ScopeWord::Review);
        let called = agent.name.as_deref().unwrap_or("unknown");
        Self {
            kind: CallerKind::Agent,
            identity: holder.with_agent(called),
            name: format!("agent:{called}/{name}").into(),
            roles: auth.roles_of(CallerKind::Agent, &scopes),
            agent: Some(agent),
            scopes,
        }
    }

    /// Returns what gates know of the caller.
    pub fn to_facts(&self) -> Value {
        let mut facts = Map::new();
        facts.insert("kind".into(), json!(self.kind));
        facts.insert("roles".into(), json!(self.roles));
        facts.insert("identity".into(), self.identity.to_string().into());
        if let Some(agent) = &self.agent {
            let said = [("name", &agent.name), ("version", &agent.version)];
            let said = said
                .into_iter()
                .filter_map(|(key, text)| Some((key.to_owned(), text.as_deref()?.into())));
            facts.insert("agent".into(), said.collect::<Map<_, _>>().into());
        }
        facts.into()
    }
}

/// Checks that the caller may call `tool`, which is an operation.
pub(crate) fn check<Error: ContractError>(
    tool: &'static ToolSpec,
    call: &CallContext,
) -> Result<(), Rejection> {
    let needed = match (tool.scopes, tool.mutating) {
        ([], true) => &[ScopeWord::Write],
        ([], false) => &[ScopeWord::Read],
        (scopes, _) => scopes,
    };
    judge(tool.label(), tool.roles, needed, call.caller.as_deref())
        .map_err(|failure| failed::<Error>(tool, failure))
}

/// Checks that the caller may read the resource of this name.
///
/// # Errors
/// The contract's error for failures of the kind [`Unauthenticated`](FailureKind::Unauthenticated).
pub fn check_resource<Error: ContractError>(
    contract: &'static ContractSpec,
    resource: &str,
    call: &CallContext,
) -> Result<(), Rejection> {
    may_read(contract, resource, call.caller.as_deref())
        .map_err(|failure| Rejection::Declared(Error::from(failure).answer()))
}

/// Decides whether a caller may read the resource of this name.
///
/// # Errors
/// A failure of the kind [`Unauthenticated`](FailureKind::Unauthenticated).
pub fn may_read(
    contract: &'static ContractSpec,
    resource: &str,
    caller: Option<&KnownCaller>,
) -> Result<(), Failure> {
    let all = contract.auth.map_or(&[][..], |auth| auth.resources);
    let roles = all.iter().find(|it| it.resource == resource);
    judge(
        resource,
        roles.map_or(&[][..], |it| it.roles),
        &[ScopeWord::Read],
        caller,
    )
}

/// Decides whether a caller may do what `roles` may, with a key that permits what one of `needed` names. Without roles, everyone may.
fn judge(
    what: &str,
    roles: &'static [&'static str],
    needed: &[ScopeWord],
    caller: Option<&KnownCaller>,
) -> Result<(), Failure> {
    if roles.is_empty() {
        return Ok(());
    }
    let refuse = |message: String, reason: &str, needs: Value| {
        let failure = Failure::new(FailureKind::Unauthenticated, message);
        Err(failure.with(REASON, reason).with(NEEDS, needs))
    };
    let all = roles.join(", ");
    let Some(caller) = caller else {
        let message = format!("`{what}` needs a known caller: send a key or a token of {all}");
        return refuse(message, "missing", json!(roles));
    };
    if !caller.roles.iter().any(|role| roles.contains(role)) {
        let message = format!(
            "{} may not do this: `{what}` is for {all}; ask one of them, or use their key",
            caller.name
        );
        return refuse(message, "role", json!(roles));
    }
    let permits = |needed: &ScopeWord| caller.scopes.iter().any(|scope| scope.includes(*needed));
    if !needed.iter().any(permits) {
        let words: Vec<_> = needed.iter().map(|word| format!("`{word}`")).collect();
        let message = format!(
            "{} may not do this: `{what}` needs a key or a token with the scope {}",
            caller.name,
            words.join(" or ")
        );
        let needs = match needed {
            [only] => json!(only),
            several => json!(several),
        };
        return refuse(message, "scope", needs);
    }
    Ok(())
}
