//! From contracts in JSON to Rust: load → lint → views → types → emit.
//!
//! [`generate`] turns a folder of contracts into the text of Rust modules, or returns all problems; [`build`] is a build script that keeps
//! them on disk. [`compat`] reports whether a changed contract is compatible. [`table`] returns a contract for a program that works with
//! any. `README.md` has the format, the passes and a worked example.
//!
//! Only [`build`] and [`write()`] write files, and no part reads the time or knows a contract by name: the same files produce the same
//! text.

mod algebra;
mod changes;
pub mod compat;
pub mod contract;
mod document;
mod files;
mod keys;
mod leak;
mod lint;
mod load;
mod locks;
mod meta;
mod names;
mod places;
mod pointer;
mod problem;
mod rust;
mod sample;
mod schema;
mod sources;
mod table;
mod types;
mod union;
mod views;

use std::{collections::BTreeMap, path::Path};

pub use contract::{Contract, Tool};
pub use files::{Stale, build, stale, write};
pub use locks::locks;
pub use problem::{Position, Problem, Problems};
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

/// Returns the table of the contract in `folder`, which contains its `contract.json`: the value of a generated `CONTRACT`, for a program
/// that works with any contract. The table is leaked; keep it instead of calling this again.
///
/// # Errors
/// All problems of the contract.
pub fn table(folder: &Path) -> Result<&'static tabellion_runtime::ContractSpec, Problems> {
    let sources = Sources::from_contract(folder)?;
    let (contracts, problems) = load::contracts(&sources);
    Problems::none_of(problems)?;
    let contract = &contracts[0];
    lint::contract(contract)?;
    Ok(table::build(contract))
}

/// Returns all problems of the contracts in `sources`.
///
/// # Errors
/// The problems, if there are any.
pub fn lint(sources: &Sources) -> Result<Vec<Contract>, Problems> {
    let (contracts, mut problems) = load::contracts(sources);
    problems.extend(lint::together(&contracts));
    for contract in &contracts {
        problems.extend(lint::contract(contract).err().into_iter().flatten());
    }
    Problems::none_of(problems)?;
    Ok(contracts)
}

/// Returns the files of `src/generated` for the contracts below `schemas`, by name: for each, a module, its texts, and the description
/// of its endpoints if it has any.
///
/// `command` is the command that writes them, for the line at their top: `cargo build`.
///
/// # Errors
/// All problems of all contracts.
pub fn generate(schemas: &Path, command: &str) -> Result<BTreeMap<String, String>, Problems> {
    generate_from(&Sources::from_dir(schemas)?, command)
}

/// Like [`generate`], for contracts from any source.
///
/// # Errors
/// All problems of all contracts.
pub fn generate_from(sources: &Sources, command: &str) -> Result<BTreeMap<String, String>, Problems> {
    let (contracts, mut problems) = load::contracts(sources);
    problems.extend(lint::together(&contracts));
    let mut files = BTreeMap::new();
    for contract in &contracts {
        match lint::contract(contract)
            .and_then(|types| Ok(rust::module(contract, &types, &sources.shown(&contract.folder), command)?))
        {
            Ok(texts) => {
                let name = |extension| format!("{}.{extension}", contract.spec.rust.module);
                files.extend(["rs", "json"].map(name).into_iter().zip(texts));
                if contract.spec.rest.is_some() {
                    let text = tabellion_runtime::openapi::text(table::build(contract));
                    files.insert(name(rust::OPENAPI), text);
                }
            }
            Err(found) => problems.extend(found),
        }
    }
    Problems::none_of(problems)?;
    files.insert("mod.rs".into(), rust::index(&contracts, command));
    Ok(files)
}
