//! Mutants of the server of the example `logbook`, whose calls have a mode and a provenance.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const LOGBOOK: &[Specimen] = &[
    specimen(
        Mutant::NeedsNoProvenance,
        "needs-no-provenance",
        "a call that lacks required provenance is made",
        &["provenance/missing", "provenance/delegated"],
    ),
    specimen(
        Mutant::NamesOneField,
        "names-one-field",
        "the refusal names the first of the fields that are missing",
        &["provenance/missing", "provenance/delegated"],
    ),
    specimen(
        Mutant::BlankWillDo,
        "blank-will-do",
        "a blank text is taken for provenance",
        &["provenance/missing", "provenance/delegated"],
    ),
    specimen(
        Mutant::OneSpelling,
        "one-spelling",
        "only the first of a field's keys is read",
        &["provenance/aliases"],
    ),
    specimen(
        Mutant::LastSpellingCounts,
        "last-spelling-counts",
        "of several keys of a field, the last counts",
        &["provenance/aliases"],
    ),
    specimen(
        Mutant::KeepsWhatItNeeds,
        "keeps-what-it-needs",
        "provenance is kept with the changes of those tools only that require it",
        &["provenance/kept"],
    ),
    specimen(
        Mutant::SeesItsWatch,
        "sees-its-watch",
        "a call finds only what its own session has made",
        &["provenance/no-filter"],
    ),
    specimen(
        Mutant::OrdersOfNoOne,
        "orders-of-no-one",
        "a delegated call need not say by whom",
        &["provenance/delegated"],
    ),
    specimen(
        Mutant::AnyModeWillDo,
        "any-mode-will-do",
        "a tool is called in modes that it is not for",
        &["modes/matrix"],
    ),
    specimen(
        Mutant::TakesUnknownModes,
        "takes-unknown-modes",
        "a mode that does not exist is taken for the default",
        &["modes/matrix"],
    ),
    specimen(
        Mutant::EnvironmentFirst,
        "environment-first",
        "the environment's mode goes before the argument's",
        &["modes/matrix"],
    ),
    specimen(
        Mutant::HidesTools,
        "hides-tools",
        "tools that are not for the mode are not listed",
        &["modes/listed"],
    ),
    specimen(
        Mutant::RefusesByResult,
        "refuses-by-result",
        "refusals are results with `isError`",
        &["errors/channel"],
    ),
    specimen(
        Mutant::CodeOfItsOwn,
        "code-of-its-own",
        "what is not there is refused with a code that the contract does not have",
        &["errors/channel"],
    ),
    specimen(
        Mutant::TellsThePath,
        "tells-the-path",
        "errors of files name their path",
        &["errors/sanitized"],
    ),
    specimen(
        Mutant::TellsTheStatement,
        "tells-the-statement",
        "errors have the statement that failed",
        &["errors/sanitized"],
    ),
    specimen(
        Mutant::TellsTheType,
        "tells-the-type",
        "errors are printed as they are in memory",
        &["errors/sanitized"],
    ),
    specimen(
        Mutant::NamesNoRequest,
        "names-no-request",
        "an internal error does not say under which id the log has its cause",
        &["errors/sanitized"],
    ),
];

const fn specimen(
    mutant: Mutant,
    name: &'static str,
    breaks: &'static str,
    detected_by: &'static [&'static str],
) -> Specimen {
    Specimen {
        mutant,
        name,
        server: CorrectServer::Logbook,
        breaks,
        imitates: None,
        detected_by,
    }
}
