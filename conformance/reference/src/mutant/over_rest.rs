//! Mutants of the server of the example `bulletin` with a defect over REST.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

/// Mutants whose defect exists only over REST.
pub const REST_ZOO: &[Specimen] = &[
    specimen(
        Mutant::RestLosesMembers,
        "rest-loses-members",
        "a result over REST lacks a member that it has over MCP",
        "two serializers of one result",
        &["rest/same-answers"],
    ),
    specimen(
        Mutant::RestIgnoresKeys,
        "rest-ignores-keys",
        "a call over REST is made again, whatever its idempotency key",
        "a header that no handler reads",
        &["rest/same-answers"],
    ),
    specimen(
        Mutant::RestIgnoresIfMatch,
        "rest-ignores-if-match",
        "a change over REST overwrites a document that has changed",
        "a header that no handler reads",
        &["rest/same-answers"],
    ),
    specimen(
        Mutant::RestDescribesOneLess,
        "rest-describes-one-less",
        "the description lacks a tool",
        "a description that is written by hand",
        &["rest/openapi"],
    ),
    specimen(
        Mutant::RestSaysNumbers,
        "rest-says-numbers",
        "a time is a number, and the description says text",
        "a description that is written by hand",
        &["rest/openapi"],
    ),
    specimen(
        Mutant::RestRefusesWith200,
        "rest-refuses-with-200",
        "every refusal has the status 200",
        "RPC in the body of a POST",
        &["rest/errors"],
    ),
    specimen(
        Mutant::RestRefusesAsProblem,
        "rest-refuses-as-problem",
        "refusals are `application/problem+json`, in whatever form the contract has",
        "a framework's default handler of errors",
        &["rest/errors", "rest/openapi"],
    ),
    specimen(
        Mutant::RestMakesThenRefuses,
        "rest-makes-then-refuses",
        "a call without credentials is made, and then refused",
        "a layer that looks at credentials after the handler",
        &["rest/errors"],
    ),
    specimen(
        Mutant::ExecutionsNameNoCommit,
        "executions-name-no-commit",
        "an execution is a success, and does not say of which commit",
        "an audit log that is written before the change",
        &["audit/agrees-with-commits"],
    ),
    specimen(
        Mutant::ExecutionsSucceed,
        "executions-succeed",
        "the execution of a refused call is a success",
        "an audit log that is written before the change",
        &["audit/agrees-with-commits"],
    ),
    specimen(
        Mutant::CommitsNameNoExecution,
        "commits-name-no-execution",
        "the message of a commit does not name the execution that made it",
        "history that knows nothing of the audit log",
        &["audit/agrees-with-commits"],
    ),
    specimen(
        Mutant::RefusalsAreCommits,
        "refusals-are-commits",
        "a refused call is a commit, without a change",
        "an audit log that is kept in the history",
        &["audit/agrees-with-commits"],
    ),
    specimen(
        Mutant::ExecutionsOfAnyone,
        "executions-of-anyone",
        "a caller is shown the executions of others",
        "ids that are taken for secrets",
        &["audit/agrees-with-commits"],
    ),
    specimen(
        Mutant::LimitIsIgnored,
        "limit-is-ignored",
        "a session makes as many calls as it likes",
        "a limit that is documented alone",
        &["limits/each", "limits/retry-after", "limits/shared"],
    ),
    specimen(
        Mutant::LimitPermitsOneMore,
        "limit-permits-one-more",
        "a session makes one call more than its limit permits",
        "`>` instead of `>=`",
        &["limits/each", "limits/retry-after", "limits/shared"],
    ),
    specimen(
        Mutant::LimitsOfCallers,
        "limits-of-callers",
        "all sessions of a caller share a limit",
        "a counter by the key of the caller",
        &["limits/each"],
    ),
    specimen(
        Mutant::LimitsOfAProcess,
        "limits-of-a-process",
        "each server of a library has limits of its own",
        "counters in memory",
        &["limits/shared"],
    ),
    specimen(
        Mutant::RestSaysNoTime,
        "rest-says-no-time",
        "a refusal for a limit does not say when to come back",
        "a middleware that sends a status alone",
        &["limits/retry-after", "sessions/most"],
    ),
    specimen(
        Mutant::AnySessions,
        "any-sessions",
        "a caller has as many sessions as it likes",
        "sessions without a count",
        &["sessions/most"],
    ),
    specimen(
        Mutant::EndedSessionsLive,
        "ended-sessions-live",
        "a session that has ended can be used",
        "signed session ids that are never revoked",
        &["sessions/most"],
    ),
    specimen(
        Mutant::SessionsOfAnyone,
        "sessions-of-anyone",
        "a caller can use the sessions of others",
        "ids that are taken for secrets",
        &["sessions/most"],
    ),
];

const fn specimen(
    mutant: Mutant,
    name: &'static str,
    breaks: &'static str,
    imitates: &'static str,
    detected_by: &'static [&'static str],
) -> Specimen {
    Specimen {
        mutant,
        name,
        server: CorrectServer::Bulletin,
        breaks,
        imitates: Some(imitates),
        detected_by,
    }
}
