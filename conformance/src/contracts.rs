//! The contracts that the suite can judge: its own, and any other by its folder.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tabellion_runtime::{ContractSpec, spec::GuaranteeKind};

/// The suite's own contracts. [`checks`](crate::checks) has a check for each of their guarantees.
pub static CONTRACTS: &[&ContractSpec] = &[
    &tabellion_contracts::braindrive_markdown::CONTRACT,
    &tabellion_contracts::learning_os::CONTRACT,
    &tabellion_contracts::safe_markdown_editor::CONTRACT,
    &tabellion_contracts::mcb::CONTRACT,
    &tabellion_contracts::brainforge::CONTRACT,
];

/// The id of the contract that consists of a server's declarations.
pub const DECLARED: &str = "declared";
/// The id of the contract that consists of the promises of a server's author.
pub const PROMISED: &str = "promised";

/// Ids under which checks name guarantees of a kind, in addition to those that have this kind in the suite's own contracts.
pub(crate) const BY_KIND: &[(GuaranteeKind, &str)] = &[
    (GuaranteeKind::Commit, "returns-commit"),
    (GuaranteeKind::Remote, "acknowledged-is-in-the-remote"),
    (GuaranteeKind::OneChange, "one-change-per-mutation"),
    (GuaranteeKind::Rows, "rows-are-what-was-said"),
    (GuaranteeKind::Durable, "acknowledged-is-durable"),
    (GuaranteeKind::Together, "nothing-lost-together"),
    (GuaranteeKind::Orgs, "orgs-apart"),
    (GuaranteeKind::Secrets, "secrets-once"),
];

/// Contracts that were loaded from their folders.
static LOADED: Mutex<Vec<(PathBuf, &ContractSpec)>> = Mutex::new(Vec::new());

/// Returns a contract: one of the suite's own by its id, any other by its folder or its `contract.json`. One that was loaded
/// before is known by its id too.
///
/// # Errors
/// If there is neither, a message that lists the ids; if the contract has problems, all of them.
pub fn find(wanted: &str) -> Result<&'static ContractSpec, String> {
    let own = CONTRACTS.iter().find(|contract| contract.id == wanted);
    if let Some(contract) = own.copied().or_else(|| loaded(|_, contract| contract.id == wanted)) {
        return Ok(contract);
    }
    let path = Path::new(wanted);
    let folder = match path.file_name() {
        Some(name) if name == "contract.json" => match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        },
        _ => path,
    };
    if folder.join("contract.json").is_file() {
        return load(folder);
    }
    let ids: Vec<_> = CONTRACTS.iter().map(|contract| contract.id).collect();
    Err(format!(
        "there is no contract `{wanted}`; the suite's own are {}. For another, name its folder, with `contract.json` and `tools`",
        ids.join(", ")
    ))
}

/// Loads the contract in `folder`.
///
/// # Errors
/// All problems of the contract.
pub fn load(folder: &Path) -> Result<&'static ContractSpec, String> {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    if let Some(contract) = loaded(|path, _| path == whole) {
        return Ok(contract);
    }
    let contract = tabellion_codegen::table(folder)
        .map_err(|problems| format!("the contract in `{}` has problems:\n{problems}", folder.display()))?;
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    all.push((whole, contract));
    Ok(contract)
}

fn loaded(is: impl Fn(&Path, &ContractSpec) -> bool) -> Option<&'static ContractSpec> {
    let all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = all.iter().find(|(path, contract)| is(path, contract));
    found.map(|(_, contract)| *contract)
}

/// Returns true if the contract consists of a server's declarations.
pub fn is_declared(contract: &ContractSpec) -> bool {
    contract.id == DECLARED
}

/// Returns true if the contract is one of the suite's own.
pub(crate) fn is_own(contract: &ContractSpec) -> bool {
    CONTRACTS.iter().any(|own| own.id == contract.id)
}

/// Returns the ids of guarantees of this kind in the suite's own contracts: those of the first contract that has any.
pub(crate) fn ids_of(kind: GuaranteeKind) -> impl Iterator<Item = &'static str> {
    let has = move |contract: &&&ContractSpec| contract.guarantees.iter().any(|it| it.kind == Some(kind));
    let first = CONTRACTS.iter().find(has).into_iter();
    let all = first.flat_map(|contract| contract.guarantees);
    let by_kind = BY_KIND.iter().filter(move |(of, _)| *of == kind);
    all.filter(move |it| it.kind == Some(kind)).map(|it| it.id).chain(by_kind.map(|(_, id)| *id))
}

/// A contract, or the name of one.
pub trait IntoContract {
    /// Returns the contract.
    ///
    /// # Errors
    /// If there is none, or it has problems: a message for people.
    fn into_contract(self) -> Result<&'static ContractSpec, String>;
}

impl IntoContract for &'static ContractSpec {
    fn into_contract(self) -> Result<&'static ContractSpec, String> {
        Ok(self)
    }
}

/// An id or a folder, as [`find`] takes it.
impl IntoContract for &str {
    fn into_contract(self) -> Result<&'static ContractSpec, String> {
        find(self)
    }
}

/// A contract's folder.
impl IntoContract for &Path {
    fn into_contract(self) -> Result<&'static ContractSpec, String> {
        load(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemas() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas")
    }

    #[test]
    fn a_loaded_contract_is_the_generated_one() {
        for generated in CONTRACTS {
            let loaded = load(&schemas().join(generated.id)).unwrap();
            let [loaded, generated] = [loaded, *generated].map(|contract| format!("{contract:#?}"));
            let differs = loaded.lines().zip(generated.lines()).find(|(a, b)| a != b);
            assert_eq!(differs, None);
            assert_eq!(loaded.len(), generated.len());
        }
    }

    #[test]
    fn a_contract_is_found_by_id_folder_or_file() {
        let folder = schemas().join("fixtures/official-suite");
        let file = folder.join("contract.json");
        let by_folder = find(&folder.to_string_lossy()).unwrap();
        for other in [&*file.to_string_lossy(), "official-suite"] {
            assert!(std::ptr::eq(find(other).unwrap(), by_folder), "{other}");
        }
        assert!(std::ptr::eq(find("learning-os").unwrap(), CONTRACTS[1]));
        let error = find("/nowhere").unwrap_err();
        assert!(error.contains("learning-os") && error.contains("name its folder"), "{error}");
        let broken = tempfile::tempdir().unwrap();
        std::fs::write(broken.path().join("contract.json"), "{}").unwrap();
        std::fs::create_dir(broken.path().join("tools")).unwrap();
        let error = find(&broken.path().to_string_lossy()).unwrap_err();
        assert!(error.contains("has problems") && error.contains("\n  help: "), "{error}");
    }
}
