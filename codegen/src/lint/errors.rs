//! The error table, and that every error which can happen is declared.

use tabellion_runtime::FailureKind;

use crate::{
    contract::{Contract, Tool},
    pointer,
    problem::Problem,
};

/// Failures that can happen to every call.
const ALWAYS: &[FailureKind] = &[FailureKind::Invalid, FailureKind::Io];
/// Failures that can happen to every call that changes something.
const MUTATING: &[FailureKind] = &[
    FailureKind::Conflict,
    FailureKind::Refused,
    FailureKind::Busy,
    FailureKind::Declined,
];
/// Failures that can happen to every call that names a path of which not all are allowed.
const WITH_POLICY: &[FailureKind] = &[FailureKind::AccessDenied, FailureKind::PathNotAllowed];
/// Failures that can happen to every call of which there may be only so many.
const WITH_LIMIT: &[FailureKind] = &[FailureKind::RateLimited];

/// Checks the table, and each tool against it.
pub(super) fn table(contract: &Contract, problems: &mut Vec<Problem>) {
    let errors = &contract.spec.errors;
    for kind in FailureKind::ALL {
        let mut names = errors.iter().filter(|(_, error)| error.failures.contains(kind));
        if names.next().is_none() {
            problems.push(contract.document.problem(
                "/errors",
                format!("no error stands for failure `{kind}`"),
                format!("add `\"failures\": [\"{kind}\"]` to the one that clients shall get"),
            ));
        }
        for (name, _) in names {
            problems.push(contract.document.problem(
                pointer::walk("/errors", &[name.clone(), "failures".into()]),
                format!("failure `{kind}` has an error already"),
                "every failure becomes one error: take it away here or there",
            ));
        }
    }
    for tool in &contract.tools {
        self::tool(contract, tool, problems);
    }
}

fn tool(contract: &Contract, tool: &Tool, problems: &mut Vec<Problem>) {
    let spec = &tool.spec;
    if spec.annotations.read_only == spec.mutating {
        problems.push(tool.document.problem(
            "/annotations/readOnlyHint",
            format!("`readOnlyHint` and `mutating` are both {}", spec.mutating),
            "a tool that makes commits is not read-only, and every other is",
        ));
    }
    for (i, error) in spec.errors.iter().enumerate() {
        if !contract.spec.errors.contains_key(error) {
            problems.push(tool.document.problem(
                format!("/errors/{i}"),
                format!("the error table has no `{error}`"),
                "add it to `errors` in contract.json, or correct its spelling",
            ));
        }
    }
    let possible = [
        (true, ALWAYS),
        (spec.mutating, MUTATING),
        (spec.paths.is_some(), WITH_POLICY),
        (spec.rate_limit.is_some(), WITH_LIMIT),
    ];
    let possible = possible.iter().filter(|(is_possible, _)| *is_possible);
    for kind in possible.flat_map(|(_, kinds)| *kinds) {
        let Some(error) = contract.error_for(*kind) else {
            continue;
        };
        if !spec.errors.iter().any(|declared| declared == error) {
            problems.push(tool.document.problem(
                "/errors",
                format!("`{error}` is not declared, which failure `{kind}` becomes"),
                format!("add `\"{error}\"`: it can happen to every such tool"),
            ));
        }
    }
}
