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
mod offered;
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
mod remote;
pub(crate) mod rest;
mod rows;
mod schema;
mod secrets;
mod store;
mod table;
mod undo;
mod wire;

use rest::calls;
use tabellion_runtime::{ContractSpec, Guarantee, spec::FieldType};

use crate::{
    Subject,
    check::{Check, Severity},
    contracts::{self, BY_KIND, CONTRACTS},
    pattern::covers,
    promises::{self, PROMISES},
};

/// A family of checks, and the contracts that it judges.
struct Family {
    /// Checks, whose ids begin with the family's name.
    checks: &'static [Check],
    /// Returns true if the checks can say anything about what the contract's store keeps: documents and their history, or rows.
    fits: fn(&ContractSpec) -> bool,
    /// Returns true if keys of the contract's tools require what the checks test, whatever the contract guarantees.
    is_declared: fn(&ContractSpec) -> bool,
    /// The feature that it is about, if only some servers have it.
    needs: Option<Need>,
}

/// A feature that only some servers have, as they are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// HTTP.
    Http,
    /// A remote, by the operator's command.
    Remote,
    /// Calls that store a text, by the operator's word.
    Store,
}

impl Family {
    /// Returns a family for contracts that `fits` accepts, if one of their guarantees names a check.
    const fn new(checks: &'static [Check], fits: fn(&ContractSpec) -> bool) -> Self {
        Self {
            checks,
            fits,
            is_declared: |_| false,
            needs: None,
        }
    }

    /// Adds contracts that declare what the checks test.
    const fn or_declared(self, is_declared: fn(&ContractSpec) -> bool) -> Self {
        Self { is_declared, ..self }
    }

    /// Adds all contracts that fit, whatever they guarantee.
    const fn always(self) -> Self {
        self.or_declared(|_| true)
    }

    const fn over_http(self) -> Self {
        Self {
            needs: Some(Need::Http),
            ..self
        }
    }

    const fn of_store(self) -> Self {
        Self {
            needs: Some(Need::Store),
            ..self
        }
    }

    const fn of_remote(self) -> Self {
        Self {
            needs: Some(Need::Remote),
            ..self
        }
    }
}

const fn any(_: &ContractSpec) -> bool {
    true
}

const fn has_documents(contract: &ContractSpec) -> bool {
    contract.rows.is_none()
}

const fn has_rows(contract: &ContractSpec) -> bool {
    contract.rows.is_some()
}

/// The families, in the order in which they run.
const FAMILIES: &[Family] = &[
    Family::new(wire::CHECKS, any).always(),
    Family::new(http::CHECKS, any).always().over_http(),
    Family::new(schema::CHECKS, any).always(),
    Family::new(operations::CHECKS, any)
        .or_declared(|contract| contract.tools.iter().any(|tool| tool.operations.is_some())),
    Family::new(paths::CHECKS, has_documents),
    Family::new(pure::CHECKS, any).always(),
    Family::new(preview::CHECKS, has_documents).or_declared(|contract| !contract.previews.is_empty()),
    Family::new(mutation::CHECKS, has_documents),
    Family::new(bytes::CHECKS, has_documents)
        .or_declared(|contract| contract.operations().any(|tool| !tool.effects.is_empty())),
    Family::new(atomic::CHECKS, has_documents),
    Family::new(concurrent::CHECKS, has_documents),
    Family::new(append::CHECKS, has_documents),
    Family::new(approval::CHECKS, has_documents)
        .or_declared(|contract| contract.operations().any(|tool| tool.approval.is_some())),
    Family::new(policy::CHECKS, has_documents)
        .or_declared(|contract| contract.operations().any(|tool| tool.paths.is_some())),
    Family::new(outline::CHECKS, has_documents),
    Family::new(undo::CHECKS, has_documents),
    Family::new(model::CHECKS, has_documents),
    Family::new(remote::CHECKS, has_documents).of_remote(),
    Family::new(store::CHECKS, has_documents).of_store(),
    Family::new(rows::CHECKS, has_rows).always(),
    Family::new(orgs::CHECKS, has_rows)
        .or_declared(|contract| contract.rows.is_some_and(|rows| rows.org.is_some())),
    Family::new(secrets::CHECKS, has_rows).or_declared(|contract| {
        contract.rows.is_some_and(|rows| {
            let mut fields = rows.entities.iter().flat_map(|entity| entity.fields);
            fields.any(|field| matches!(field.kind, FieldType::Secret { .. }))
        })
    }),
    Family::new(provenance::CHECKS, |contract| contract.provenance.is_some()).always(),
    Family::new(modes::CHECKS, |contract| contract.modes.is_some()).always(),
    Family::new(errors::CHECKS, any),
    Family::new(auth::CHECKS, |contract| contract.auth.is_some()).always(),
    Family::new(gates::CHECKS, |contract| !contract.gates.is_empty()).always(),
    Family::new(notes::REVIEW, notes::is_of).always(),
    Family::new(notes::VERSIONS, notes::is_of).always(),
    Family::new(notes::LINKS, notes::is_of).always(),
    Family::new(notes::SEARCH, notes::is_of).always(),
    Family::new(notes::EXPORT, notes::is_of).always(),
    Family::new(rest::CHECKS, |contract| !contract.rest.is_empty())
        .always()
        .over_http(),
    Family::new(calls::AUDIT, calls::has_executions)
        .always()
        .over_http(),
    Family::new(calls::LIMITS, calls::has_sessions)
        .always()
        .over_http(),
    Family::new(calls::SESSIONS, calls::has_sessions)
        .always()
        .over_http(),
    Family::new(memory::CHECKS, memory::is_of).always(),
    Family::new(code::INDEX, |contract| code::is_of(contract, "index")).always(),
    Family::new(code::SEARCH, |contract| code::is_of(contract, "search")).always(),
    Family::new(code::VCS, |contract| code::is_of(contract, "vcs")).always(),
    Family::new(code::VALIDATE, |contract| code::is_of(contract, "validate")).always(),
    Family::new(budget::CHECKS, any),
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
    "remote/refused",
    "remote/acknowledged",
];

