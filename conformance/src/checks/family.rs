//! Families of checks, the contracts that each judges, and packs of families for contracts in whose words only they are written.

use std::sync::{Mutex, PoisonError};

use tabellion_runtime::ContractSpec;

use crate::check::Check;

/// A family of checks, and the contracts that it judges.
#[derive(Debug)]
pub struct Family {
    /// Checks, whose ids begin with the family's name.
    pub(super) checks: &'static [Check],
    /// Returns true if the checks apply to the contract's kind of store: documents and their history, or rows.
    pub(super) fits: fn(&ContractSpec) -> bool,
    /// Returns true if keys of the contract's tools require the checks' subject, independently of the contract's guarantees.
    pub(super) is_declared: fn(&ContractSpec) -> bool,
    /// The feature that it is about, if only some servers have it.
    pub(super) needs: Option<Need>,
}

/// A feature that only some servers have, as they are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Http,
    /// A remote, by the operator's command.
    Remote,
    /// Calls that store a text, by the operator's word.
    Store,
}

impl Family {
    /// Returns a family for contracts that `fits` accepts, if one of their guarantees names a check.
    pub const fn new(checks: &'static [Check], fits: fn(&ContractSpec) -> bool) -> Self {
        Self { checks, fits, is_declared: |_| false, needs: None }
    }

    /// Adds contracts whose tools declare the checks' subject.
    pub(super) const fn or_declared(self, is_declared: fn(&ContractSpec) -> bool) -> Self {
        Self { is_declared, ..self }
    }

    /// Adds all contracts that fit, independently of their guarantees.
    pub const fn always(self) -> Self {
        self.or_declared(|_| true)
    }

    pub(super) const fn over_http(self) -> Self {
        Self { needs: Some(Need::Http), ..self }
    }

    pub(super) const fn of_store(self) -> Self {
        Self { needs: Some(Need::Store), ..self }
    }

    pub(super) const fn of_remote(self) -> Self {
        Self { needs: Some(Need::Remote), ..self }
    }
}

pub(super) const fn any(_: &ContractSpec) -> bool {
    true
}

pub(super) const fn has_documents(contract: &ContractSpec) -> bool {
    contract.rows.is_none()
}

pub(super) const fn has_rows(contract: &ContractSpec) -> bool {
    contract.rows.is_some()
}

/// Families about one contract, in a separate crate: a suite for other contracts does not build them.
#[derive(Debug)]
pub struct Pack {
    /// Families, in the order in which they run.
    pub families: &'static [Family],
    /// Checks of the smoke profile, the most telling first.
    pub smoke: &'static [&'static str],
}

static PACKS: Mutex<Vec<&Pack>> = Mutex::new(Vec::new());

/// Adds the families of a pack to those of the suite, in this process. A pack that has been added stays as it is.
pub fn add(pack: &'static Pack) {
    let mut packs = PACKS.lock().unwrap_or_else(PoisonError::into_inner);
    if !packs.iter().any(|it| std::ptr::eq(*it, pack)) {
        packs.push(pack);
    }
}

/// Returns the packs that have been added.
pub(super) fn packs() -> Vec<&'static Pack> {
    PACKS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
