//! The caller, for contracts that want to know: the holder of a key or a token, or the person who started the server.

use std::sync::Arc;

use rmcp::{ErrorData, RoleServer, model::Extensions, service::RequestContext};
use serde_json::Value;
use tabellion_runtime::{
    Agent, CallContext, ContractSpec, Identity, KnownCaller, auth,
    spec::{CallerKind, ScopeWord},
};

use crate::{
    access::Grant,
    client_info,
    request_origin::{self, FORBIDDEN, RequestOrigin},
    shared::Shared,
};

/// The caller on standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCaller {
    /// Name of the person whose account the server runs under.
    pub user: String,
    /// The role that the client has; an agent's if there is none, since what speaks MCP over a pipe is a program.
    pub role: Option<String>,
}

impl Default for LocalCaller {
    fn default() -> Self {
        Self {
            user: "local".into(),
            role: None,
        }
    }
}

impl LocalCaller {
    /// Returns its identity, without the program that it uses.
    pub fn identity(&self) -> Identity {
        Identity::local(&self.user)
    }

    /// Returns `call` with this caller, who makes it with `program`.
    #[must_use]
    pub fn makes(&self, call: CallContext, contract: &ContractSpec, program: Agent) -> CallContext {
        let client = program.name.clone().unwrap_or_default();
        let caller = self.of(contract, program);
        CallContext {
            identity: Some(match &caller {
                Some(caller) => caller.identity.clone(),
                None => self.identity().with_client(&client),
            }),
            caller: caller.map(Arc::new),
            ..call
        }
    }

    /// Returns the caller of a contract whose client says `agent` of itself; `None` if the contract has no roles, or not this one.
    pub fn of(&self, contract: &ContractSpec, agent: Agent) -> Option<KnownCaller> {
        let auth = contract.auth?;
        let role = match &self.role {
            Some(name) => Some(auth.role(name)?),
            None => None,
        };
        match role.filter(|role| role.kind == CallerKind::Human) {
            Some(role) => {
                let scopes = role.scope.unwrap_or(ScopeWord::Read);
                Some(KnownCaller::human(
                    auth,
                    self.identity(),
                    &self.user,
                    vec![scopes],
                ))
            }
            None => {
                let scopes = vec![ScopeWord::Read, ScopeWord::Write];
                Some(KnownCaller::agent(
                    auth,
                    agent,
                    self.identity(),
                    &self.user,
                    scopes,
                ))
            }
        }
    }
}

/// Returns the caller of a request; `None` if the contract has no roles, or the caller is not known.
pub(super) fn of(
    shared: &Shared,
    contract: &ContractSpec,
    cx: &RequestContext<RoleServer>,
) -> Option<Arc<KnownCaller>> {
    let said = cx.client_info().map(client_info::brief);
    let said = said.map(|client| Agent::said(Some(client.name), Some(client.version)));
    let origin = cx.extensions.get::<RequestOrigin>();
    known(shared, contract, origin, said.unwrap_or_default()).map(Arc::new)
}

/// Checks that the caller of a request may read a resource and be notified of its changes.
pub(super) fn may_read(
    shared: &Shared,
    contract: &'static ContractSpec,
    resource: &str,
    request: &Extensions,
) -> Result<(), ErrorData> {
    let caller = known(shared, contract, request.get::<RequestOrigin>(), Agent::default());
    auth::may_read(contract, resource, caller.as_ref())
        .map_err(|failure| ErrorData::new(FORBIDDEN, failure.message, Some(Value::Object(failure.data))))
}

/// Returns the caller of a request that comes from `origin`, whose client says this of itself.
pub(super) fn known(
    shared: &Shared,
    contract: &ContractSpec,
    origin: Option<&RequestOrigin>,
    said: Agent,
) -> Option<KnownCaller> {
    let auth = contract.auth?;
    let Some(origin) = origin else {
        let local = shared.local_caller.get().cloned().unwrap_or_default();
        return local.of(contract, said);
    };
    let grant: &dyn Grant = &**origin.grant.as_ref()?;
    let (scopes, name) = (grant.scopes(contract.id), request_origin::holder(grant));
    let identity = grant.identity().clone();
    Some(match grant.agent() {
        Some(agent) => KnownCaller::agent(auth, agent.or(said), identity, &name, scopes),
        None => KnownCaller::human(auth, identity, &name, scopes),
    })
}

/// Returns the caller's identity for a contract without roles; `None` over HTTP without authentication, where callers are not told apart.
pub(super) fn identity(shared: &Shared, cx: &RequestContext<RoleServer>) -> Option<Identity> {
    let program = cx.client_info().map(|client| client.name.clone());
    match cx.extensions.get::<RequestOrigin>() {
        Some(origin) => {
            let grant = origin.grant.as_ref()?;
            let agent = grant.agent();
            let identity = grant.identity().clone();
            Some(match agent {
                Some(agent) => identity.with_agent(&agent.name.or(program).unwrap_or_default()),
                None => identity,
            })
        }
        None => {
            let local = shared.local_caller.get().cloned().unwrap_or_default().identity();
            Some(local.with_client(&program.unwrap_or_default()))
        }
    }
}
