//! All checks, by family.
//!
//! A check names no tool: it asks the contract which tool has which effect. Families that judge one contract in its own words are not
//! here, but each in a [`Pack`], which a program [adds](add) before it runs them. A new check begins with `use crate::checks::prelude::*`.

mod append;
mod approval;
mod atomic;
mod auth;
mod budget;
mod bytes;
mod concurrent;
mod errors;
mod family;
mod gates;
pub(crate) mod http;
mod model;
mod modes;
mod mutation;
mod offered;
mod operations;
mod orgs;
mod outline;
mod patch;
mod paths;
mod person;
mod policy;
pub mod prelude;
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

use std::iter;

pub use family::{Family, Pack, add};
use family::{Need, any, has_documents, has_rows, packs};
use rest::calls;
use tabellion_runtime::{ContractSpec, Guarantee, spec::FieldType};

use crate::{
    Subject,
    check::{Check, Severity},
    contracts,
    pattern::covers,
    promises::{self, PROMISES},
};

/// The families of every suite, in the order in which they run.
static FAMILIES: &[Family] = &[
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
    Family::new(rest::CHECKS, |contract| !contract.rest.is_empty()).always().over_http(),
    Family::new(calls::AUDIT, calls::has_executions).always().over_http(),
    Family::new(calls::LIMITS, calls::has_sessions).always().over_http(),
    Family::new(calls::SESSIONS, calls::has_sessions).always().over_http(),
    Family::new(budget::CHECKS, any),
];

/// The checks of the smoke profile, the most telling first; those of packs come after them.
const SMOKE: &[&str] = &[
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
    "rest/same-answers",
    "rest/errors",
    "audit/agrees-with-commits",
    "limits/each",
    "sessions/most",
    "remote/refused",
    "remote/acknowledged",
];

/// Checks and families for servers without a contract.
const OF_DECLARED: [&str; 6] = ["wire", "http", "schema", "pure/reads-change-nothing", "store", "budget"];

/// Checks and families for servers with tools of their own, independently of their promises.
const OF_EVERY_SERVER: [&str; 6] = ["wire", "http", "schema", "paths/special-files", "store", "budget"];

/// Returns the checks of the smoke profile, the most telling first.
pub fn smoke() -> impl Iterator<Item = &'static str> {
    let of_packs = packs().into_iter().flat_map(|pack| pack.smoke);
    SMOKE.iter().chain(of_packs).copied()
}

/// Returns all checks, in the order in which they run: those of every suite, then those of the packs that were added.
pub fn all() -> impl Iterator<Item = &'static Check> {
    with_families().map(|(_, check)| check)
}

/// Returns the checks for a contract: those of its guarantees, those of no guarantee, and, if it is not one of the suite's own,
/// those that its tools' declarations require. A server with promises gets the checks of these, and `OF_EVERY_SERVER`.
pub fn for_contract(contract: &'static ContractSpec) -> impl Iterator<Item = &'static Check> {
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
                // The operator shares a library, independently of its contract.
                || family.needs == Some(Need::Remote)
        })
        .map(|(_, check)| check)
}

fn with_families() -> impl Iterator<Item = (&'static Family, &'static Check)> {
    let of_packs = packs().into_iter().flat_map(|pack| pack.families);
    let families = FAMILIES.iter().chain(of_packs);
    families.flat_map(|family| iter::repeat(family).zip(family.checks))
}

fn fitting(contract: &ContractSpec) -> impl Iterator<Item = (&'static Family, &'static Check)> {
    with_families().filter(move |(family, _)| (family.fits)(contract))
}

/// Returns the checks for a server of this contract, as it is run: those about HTTP only over HTTP, and those about a remote if it can be
/// given one, or its contract has a promise about it.
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
    let applying: Vec<_> = for_contract(contract).filter(|check| applies(check)).collect();
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

