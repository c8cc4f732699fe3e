//! Callers, for contracts with `auth`: the caller on standard input and output, and the requirements of HTTP.

use tabellion_gateway::LocalCaller;
use tabellion_platform as platform;
use tabellion_runtime::ContractSpec;

use super::{HttpOptions, Opened};

/// Checks that the callers of all contracts with `auth` can be known, and that the role is one of theirs.
///
/// # Errors
/// The option to add, or to omit.
pub(super) fn check(
    role: Option<&str>,
    http: Option<&HttpOptions>,
    contracts: &[&ContractSpec],
) -> Result<(), String> {
    let with_auth = contracts.iter().filter_map(|contract| Some((contract.id, contract.auth?)));
    if let Some(http) = http {
        let is_open = http.keys.is_none() && http.oauth.is_none();
        if let Some((id, _)) = with_auth.clone().next().filter(|_| is_open) {
            return Err(format!(
                "contract `{id}` wants to know its callers: over HTTP, require keys (`--keys FILE`, which `tabellion key create` \
                 writes) or access tokens (`--oauth-issuer URL`)"
            ));
        }
    }
    let Some(role) = role else { return Ok(()) };
    if http.is_some_and(|http| !http.stdio) {
        return Err(
            "`--as` is for the client on standard input and output; over HTTP, the key says the role".into(),
        );
    }
    if with_auth.clone().next().is_none() {
        return Err("`--as` is for contracts with roles, and none is served; omit it".into());
    }
    let mut without = with_auth.filter(|(_, auth)| auth.role(role).is_none());
    match without.next() {
        None => Ok(()),
        Some((id, auth)) => {
            let roles: Vec<_> = auth.roles.iter().map(|role| role.name).collect();
            Err(format!("`--as`: `{id}` has no role `{role}`; choose {}", roles.join(", ")))
        }
    }
}

/// Sets the caller on standard input and output of each adapter.
pub(super) fn say(opened: Vec<Opened>, role: Option<&str>) -> Vec<Opened> {
    opened.into_iter().map(|opened| set_local_caller(opened, role)).collect()
}

/// Sets the caller on standard input and output of an adapter.
pub(super) fn set_local_caller(opened: Opened, role: Option<&str>) -> Opened {
    let adapter = opened.adapter.with_local_caller(local(role));
    Opened { adapter, ..opened }
}

/// Returns the caller on this machine: the owner of the account, in this role, or else the owner's agent.
pub fn local(role: Option<&str>) -> LocalCaller {
    let local = LocalCaller::default();
    LocalCaller { user: platform::account_name().unwrap_or(local.user), role: role.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use tabellion_runtime::spec::{AuthSpec, CallerKind, RoleSpec, ScopeWord};

    use super::*;

    #[test]
    fn callers_can_be_known_or_the_server_does_not_start() {
        static AUTH: AuthSpec = AuthSpec {
            roles: &[RoleSpec { name: "owner", kind: CallerKind::Human, scope: Some(ScopeWord::Write) }],
            resources: &[],
        };
        static GUARDED: ContractSpec =
            ContractSpec { id: "guarded", auth: Some(&AUTH), ..ContractSpec::EMPTY };
        let open = || HttpOptions::new(([127, 0, 0, 1], 0).into());
        let closed = || HttpOptions { keys: Some("keys.json".into()), ..open() };
        let both = || HttpOptions { stdio: true, ..closed() };
        let (plain, guarded) = (&ContractSpec::EMPTY, &GUARDED);
        for (role, http, contract, expected) in [
            (None, None, plain, ""),
            (None, None, guarded, ""),
            (None, Some(open()), plain, ""),
            (None, Some(closed()), guarded, ""),
            (Some("owner"), None, guarded, ""),
            (Some("owner"), Some(both()), guarded, ""),
            (None, Some(open()), guarded, "contract `guarded` wants to know its callers"),
            (Some("owner"), None, plain, "`--as` is for contracts with roles, and none"),
            (Some("king"), None, guarded, "`--as`: `guarded` has no role `king`; choose owner"),
            (Some("owner"), Some(closed()), guarded, "`--as` is for the client on standard input"),
        ] {
            let said = check(role, http.as_ref(), &[contract]).err().unwrap_or_default();
            assert!(said.starts_with(expected) && said.is_empty() == expected.is_empty(), "{role:?}: {said}");
        }
    }
}
