//! Origins of a collection's texts: files of a folder, blobs of branches, messages of commits.

use std::{collections::BTreeSet, path::Path};

use super::{
    branches::{git, line},
    files::{taken, takes},
    source::{Origin, Source},
    store::Collection,
};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// Returns the sources of a collection.
pub(super) fn of(workspace: Option<&Path>, collection: &Collection) -> Result<Vec<Source>, Refusal> {
    if collection.branches.is_empty() {
        return Ok(on_disk(workspace, collection, None));
    }
    let mut sources = Vec::new();
    for branch in &collection.branches {
        if is(Mutant::IndexesWorkTree) {
            sources.extend(on_disk(workspace, collection, Some(branch)));
        } else {
            sources.extend(blobs(collection, branch)?);
        }
        sources.extend(messages(collection, branch)?);
    }
    Ok(sources)
}

/// Returns the files of a branch that the collection takes.
fn blobs(collection: &Collection, branch: &str) -> Result<Vec<Source>, Refusal> {
    let root = &collection.path;
    if is(Mutant::ChecksBranchesOut) {
        let before = line(root, &["rev-parse", "--abbrev-ref", "HEAD"])?;
        // A repository without a work tree has nothing to check out.
        let _ = git(root, &["checkout", "--quiet", "--force", branch])
            .and_then(|_| git(root, &["checkout", "--quiet", "--force", &before]));
    }
    let listed = git(root, &["ls-tree", "-r", "-z", branch])?;
    let listed = String::from_utf8_lossy(&listed);
    let source = |entry: &str| {
        let (about, path) = entry.split_once('\t')?;
        let id = about.split(' ').nth(2)?;
        takes(&collection.request, path).then(|| Source {
            path: path.to_owned(),
            branch: Some(branch.to_owned()),
            origin: Origin::Blob(id.to_owned()),
        })
    };
    Ok(listed.split_terminator('\0').filter_map(source).collect())
}

/// Returns the messages of the last commits of a branch, as many as the collection takes.
fn messages(collection: &Collection, branch: &str) -> Result<Vec<Source>, Refusal> {
    if collection.depth == 0 {
        return Ok(Vec::new());
    }
    let depth = if is(Mutant::IgnoresDepth) {
        usize::from(u16::MAX)
    } else {
        collection.depth
    };
    let most = format!("--max-count={depth}");
    let commits = line(&collection.path, &["rev-list", &most, branch, "--"])?;
    let source = |commit: &str| Source {
        path: format!("commit:{commit}"),
        branch: Some(branch.to_owned()),
        origin: Origin::Message {
            commit: commit.to_owned(),
        },
    };
    Ok(commits.lines().map(source).collect())
}

fn on_disk(workspace: Option<&Path>, collection: &Collection, branch: Option<&String>) -> Vec<Source> {
    let files = taken(workspace, &collection.path, &collection.request);
    let source = |(path, file)| Source {
        path,
        branch: branch.cloned(),
        origin: Origin::Disk(file),
    };
    files.into_iter().map(source).collect()
}

/// Removes from a run the sources that a mutant does not index.
pub(super) fn break_run(taken: &mut Vec<Source>, collection: &Collection) {
    if is(Mutant::CountsRepositories) && collection.kind == "repository" {
        taken.clear();
    }
    if is(Mutant::CountsCommits) {
        taken.retain(|source| !source.is_message());
    }
    if is(Mutant::IndexesBlobsOnce) {
        let mut seen = BTreeSet::new();
        taken.retain(|source| match &source.origin {
            Origin::Blob(id) => seen.insert((source.path.clone(), id.clone())),
            _ => true,
        });
    }
    if is(Mutant::KeepsOldTips) {
        let of_branches = || collection.files.values().filter(|file| file.branch.is_some());
        let known: BTreeSet<_> = of_branches().map(|file| &file.branch).collect();
        taken.retain(|source| !known.contains(&source.branch));
        taken.extend(of_branches().map(|file| Source {
            path: file.path.clone(),
            branch: file.branch.clone(),
            origin: Origin::Blob(file.blob.clone()),
        }));
    }
}
