//! Chooses the mutants that a run of the gate tries: those that a change since the last run of all of them can have affected, and
//! a tenth of the others.
//!
//! Safe, because a mutant shows that its checks detect a defect. Unless these checks or the expected results changed, the last
//! run of all has shown it; and the tenth is different for each commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use tabellion_conformance::{checks, pattern::covers};
use toml::Table;
use xtask::{Outcome, root, run};

/// The commit on which all servers had the expected results, as a run of all of them writes it.
const PASSED: &str = "conformance/zoo.toml";
const CHECKS: &str = "conformance/src/checks";
const PACKS: &str = "conformance/packs";
/// One of this many mutants is tried although it is not affected by a change.
const SHARE: u64 = 10;

/// Writes the commit on which all servers have just had the expected results. Only for a tree without changes.
pub(crate) fn record() -> Outcome {
    let Some(commit) = run::clean_head()? else {
        eprintln!("{PASSED} is not written: the tree has changes that are not committed");
        return Ok(());
    };
    let text = format!(
        "# Written by `cargo lab zoo` when all servers had the expected results.\ncommit = \"{commit}\"\n"
    );
    fs::write(root().join(PASSED), text)?;
    eprintln!("wrote {PASSED}; commit it");
    Ok(())
}

/// Returns a function that chooses mutants by their names and the checks that must detect them. It chooses all, if no commit is known on
/// which all passed.
pub(crate) fn since_all_passed(golden: &Path) -> Outcome<impl Fn(&str, &[&str]) -> bool + use<>> {
    let now = fs::read_to_string(golden)?;
    let (head, passed) = (run::git(&["rev-parse", "HEAD"])?, passed());
    let (paths, before) = match &passed {
        Some(commit) => {
            let path = golden.strip_prefix(root())?.display();
            let changed = run::git(&["diff", "--name-only", commit])?;
            let added = run::git(&["ls-files", "--others", "--exclude-standard"])?;
            (changed + &added, run::git(&["show", &format!("{commit}:{path}")])?)
        }
        None => Default::default(),
    };
    let changed = Changed {
        components: paths.lines().filter_map(component).collect(),
        lines: now.lines().filter(|line| !before.lines().any(|it| it == *line)).map(String::from).collect(),
        sources: sources()?,
    };
    Ok(move |name: &str, detected_by: &[&str]| {
        passed.is_none()
            || changed.affects(name, detected_by)
            || chance(head.trim(), name).is_multiple_of(SHARE)
    })
}

/// Returns the commit on which everything passed, if it is known and part of this history.
fn passed() -> Option<String> {
    let text = fs::read_to_string(root().join(PASSED)).ok()?;
    let table: Table = text.parse().ok()?;
    let commit = table.get("commit")?.as_str()?.to_owned();
    let is_known = run::git(&["merge-base", "--is-ancestor", &commit, "HEAD"]).is_ok();
    is_known.then_some(commit)
}

/// Changes since all passed.
struct Changed {
    /// Folders and files of checks, by their names without extension.
    components: BTreeSet<String>,
    /// Lines of the golden file.
    lines: Vec<String>,
    /// The component of each check.
    sources: BTreeMap<&'static str, String>,
}

impl Changed {
    fn affects(&self, mutant: &str, detected_by: &[&str]) -> bool {
        let is_expected_anew = || {
            let mut names = self.lines.iter().filter_map(|line| line.split_whitespace().next());
            names.any(|name| name == mutant)
        };
        let is_changed = |(id, component): (&&str, &String)| {
            detected_by.iter().any(|pattern| covers(pattern, id)) && self.components.contains(component)
        };
        is_expected_anew() || self.sources.iter().any(is_changed)
    }
}

/// Returns the name of the folder or file directly below that of the checks or of the packs, if the path is in one of them.
fn component(path: &str) -> Option<String> {
    let mut folders = [CHECKS, PACKS].into_iter();
    let rest = folders.find_map(|folder| path.strip_prefix(folder)?.strip_prefix('/'))?;
    let first = rest.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first).into())
}

/// Returns the component of each check: the one whose code has its id.
fn sources() -> Outcome<BTreeMap<&'static str, String>> {
    tabellion_conformance_cli::add_packs();
    let listed = run::git(&["ls-files", "--cached", "--others", "--exclude-standard", CHECKS, PACKS])?;
    let mut sources = BTreeMap::new();
    for path in listed.lines().filter(|path| path.ends_with(".rs")) {
        let Some(component) = component(path).filter(|component| component != "mod") else {
            continue;
        };
        // A file that git still lists may be deleted already.
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        for check in checks::all() {
            if text.contains(&format!("\"{}\"", check.id)) {
                sources.insert(check.id, component.clone());
            }
        }
    }
    Ok(sources)
}

/// Returns a number that depends on the commit and the name alone (FNV-1a).
fn chance(commit: &str, name: &str) -> u64 {
    let bytes = commit.bytes().chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use tabellion_reference::mutant;

    use super::*;

    #[test]
    fn every_check_has_a_source() {
        let sources = sources().unwrap();
        assert!(sources.values().any(|component| component == "mcb"));
        let without: Vec<_> =
            checks::all().map(|check| check.id).filter(|id| !sources.contains_key(id)).collect();
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn a_mutant_is_affected_by_its_checks_and_what_is_expected() {
        let specimen = mutant::zoo().find(|it| it.detected_by.contains(&"mutation/one-commit")).unwrap();
        let affected = |paths: &[&str], line: &str| {
            let changed = Changed {
                components: paths.iter().filter_map(|path| component(path)).collect(),
                lines: vec![line.into()],
                sources: sources().unwrap(),
            };
            changed.affects(specimen.name, specimen.detected_by)
        };
        assert!(affected(&["conformance/src/checks/mutation/commit.rs"], ""));
        assert!(affected(&[], &format!("{}   mutation/one-commit", specimen.name)));
        assert!(!affected(
            &["conformance/src/checks/undo/mod.rs", "server/src/main.rs", "README.md"],
            "other x/y"
        ));
    }

    #[test]
    fn a_tenth_is_chosen_and_a_different_one_for_each_commit() {
        let chosen = |commit: &str| -> Vec<&str> {
            let names = mutant::zoo().map(|specimen| specimen.name);
            names.filter(|name| chance(commit, name).is_multiple_of(SHARE)).collect()
        };
        let all = mutant::zoo().count();
        let (a, b) = (chosen("4bfedf95"), chosen("6daddaf1"));
        for some in [&a, &b] {
            assert!((all / 20..all / 5).contains(&some.len()), "{} of {all}", some.len());
        }
        assert_ne!(a, b);
    }
}
