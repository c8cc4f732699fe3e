//! Mutants of the server of the example `tracker`, whose store keeps rows.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const TRACKER: &[Specimen] = &[
    specimen(
        Mutant::LogsNoRows,
        "logs-no-rows",
        "a change of rows leaves no entry in the log",
        &[
            "rows/one-change",
            "rows/log-replays",
            "rows/crowd",
            "rows/killed",
            "rows/faults",
        ],
    ),
    specimen(
        Mutant::LogsRowsTwice,
        "logs-rows-twice",
        "a change of rows leaves two entries in the log",
        &["rows/one-change", "rows/crowd", "rows/killed", "rows/faults"],
    ),
    specimen(
        Mutant::LogsOneRow,
        "logs-one-row",
        "the entry has the first row of several that changed",
        &["rows/one-change", "rows/killed", "rows/faults"],
    ),
    specimen(
        Mutant::LogsBeforeRows,
        "logs-before-rows",
        "the log is written before the rows, and each by itself",
        &["rows/killed", "rows/faults"],
    ),
    specimen(
        Mutant::PatchResets,
        "patch-resets",
        "an update sets the fields that it does not name to their defaults",
        &["rows/patch", "rows/model"],
    ),
    specimen(
        Mutant::DeletesNothing,
        "deletes-nothing",
        "the deletion of a row that is not there succeeds",
        &["rows/one-change", "rows/model", "orgs/apart"],
    ),
    specimen(
        Mutant::GetsAcrossOrgs,
        "gets-across-orgs",
        "a row of another org is got by its key",
        &["rows/model", "orgs/apart"],
    ),
    specimen(
        Mutant::ListsAcrossOrgs,
        "lists-across-orgs",
        "a list has the rows of all orgs",
        &["rows/model", "orgs/apart"],
    ),
    specimen(
        Mutant::RefersAcrossOrgs,
        "refers-across-orgs",
        "a row can refer to one of another org",
        &["rows/model", "orgs/apart"],
    ),
    specimen(
        Mutant::UniqueAcrossOrgs,
        "unique-across-orgs",
        "a value of a row of another org is taken",
        &["rows/model", "orgs/apart"],
    ),
    specimen(
        Mutant::IgnoresUnique,
        "ignores-unique",
        "two rows can have the same unique value",
        &["rows/unique", "rows/model"],
    ),
    specimen(
        Mutant::CaseMatters,
        "case-matters",
        "a unique name is compared with regard to its case",
        &["rows/unique"],
    ),
    specimen(
        Mutant::IgnoresReferences,
        "ignores-references",
        "a row can refer to one that is not there",
        &["rows/references", "rows/model", "orgs/apart"],
    ),
    specimen(
        Mutant::GoesInCircles,
        "goes-in-circles",
        "a chain of references can lead back to its beginning",
        &["rows/references", "rows/model"],
    ),
    specimen(
        Mutant::ForgetsCascade,
        "forgets-cascade",
        "rows that should be deleted with another stay",
        &["rows/references", "rows/model"],
    ),
    specimen(
        Mutant::ForgetsClear,
        "forgets-clear",
        "a reference to a deleted row stays",
        &["rows/references"],
    ),
    specimen(
        Mutant::DeletesWhatIsUsed,
        "deletes-what-is-used",
        "a row that others need can be deleted",
        &["rows/references", "rows/model"],
    ),
    specimen(
        Mutant::IgnoresRowBase,
        "ignores-row-base",
        "a change ignores the content that the row must still have",
        &["rows/if-base"],
    ),
    specimen(
        Mutant::IgnoresKeys,
        "ignores-keys",
        "a call with an idempotency key is made again",
        &["rows/idempotency"],
    ),
    specimen(
        Mutant::KeysOfAProcess,
        "keys-of-a-process",
        "idempotency keys are forgotten when the server ends",
        &["rows/idempotency"],
    ),
    specimen(
        Mutant::SecretListed,
        "secret-listed",
        "lists and answers have the secret as long as the process runs",
        &["rows/model", "secrets/once"],
    ),
    specimen(
        Mutant::SecretInLog,
        "secret-in-log",
        "the log has the answer with the secret",
        &["secrets/once"],
    ),
    specimen(
        Mutant::SecretReplayed,
        "secret-replayed",
        "a repeated call is answered with the secret",
        &["secrets/once"],
    ),
    specimen(
        Mutant::SecretOnStderr,
        "secret-on-stderr",
        "the secret is written to standard error",
        &["secrets/once"],
    ),
    specimen(
        Mutant::AnswersBeforeRows,
        "answers-before-rows",
        "a change is answered before it is written",
        &[
            "rows/one-change",
            "rows/log-replays",
            "rows/refused",
            "rows/patch",
            "rows/references",
            "rows/unique",
            "rows/if-base",
            "rows/idempotency",
            "rows/model",
            "rows/crowd",
            "rows/killed",
            "rows/faults",
            "rows/synced-before-answer",
            "orgs/apart",
        ],
    ),
    specimen(
        Mutant::NeverSyncs,
        "never-syncs",
        "the data file is not synced",
        &["rows/synced-before-answer"],
    ),
    specimen(
        Mutant::WritesInPlace,
        "writes-in-place",
        "the data file is cut and written anew",
        &["rows/killed", "rows/faults", "rows/synced-before-answer"],
    ),
    specimen(
        Mutant::RowsWithoutLock,
        "rows-without-lock",
        "several processes read and write the data file without a lock",
        &["rows/crowd"],
    ),
    specimen(
        Mutant::AnyNumber,
        "any-number",
        "a number that is not the next one is accepted",
        &["rows/model"],
    ),
    specimen(
        Mutant::ForgetsHook,
        "forgets-hook",
        "what follows from a field's value does not happen",
        &["rows/model"],
    ),
    specimen(
        Mutant::PinsStay,
        "pins-stay",
        "two rows have a mark that only one can have",
        &["rows/unique"],
    ),
    specimen(
        Mutant::RoundsNumbers,
        "rounds-numbers",
        "a number beyond 2^53 is accepted, and rounded",
        &["rows/refused"],
    ),
    specimen(
        Mutant::TakesNul,
        "takes-nul",
        "a text with a NUL is accepted",
        &["rows/refused"],
    ),
    specimen(
        Mutant::NamesNoField,
        "names-no-field",
        "the refusal of a value does not name its field",
        &["rows/refused"],
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
        server: CorrectServer::Tracker,
        breaks,
        imitates: None,
        detected_by,
    }
}
