//! The table in `server/docs/mcb.md` of the original's defects: each row names a test that exists, and each case of a defect is
//! named by a row.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::invariants::workspace;

const PAGE: &str = "server/docs/mcb.md";
const SECTION: &str = "## Side by side with the original";
/// Groups of cases, each a file of the same name in this folder.
const GROUPS: [&str; 2] = ["cases", "defects"];
const OF_GROUPS: &str = "server/records/tests/mcb";
const OF_CODE: &str = "server/packs/mcb/src";

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

/// Returns the rows of the section's tables: the defect, and the names of the tests.
fn rows(page: &str) -> Vec<(String, Vec<String>)> {
    let (_, section) = page.split_once(SECTION).expect("the section");
    let end = section.find("\n## ").unwrap_or(section.len());
    let rows = section[..end].lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| row.trim_matches(['|', ' ']).split(" | ").collect::<Vec<_>>());
    let cells = cells.filter(|cells| cells.last() != Some(&"test"));
    cells
        .map(|cells| {
            let tests = cells.last().expect("a cell").split('`').skip(1).step_by(2);
            (cells[0].to_owned(), tests.map(str::to_owned).collect())
        })
        .collect()
}

/// Returns the names of a group's cases.
fn named(group: &str) -> BTreeSet<String> {
    let cases: Value = serde_json::from_str(&read(&format!("{OF_GROUPS}/{group}.json"))).expect("JSON");
    let cases = cases.as_object().expect("an object").iter();
    let cases = cases.filter(|(_, steps)| steps.as_array().is_some_and(|steps| !steps.is_empty()));
    cases.map(|(name, _)| name.clone()).collect()
}

/// Returns true if there is a test of that name.
fn exists(test: &str) -> bool {
    let Some((module, function)) = test.rsplit_once("::") else {
        return false;
    };
    if GROUPS.contains(&module) {
        return named(module).contains(function);
    }
    let path = match module.strip_suffix("::tests") {
        Some(module) => format!("{OF_CODE}/{module}.rs"),
        None => format!("{OF_CODE}/tests/{module}.rs"),
    };
    let Ok(code) = fs::read_to_string(workspace().join(path)) else {
        return false;
    };
    let lines: Vec<_> = code.lines().map(str::trim).collect();
    let begins = format!("fn {function}(");
    lines.windows(2).any(|pair| pair[0] == "#[test]" && pair[1].starts_with(&begins))
}

#[test]
fn each_defect_of_the_original_names_a_test() {
    let rows = rows(&read(PAGE));
    assert!(rows.len() > 35, "{} rows", rows.len());
    let wrong: Vec<_> =
        rows.iter().filter(|(_, tests)| tests.is_empty() || !tests.iter().all(|test| exists(test))).collect();
    assert!(wrong.is_empty(), "`{PAGE}` names no test, or none that exists: {wrong:#?}");
    let cells: BTreeSet<_> = rows.iter().flat_map(|(_, tests)| tests.iter().cloned()).collect();
    let unnamed: Vec<_> = named("defects")
        .into_iter()
        .map(|case| format!("defects::{case}"))
        .filter(|case| !cells.contains(case))
        .collect();
    assert!(unnamed.is_empty(), "no row of `{PAGE}` names {unnamed:?}");
}

#[test]
fn a_name_without_a_test_is_found() {
    for (test, expected) in [
        ("cases::orgs", true),
        ("defects::projects are listed", true),
        ("memory::the_same_observation_again_is_counted_within_its_project_and_type", true),
        ("entries::tests::a_preview_is_the_beginning_and_never_too_long", true),
        ("cases::no such", false),
        ("memory::no_such", false),
        // A function that is not a test.
        ("memory::note", false),
        ("nothing", false),
        ("no_module::no_such", false),
    ] {
        assert_eq!(exists(test), expected, "{test}");
    }
    let page = format!(
        "x\n{SECTION}\n\n| a | b | test |\n|---|---|---|\n| c | d | `e::f`, `g` |\n\n## y\n| h | i | `j` |"
    );
    let expected = vec![("c".to_owned(), vec!["e::f".to_owned(), "g".to_owned()])];
    assert_eq!(rows(&page), expected);
}
