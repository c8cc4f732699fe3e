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
