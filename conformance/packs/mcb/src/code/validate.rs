//! Rules, and their findings.

use std::collections::BTreeSet;

use super::server::{SHOP, Server};
use tabellion_conformance::checks::prelude::*;

pub(super) const RUN: &[&str] = &["run"];
pub(super) const LIST: &[&str] = &["list_rules"];

pub(super) const FINDINGS: Check = Check {
    id: "validate/run",
    guarantees: &["findings-are-data"],
    states: "Running rules answers with what they find, counted by severity; rules, categories and paths choose among it.",
    explains: "Runs all rules on a folder with bad code: findings are an answer, not an error. Each must be of a rule that is listed, in a \
               file and a line that are there, and the sums must be theirs. Then it runs single rules, categories and files: the findings \
               must be those of the first run that pass. Unknown rules and categories are refused.",
    ..Check::must(|bench, _| findings(bench))
};

pub(super) const RULES: Check = Check {
    id: "validate/rules",
    guarantees: &["rules-are-listed"],
    states: "The list has each rule once, with what it is; a category has those of its own, and is refused if there is none of that name.",
    explains: "Lists all rules, and those of each category: the lists must be parts of the first, and together all of it.",
    ..Check::must(|bench, _| rules(bench))
};

/// Code with defects that most sets of rules know, and code without defects.
const BAD: &[(&str, &str)] = &[
    (
        "src/bad.rs",
        "pub fn undocumented(a: Option<i64>) -> i64 {\n    // TODO: what if there is none?\n    a.unwrap() + a.expect(\"some\")\n}\n",
    ),
    (
        "src/keys.py",
        // In two parts, so that this file does not contain a key.
        concat!(
            "AWS_ACCESS_KEY_ID = \"AKIA",
            "IOSFODNN7EXAMPLQ\"\n\n\ndef total(rows):\n    # FIXME: slow\n    return sum(rows)\n"
        ),
    ),
    ("src/good.rs", "//! Sums.\n\n/// Returns the sum.\npub fn sum(a: i64, b: i64) -> i64 {\n    a + b\n}\n"),
];

/// A finding: its rule, file, line and column.
type Finding = (String, String, u64, u64);

fn parse_findings(answer: &Value) -> Vec<Finding> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = answer["violations"].as_array().into_iter().flatten();
    all.map(|found| {
        let (line, column) = (found["line"].as_u64(), found["column"].as_u64());
        let file = text(&found["file"]);
        let known = BAD.iter().find(|(path, _)| file == *path || file.ends_with(&format!("/{path}")));
        let file = known.map_or(file, |(path, _)| (*path).to_owned());
        (text(&found["id"]), file, line.unwrap_or_default(), column.unwrap_or_default())
    })
    .collect()
}

