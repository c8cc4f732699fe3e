//! A library's git history: commits with their changes, and every version of every document.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) use tabellion_conformance::history::{ALL_REFERENCES, Commit};
use tabellion_conformance::{history, ledger};
use walkdir::DirEntry;

use crate::support::{Library, below};

/// The current branch.
pub(super) const HERE: [&str; 1] = ["HEAD"];

/// Returns the caller's idempotency key, which is kept with the caller's identity.
pub(super) fn key(commit: &Commit) -> Option<&str> {
    commit.trailer("Tabellion-Key")?.split(' ').next_back()
}

/// Returns the commits that `revisions` reach, newest first.
pub(super) fn commits(root: &Path, revisions: &[&str]) -> Vec<Commit> {
    history::commits(root, revisions).expect("git log")
}

/// Returns every version of every Markdown file in all references.
pub(super) fn versions(root: &Path) -> Vec<Vec<u8>> {
    let command = [&["rev-list", "--objects"][..], &ALL_REFERENCES].concat();
    let objects = ledger::git(root, &command).expect("git rev-list");
    let documents = objects
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, path)| path.ends_with(".md"))
        .map(|(id, _)| id);
    history::blobs(root, documents).expect("git cat-file")
}

/// Returns leftovers in `root`: locks and temporary files, which belong neither to the documents, nor to git, nor to the
/// server's permanent files.
pub(super) fn leftovers(root: &Path) -> Vec<String> {
    let is_left = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let in_git = path.starts_with(root.join(".git"));
        let is_ours = path.parent() == Some(&root.join(".git/tabellion"));
        // An empty intent counts as none.
        let stays = ["lock", "gathering.lock", "intent"].contains(&&*name)
            && fs::metadata(path).is_ok_and(|m| m.len() == 0);
        match (in_git, is_ours) {
            (_, true) => !(stays || name.starts_with("late-") || name.starts_with("log.sqlite")),
            (true, _) => name.ends_with(".lock") || name.ends_with(".keep") || name.starts_with("tmp_"),
            (false, _) => !name.ends_with(".md"),
        }
    };
    let files = below(root).filter(|entry| !entry.file_type().is_dir());
    let left = files.map(DirEntry::into_path).filter(is_left);
    left.map(|path| path.strip_prefix(root).unwrap_or(&path).display().to_string()).collect()
}

#[test]
fn the_check_reports_leftovers() {
    let library = Library::with(&[("a.md", "# A\n")]);
    let left = [
        ".git/index.lock",
        ".git/refs/heads/main.lock",
        ".git/tabellion/content-0",
        ".git/tabellion/intent",
        "folder/.a.md.swp",
    ];
    library.put(".git/tabellion/lock", "");
    library.put(".git/tabellion/intent", "");
    library.put(".git/tabellion/late-1.md", "kept");
    assert_eq!(leftovers(library.root()), [""; 0]);
    for path in left {
        library.put(path, "");
    }
    library.put(".git/tabellion/intent", "something");
    let mut found = leftovers(library.root());
    found.sort();
    assert_eq!(found, left);
}