/// Checks and families for servers without a contract.
const OF_DECLARED: [&str; 6] = [
    "wire",
    "http",
    "schema",
    "pure/reads-change-nothing",
    "store",
    "budget",
];

/// Checks and families for servers with tools of their own, whatever they promise.
const OF_EVERY_SERVER: [&str; 6] = ["wire", "http", "schema", "paths/special-files", "store", "budget"];

/// Returns all checks, in the order in which they run.
pub fn all() -> impl Iterator<Item = &'static Check> {
    with_families().map(|(_, check)| check)
}

/// Returns the checks for a contract: those of its guarantees, those of no guarantee, and, if it is not one of the suite's own,
/// those of what its tools declare. A server with promises gets the checks of these, and `OF_EVERY_SERVER`.
pub fn of(contract: &'static ContractSpec) -> impl Iterator<Item = &'static Check> {
    let is_promised = promises::are_of(contract);
    fitting(contract)
        .filter(move |(family, check)| {
            if is_promised {
                let is_of_one = PROMISES.iter().any(|promise| promise.is_judged_by(check.id));
                let is_of_every = OF_EVERY_SERVER.iter().any(|pattern| covers(pattern, check.id));
                return judged(check, contract).next().is_some() || is_of_every && !is_of_one;
            }
            check.guarantees.is_empty()
                || judged(check, contract).next().is_some()
                || (!contracts::is_own(contract) && (family.is_declared)(contract))
                // It is the operator who shares a library, whatever its contract is.
                || family.needs == Some(Need::Remote)
        })
        .map(|(_, check)| check)
}

fn with_families() -> impl Iterator<Item = (&'static Family, &'static Check)> {
    FAMILIES
        .iter()
        .flat_map(|family| family.checks.iter().map(move |check| (family, check)))
}

fn fitting(contract: &ContractSpec) -> impl Iterator<Item = (&'static Family, &'static Check)> {
    with_families().filter(move |(family, _)| (family.fits)(contract))
}

/// Returns the checks for a server of this contract, as it is run: those about HTTP only over HTTP, and those about a remote if it can be
/// given one, or its contract promises something about it.
pub(crate) fn of_server(subject: &Subject) -> impl Iterator<Item = &'static Check> + use<> {
    let (contract, is_http) = (subject.contract, subject.launch.is_http());
    let is_shared = subject.launch.share.is_some();
    let stores = !subject.launch.store.is_empty();
    let (has_library, has_data) = (subject.launch.has_library(), subject.launch.names("{data}"));
    let applies = |check: &Check| {
        !contracts::is_declared(contract)
            || OF_DECLARED.iter().any(|pattern| covers(pattern, check.id))
                && match check.family() {
                    "pure" => has_library,
                    "store" => has_library || has_data,
                    _ => true,
                }
    };
    let applying: Vec<_> = of(contract).filter(|check| applies(check)).collect();
    applying.into_iter().filter(move |check| match need(check) {
        None => true,
        Some(Need::Http) => is_http,
        Some(Need::Store) => stores,
        Some(Need::Remote) => is_shared || judged(check, contract).next().is_some(),
    })
}

fn need(check: &Check) -> Option<Need> {
    with_families().find(|(_, it)| it.id == check.id)?.0.needs
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
    let is_judged =
        |id: &str| fitting(contract).any(|(_, check)| judged(check, contract).any(|it| it.id == id));
    let promises = contract
        .guarantees
        .iter()
        .filter(|guarantee| !is_judged(guarantee.id));
    let promises = promises.map(|guarantee| format!("guarantee `{}`: it has no `kind`", guarantee.id));
    silent.chain(promises).collect()
}

/// Returns the guarantees of a contract that a check judges: those with an id that the check names, and those with an id that no
/// check names, of a kind that it judges in the suite's own contracts. Of promises, those that say so.
pub fn judged(check: &Check, contract: &ContractSpec) -> impl Iterator<Item = &'static Guarantee> {
    let names = check.guarantees;
    // A contract may have a guarantee of the same name.
    let is_promised = promises::are_of(contract);
    let id = check.id;
    contract.guarantees.iter().filter(move |guarantee| {
        if let Some(promise) = promises::find(guarantee.id).filter(|_| is_promised) {
            return promise.is_judged_by(id);
        }
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
    while kind < BY_KIND.len() {
        assert!(
            is_checked(BY_KIND[kind].1),
            "a kind of guarantees has no check of severity `Must`: write one in `conformance/src/checks`"
        );
        kind += 1;
    }
};

/// Returns true if a check of severity `Must` covers this guarantee. Constant evaluation has no iterators.
const fn is_checked(guarantee: &str) -> bool {
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut check = 0;
        while check < FAMILIES[family].checks.len() {
            let it = &FAMILIES[family].checks[check];
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

    use tabellion_runtime::ToolSpec;

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
        let names = FAMILIES.iter().map(|family| {
            let names: HashSet<_> = family.checks.iter().map(Check::family).collect();
            assert_eq!(names.len(), 1, "{names:?}");
            names.into_iter().next()
        });
        assert_eq!(names.collect::<HashSet<_>>().len(), FAMILIES.len());
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
