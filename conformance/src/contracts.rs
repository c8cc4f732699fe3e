//! The contracts that the suite can judge.

use tabellion_runtime::ContractSpec;

/// The contracts that the suite can judge. [`checks`](crate::checks) has a check for each of their guarantees.
pub static CONTRACTS: &[&ContractSpec] = &[
    &tabellion_contracts::braindrive_markdown::CONTRACT,
    &tabellion_contracts::learning_os::CONTRACT,
    &tabellion_contracts::safe_markdown_editor::CONTRACT,
];

/// Returns the contract with this id.
///
/// # Errors
/// If the contract does not exist: a message that lists the ids.
pub fn find(id: &str) -> Result<&'static ContractSpec, String> {
    let found = CONTRACTS.iter().find(|contract| contract.id == id);
    found.copied().ok_or_else(|| {
        let ids: Vec<_> = CONTRACTS.iter().map(|contract| contract.id).collect();
        format!(
            "there is no contract `{id}`; the contracts are {}",
            ids.join(", ")
        )
    })
}
