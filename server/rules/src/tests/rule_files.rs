//! Problems of rule files, and their messages.

use std::{fs, path::Path};

use super::{data, workspace};
use crate::{
    rule_file::{self, MAX_BYTES},
    set::{RuleSet, Selection},
};

/// The file `testdata/rule_files/NAME.md` has blocks of rule files, each with the line and words of its problem, or `fine`, before it.
#[test]
fn a_bad_rule_file_is_reported_with_its_line() {
    let mut problems = Vec::new();
    let mut count = 0;
    for (name, text) in data("rule_files") {
        for block in text.split("\n### ").skip(1) {
            let (expected, rest) = block.split_once('\n').expect("a line");
            let (_, code) = rest.split_once("```").expect("a block");
            let (format, code) = code.split_once('\n').expect("a block");
            let code = code.split_once("\n```").expect("the end of a block").0;
            let actual = match rule_file::read(format, code) {
                Ok(_) => "fine".to_owned(),
                Err(problem) => format!("{}: {}", problem.line, problem.message),
            };
            count += 1;
            if actual != expected {
                problems.push(format!("{name}: expected {expected}\n    but got {actual}"));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(count > 30, "{count} cases");
}

const RULE: &str = r#"
id = "HOUSE001"
name = "No dogs"
category = "naming"
severity = "error"
description = "Finds dogs in code."
rationale = "This is a house of cats."
message = "a dog: {text}"
regex = 'dog\w*'
"#;

fn rule(id: &str, more: &str) -> String {
    format!("{more}{}", RULE.replace("HOUSE001", id))
}

fn errors(workspace: &Path) -> Vec<String> {
    RuleSet::of_workspace(workspace).errors().iter().map(ToString::to_string).collect()
}

#[test]
fn rules_of_a_workspace_join_those_of_the_server() {
    let folder = workspace(&[
        (".mcb/rules/dogs.toml", &rule("HOUSE001", "")),
        (".mcb/rules/unwrap.toml", &rule("QUAL001", "overrides = true\n")),
        (".mcb/rules/notes.md", "not a rule"),
    ]);
    let set = RuleSet::of_workspace(folder.path());
    assert!(set.errors().is_empty(), "{:?}", set.errors());
    assert_eq!(set.rules().len(), RuleSet::built_in().rules().len() + 1);
    assert!(set.rules().is_sorted_by_key(|rule| rule.id.clone()));
    let of_id = |id: &str| set.rules().iter().find(|rule| rule.id == id).expect("a rule").name.clone();
    assert_eq!((of_id("HOUSE001"), of_id("QUAL001")), ("No dogs".into(), "No dogs".into()));
}

#[test]
fn a_taken_id_is_refused() {
    let folder = workspace(&[
        (".mcb/rules/a.toml", &rule("HOUSE001", "")),
        (".mcb/rules/b.toml", &rule("HOUSE001", "overrides = true\n")),
        (".mcb/rules/c.toml", &rule("QUAL001", "")),
    ]);
    assert_eq!(
        errors(folder.path()),
        [
            ".mcb/rules/b.toml:3: id `HOUSE001` is taken by a different file of this folder",
            ".mcb/rules/c.toml:2: id `QUAL001` is taken by a rule of the server; say `overrides = true` to replace it",
        ]
    );
}

#[test]
fn what_is_no_readable_file_is_reported() {
    let folder = workspace(&[
        (".mcb/rules/big.toml", &"# words\n".repeat(MAX_BYTES / 8 + 1)),
        ("outside.toml", &rule("HOUSE001", "")),
    ]);
    let rules = folder.path().join(".mcb/rules");
    fs::write(rules.join("latin.yml"), b"id: HOUSE001\nname: caf\xe9\n").expect("written");
    fs::create_dir(rules.join("folder.json")).expect("a folder");
    let mut expected = vec![
        ".mcb/rules/big.toml:1: a rule file has at most 65536 bytes; this one has 65544",
        ".mcb/rules/folder.json:1: is no regular file; put the rule here itself",
        ".mcb/rules/latin.yml:2: is not UTF-8",
    ];
    if cfg!(unix) {
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("outside.toml"), rules.join("link.toml"))
            .expect("a link");
        expected.push(".mcb/rules/link.toml:1: is no regular file; put the rule here itself");
    }
    assert_eq!(errors(folder.path()), expected);
}

#[test]
fn what_a_selection_names_must_exist() {
    let set = RuleSet::built_in();
    let message = |rules: &[&str], category: Option<&str>| {
        let rules = rules.iter().map(|&id| id.to_owned()).collect();
        let selected =
            set.select(&Selection { rules, category: category.map(str::to_owned), ..Selection::default() });
        selected
            .map(|rules| rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    let unknown = message(&["QUAL001", "QUAL999"], None).expect_err("no such rule");
    assert!(unknown.starts_with("no rule `QUAL999`; there are ASYNC001, DOC001, METRIC001,"), "{unknown}");
    let unknown = message(&[], Some("speed")).expect_err("no such category");
    assert!(unknown.starts_with("no category `speed`; there are architecture, configuration,"), "{unknown}");
    assert_eq!(message(&["QUAL001", "METRIC001"], Some("metrics")), Ok(vec!["METRIC001".to_owned()]));
    let neither = message(&["QUAL001"], Some("metrics")).expect_err("no rule is both");
    assert!(neither.ends_with("leave out `rules` or `category`"), "{neither}");
    assert_eq!(message(&[], Some("pmat")), Ok(vec![]));
    assert_eq!(set.list_rules(Some("solid")).expect("a category").len(), 3);
}
