//! Promises by name: the key `promises` of an adapter.
//!
//! A server without a contract promises less than one, and can't break the rest. Besides its promises, it is held to MCP and to its mapped
//! tools: each must read, write or change the document that a call names.

use tabellion_runtime::{ContractSpec, Guarantee, spec::GuaranteeKind};

use crate::{contracts::PROMISED, pattern::covers};

/// A promise.
#[derive(Debug)]
pub struct Promise {
    /// The promise as a guarantee, by its name.
    pub guarantee: Guarantee,
    /// The checks that judge it: ids and families.
    pub checks: &'static [&'static str],
    /// Words in descriptions of tools that suggest it, for drafts.
    pub said: &'static [&'static str],
}

impl Promise {
    /// Returns true if the check with this id judges it.
    pub fn is_judged_by(&self, check: &str) -> bool {
        self.checks.iter().any(|pattern| covers(pattern, check))
    }
}

const fn promise(
    id: &'static str,
    text: &'static str,
    checks: &'static [&'static str],
    said: &'static [&'static str],
) -> Promise {
    Promise { guarantee: Guarantee { id, kind: None, text }, checks, said }
}

const fn of_kind(kind: GuaranteeKind, promise: Promise) -> Promise {
    Promise { guarantee: Guarantee { kind: Some(kind), ..promise.guarantee }, ..promise }
}

/// The promise that calls have the effects and answers that the tools declare, which every server makes.
pub const TRUE_ANSWERS: &str = "true-answers";

/// The promise that no call leads out of the library.
const CONFINED: &str = "confined";
/// The promise that no path does; a link may.
const NO_TRAVERSAL: &str = "no-traversal";
/// The promise that the rest of a document keeps its bytes.
const TEXT_KEPT: &str = "text-kept";
/// The promise that each change is a commit.
pub(crate) const COMMITS: &str = "commits";

/// Globs of temporary files, which a killed server may leave behind: no promise is about them.
pub const TEMPORARY: &[&str] = &["**/*.tmp", "**/.*.tmp"];

/// All promises. The first is every server's.
pub static PROMISES: [Promise; 11] = [
    promise(
        TRUE_ANSWERS,
        "A call that succeeds did what it says, to the document that it names; reading and starting change nothing",
        &[
            "mutation/content",
            "mutation/encoding",
            "mutation/batch",
            "mutation/options",
            "bytes/write-exact",
            "bytes/read-exact",
            "bytes/pages",
            "bytes/moved",
            "pure/reads-change-nothing",
            "pure/start-changes-nothing",
            "pure/no-write-without-call",
            "model/one-client",
        ],
        &[],
    ),
    promise(
        CONFINED,
        "No path and no symbolic link leads a call out of the library",
        &[
            "paths/escape",
            "paths/links",
            "paths/every-tool",
            "paths/swapped-folder",
            "paths/linked-root",
            "paths/inner-root",
        ],
        &["allowed director", "outside", "sandbox", "within the vault"],
    ),
    promise(
        NO_TRAVERSAL,
        "No path leads a call out of the library; where links lead is not promised",
        &["paths/escape"],
        &["traversal"],
    ),
    promise(
        TEXT_KEPT,
        "What a change does not name keeps its bytes: line ends, byte order mark, bytes that are not UTF-8, mode, other documents",
        &[
            "mutation/no-implicit-edits",
            "mutation/only-its-document",
            "mutation/person-uncommitted",
            "bytes/untouched",
            "bytes/invalid-utf8",
            "bytes/mode",
            "bytes/every-tool",
            "model/beside-a-person",
        ],
        &["preserv", "line ending", "surgical"],
    ),
    promise(
        "atomic",
        "A change is there as a whole or not at all, whatever ends the server",
        &[
            "atomic/kill",
            "atomic/kill-observed",
            "atomic/restart",
            "atomic/torn-reads",
            "concurrent/reads-whole",
            "wire/eof-in-flight",
        ],
        &["atomic"],
    ),
    promise(
        "errors-change-nothing",
        "A call that is refused changes nothing",
        &[
            "pure/refusals-change-nothing",
            "mutation/refused-nothing",
            "schema/invalid-refused",
            "schema/json-oddities",
            "atomic/disk-full",
            "atomic/io-error",
            "atomic/full-disk-really",
        ],
        &["rolled back", "rollback", "all or nothing", "all-or-nothing", "transaction"],
    ),
    promise(
        "no-lost-update",
        "No acknowledged change is lost to a different client, process or editor",
        &[
            "concurrent/clients",
            "concurrent/processes",
            "concurrent/sections",
            "concurrent/create",
            "concurrent/editor",
            "concurrent/lost-update",
            "http/edits-at-once",
            "model/two-servers",
            "model/restarts",
        ],
        &["etag", "if_match", "optimistic", "concurren", "conflict"],
    ),
    of_kind(
        GuaranteeKind::Preview,
        promise(
            "preview",
            "A preview writes nothing, and is what then happens",
            &["preview", "model/previews"],
            &["dry run", "dry-run", "preview"],
        ),
    ),
    of_kind(
        GuaranteeKind::Commit,
        promise(
            COMMITS,
            "Each change is one commit of git, of the named document alone, made before the answer",
            &[
                "mutation/one-commit",
                "mutation/only-its-document",
                "mutation/returned-id",
                "mutation/sequence",
                "mutation/odd-repository",
                "mutation/recorded",
                "concurrent/git",
                "concurrent/reads-beside-git",
            ],
            &["git commit", "commits"],
        ),
    ),
    of_kind(
        GuaranteeKind::Log,
        promise(
            "log",
            "Each change is one entry of the log",
            &["mutation/log-entry", "concurrent/log"],
            &["activity log", "change log", "audit"],
        ),
    ),
    promise(
        "git-kept",
        "Git's own files are not reached through a path, and nothing in them misleads the server",
        &["paths/git-internals", "paths/hostile-config", "paths/environment", "paths/injection"],
        &[],
    ),
];

