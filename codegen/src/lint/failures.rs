//! Lints of failures: each failure that a key makes possible becomes exactly one error, which the tool declares.

use tabellion_runtime::FailureKind;

use crate::{
    contract::{Contract, Tool},
    keys::registry::KEYS,
    pointer,
    problem::Problem,
};

/// Failures of a store or of a method that no key makes possible.
const OF_ANY_CONTRACT: [FailureKind; 4] =
    [FailureKind::NotFound, FailureKind::Refused, FailureKind::Busy, FailureKind::TooLarge];

/// Checks the error table, and the errors of each operation.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    table(contract, problems);
    for tool in contract.operations() {
        self::tool(contract, tool, problems);
    }
}

/// Checks that every failure that can happen becomes exactly one error.
fn table(contract: &Contract, problems: &mut Vec<Problem>) {
    let errors = &contract.spec.errors;
    for kind in FailureKind::ALL {
        let mut names = errors.iter().filter(|(_, error)| error.failures.contains(kind));
        if names.next().is_none() && can_happen(contract, *kind) {
            problems.push(contract.document.problem(
                "/errors",
                format!("failure `{kind}` has no error"),
                format!("add `\"failures\": [\"{kind}\"]` to the error that clients should get"),
            ));
        }
        for (name, _) in names {
            problems.push(contract.document.problem(
                pointer::walk("/errors", &[name, "failures"]),
                format!("failure `{kind}` has an error already"),
                "a failure becomes exactly one error: remove it from one of the two",
            ));
        }
    }
}

/// Returns true if a call of the contract can end with a failure of this kind.
fn can_happen(contract: &Contract, kind: FailureKind) -> bool {
    let of_tool = |tool: &Tool| KEYS.iter().any(|key| key.failures(tool).contains(&kind));
    OF_ANY_CONTRACT.contains(&kind) || contract.operations().any(of_tool)
}

/// Checks that a tool declares the errors of every failure that its keys make possible.
fn tool(contract: &Contract, tool: &Tool, problems: &mut Vec<Problem>) {
    for kind in KEYS.iter().flat_map(|key| key.failures(tool)) {
        let Some(error) = contract.error_for(*kind) else {
            continue;
        };
        if !tool.spec.errors.contains(&error) {
            problems.push(tool.document.problem(
                "/errors",
                format!("failure `{kind}` becomes `{error}`, which the tool does not declare"),
                format!("add `\"{error}\"`: every such tool can fail so"),
            ));
        }
    }
}
