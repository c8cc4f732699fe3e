//! All checks, by family.
//!
//! A check names no tool: it asks the contract which tool has which effect. This module does not compile if a guarantee of
//! one of the [`CONTRACTS`] has no check.

mod append;
mod approval;
mod atomic;
mod auth;
mod budget;
mod bytes;
mod code;
mod concurrent;
mod errors;
mod gates;
pub(crate) mod http;
mod memory;
mod model;
mod modes;
mod mutation;
mod notes;
mod operations;
mod orgs;
mod outline;
mod patch;
mod paths;
mod person;
mod policy;
mod preview;
mod provenance;
mod pure;
pub(crate) mod rest;
mod rows;
mod schema;
mod secrets;
mod table;
mod undo;
mod wire;

use rest::calls;
use tabellion_runtime::{ContractSpec, Guarantee, ToolSpec, spec::FieldType};

use crate::{
    check::{Check, Severity},
    contracts::{self, CONTRACTS, OF_ROWS},
};

/// The families of checks, in the order in which they run.
pub const FAMILIES: &[&[Check]] = &[
    wire::CHECKS,
    http::CHECKS,
    schema::CHECKS,
    operations::CHECKS,
    paths::CHECKS,
    pure::CHECKS,
    preview::CHECKS,
    mutation::CHECKS,
    bytes::CHECKS,
    atomic::CHECKS,
    concurrent::CHECKS,
    append::CHECKS,
    approval::CHECKS,
    policy::CHECKS,
    outline::CHECKS,
    undo::CHECKS,
    model::CHECKS,
    rows::CHECKS,
    orgs::CHECKS,
    secrets::CHECKS,
    provenance::CHECKS,
    modes::CHECKS,
    errors::CHECKS,
    auth::CHECKS,
    gates::CHECKS,
    notes::REVIEW,
    notes::VERSIONS,
    notes::LINKS,
    notes::SEARCH,
    notes::EXPORT,
    rest::CHECKS,
    rest::calls::CHECKS,
    memory::CHECKS,
    code::INDEX,
    code::SEARCH,
    code::VCS,
    code::VALIDATE,
    budget::CHECKS,
];

/// The checks of the smoke profile, the most telling first.
pub const SMOKE: &[&str] = &[
    "wire/handshake",
    "bytes/read-exact",
    "mutation/content",
    "mutation/one-commit",
    "mutation/returned-id",
    "mutation/log-entry",
    "mutation/recorded",
    "pure/refusals-change-nothing",
    "preview/equals-result",
    "append/content",
    "outline/get-update",
    "undo/inverts",
    "approval/declined",
    "bytes/untouched",
    "paths/escape",
    "pure/reads-change-nothing",
    "atomic/kill",
    "concurrent/clients",
    "mutation/only-its-document",
    "pure/start-changes-nothing",
    "policy/paths",
    "append/other-files",
    "append/all-arrive",
    "outline/inside",
    "outline/ids",
    "undo/redo-inverts-undo",
    "undo/hand-edit",
    "mutation/person-uncommitted",
    "paths/links",
    "concurrent/editor",
    "bytes/write-exact",
    "wire/official-schema",
    "concurrent/reads-whole",
    "mutation/no-implicit-edits",
    "bytes/invalid-utf8",
    "paths/special-files",
    "rows/one-change",
    "rows/model",
    "orgs/apart",
    "secrets/once",
    "rows/refused",
    "rows/idempotency",
    "rows/if-base",
    "rows/references",
    "rows/unique",
    "rows/patch",
    "rows/log-replays",
    "rows/synced-before-answer",
    "rows/killed",
    "rows/crowd",
    "rows/faults",
    "provenance/kept",
    "modes/matrix",
    "errors/channel",
    "auth/roles",
    "gates/each-clause",
    "gates/nothing-written",
    "review/pending-unseen",
    "review/decided",
    "versions/conflict",
    "versions/by-hand",
    "notes/fresh",
    "export/whole",
    "rest/same-answers",
    "rest/errors",
    "audit/agrees-with-commits",
    "limits/each",
    "sessions/most",
    "memory/kept",
    "memory/found",
    "memory/timeline",
    "memory/inject",
    "index/status",
    "index/incremental",
    "search/filters",
    "search/exact",
    "vcs/compare",
    "validate/run",
];

