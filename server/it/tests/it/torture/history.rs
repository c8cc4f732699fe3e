//! A library's git history: commits with their changes, and every version of every document.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Seek, SeekFrom, Write},
    path::Path,
    process::{Command, Stdio},
};

use tabellion_conformance::ledger;

use crate::support::Library;

/// All references: branches, stashes and reflogs.
pub(super) const ANYWHERE: &[&str] = &["--all", "--reflog", "HEAD"];
/// The current branch.
pub(super) const HERE: &[&str] = &["HEAD"];

/// A commit with its changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) id: String,
    pub(super) message: String,
    pub(super) paths: BTreeSet<String>,
    /// Added lines.
    pub(super) added: Vec<String>,
    /// Removed lines.
    pub(super) removed: Vec<String>,
}

impl Commit {
    /// Returns the value of the trailer `Tabellion-` and `name`.
    pub(super) fn trailer(&self, name: &str) -> Option<&str> {
        self.message
            .lines()
            .find_map(|line| line.strip_prefix("Tabellion-")?.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns the caller's idempotency key, which is kept with the caller's identity.
    pub(super) fn key(&self) -> Option<&str> {
        self.trailer("Key")?.split(' ').next_back()
    }

    fn parse(record: &str) -> Option<Self> {
        let mut parts = record.splitn(3, '\u{2}');
        let (id, message, diff) = (parts.next()?, parts.next()?, parts.next()?);
        let mut commit = Self { id: id.to_owned(), message: message.to_owned(), ..Self::default() };
        let mut in_content = false;
        for line in diff.lines() {
            if let Some(names) = line.strip_prefix("diff --git ") {
                in_content = false;
                commit.paths.extend(names.rsplit_once(" b/").map(|(_, path)| path.to_owned()));
            } else if line.starts_with("@@ ") {
                in_content = true;
            } else if let (true, Some(added)) = (in_content, line.strip_prefix('+')) {
                commit.added.push(added.to_owned());
            } else if let (true, Some(removed)) = (in_content, line.strip_prefix('-')) {
                commit.removed.push(removed.to_owned());
            }
        }
        Some(commit)
    }
}

/// Returns the commits that `revisions` reach, newest first.
pub(super) fn commits(root: &Path, revisions: &[&str]) -> Vec<Commit> {
    let command =
        ["log", "--topo-order", "--patch", "--unified=0", "--no-renames", "--format=%x01%H%x02%B%x02"];
    let log = ledger::git(root, &[&command, revisions].concat()).expect("git log");
    log.split('\u{1}').filter_map(Commit::parse).collect()
}

/// Returns every version of every Markdown file in all references.
pub(super) fn versions(root: &Path) -> Vec<Vec<u8>> {
    let objects = ledger::git(root, &[&["rev-list", "--objects"], ANYWHERE].concat()).expect("git rev-list");
    let documents = objects
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, path)| path.ends_with(".md"))
        .map(|(id, _)| id);
    contents(root, documents).expect("git cat-file")
}

fn contents<'a>(root: &Path, ids: impl Iterator<Item = &'a str>) -> io::Result<Vec<Vec<u8>>> {
    let mut list = tempfile::tempfile()?;
    for id in ids {
        writeln!(list, "{id}")?;
    }
    list.seek(SeekFrom::Start(0))?;
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::from(list))
        .output()?;
    let mut contents = vec![];
    let mut rest = &output.stdout[..];
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]);
        let size = head.rsplit(' ').next().and_then(|size| size.parse().ok());
        let size: usize = size.ok_or_else(|| io::Error::other(head.clone().into_owned()))?;
        contents.push(rest[end + 1..][..size].to_vec());
        rest = &rest[end + 1 + size + 1..];
    }
    Ok(contents)
}

/// Returns leftovers in `root`: locks and temporary files, which belong neither to the documents, nor to git, nor to the
/// server's permanent files.
pub(super) fn leftovers(root: &Path) -> Vec<String> {
    let mut left = vec![];
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let in_git = path.starts_with(root.join(".git"));
            let is_ours = folder == root.join(".git/tabellion");
            // An empty intent counts as none.
            let stays = ["lock", "gathering.lock", "intent"].contains(&&*name)
                && fs::metadata(&path).is_ok_and(|m| m.len() == 0);
            let is_left = match (in_git, is_ours) {
                (_, true) => !(stays || name.starts_with("late-") || name.starts_with("log.sqlite")),
                (true, _) => name.ends_with(".lock") || name.ends_with(".keep") || name.starts_with("tmp_"),
                (false, _) => !name.ends_with(".md"),
            };
            if is_left {
                left.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
            }
        }
    }
    left
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
