//! Branches: compared and searched with the git program.

use std::{collections::BTreeMap, path::Path, process::Command};

use serde_json::{Value, json};

use super::invalid;
use crate::{
    mutant::{Mutant, is},
    small::{Refusal, failed},
};

/// Default limits of a comparison and of a search.
const LIMIT: u64 = 10;
const SEARCH_LIMIT: u64 = 20;

/// Runs git; returns its output.
pub(super) fn git(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, Refusal> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(root)
        .args(["-c", "safe.directory=*", "-c", "core.quotePath=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0");
    let output = command.output().map_err(failed)?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(invalid("git refuses that; there is no such repository or branch"))
    }
}

/// Returns git's output, as text without the end of the last line.
pub(super) fn line(root: &Path, arguments: &[&str]) -> Result<String, Refusal> {
    let bytes = git(root, arguments)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// Two branches, and the files that differ between them.
pub(super) struct Compared {
    pub(super) base: String,
    pub(super) target: String,
    pub(super) merge_base: String,
    pub(super) files: Vec<File>,
}

/// A file that differs.
pub(super) struct File {
    pub(super) path: String,
    old_path: Option<String>,
    pub(super) status: &'static str,
    pub(super) additions: u64,
    pub(super) deletions: u64,
    is_binary: bool,
}

impl Compared {
    pub(super) fn of(root: &Path, arguments: &Value) -> Result<Self, Refusal> {
        let named = |name: &str, other: &str| arguments[name].as_str().unwrap_or(other).to_owned();
        let (base, target) = (named("base_branch", "main"), named("target_branch", "HEAD"));
        let merge_base = line(root, &["merge-base", &base, &target])?;
        let from = if is(Mutant::ComparesTips) {
            &base
        } else {
            &merge_base
        };
        let renames = if is(Mutant::FindsNoRenames) {
            "--no-renames"
        } else {
            "-M"
        };
        let numbers = git(root, &["diff", "--numstat", "-z", renames, from, &target, "--"])?;
        let names = git(
            root,
            &["diff", "--name-status", "-z", renames, from, &target, "--"],
        )?;
        let names = String::from_utf8_lossy(&names);
        let mut words = names.split_terminator('\0');
        let mut statuses = BTreeMap::new();
        while let (Some(letter), Some(path)) = (words.next(), words.next()) {
            match letter.chars().next() {
                Some('R') => statuses.insert(words.next().unwrap_or_default().to_owned(), "renamed"),
                Some('A') => statuses.insert(path.to_owned(), "added"),
                Some('D') => statuses.insert(path.to_owned(), "deleted"),
                _ => statuses.insert(path.to_owned(), "modified"),
            };
        }
        let numbers = String::from_utf8_lossy(&numbers);
        let mut words = numbers.split_terminator('\0');
        let mut files = Vec::new();
        while let Some(word) = words.next() {
            let cells: Vec<_> = word.splitn(3, '\t').collect();
            let [additions, deletions, path] = cells[..] else {
                continue;
            };
            let (old_path, path) = if path.is_empty() {
                (words.next().map(str::to_owned), words.next().unwrap_or_default())
            } else {
                (None, path)
            };
            files.push(File {
                path: path.to_owned(),
                old_path,
                status: statuses.get(path).copied().unwrap_or("modified"),
                additions: additions.parse().unwrap_or_default(),
                deletions: deletions.parse().unwrap_or_default(),
                is_binary: additions == "-",
            });
        }
        Ok(Self {
            base,
            target,
            merge_base,
            files,
        })
    }

    pub(super) fn sum(&self, of: fn(&File) -> u64) -> u64 {
        self.files.iter().map(of).sum()
    }
}

pub(super) fn limit(arguments: &Value, otherwise: u64) -> usize {
    usize::try_from(arguments["limit"].as_u64().unwrap_or(otherwise)).unwrap_or(usize::MAX)
}

pub(super) fn compare(root: &Path, arguments: &Value) -> Result<Value, Refusal> {
    let compared = Compared::of(root, arguments)?;
    let shown = compared.files.iter().take(limit(arguments, LIMIT)).map(|file| {
        json!({
            "path": file.path, "old_path": file.old_path, "status": file.status, "additions": file.additions,
            "deletions": file.deletions, "binary": file.is_binary,
        })
    });
    let shown: Vec<_> = shown.collect();
    Ok(json!({
        "base_branch": compared.base, "head_branch": compared.target, "merge_base": compared.merge_base,
        "files_changed": compared.files.len(), "additions": compared.sum(|file| file.additions),
        "deletions": compared.sum(|file| file.deletions), "files": shown,
    }))
}

/// Returns the texts of a branch's files, by their paths.
pub(super) fn texts(root: &Path, branch: &str) -> Result<Vec<(String, String)>, Refusal> {
    let names = git(root, &["ls-tree", "-r", "-z", "--name-only", branch])?;
    let names = String::from_utf8_lossy(&names).into_owned();
    let mut texts = Vec::new();
    for name in names.split_terminator('\0') {
        let bytes = if is(Mutant::SearchesWorkTree) {
            std::fs::read(root.join(name)).unwrap_or_default()
        } else {
            git(root, &["cat-file", "blob", &format!("{branch}:{name}")])?
        };
        if let Ok(text) = String::from_utf8(bytes)
            && !text.contains('\0')
        {
            texts.push((name.to_owned(), text));
        }
    }
    Ok(texts)
}

pub(super) fn search(root: &Path, arguments: &Value) -> Result<Value, Refusal> {
    let named = |name: &str| arguments[name].as_str();
    let branch = named("target_branch").or(named("base_branch")).unwrap_or("main");
    let query = named("query").unwrap_or_default();
    let is_exact = query.chars().any(char::is_uppercase) || is(Mutant::CaseAlwaysCounts);
    let mut found = Vec::new();
    for (path, text) in texts(root, branch)? {
        for (number, line) in (1_u64..).zip(text.lines()) {
            let has = if is_exact {
                line.contains(query)
            } else {
                line.to_lowercase().contains(query)
            };
            if has {
                found.push(json!({ "path": path, "line": number, "snippet": line }));
            }
        }
    }
    let total = found.len();
    found.truncate(limit(arguments, SEARCH_LIMIT));
    Ok(json!({
        "repository_id": "*", "branch": branch, "query": query, "count": found.len(), "total": total, "results": found,
    }))
}
