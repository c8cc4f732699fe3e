//! The caller of a request: the holder of a key or a token, or the person who started the server.

use std::sync::Arc;

use tabellion_runtime::{
    Agent, CallContext, ContractSpec, Identity, KnownCaller,
    spec::{CallerKind, ScopeWord},
};

use crate::{
    access::Grant,
    origin::{self, Requester},
};

/// The caller on standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCaller {
    /// Name of the person whose account the server runs under.
    pub user: String,
    /// The client's role; an agent's if there is none, since a client that uses MCP over a pipe is a program.
    pub role: Option<String>,
}

impl Default for LocalCaller {
    fn default() -> Self {
        Self { user: "local".into(), role: None }
    }
}

impl LocalCaller {
    /// Returns the caller's identity, without the client program.
    pub fn identity(&self) -> Identity {
        Identity::local(&self.user)
    }

    /// Returns `call` with this caller, who makes it with `program`.
    #[must_use]
    pub fn makes(&self, call: CallContext, contract: &ContractSpec, program: Agent) -> CallContext {
        let client = program.name.clone().unwrap_or_default();
        let caller = self.known_caller(contract, program);
        CallContext {
            identity: Some(match &caller {
                Some(caller) => caller.identity.clone(),
                None => self.identity().with_client(&client),
            }),
            caller: caller.map(Arc::new),
            ..call
        }
    }

    /// Returns the caller of a contract whose client describes itself as `agent`; `None` if the contract has no roles, or not this one.
    pub fn known_caller(&self, contract: &ContractSpec, agent: Agent) -> Option<KnownCaller> {
        let auth = contract.auth?;
        let role = match &self.role {
            Some(name) => Some(auth.role(name)?),
            None => None,
        };
        match role.filter(|role| role.kind == CallerKind::Human) {
            Some(role) => {
                let scopes = role.scope.unwrap_or(ScopeWord::Read);
                Some(KnownCaller::human(auth, self.identity(), &self.user, vec![scopes]))
            }
            None => {
                let scopes = vec![ScopeWord::Read, ScopeWord::Write];
                Some(KnownCaller::agent(auth, agent, self.identity(), &self.user, scopes))
            }
        }
    }
}

/// Returns the caller of a request; `None` if the contract has no roles, or the caller is unknown.
pub(crate) fn identify(
    local: &LocalCaller,
    contract: &ContractSpec,
    requester: &Requester<'_>,
) -> Option<KnownCaller> {
    let auth = contract.auth?;
    let program = requester.client.clone();
    let program = program.map(|client| Agent::said(Some(client.name), Some(client.version)));
    let program = program.unwrap_or_default();
    let Some(origin) = requester.origin else {
        return local.known_caller(contract, program);
    };
    let grant: &dyn Grant = &**origin.grant.as_ref()?;
    let Some(agent) = grant.agent() else {
        return person(contract, grant);
    };
    let (scopes, name) = (grant.scopes(contract.id), origin::holder(grant));
    Some(KnownCaller::agent(auth, agent.or(program), grant.identity().clone(), &name, scopes))
}

/// Returns the person who holds a key or a token, as a caller of a contract; `None` if the contract has no roles.
pub fn person(contract: &ContractSpec, grant: &dyn Grant) -> Option<KnownCaller> {
    let (name, own_name) = (origin::holder(grant), grant.author().name);
    let caller =
        KnownCaller::human(contract.auth?, grant.identity().clone(), &name, grant.scopes(contract.id));
    Some(caller.with_own_name((own_name != name).then_some(&own_name)))
}

/// Returns the caller's identity for a contract without roles; `None` over HTTP without authentication.
pub(crate) fn identity(local: &LocalCaller, requester: &Requester<'_>) -> Option<Identity> {
    let program = requester.client.as_ref().map(|client| client.name.clone());
    if requester.origin.is_none() {
        return Some(local.identity().with_client(&program.unwrap_or_default()));
    }
    let grant = requester.grant()?;
    let identity = grant.identity().clone();
    Some(match grant.agent() {
        Some(agent) => identity.with_agent(&agent.name.or(program).unwrap_or_default()),
        None => identity,
    })
}
