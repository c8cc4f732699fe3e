//! What a contract promises about itself, checked before any Rust is written.
//!
//! Everything that a later pass, a client or typify would drop in silence is a problem here, with its place and
//! what to do. Checks that need a sound schema wait until [`keywords`] has nothing to say about it.

mod effects;
mod errors;
mod examples;
mod identifiers;
mod keywords;
mod limits;
mod paths;
mod pointers;
mod previews;
mod resources;
mod rules;
mod values;

use crate::{
    contract::{Contract, Side},
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
    errors::table(contract, &mut problems);
    limits::contract(contract, &mut problems);
    identifiers::contract(contract, &mut problems);
    pointers::contract(contract, &mut problems);
    paths::contract(contract, &mut problems);
    if !sound {
        return Problems::none_of(problems).map(|()| Types::default());
    }
    let (types, found) = types::lower(contract);
    problems.extend(found);
    identifiers::types(contract, &types, &mut problems);
    for tool in &contract.tools {
        effects::tool(contract, tool, &mut problems);
        for side in Side::ALL {
            let authored = tool.authored(side);
            rules::satisfiable(&authored, &mut problems);
            values::defaults(&authored, &mut problems);
            examples::of_tool(tool, side, &mut problems);
        }
    }
    resources::contract(contract, &mut problems);
    previews::pairs(contract, &mut problems);
    Problems::none_of(problems)?;
    Ok(types)
}

/// What is wrong with contracts that are fine one by one.
pub(crate) fn together(contracts: &[Contract]) -> Vec<Problem> {
    identifiers::modules(contracts)
}