/// Returns all checks, in the order in which they run.
pub fn all() -> impl Iterator<Item = &'static Check> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the checks for a contract: those of its guarantees, those of no guarantee, and, if it is not one of the suite's own,
/// those of what its tools declare.
pub fn of(contract: &'static ContractSpec) -> impl Iterator<Item = &'static Check> {
    all()
        .filter(move |check| fits(check, contract))
        .filter(move |check| {
            check.guarantees.is_empty()
                || judged(check, contract).next().is_some()
                || (!contracts::is_own(contract) && is_declared(check, contract))
        })
}

/// Returns true if a check can say anything about what the contract's store keeps: documents and their history, or rows.
fn fits(check: &Check, contract: &ContractSpec) -> bool {
    match check.family() {
        "rows" | "orgs" | "secrets" => contract.rows.is_some(),
        "provenance" => contract.provenance.is_some(),
        "modes" => contract.modes.is_some(),
        "auth" => contract.auth.is_some(),
        "gates" => !contract.gates.is_empty(),
        rest::FAMILY => !contract.rest.is_empty(),
        family if calls::is_family(family) => calls::is_of(contract, family),
        memory::FAMILY => memory::is_of(contract),
        family if code::is_family(family) => code::is_of(contract, family),
        family if notes::is_family(family) => notes::is_of(contract),
        "wire" | "http" | "schema" | "operations" | "pure" | "errors" | "budget" => true,
        _ => contract.rows.is_none(),
    }
}

/// Returns true if keys of the contract's tools require what the check tests, whatever the contract guarantees.
fn is_declared(check: &Check, contract: &ContractSpec) -> bool {
    let any = |has: fn(&ToolSpec) -> bool| contract.operations().any(has);
    match check.family() {
        "wire" | "http" | "schema" | "pure" => true,
        "operations" => contract.tools.iter().any(|tool| tool.operations.is_some()),
        "rows" | "provenance" | "modes" | "auth" | "gates" | rest::FAMILY | memory::FAMILY => true,
        family if code::is_family(family) || notes::is_family(family) || calls::is_family(family) => true,
        "orgs" => contract.rows.is_some_and(|rows| rows.org.is_some()),
        "secrets" => contract.rows.is_some_and(|rows| {
            let mut fields = rows.entities.iter().flat_map(|entity| entity.fields);
            fields.any(|field| matches!(field.kind, FieldType::Secret { .. }))
        }),
        "preview" => !contract.previews.is_empty(),
        "bytes" => any(|tool| !tool.effects.is_empty()),
        "approval" => any(|tool| tool.approval.is_some()),
        "policy" => any(|tool| tool.paths.is_some()),
        _ => false,
    }
}

/// Returns true if a check is about what exists over HTTP alone.
pub(crate) fn is_over_http(check: &Check) -> bool {
    matches!(check.family(), http::FAMILY | rest::FAMILY) || calls::is_family(check.family())
}

/// Returns what a contract declares or promises that no check judges, for people; each is a noun phrase.
pub fn not_judged(contract: &'static ContractSpec) -> Vec<String> {
    let silent = contract
        .operations()
        .filter(|tool| tool.mutating && tool.effects.is_empty() && contract.rows.is_none());
    let silent = silent.map(|tool| {
        format!(
            "what `{}` does to a document: it declares no `effects`",
            tool.label()
        )
    });
    let is_judged = |id: &str| {
        let mut fitting = all().filter(|check| fits(check, contract));
        fitting.any(|check| judged(check, contract).any(|it| it.id == id))
    };
    let promises = contract
        .guarantees
        .iter()
        .filter(|guarantee| !is_judged(guarantee.id));
    let promises = promises.map(|guarantee| format!("guarantee `{}`: it has no `kind`", guarantee.id));
    silent.chain(promises).collect()
}

/// Returns the guarantees of a contract that a check judges: those with an id that the check names, and those with an id that no
/// check names, of a kind that it judges in the suite's own contracts.
pub fn judged(check: &Check, contract: &ContractSpec) -> impl Iterator<Item = &'static Guarantee> {
    let names = check.guarantees;
    contract.guarantees.iter().filter(move |guarantee| {
        let mut ids = guarantee.kind.into_iter().flat_map(contracts::ids_of);
        names.contains(&guarantee.id) || (!is_checked(guarantee.id) && ids.any(|id| names.contains(&id)))
    })
}

/// Returns the check with this id.
pub fn find(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}

/// Returns a hint for an unknown id: the most similar ids, or how to list them.
pub fn did_you_mean(wanted: &str) -> String {
    let ids: Vec<_> = all().map(|check| check.id).collect();
    let near = similar::get_close_matches(wanted, &ids, 3, 0.6);
    let near: Vec<_> = near.iter().map(|id| format!("`{id}`")).collect();
    match near.as_slice() {
        [] => "; `list` prints them".to_owned(),
        near => format!("; did you mean {}?", near.join(" or ")),
    }
}

// A guarantee without a check would be an empty promise.
const _: () = {
    let mut contract = 0;
    while contract < CONTRACTS.len() {
        let guarantees = CONTRACTS[contract].guarantees;
        let mut guarantee = 0;
        while guarantee < guarantees.len() {
            assert!(
                is_checked(guarantees[guarantee].id),
                "a contract declares a guarantee without a check of severity `Must`: write one in `conformance/src/checks`"
            );
            guarantee += 1;
        }
        contract += 1;
    }
    let mut kind = 0;
    while kind < OF_ROWS.len() {
        assert!(
            is_checked(OF_ROWS[kind].1),
            "a kind of guarantees about rows has no check of severity `Must`: write one in `conformance/src/checks`"
        );
        kind += 1;
    }
};

