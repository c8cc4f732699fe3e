//! `auth` and `roles`: the tools that each role may call.

use indexmap::IndexMap;
use quote::quote;
use serde::Deserialize;
use tabellion_runtime::{
    FailureKind,
    spec::{self, CallerKind, ScopeWord},
};

use super::{Emitted, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    document::Document,
    leak::{constant, list, texts},
    problem::Problem,
    rust::literal,
};

/// The roles of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Auth {
    #[serde(borrow)]
    pub roles: IndexMap<&'static str, Role>,
}

/// A role, and the condition for having it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Role {
    #[serde(default = "human")]
    pub kind: CallerKind,
    pub scope: Option<ScopeWord>,
}

fn human() -> CallerKind {
    CallerKind::Human
}

impl Role {
    /// Returns true if every caller with the role `other` has this one too.
    fn includes(self, other: Self) -> bool {
        let is_permitted = match (self.scope, other.scope) {
            (None, _) => true,
            (Some(needed), Some(scope)) => scope.includes(needed),
            (Some(_), None) => false,
        };
        self.kind == other.kind && is_permitted
    }
}

pub(super) struct Callers;

impl Key for Callers {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let auth = contract.spec.auth.as_ref();
        for (name, role) in auth.iter().flat_map(|auth| &auth.roles) {
            if (role.kind, role.scope) == (CallerKind::Agent, Some(ScopeWord::Review)) {
                problems.push(contract.document.problem(
                    format!("/auth/roles/{name}/scope"),
                    "no agent has the scope `review`, so that no caller has this role",
                    "make it a role of people, or choose another scope",
                ));
            }
        }
        for tool in contract.tools.iter().flat_map(|tool| std::iter::once(tool).chain(&tool.parts)) {
            let needs_own = tool.spec.select.is_empty();
            let place = RoleLocation {
                document: &tool.document,
                at: "/roles".into(),
                what: if tool.operation.is_some() { "operation" } else { "tool" },
            };
            place.check(auth, &tool.spec.roles, needs_own, problems);
        }
        for (i, resource) in contract.spec.resources.iter().enumerate() {
            let place = RoleLocation {
                document: &contract.document,
                at: format!("/resources/{i}/roles"),
                what: "resource",
            };
            place.check(auth, &resource.roles, true, problems);
        }
    }

    fn failures(&self, tool: &Tool) -> &'static [FailureKind] {
        if tool.spec.roles.is_empty() { &[] } else { &[FailureKind::Unauthenticated] }
    }

    /// A caller who had a role must still have it.
    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let (old, new) = match (&old.spec.auth, &new.spec.auth) {
            (None, None) => return,
            (None, Some(_)) => return changes.breaking("callers must be known"),
            (Some(_), None) => return changes.compatible("callers need no longer be known"),
            (Some(old), Some(new)) => (old, new),
        };
        let roles = [old, new].map(|of| of.roles.iter().map(|(name, it)| (*name, it)));
        changes.by_name("role", roles, |changes, name, before, after| {
            if !after.includes(*before) {
                changes.breaking(format!("some callers no longer have the role `{name}`"));
            } else if after != before {
                changes.compatible(format!("more callers have the role `{name}`"));
            }
        });
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let [before, after] = [old, new].map(|of| of.contract.spec.auth.as_ref());
        // If either version has no roles, the change is listed under the contract.
        let (Some(before), Some(after)) = (before, after) else {
            return;
        };
        let (had, has) = (&old.tool.spec.roles, &new.tool.spec.roles);
        for role in had.iter().filter(|role| !has.contains(role) && after.roles.contains_key(*role)) {
            changes.breaking(format!("role `{role}` may no longer call it"));
        }
        for role in has.iter().filter(|role| !had.contains(role) && before.roles.contains_key(*role)) {
            changes.compatible(format!("role `{role}` may call it"));
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let Some(auth) = &contract.spec.auth else {
            return Emitted::default();
        };
        let table = literal::expression(&table(contract, auth));
        Emitted {
            fields: quote!(auth: Some(&AUTH),),
            items: vec![quote! {
                /// The roles of callers.
                pub static AUTH: spec::AuthSpec = #table;
            }],
            ..Emitted::default()
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.auth = contract.spec.auth.as_ref().map(|auth| constant(self::table(contract, auth)));
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.roles = texts(of_operation(tool, &tool.spec.roles));
    }
}

/// Returns the table of a contract's roles.
fn table(contract: &Contract, auth: &Auth) -> spec::AuthSpec {
    let roles =
        auth.roles.iter().map(|(name, role)| spec::RoleSpec { name, kind: role.kind, scope: role.scope });
    let resources = contract
        .spec
        .resources
        .iter()
        .map(|resource| spec::ResourceRoles { resource: resource.name, roles: texts(&resource.roles) });
    spec::AuthSpec { roles: list(roles), resources: list(resources) }
}

/// Returns a tool's own declaration; empty for a tool with operations, which have their own.
pub(super) fn of_operation<'a>(tool: &Tool, said: &'a [&'static str]) -> &'a [&'static str] {
    if tool.spec.select.is_empty() { said } else { &[] }
}

pub(super) struct RoleLocation<'a> {
    pub(super) document: &'a Document,
    pub(super) at: String,
    pub(super) what: &'static str,
}

impl RoleLocation<'_> {
    /// Checks that roles are named if there are any, and that they exist.
    pub(super) fn check(
        &self,
        auth: Option<&Auth>,
        roles: &[&str],
        must_have: bool,
        problems: &mut Vec<Problem>,
    ) {
        let Some(auth) = auth else {
            if !roles.is_empty() {
                problems.push(self.document.problem(
                    self.at.as_str(),
                    "the contract has no roles",
                    "declare `auth` in contract.json, or remove it",
                ));
            }
            return;
        };
        let all = || auth.roles.keys().copied().collect::<Vec<_>>().join(", ");
        if roles.is_empty() && must_have {
            let around = self.at.trim_end_matches("/roles");
            problems.push(self.document.problem(
                around,
                format!("the contract has `auth`, and the {} does not say whom it is for", self.what),
                format!("add `\"roles\"`, with some of {}", all()),
            ));
        }
        for (i, role) in roles.iter().enumerate() {
            if !auth.roles.contains_key(role) {
                problems.push(self.document.problem(
                    format!("{}/{i}", self.at),
                    format!("there is no role `{role}`"),
                    format!("the roles are {}", all()),
                ));
            }
        }
    }
}
