//! Mutants of the server of the example `desk`, whose tools have operations.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const DESK: &[Specimen] = &[
    specimen(
        Mutant::TakesNearest,
        "takes-nearest",
        "values without an operation are taken for those of another",
        &["operations/unsupported"],
    ),
    specimen(
        Mutant::UnsupportedLeavesAFile,
        "unsupported-leaves-a-file",
        "a call that comes to no operation leaves a file in the library",
        &["operations/unsupported"],
    ),
    specimen(
        Mutant::IgnoresUnused,
        "ignores-unused",
        "an argument that the operation does not take is ignored",
        &["operations/unused-argument"],
    ),
    specimen(
        Mutant::NamesNoArgument,
        "names-no-argument",
        "the refusal of an argument does not name it",
        &["operations/unused-argument"],
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
        server: CorrectServer::Desk,
        breaks,
        imitates: None,
        detected_by,
    }
}