/// Returns true if a check of severity `Must` covers this guarantee. Constant evaluation has no iterators.
const fn is_checked(guarantee: &str) -> bool {
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut check = 0;
        while check < FAMILIES[family].len() {
            let it = &FAMILIES[family][check];
            let mut index = 0;
            while index < it.guarantees.len() {
                if matches!(it.severity, Severity::Must) && is_same(it.guarantees[index], guarantee) {
                    return true;
                }
                index += 1;
            }
            check += 1;
        }
        family += 1;
    }
    false
}

/// Returns true if the texts are equal. `==` on `str` is not constant.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_smoke_profile_has_checks_of_every_contract() {
        for id in SMOKE {
            assert!(find(id).is_some(), "{id}");
        }
        for contract in CONTRACTS {
            let many = of(contract).filter(|check| SMOKE.contains(&check.id)).count();
            assert!(many >= 10, "{}: {many}", contract.id);
        }
    }

    #[test]
    fn guarantees_of_other_contracts_are_judged_by_their_kind() {
        use tabellion_runtime::spec::GuaranteeKind::{Approval, Commit, Log};
        static OTHER: ContractSpec = ContractSpec {
            guarantees: &[
                Guarantee {
                    id: "one-commit",
                    kind: Some(Commit),
                    text: "",
                },
                Guarantee {
                    id: "requires-approval",
                    kind: Some(Log),
                    text: "",
                },
                Guarantee {
                    id: "asks-first",
                    kind: Some(Approval),
                    text: "",
                },
                Guarantee {
                    id: "is-nice",
                    kind: None,
                    text: "",
                },
            ],
            ..ContractSpec::EMPTY
        };
        for (check, expected) in [
            ("mutation/one-commit", &["one-commit"][..]),
            ("mutation/recorded", &[]),
            ("approval/declined", &["requires-approval", "asks-first"]),
            ("bytes/read-exact", &[]),
        ] {
            let judged: Vec<_> = judged(find(check).unwrap(), &OTHER).map(|it| it.id).collect();
            assert_eq!(judged, expected, "{check}");
        }
    }

    #[test]
    fn what_no_check_judges_is_said() {
        use crate::contracts::find;
        let notes = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../codegen/examples/notes/schemas/notes"
        );
        let notes = find(notes).unwrap();
        assert_eq!(not_judged(notes), Vec::<String>::new());
        let of: HashSet<_> = of(notes).map(|check| check.id).collect();
        for (check, expected) in [
            ("pure/reads-change-nothing", true),
            ("bytes/untouched", true),
            ("preview/equals-result", true),
            ("mutation/one-commit", true),
            ("approval/once", false),
            ("append/content", false),
        ] {
            assert_eq!(
                of.contains(check),
                expected && all().any(|it| it.id == check),
                "{check}"
            );
        }
        static SILENT: ContractSpec = ContractSpec {
            guarantees: &[Guarantee {
                id: "is-nice",
                kind: None,
                text: "",
            }],
            tools: &[ToolSpec {
                name: "rate",
                mutating: true,
                ..ToolSpec::new(&ANY, &ANY)
            }],
            ..ContractSpec::EMPTY
        };
        static ANY: tabellion_runtime::Schema = tabellion_runtime::Schema::plain("{}");
        let said = not_judged(&SILENT).join("\n");
        assert!(said.contains("`rate`") && said.contains("`is-nice`"), "{said}");
        for contract in CONTRACTS {
            assert!(
                !not_judged(contract).iter().any(|it| it.contains("guarantee")),
                "{}",
                contract.id
            );
        }
    }

    #[test]
    fn a_contract_with_rows_has_the_checks_of_rows_and_none_of_documents() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../codegen/examples/tracker/schemas/tracker"
        );
        let tracker = crate::contracts::find(folder).unwrap();
        assert_eq!(not_judged(tracker), Vec::<String>::new());
        let families: HashSet<_> = of(tracker).map(Check::family).collect();
        let expected = [
            "wire",
            "http",
            "schema",
            "operations",
            "pure",
            "rows",
            "orgs",
            "secrets",
            "budget",
        ];
        assert_eq!(families, HashSet::from(expected));
        for contract in CONTRACTS {
            let is_of_rows = |check: &Check| ["rows", "orgs", "secrets"].contains(&check.family());
            let all = of(contract).filter(|check| is_of_rows(check)).count();
            assert_eq!(all > 0, contract.rows.is_some(), "{}", contract.id);
        }
    }

    #[test]
    fn ids_are_unique_and_begin_with_a_family() {
        let ids: HashSet<_> = all().map(|check| check.id).collect();
        assert_eq!(ids.len(), all().count());
        for check in all() {
            assert!(check.id.split('/').count() == 2, "{}", check.id);
            assert!(
                check.states.ends_with('.') && !check.explains.is_empty(),
                "{}",
                check.id
            );
        }
    }
}
