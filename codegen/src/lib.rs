//! From contracts in JSON to Rust: load → lint → views → types → emit.
//!
//! [`generate`] turns a folder of contracts into the text of Rust modules, or returns all problems. [`compat`]
//! reports whether a changed contract is compatible. `README.md` has the format, the
//! passes and a worked example.
//!
//! Nothing here writes a file, asks for the time or knows a contract by name: the same files give the same text.

mod algebra;
pub mod compat;
pub mod contract;
pub mod document;
pub mod keys;
mod lint;
mod load;
mod meta;
mod names;
mod places;
mod pointer;
mod problem;
mod rust;
mod sample;
mod schema;
mod sources;
mod types;
mod union;
pub mod views;

use std::{collections::BTreeMap, path::Path};

pub use contract::Contract;
pub use problem::{Place, Problem, Problems};
pub use sources::Sources;

/// Returns the contracts below `schemas`, sorted by folder.
///
/// # Errors
/// All problems that prevent a contract from being read.
pub fn load_all(schemas: &Path) -> Result<Vec<Contract>, Problems> {
    load(&Sources::from_dir(schemas)?)
}

/// Returns the contracts in `sources`, sorted by folder.
///
/// # Errors
/// All problems that prevent a contract from being read.
pub fn load(sources: &Sources) -> Result<Vec<Contract>, Problems> {
    let (contracts, problems) = load::contracts(sources);
    Problems::none_of(problems)?;
    Ok(contracts)
}

/// Returns the files of `src/generated` for the contracts below `schemas`, by name.
///
/// # Errors
/// All problems of all contracts.
pub fn generate(schemas: &Path) -> Result<BTreeMap<String, String>, Problems> {
    generate_from(&Sources::from_dir(schemas)?)
}

/// Like [`generate`], for contracts from any source.
///
/// # Errors
/// All problems of all contracts.
pub fn generate_from(sources: &Sources) -> Result<BTreeMap<String, String>, Problems> {
    let (contracts, mut problems) = load::contracts(sources);
    problems.extend(lint::together(&contracts));
    let mut files = BTreeMap::new();
    for contract in &contracts {
        match lint::contract(contract).and_then(|types| Ok(rust::module(contract, &types)?)) {
            Ok(text) => {
                files.insert(format!("{}.rs", contract.spec.rust.module), text);
            }
            Err(found) => problems.extend(found),
        }
    }
    Problems::none_of(problems)?;
    files.insert("mod.rs".into(), rust::index(&contracts));
    Ok(files)
}
