//! Repositories in a folder, and their branches.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    branches::{git, limit, line},
    invalid,
};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// Depth below a folder to which repositories are searched for.
const DEPTH: usize = 3;
/// Default number of repositories.
const LIMIT: u64 = 10;

/// Returns the id of a repository: its first commit, or its path if there is none.
fn id(root: &Path) -> String {
    let first = line(root, &["rev-list", "--max-parents=0", "HEAD", "--"]);
    let first = first.ok().and_then(|all| all.lines().next().map(str::to_owned));
    first.unwrap_or_else(|| root.to_string_lossy().into_owned())
}

/// Returns the repository's id, if `repo_id` equals it or is absent.
pub(super) fn chosen(root: &Path, arguments: &Value) -> Result<String, Refusal> {
    let id = id(root);
    match arguments["repo_id"].as_str() {
        Some(asked) if asked != "*" && asked != id => {
            Err(invalid("repo_id is not the repository at repo_path"))
        }
        _ => Ok(id),
    }
}

pub(super) fn local(root: &Path) -> Result<Vec<String>, Refusal> {
    let all = line(root, &["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
    Ok(all.lines().map(str::to_owned).collect())
}

pub(super) fn default_branch(root: &Path) -> Option<String> {
    let has_main = local(root).ok()?.iter().any(|branch| branch == "main");
    if has_main {
        return Some("main".to_owned());
    }
    line(root, &["symbolic-ref", "--short", "HEAD"]).ok()
}

/// Returns the requested branches; else those of the settings, or the default one.
pub(super) fn branches(root: &Path, asked: &Value) -> Result<Vec<String>, Refusal> {
    if !is_repository(root) {
        return Err(invalid("there is no repository"));
    }
    let asked = asked.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut branches: Vec<_> = asked.map(str::to_owned).collect();
    if branches.is_empty() {
        let settings = fs::read_to_string(root.join(".mcp-context.toml")).unwrap_or_default();
        let list = settings.lines().find_map(|line| line.strip_prefix("branches = "));
        branches = serde_json::from_str(list.unwrap_or("[]")).unwrap_or_default();
    }
    if branches.is_empty() {
        branches.extend(default_branch(root));
    }
    for branch in &branches {
        git(
            root,
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                &format!("{branch}^{{commit}}"),
            ],
        )?;
    }
    Ok(branches)
}

/// Returns true if the folder is the top of a repository.
fn is_repository(folder: &Path) -> bool {
    let is_bare = || folder.join("HEAD").is_file() && folder.join("objects").is_dir();
    folder.join(".git").exists() || is_bare()
}

pub(super) fn list(folder: &Path, arguments: &Value) -> Result<Value, Refusal> {
    let mut found = Vec::new();
    let depth = if is(Mutant::ListsAnyDepth) {
        usize::MAX
    } else {
        DEPTH
    };
    look(folder, depth, &mut found);
    let asked = arguments["repo_id"].as_str().filter(|asked| *asked != "*");
    found.retain(|it| asked.is_none_or(|asked| it["id"] == asked || is(Mutant::ListsAnyId)));
    found.truncate(limit(arguments, LIMIT));
    Ok(json!({ "count": found.len(), "repositories": found }))
}

fn look(folder: &Path, depth: usize, found: &mut Vec<Value>) {
    let is_one = is_repository(folder);
    if is_one {
        found.push(json!({
            "id": id(folder), "path": folder.to_string_lossy(), "default_branch": default_branch(folder),
            "head": line(folder, &["rev-parse", "--verify", "--quiet", "HEAD"]).ok(),
        }));
    }
    if depth == 0 || is_one && is(Mutant::StopsAtRepositories) {
        return;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut below: Vec<_> = entries.map(|entry| entry.path()).collect();
    below.retain(|path| {
        let is_link = path.is_symlink() && !is(Mutant::FollowsLinksToRepositories);
        path.is_dir() && !is_link && !path.ends_with(".git")
    });
    below.sort();
    for folder in below {
        look(&folder, depth - 1, found);
    }
}
