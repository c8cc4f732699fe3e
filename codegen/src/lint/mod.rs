//! Lints: checks of a contract before any Rust is generated.
//!
//! Everything that a later pass, a client or typify would drop silently is a problem, with location and help. Lints of one key are in the
//! key's file; these here concern schemas and names of any key. Lints that need valid schemas run only if [`keywords`] reports no problem.

mod failures;
mod identifiers;
mod keywords;
pub(crate) mod pointers;
pub(crate) mod rules;
pub(crate) mod values;

use crate::{
    contract::Contract,
    keys::{lint_entities, lint_selectors, registry::KEYS},
    problem::{Problem, Problems},
    types::{self, Types},
};

/// Returns the types of `contract`, if it has no problem.
pub(crate) fn contract(contract: &Contract) -> Result<Types, Problems> {
    let mut problems = vec![];
    lint_entities(contract, &mut problems);
    lint_selectors(contract, &mut problems);
    if !problems.is_empty() {
        return Problems::none_of(problems).map(|()| Types::default());
    }
    keywords::named_rules(contract, &mut problems);
    for authored in contract.schemas() {
        keywords::schema(&authored, &mut problems);
    }
    let sound = problems.is_empty();
    identifiers::contract(contract, &mut problems);
    failures::contract(contract, &mut problems);
    for key in KEYS {
        key.lint(contract, &mut problems);
    }
    if !sound {
        return Problems::none_of(problems).map(|()| Types::default());
    }
    let (types, found) = types::lower(contract);
    problems.extend(found);
    identifiers::types(contract, &types, &mut problems);
    for key in KEYS {
        key.lint_with_schemas(contract, &mut problems);
    }
    Problems::none_of(problems)?;
    Ok(types)
}

/// Returns the problems between contracts.
pub(crate) fn together(contracts: &[Contract]) -> Vec<Problem> {
    identifiers::modules(contracts)
}
