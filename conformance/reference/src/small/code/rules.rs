//! Rules: words that should not be in code.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{files::taken, invalid};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// A rule: the forbidden word, and its severity.
struct Rule {
    id: &'static str,
    category: &'static str,
    severity: &'static str,
    word: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        id: "QUAL001",
        category: "quality",
        severity: "warning",
        word: ".unwrap()",
    },
    Rule {
        id: "QUAL002",
        category: "quality",
        severity: "warning",
        word: ".expect(",
    },
    Rule {
        id: "SEC001",
        category: "security",
        severity: "error",
        word: "AKIA",
    },
    Rule {
        id: "TODO001",
        category: "documentation",
        severity: "info",
        word: "TODO",
    },
    Rule {
        id: "TODO002",
        category: "documentation",
        severity: "info",
        word: "FIXME",
    },
];

fn of_category(arguments: &Value) -> Result<Vec<&'static Rule>, Refusal> {
    let category = arguments["category"].as_str();
    if category.is_some_and(|category| RULES.iter().all(|rule| rule.category != category)) {
        return Err(invalid("there is no such category"));
    }
    let of = |rule: &&Rule| category.is_none_or(|category| rule.category == category);
    Ok(RULES.iter().filter(of).collect())
}

pub(super) fn list(arguments: &Value) -> Result<Value, Refusal> {
    let of = of_category(arguments)?;
    let of = if is(Mutant::ListsAllRules) {
        RULES.iter().collect()
    } else {
        of
    };
    let rules = of.iter().map(|rule| {
        json!({
            "id": rule.id, "name": rule.word, "category": rule.category, "severity": rule.severity,
            "description": format!("`{}` is not in code", rule.word), "languages": [], "engine": "text",
        })
    });
    let rules: Vec<_> = rules.collect();
    Ok(json!({
        "count": rules.len(), "filter": arguments["category"], "categories": ["quality", "security", "documentation"], "rules": rules,
    }))
}

pub(super) fn run(path: &Path, arguments: &Value) -> Result<Value, Refusal> {
    let scope = if path.is_dir() { "project" } else { "file" };
    if arguments["scope"].as_str().is_some_and(|asked| asked != scope) {
        return Err(invalid("the scope is not that of the path"));
    }
    let ids: Vec<_> = arguments["rules"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if ids.iter().any(|id| RULES.iter().all(|rule| rule.id != *id)) {
        return Err(invalid("there is no such rule"));
    }
    let mut rules = of_category(arguments)?;
    if is(Mutant::RunsAllCategories) {
        rules = RULES.iter().collect();
    }
    rules.retain(|rule| ids.is_empty() || ids.contains(&rule.id));
    let files: Vec<(String, PathBuf)> = if path.is_dir() {
        taken(None, path, &Value::Null).into_iter().collect()
    } else {
        vec![(path.to_string_lossy().into_owned(), path.to_owned())]
    };
    let mut found = Vec::new();
    for (name, file) in files {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        for (number, line) in (1..).zip(text.lines()) {
            for rule in &rules {
                if let Some(column) = line.find(rule.word) {
                    found.push(json!({
                        "id": rule.id, "category": rule.category, "severity": rule.severity, "file": name, "line": number,
                        "column": column + 1, "message": format!("`{}` is in the line", rule.word), "suggestion": null,
                    }));
                }
            }
        }
    }
    if is(Mutant::FindingsAreErrors) && !found.is_empty() {
        return Err(invalid(format!("{} violations", found.len())));
    }
    let of = |severity: &str| found.iter().filter(|it| it["severity"] == severity).count();
    Ok(json!({
        "workspace": path.to_string_lossy(), "scope": scope, "passed": of("error") == 0, "total_violations": found.len(),
        "errors": of("error"), "warnings": of("warning"), "infos": of("info"), "duration_secs": 0.0, "violations": found,
    }))
}
