//! Code with and without findings of each rule, for each of its languages.
//!
//! A case is a block of code in `testdata/rules/RULE.md`. The rule has a finding on each line that ends with `~!`. The word after the
//! language is the path of the file. `@repeat N TEXT` expands to N lines, with `{n}` the number of each; `‖` is removed: it keeps keys out
//! of the data.

use std::{collections::BTreeMap, sync::Arc};

use tabellion_syntax::Language;

use super::data;
use crate::{
    check::{Source, check},
    plan::Plan,
    rule::Rule,
    rule_file,
    set::{EMBEDDED, RuleSet},
    test_paths,
};

struct Case {
    line: usize,
    language: Option<Language>,
    path: String,
    text: String,
    expected: Vec<usize>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else {
            continue;
        };
        let (name, path) = info.split_once(' ').unwrap_or((info, ""));
        let language = Language::of_name(name);
        let extension = language.map_or("txt", |language| language.extensions()[0]);
        let path = if path.is_empty() { format!("src/case.{extension}") } else { path.to_owned() };
        let (mut code, mut expected) = (Vec::new(), Vec::new());
        for (_, line) in lines.by_ref().take_while(|(_, line)| *line != "```") {
            let line = line.replace('‖', "");
            if let Some((count, text)) = line.strip_prefix("@repeat ").and_then(|rest| rest.split_once(' ')) {
                let count: usize = count.parse().expect("a number of lines");
                code.extend((0..count).map(|number| text.replace("{n}", &number.to_string())));
                continue;
            }
            let marked = line.strip_suffix("~!").map(|code| code.trim_end().to_owned());
            code.push(marked.clone().unwrap_or(line));
            expected.extend(marked.map(|_| code.len()));
        }
        cases.push(Case { line: number + 1, language, path, text: code.join("\n") + "\n", expected });
    }
    cases
}

fn found(rule: &Arc<Rule>, case: &Case) -> Vec<usize> {
    let is_test = test_paths::is_test_path(case.language, &case.path);
    let source = Source { path: &case.path, text: &case.text, language: case.language, is_test };
    let findings =
        check(&Plan::new(std::slice::from_ref(rule)), &source, &|| false).expect("a case is checked");
    let mut lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn each_rule_finds_and_lets_pass_what_its_cases_say() {
    let set = RuleSet::built_in();
    let mut data: BTreeMap<String, String> = data("rules").into_iter().collect();
    let mut problems = Vec::new();
    for rule in set.rules() {
        let text = data.remove(&format!("{}.md", rule.id)).unwrap_or_default();
        let cases = cases(&text);
        for case in &cases {
            let found = found(rule, case);
            if found != case.expected {
                problems.push(format!(
                    "{}.md:{}: found {found:?}, expected {:?}",
                    rule.id, case.line, case.expected
                ));
            }
        }
        let languages = if rule.languages.is_empty() {
            vec![None]
        } else {
            rule.languages.iter().copied().map(Some).collect()
        };
        for language in languages {
            let name = language.map_or("text", Language::name);
            let of_language: Vec<&Case> = cases.iter().filter(|case| case.language == language).collect();
            if of_language.iter().all(|case| case.expected.is_empty()) {
                problems.push(format!("{}.md: no case of {name} that is found", rule.id));
            }
            if of_language.iter().all(|case| !case.expected.is_empty()) {
                problems.push(format!("{}.md: no case of {name} that passes", rule.id));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(data.is_empty(), "no rule has the cases {:?}", data.keys());
}

#[test]
fn each_file_of_a_rule_can_be_read() {
    let problems: Vec<String> = EMBEDDED
        .iter()
        .filter_map(|(name, text)| {
            let problem = match rule_file::read("toml", text) {
                Ok(file) if *name == format!("{}.toml", file.rule.id) => return None,
                Ok(file) => format!("has the id {}", file.rule.id),
                Err(problem) => format!("{}: {}", problem.line, problem.message),
            };
            Some(format!("{name}: {problem}"))
        })
        .collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
