//! The history of a library: its commits with their changes, and every stored version of a document.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    io::{self, Seek as _, Write as _},
    path::Path,
    process::Command,
};

use crate::{
    judgement::{Stop, fail},
    ledger::git,
};

/// Arguments of git for all references: branches, stashes and reflogs.
pub const ALL_REFERENCES: [&str; 3] = ["--all", "--reflog", "HEAD"];

/// A commit with its changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Id.
    pub id: String,
    /// Whole message.
    pub message: String,
    /// Paths of the changed files.
    pub paths: BTreeSet<String>,
    /// Added lines.
    pub added: Vec<String>,
    /// Removed lines.
    pub removed: Vec<String>,
}

impl Commit {
    /// Returns the value of the first trailer with this name.
    pub fn trailer(&self, name: &str) -> Option<&str> {
        self.message.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Parses one commit of `git log`.
    fn parse(record: &str) -> Option<Self> {
        let mut parts = record.splitn(3, '\u{2}');
        let (id, message, diff) = (parts.next()?, parts.next()?, parts.next()?);
        let mut commit = Self { id: id.into(), message: message.trim_end().into(), ..Self::default() };
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

/// Returns the commits that `git log` lists with these arguments, newest first.
///
/// # Errors
/// If git fails.
pub fn commits(root: &Path, arguments: &[&str]) -> io::Result<Vec<Commit>> {
    let format = "--format=%x01%H%x02%B%x02";
    let command = ["log", "--topo-order", "--patch", "--unified=0", "--no-renames", "--no-ext-diff", format];
    let log = git(root, &[&command, arguments].concat())?;
    Ok(log.split('\u{1}').filter_map(Commit::parse).collect())
}

/// Returns every version of every document in the folder, in the history, or in a backup in `.git`.
///
/// # Errors
/// If git or the disk fails.
pub fn versions(root: &Path) -> Result<HashSet<Vec<u8>>, Stop> {
    let mut versions = HashSet::new();
    collect(root, &mut versions)?;
    let objects =
        git(root, &[&["rev-list", "--objects", "--no-object-names"][..], &ALL_REFERENCES].concat())?;
    versions.extend(blobs(root, objects.lines())?);
    Ok(versions)
}

/// Returns the contents of those of the objects that are blobs.
pub fn blobs<'a>(root: &Path, ids: impl IntoIterator<Item = &'a str>) -> Result<Vec<Vec<u8>>, Stop> {
    let mut list = tempfile::tempfile()?;
    for id in ids {
        writeln!(list, "{id}")?;
    }
    list.rewind()?;
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "safe.directory=*", "cat-file", "--batch"])
        .stdin(list)
        .output()?;
    let mut blobs = Vec::new();
    let mut rest = &output.stdout[..];
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]);
        let mut words = head.split(' ').skip(1);
        let (Some(kind), Some(Ok(size))) = (words.next(), words.next().map(str::parse::<usize>)) else {
            return Err(fail(format!("an object of the history can't be read: {head}")));
        };
        if kind == "blob" {
            blobs.push(rest[end + 1..][..size].to_vec());
        }
        rest = &rest[end + 1 + size + 1..];
    }
    Ok(blobs)
}

/// Adds the contents of all files below `folder`, except git's objects.
fn collect(folder: &Path, versions: &mut HashSet<Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "objects" {
                collect(&entry.path(), versions)?;
            }
        } else if entry.file_type()?.is_file() {
            versions.insert(fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// Counts the lines that contain `token` as a whole word.
pub fn lines_with<'a>(token: &str, lines: impl IntoIterator<Item = &'a str>) -> usize {
    let has = |line: &&str| line.split_whitespace().any(|word| word == token);
    lines.into_iter().filter(has).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_parsed_with_their_changes() {
        let commit = Commit::parse(
            "c1\u{2}append\n\nKey: k: 1\n\u{2}\n\ndiff --git a/a b.md b/a b.md\n--- a/a b.md\n+++ b/a b.md\n@@ -3 +4 @@\n-- t0\n+- t1\n",
        );
        let expected = Commit {
            id: "c1".into(),
            message: "append\n\nKey: k: 1".into(),
            paths: BTreeSet::from(["a b.md".into()]),
            added: vec!["- t1".into()],
            removed: vec!["- t0".into()],
        };
        assert_eq!(expected.trailer("Key"), Some("k: 1"));
        assert_eq!(commit, Some(expected));
        assert_eq!(lines_with("t1", ["- t1", "- t11", "t1"]), 2);
    }
}