fn findings(bench: &Bench<'_>) -> Judgement {
    let mut server = Server::start(bench)?;
    for (path, text) in BAD {
        server.put(&format!("{SHOP}/{path}"), text)?;
    }
    let folder = server.named(SHOP);
    let listed = server.must(LIST, &json!({}))?;
    let rules = listed["rules"].as_array().cloned().unwrap_or_default();
    let all = match server.ask(RUN, &json!({ "path": folder }))? {
        Reply::Done(done) => done.response,
        Reply::Refused(refusal) => {
            return Err(fail(format!("running the rules was refused, with: {}", refusal.message)));
        }
    };
    let found = parse_findings(&all);
    ensure(found.len() >= 3, || {
        format!("the folder has an `unwrap`, a `TODO` and a key, but only {found:?} are found")
    })?;
    sums(&all)?;
    for finding in all["violations"].as_array().into_iter().flatten() {
        let rule = rules.iter().find(|rule| rule["id"] == finding["id"]);
        let is_its = |name: &str| rule.is_some_and(|rule| rule[name] == finding[name]);
        ensure(is_its("category") && is_its("severity"), || {
            format!("the finding {finding} is not of the rule {rule:?}")
        })?;
    }
    for (_, file, line, _) in &found {
        let text = BAD.iter().find(|(path, _)| file == path).map(|(_, text)| *text);
        let lines = text.map_or(0, |text| text.lines().count() as u64);
        ensure(file.is_empty() || (1..=lines.max(1)).contains(line), || {
            format!("line {line} of `{file}` has a finding, but it has {lines} lines")
        })?;
    }
    let parts = |server: &mut Server<'_, '_>, more: Value, passes: &dyn Fn(&Finding) -> bool| -> Judgement {
        let mut asked = more;
        if asked["path"].is_null() {
            asked["path"] = folder.clone().into();
        }
        let answer = server.must(RUN, &asked)?;
        sums(&answer)?;
        let mut part = parse_findings(&answer);
        let mut right: Vec<_> = found.iter().filter(|place| passes(place)).cloned().collect();
        part.sort();
        right.sort();
        ensure(part == right, || format!("`{asked}` finds {part:?}, but {right:?} of all pass"))
    };
    let ids: BTreeSet<_> = found.iter().map(|(id, ..)| id.clone()).collect();
    for id in &ids {
        parts(&mut server, json!({ "rules": [id] }), &|place| place.0 == *id)?;
    }
    for category in listed["categories"].as_array().into_iter().flatten() {
        let of = |id: &str| rules.iter().any(|rule| rule["id"] == id && rule["category"] == *category);
        parts(&mut server, json!({ "category": category }), &|place| of(&place.0))?;
    }
    for (path, _) in BAD {
        let file = server.named(&format!("{SHOP}/{path}"));
        // Rules about names and places of files need the folder.
        let lines: BTreeSet<_> = found.iter().filter(|place| place.1 == *path).cloned().collect();
        let answer = server.must(RUN, &json!({ "path": file, "scope": "file" }))?;
        sums(&answer)?;
        let part: BTreeSet<_> = parse_findings(&answer).into_iter().collect();
        ensure(part == lines, || format!("`{path}` alone has {part:?}, and {lines:?} in its folder"))?;
    }
    let file = server.named("shop/src/bad.rs");
    let wrong = [
        json!({ "path": folder, "rules": ["NOSUCH999"] }),
        json!({ "path": folder, "category": "no-such" }),
        json!({ "path": folder, "scope": "file" }),
        json!({ "path": file, "scope": "project" }),
        json!({ "path": server.named("shop/none.rs") }),
    ];
    for wrong in wrong {
        server.must_not(RUN, &wrong, "although there is nothing of that kind")?;
    }
    Ok(())
}

fn sums(answer: &Value) -> Judgement {
    let all: Vec<_> = answer["violations"].as_array().into_iter().flatten().collect();
    let of = |severity: &str| all.iter().filter(|found| found["severity"] == severity).count();
    for (name, right) in [
        ("total_violations", all.len()),
        ("errors", of("error")),
        ("warnings", of("warning")),
        ("infos", of("info")),
    ] {
        ensure(answer[name] == right, || {
            format!("`{name}` is {}, of {} findings: {all:?}", answer[name], all.len())
        })?;
    }
    ensure(answer["passed"] == (of("error") == 0), || {
        format!("`passed` is {} with {} errors", answer["passed"], of("error"))
    })
}

fn rules(bench: &Bench<'_>) -> Judgement {
    let mut server = Server::start(bench)?;
    let ids = |answer: &Value| -> Vec<String> {
        let rules = answer["rules"].as_array().into_iter().flatten();
        rules.map(|rule| rule["id"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let all = server.must(LIST, &json!({}))?;
    let every = ids(&all);
    let once: BTreeSet<_> = every.iter().cloned().collect();
    ensure(!every.is_empty() && once.len() == every.len(), || {
        format!("the list has no rules, or some twice: {every:?}")
    })?;
    ensure(all["count"] == every.len(), || {
        format!("the list counts {}, of {} rules", all["count"], every.len())
    })?;
    let mut together = BTreeSet::new();
    let categories = all["categories"].as_array().cloned().unwrap_or_default();
    for category in &categories {
        let answer = server.must(LIST, &json!({ "category": category }))?;
        let of = |rule: &&Value| rule["category"] == *category;
        let right = all["rules"].as_array().into_iter().flatten().filter(of);
        let right: BTreeSet<_> =
            right.map(|rule| rule["id"].as_str().unwrap_or_default().to_owned()).collect();
        let part: BTreeSet<_> = ids(&answer).into_iter().collect();
        ensure(part == right && answer["count"] == right.len(), || {
            format!("the category {category} has {part:?}, but {right:?} of all are of it")
        })?;
        together.extend(part);
    }
    ensure(together == once, || format!("the categories {categories:?} do not have all rules"))?;
    let none = json!({ "category": "no-such" });
    server.must_not(LIST, &none, "although there is no such category")?;
    Ok(())
}
