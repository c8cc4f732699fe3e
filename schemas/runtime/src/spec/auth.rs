//! The roles of a contract.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// The kinds of callers.
    #[serde(rename_all = "snake_case")]
    pub enum CallerKind {
        /// A person.
        Human,
        /// A program that acts for a person, such as a model.
        Agent,
    }
}

vocabulary! {
    /// The permissions of keys and tokens. They are a set: one does not imply the others.
    #[serde(rename_all = "snake_case")]
    pub enum ScopeWord {
        /// Reading.
        Read,
        /// Changing, and reading.
        Write,
        /// Deciding on pending reviews, and reading. Never an agent's.
        Review,
    }
}

impl ScopeWord {
    /// Returns true if a key with this scope permits the operations of `needed`.
    pub fn includes(self, needed: Self) -> bool {
        self == needed || needed == Self::Read
    }
}

/// The roles of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSpec {
    /// The roles, in the contract's order.
    pub roles: &'static [RoleSpec],
    /// The roles that may read each resource.
    pub resources: &'static [ResourceRoles],
}

/// A role, and its conditions on callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleSpec {
    /// Name of the role.
    pub name: &'static str,
    /// The kind of its callers.
    pub kind: CallerKind,
    /// The scope that a caller's key must permit; `None` if any key is enough.
    pub scope: Option<ScopeWord>,
}

/// The roles that may read a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceRoles {
    /// Name of the resource.
    pub resource: &'static str,
    /// Names of the roles.
    pub roles: &'static [&'static str],
}

impl AuthSpec {
    /// Returns the role of that name.
    pub fn role(&self, name: &str) -> Option<&'static RoleSpec> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// Returns the roles of a caller whose key permits `scopes`.
    pub fn roles_of(&self, kind: CallerKind, scopes: &[ScopeWord]) -> Vec<&'static str> {
        let permits = |needed| scopes.iter().any(|scope| scope.includes(needed));
        let has = |role: &&RoleSpec| role.kind == kind && role.scope.is_none_or(permits);
        self.roles.iter().filter(has).map(|role| role.name).collect()
    }
}
