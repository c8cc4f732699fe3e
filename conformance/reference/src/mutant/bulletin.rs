//! Mutants of the server of the example `bulletin`, whose callers have roles and whose calls pass gates.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const BULLETIN: &[Specimen] = &[
    specimen(
        Mutant::UnknownIsOwner,
        "unknown-is-owner",
        "a caller of a role that does not exist is taken for the owner",
        &["auth/unknown"],
    ),
    specimen(
        Mutant::IgnoresRoles,
        "ignores-roles",
        "every known caller may call everything",
        &["auth/roles"],
    ),
    specimen(
        Mutant::SkipsAClause,
        "skips-a-clause",
        "one clause is never judged",
        &["gates/each-clause", "gates/all-said"],
    ),
    specimen(
        Mutant::LooksOnlyBefore,
        "looks-only-before",
        "clauses about the answer are not judged",
        &["gates/each-clause", "gates/nothing-written"],
    ),
    specimen(
        Mutant::AsksForNoReview,
        "asks-for-no-review",
        "a clause that asks for a review is ignored",
        &["gates/each-clause"],
    ),
    specimen(
        Mutant::SaysTheFirst,
        "says-the-first",
        "of several violations, the refusal names the first",
        &["gates/all-said"],
    ),
    specimen(
        Mutant::ForgivesTheSecond,
        "forgives-the-second",
        "a call that was refused is made when it is repeated",
        &["gates/pure"],
    ),
    specimen(
        Mutant::WritesAllTheSame,
        "writes-all-the-same",
        "a call with violations leaves a draft",
        &["gates/nothing-written"],
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
        server: CorrectServer::Bulletin,
        breaks,
        imitates: None,
        detected_by,
    }
}
