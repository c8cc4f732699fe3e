//! The impact of a branch: the functions that it changes, and the lines that call them.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    branches::{Compared, File, git, limit, texts},
    files::function,
};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// Default number of files.
const LIMIT: u64 = 10;

pub(super) fn analyze(root: &Path, arguments: &Value) -> Result<Value, Refusal> {
    let compared = Compared::of(root, arguments)?;
    let all = texts(root, &compared.target)?;
    let mut files = Vec::new();
    for file in compared.files.iter().take(limit(arguments, LIMIT)) {
        let symbols = touched(root, &compared, file, &all)?;
        let dependents = if is(Mutant::HasNoDependents) {
            Vec::new()
        } else {
            callers(&all, &symbols)
        };
        files.push(json!({
            "path": file.path, "status": file.status, "impact": impact(file), "additions": file.additions,
            "deletions": file.deletions, "symbols": symbols, "dependents": dependents,
        }));
    }
    let of = |status: &str| compared.files.iter().filter(|file| file.status == status).count();
    let lines = compared.sum(impact);
    let number = |number: u64| u32::try_from(number).map_or(f64::MAX, f64::from);
    let score = 10.0 * number(compared.files.len() as u64).ln_1p() + 5.0 * number(lines).ln_1p();
    Ok(json!({
        "base_ref": compared.base, "head_ref": compared.target, "impact_score": score.min(100.0),
        "summary": {
            "total_files": compared.files.len(), "added": of("added"), "modified": of("modified"), "deleted": of("deleted"),
            "renamed": of("renamed"), "total_changes": lines,
        },
        "impacted_files": files,
    }))
}

fn impact(file: &File) -> u64 {
    if is(Mutant::ImpactIsZero) {
        return 0;
    }
    file.additions + file.deletions
}

/// Returns the functions with lines that were added.
fn touched(
    root: &Path,
    compared: &Compared,
    file: &File,
    all: &[(String, String)],
) -> Result<Vec<String>, Refusal> {
    let Some((_, text)) = all.iter().find(|(path, _)| *path == file.path) else {
        return Ok(Vec::new());
    };
    let difference = git(
        root,
        &[
            "diff",
            "-U0",
            &compared.merge_base,
            &compared.target,
            "--",
            &file.path,
        ],
    )?;
    let difference = String::from_utf8_lossy(&difference);
    let mut symbols = Vec::new();
    for head in difference.lines().filter_map(|line| line.strip_prefix("@@ ")) {
        let place = head.split_whitespace().nth(1).unwrap_or_default();
        let (first, many) = place.split_once(',').unwrap_or((place, "1"));
        let first: usize = first.trim_start_matches('+').parse().unwrap_or_default();
        let many: usize = many.parse().unwrap_or_default();
        for last in first..first + many.max(1) {
            let before: Vec<_> = text.lines().take(last).collect();
            let name = before.iter().rev().find_map(|line| function(line));
            symbols.extend(name.map(str::to_owned).filter(|name| !symbols.contains(name)));
        }
    }
    Ok(symbols)
}

fn callers(all: &[(String, String)], symbols: &[String]) -> Vec<Value> {
    let mut found = Vec::new();
    for (path, text) in all {
        for (number, line) in (1..).zip(text.lines()) {
            for symbol in symbols {
                if line.contains(&format!("{symbol}(")) && function(line) != Some(symbol) {
                    found.push(json!({ "path": path, "symbol": symbol, "line": number }));
                }
            }
        }
    }
    found
}
