//! What a contract promises about itself, checked before any Rust is written.
//!
//! Everything that a later pass, a client or typify would drop in silence is a problem, with its place and what to do.
//! What must hold of one key is said in the key's file; here is what concerns schemas and names, whichever key they
//! belong to. Checks that need sound schemas wait until [`keywords`] has nothing to say about them.

pub(crate) mod examples;
mod identifiers;
mod keywords;
pub(crate) mod pointers;
pub(crate) mod rules;
pub(crate) mod values;

use crate::{
    contract::Contract,
    keys::KEYS,
    problem::{Problem, Problems},
    types::{self, Types},
};

/// The types of `contract`, if nothing is wrong with it by itself.
pub(crate) fn contract(contract: &Contract) -> Result<Types, Problems> {
    let mut problems = vec![];
    keywords::named_rules(contract, &mut problems);
    for authored in contract.schemas() {
        keywords::schema(&authored, &mut problems);
    }
    let sound = problems.is_empty();
    identifiers::contract(contract, &mut problems);
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

/// What is wrong with contracts that are fine one by one.
pub(crate) fn together(contracts: &[Contract]) -> Vec<Problem> {
    identifiers::modules(contracts)
}