/// Returns the declarations or promises of a contract that no check judges, for people; each is a noun phrase.
pub fn not_judged(contract: &'static ContractSpec) -> Vec<String> {
    let silent = contract
        .operations()
        .filter(|tool| tool.mutating && tool.effects.is_empty() && contract.rows.is_none());
    let silent =
        silent.map(|tool| format!("what `{}` does to a document: it declares no `effects`", tool.label()));
    let is_judged =
        |id: &str| fitting(contract).any(|(_, check)| judged(check, contract).any(|it| it.id == id));
    let promises = contract.guarantees.iter().filter(|guarantee| !is_judged(guarantee.id));
    let promises = promises
        .map(|guarantee| format!("guarantee `{}`: it has no `kind`, and no check names it", guarantee.id));
    silent.chain(promises).collect()
}

/// Returns the guarantees of a contract that a check judges: those with an id that the check names, and those with an id that no
/// check names, of a kind that it judges in the suite's own contracts. For promises, those that name the check.
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

/// Returns true if a check of severity `Must` covers the guarantee with this id.
fn is_checked(guarantee: &str) -> bool {
    all().any(|check| check.severity == Severity::Must && check.guarantees.contains(&guarantee))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tabellion_runtime::ToolSpec;

    use super::*;

    #[test]
    fn guarantees_of_other_contracts_are_judged_by_their_kind() {
        use tabellion_runtime::spec::GuaranteeKind::{Approval, Commit, Log};
        static OTHER: ContractSpec = ContractSpec {
            guarantees: &[
                Guarantee { id: "one-commit", kind: Some(Commit), text: "" },
                Guarantee { id: "requires-approval", kind: Some(Log), text: "" },
                Guarantee { id: "asks-first", kind: Some(Approval), text: "" },
                Guarantee { id: "is-nice", kind: None, text: "" },
            ],
            ..ContractSpec::EMPTY
        };
        for (check, expected) in [
            ("mutation/one-commit", &["one-commit"][..]),
            ("mutation/returned-id", &["one-commit"]),
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
        let notes = concat!(env!("CARGO_MANIFEST_DIR"), "/../codegen/examples/notes/schemas/notes");
        let notes = find(notes).unwrap();
        assert_eq!(not_judged(notes), Vec::<String>::new());
        let of: HashSet<_> = for_contract(notes).map(|check| check.id).collect();
        for (check, expected) in [
            ("pure/reads-change-nothing", true),
            ("bytes/untouched", true),
            ("preview/equals-result", true),
            ("mutation/one-commit", true),
            ("approval/once", false),
            ("append/content", false),
        ] {
            assert_eq!(of.contains(check), expected && all().any(|it| it.id == check), "{check}");
        }
        static SILENT: ContractSpec = ContractSpec {
            guarantees: &[Guarantee { id: "is-nice", kind: None, text: "" }],
            tools: &[ToolSpec { name: "rate", mutating: true, ..ToolSpec::new(&ANY, &ANY) }],
            ..ContractSpec::EMPTY
        };
        static ANY: tabellion_runtime::Schema = tabellion_runtime::Schema::plain("{}");
        let said = not_judged(&SILENT).join("\n");
        assert!(said.contains("`rate`") && said.contains("`is-nice`"), "{said}");
    }

    #[test]
    fn a_contract_with_rows_has_the_checks_of_rows_and_none_of_documents() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../codegen/examples/tracker/schemas/tracker");
        let tracker = crate::contracts::find(folder).unwrap();
        assert_eq!(not_judged(tracker), Vec::<String>::new());
        let families: HashSet<_> = for_contract(tracker).map(Check::family).collect();
        let expected = ["wire", "http", "schema", "operations", "pure", "rows", "orgs", "secrets", "budget"];
        assert_eq!(families, HashSet::from(expected));
        for contract in contracts::CONTRACTS {
            let is_of_rows = |check: &Check| ["rows", "orgs", "secrets"].contains(&check.family());
            let all = for_contract(contract).filter(|check| is_of_rows(check)).count();
            assert_eq!(all > 0, contract.rows.is_some(), "{}", contract.id);
        }
    }

    #[test]
    fn each_family_has_a_name_of_its_own() {
        let names = FAMILIES.iter().map(|family| {
            let names: HashSet<_> = family.checks.iter().map(Check::family).collect();
            assert_eq!(names.len(), 1, "{names:?}");
            names.into_iter().next()
        });
        assert_eq!(names.collect::<HashSet<_>>().len(), FAMILIES.len());
    }
}
