//! Mutants: correct servers with one defect each, of the kinds that real servers have, to prove that the checks detect it.
//!
//! A mutant is a row of `zoo`, which declares a variant of [`Mutant`] and a [`Specimen`]. It deviates where its server calls `is`, or,
//! if that takes more than a line, in `start`, `messages`, `text`, `tools` or `behaviour`; the mutants of the product's servers deviate
//! in [`proxy`](crate::proxy). A process is one mutant for all its life, or none.

mod behaviour;
mod messages;
mod start;
mod text;
mod tools;
mod zoo;

use std::sync::OnceLock;

pub use zoo::{DATABASE_ZOO, HTTP_ZOO, Mutant, REST_ZOO, Specimen};
pub(super) use {behaviour::*, messages::*, start::*, text::*, tools::unknown_tool};

/// Mutants of other lists whose defect is visible over HTTP, and the HTTP checks that detect it.
pub const ALSO_OVER_HTTP: &[(&str, &[&str])] = &[
    ("dies-on-bad-line", &["http/bad-bodies"]),
    ("loses-racing-edit", &["http/edits-at-once"]),
    ("does-nothing", &["mutation/one-commit"]),
];

impl Specimen {
    /// Returns the specimen of this name.
    ///
    /// # Errors
    /// If the mutant does not exist: a message that lists the names.
    pub fn find(name: &str) -> Result<&'static Self, String> {
        all().find(|specimen| specimen.name == name).ok_or_else(|| {
            let names: Vec<_> = all().map(|specimen| specimen.name).collect();
            format!("the mutants are {}", names.join(", "))
        })
    }
}

/// Returns all specimens, of every server.
pub fn all() -> impl Iterator<Item = &'static Specimen> {
    zoo().chain(HTTP_ZOO).chain(REST_ZOO).chain(DATABASE_ZOO)
}

/// Returns the specimens whose defect does not depend on the transport.
pub fn zoo() -> impl Iterator<Item = &'static Specimen> {
    [
        zoo::ZOO,
        zoo::MEMORY,
        zoo::EDITOR,
        zoo::DESK,
        zoo::TRACKER,
        zoo::ORIGINS,
        zoo::BULLETIN,
        zoo::MEMORIES,
        zoo::CODE,
        zoo::NOTES,
    ]
    .into_iter()
    .flatten()
}

static SELF: OnceLock<Mutant> = OnceLock::new();

/// Makes this process a mutant until it exits.
pub fn become_one(mutant: Mutant) {
    SELF.get_or_init(|| mutant);
}

/// Returns the mutant that this process is, if any.
pub(super) fn current() -> Option<Mutant> {
    SELF.get().copied()
}

/// Returns true if this process is that mutant.
pub(super) fn is(mutant: Mutant) -> bool {
    SELF.get() == Some(&mutant)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, env, fmt::Write as _, fs, path::Path};

    use tabellion_conformance::checks;

    use super::*;
    use crate::{CorrectServer, innocent::INNOCENTS};

    #[test]
    fn each_check_has_a_mutant_that_fails_it() {
        tabellion_conformance_cli::add_packs();
        let own = all().flat_map(|specimen| specimen.detected_by);
        let over_http = ALSO_OVER_HTTP.iter().flat_map(|(_, detected_by)| *detected_by);
        // Checks that the reference itself fails, because its answers have no pages.
        let reference = ["budget/largest-answer"];
        let named: BTreeSet<_> = own.chain(over_http).chain(&reference).copied().collect();
        let all: BTreeSet<_> = checks::all().map(|check| check.id).collect();
        let differ: Vec<_> = all.symmetric_difference(&named).collect();
        assert!(differ.is_empty(), "named by no specimen, or no checks: {differ:?}");
    }

    #[test]
    fn names_and_mutants_are_unique() {
        let names: BTreeSet<_> = all().map(|specimen| specimen.name).collect();
        assert_eq!(names.len(), all().count());
        let mutants: BTreeSet<_> = all().map(|specimen| format!("{:?}", specimen.mutant)).collect();
        assert_eq!(mutants.len(), all().count());
    }
    /// The table of servers and their mutants.
    fn table() -> String {
        let mut table =
            "| server | contract | mutants | of these over HTTP only |\n|---|---|---|---|\n".to_owned();
        for server in CorrectServer::ALL {
            let count = |specimens: &mut dyn Iterator<Item = &Specimen>| {
                specimens.filter(|specimen| specimen.server == server).count()
            };
            let over_http = count(&mut HTTP_ZOO.iter().chain(REST_ZOO));
            let kind = match server {
                CorrectServer::Reference => "the reference",
                _ => "the product's, behind a proxy",
            };
            writeln!(table, "| {kind} | `{}` | {} | {over_http} |", server.contract().id, count(&mut all()))
                .unwrap();
        }
        table
    }

    #[test]
    fn the_readmes_have_the_numbers() {
        tabellion_conformance_cli::add_packs();
        let sentence = format!(
            "There are {} checks, {} mutants of {} correct servers, and {} innocents.\n",
            checks::all().count(),
            all().count(),
            CorrectServer::ALL.len(),
            INNOCENTS.len()
        );
        for (file, expected) in [("README.md", table()), ("../README.md", sentence)] {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            let text = fs::read_to_string(&file).unwrap();
            let (before, rest) = text.split_once("<!-- numbers -->\n").unwrap();
            let (numbers, after) = rest.split_once("<!-- /numbers -->\n").unwrap();
            if env::var_os("UPDATE_GOLDEN").is_some() {
                let text = format!("{before}<!-- numbers -->\n{expected}<!-- /numbers -->\n{after}");
                fs::write(&file, text).unwrap();
            } else {
                let file = file.display();
                assert_eq!(numbers, expected, "{file}: `UPDATE_GOLDEN=1` writes the numbers");
            }
        }
    }
}