/// Returns the promise with this name.
pub fn find(id: &str) -> Option<&'static Promise> {
    PROMISES.iter().find(|promise| promise.guarantee.id == id)
}

/// Returns the contract whose only guarantees are [`TRUE_ANSWERS`] and these promises: names of promises, or ids of the
/// contract's guarantees.
///
/// # Errors
/// If there is no promise of a name: a message that lists all.
pub fn held_to(contract: &ContractSpec, promises: &[String]) -> Result<&'static ContractSpec, String> {
    let own = || contract.guarantees.iter().filter(|own| find(own.id).is_none());
    let all = || PROMISES.iter().map(|promise| &promise.guarantee).chain(own());
    if let Some(id) = promises.iter().find(|id| all().all(|made| made.id != **id)) {
        let ids: Vec<_> = all().skip(1).map(|made| made.id).collect();
        return Err(format!("there is no promise `{id}`, but {}", ids.join(", ")));
    }
    let made = all().filter(|made| made.id == TRUE_ANSWERS || promises.iter().any(|id| id == made.id));
    let guarantees: Vec<Guarantee> = made.cloned().collect();
    Ok(Box::leak(Box::new(ContractSpec {
        id: PROMISED,
        version: env!("CARGO_PKG_VERSION"),
        guarantees: Vec::leak(guarantees),
        ..*contract
    })))
}

/// Returns true if the server is held to promises rather than to a contract's guarantees.
pub fn are_of(contract: &ContractSpec) -> bool {
    contract.guarantees.first().is_some_and(|first| first.id == TRUE_ANSWERS)
}

/// Returns the promise to stay within the library that a contract makes, if it is one of promises.
pub fn of_confinement(contract: &ContractSpec) -> Option<&'static Promise> {
    let makes = |id: &&str| contract.guarantees.iter().any(|made| made.id == *id);
    [CONFINED, NO_TRAVERSAL].into_iter().find(makes).and_then(find)
}

/// Returns true if the server must keep all text that a change does not name.
pub fn are_texts_kept(contract: &ContractSpec) -> bool {
    owes(contract, TEXT_KEPT)
}

/// Returns true if a contract makes this promise, or has guarantees of its own instead.
pub(crate) fn owes(contract: &ContractSpec, promise: &str) -> bool {
    !are_of(contract) || contract.guarantees.iter().any(|made| made.id == promise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;

    #[test]
    fn each_promise_is_judged_and_no_pattern_is_empty() {
        for promise in &PROMISES {
            for pattern in promise.checks {
                let judges = checks::all().any(|check| covers(pattern, check.id));
                assert!(judges, "{}: {pattern}", promise.guarantee.id);
            }
        }
    }

    #[test]
    fn a_server_is_held_to_its_promises_alone() {
        let contract = crate::contracts::find("braindrive-markdown").unwrap();
        let ids = |promises: &[&str]| -> Vec<&str> {
            let promises: Vec<_> = promises.iter().map(|id| (*id).to_owned()).collect();
            let held = held_to(contract, &promises).unwrap();
            checks::for_contract(held).map(|check| check.id).collect()
        };
        let (none, some) = (ids(&[]), ids(&["confined", "atomic"]));
        for (check, in_none, in_some) in [
            ("wire/handshake", true, true),
            ("mutation/content", true, true),
            ("paths/escape", false, true),
            ("atomic/kill", false, true),
            ("atomic/disk-full", false, false),
            ("paths/git-internals", false, false),
            ("paths/links", false, true),
            ("mutation/one-commit", false, false),
            ("concurrent/clients", false, false),
            ("preview/equals-result", false, false),
            ("rows/model", false, false),
        ] {
            assert_eq!(none.contains(&check), in_none, "{check}");
            assert_eq!(some.contains(&check), in_some, "{check}");
        }
        // A contract's own guarantee of that name has the contract's checks.
        let editor = crate::contracts::find("safe-markdown-editor").unwrap();
        assert!(checks::for_contract(editor).any(|check| check.id == "undo/nothing"));
        let error = held_to(contract, &["confind".to_owned()]).unwrap_err();
        assert!(
            error.contains("confined, no-traversal, text-kept") && error.contains("commit-per-mutation"),
            "{error}"
        );
    }
}
