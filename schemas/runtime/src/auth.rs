//! Authorisation of callers, by the contract's roles and scopes.
//!
//! A server authenticates its callers and passes each in as a [`KnownCaller`]. Only contracts with `auth` look at it: there, an operation
//! names the roles of which a caller must have one, and a caller's key must permit the operation.

use serde_json::{Value, json};

use crate::{
    answer::Rejection,
    boundary::failed,
    caller::KnownCaller,
    context::CallContext,
    failure::{ContractError, Failure, FailureKind},
    spec::{ContractSpec, ScopeWord, ToolSpec},
};

/// Name, in the data of errors about callers, of the reason: `missing`, `bad`, `role` or `scope`.
pub const REASON: &str = "reason";
/// Name, in the data of errors about callers, of the roles or scopes that the call needs.
pub const NEEDS: &str = "needs";

/// Checks that the caller may call `tool`, which is an operation.
pub(crate) fn check<Error: ContractError>(
    tool: &'static ToolSpec,
    call: &CallContext,
) -> Result<(), Rejection> {
    judge(tool.label(), tool.roles, needed_by(tool), call.caller.as_deref())
        .map_err(|failure| failed::<Error>(tool, failure))
}

/// Returns the scopes of which a key must permit one for a call of `tool`.
fn needed_by(tool: &'static ToolSpec) -> &'static [ScopeWord] {
    match (tool.scopes, tool.mutating) {
        ([], true) => &[ScopeWord::Write],
        ([], false) => &[ScopeWord::Read],
        (scopes, _) => scopes,
    }
}

/// Returns the scope with which the caller could call `tool`, if that is all it lacks.
pub fn missing_scope(
    contract: &ContractSpec,
    tool: &'static ToolSpec,
    caller: &KnownCaller,
) -> Option<ScopeWord> {
    let (auth, needed) = (contract.auth?, needed_by(tool));
    let may = |scopes: &[ScopeWord]| {
        let has_role = auth.roles_of(caller.kind, scopes).iter().any(|role| tool.roles.contains(role));
        has_role && needed.iter().any(|needed| scopes.iter().any(|scope| scope.includes(*needed)))
    };
    let with = |scope: ScopeWord| [&caller.scopes[..], &[scope]].concat();
    needed.iter().copied().find(|scope| !may(&caller.scopes) && may(&with(*scope)))
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

/// Checks that a caller may read the resource of this name.
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
    judge(resource, roles.map_or(&[][..], |it| it.roles), &[ScopeWord::Read], caller)
}

/// Checks that a caller has one of `roles` and a key with one of the scopes `needed`. Without roles, everyone may call.
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
