//! The history of a library: its commits with their changes, and every stored version of a document.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    io::{Seek, Write},
    path::Path,
    process::Command,
};

use crate::{
    Own,
    judgement::{Stop, fail},
    ledger::git,
};

/// A commit with its changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::checks) struct Commit {
    pub(in crate::checks) id: String,
    /// First line of the message.
    pub(in crate::checks) message: String,
    /// Paths of the changed files.
    pub(in crate::checks) paths: BTreeSet<String>,
    /// Added lines.
    pub(in crate::checks) added: Vec<String>,
}

/// Returns the commits in HEAD's history, newest first, without changes of the server's own state.
///
/// # Errors
/// If git fails.
pub(in crate::checks) fn commits(root: &Path, own: &Own) -> Result<Vec<Commit>, Stop> {
    let format = "--format=%x01%H%x02%s%x02";
    let log = git(
        root,
        &own.except(&[
            "log",
            "--topo-order",
            "--patch",
            "--unified=0",
            "--no-renames",
            "--no-ext-diff",
            format,
        ]),
    )?;
    Ok(log.split('\u{1}').filter_map(parse).collect())
}

/// Parses one commit of `git log`.
fn parse(record: &str) -> Option<Commit> {
    let mut parts = record.splitn(3, '\u{2}');
    let mut commit =
        Commit { id: parts.next()?.to_owned(), message: parts.next()?.to_owned(), ..Commit::default() };
    let mut in_content = false;
    for line in parts.next()?.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            in_content = false;
            let path = names.rsplit_once(" b/").map(|(_, path)| path.to_owned());
            commit.paths.extend(path);
        } else if line.starts_with("@@ ") {
            in_content = true;
        } else if let (true, Some(added)) = (in_content, line.strip_prefix('+')) {
            commit.added.push(added.to_owned());
        }
    }
    Some(commit)
}

/// Returns every version of every document in the folder, in the history, or in a backup in `.git`.
///
/// # Errors
/// If git or the disk fails.
pub(in crate::checks) fn versions(root: &Path) -> Result<HashSet<Vec<u8>>, Stop> {
    let mut versions = HashSet::new();
    collect(root, &mut versions)?;
    let all_objects = ["rev-list", "--objects", "--no-object-names", "--all", "--reflog", "HEAD"];
    let mut ids = tempfile::tempfile()?;
    ids.write_all(git(root, &all_objects)?.as_bytes())?;
    ids.rewind()?;
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "safe.directory=*", "cat-file", "--batch"])
        .stdin(ids)
        .output()?;
    let mut rest = &output.stdout[..];
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]);
        let mut words = head.split(' ').skip(1);
        let (Some(kind), Some(Ok(size))) = (words.next(), words.next().map(str::parse::<usize>)) else {
            return Err(fail(format!("an object of the history can't be read: {head}")));
        };
        let content = &rest[end + 1..][..size];
        if kind == "blob" {
            versions.insert(content.to_vec());
        }
        rest = &rest[end + 1 + size + 1..];
    }
    Ok(versions)
}

/// Adds the contents of all files below `folder`, except git's objects.
fn collect(folder: &Path, versions: &mut HashSet<Vec<u8>>) -> Result<(), Stop> {
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
pub(in crate::checks) fn lines_with<'a>(token: &str, lines: impl IntoIterator<Item = &'a str>) -> usize {
    let has = |line: &&str| line.split_whitespace().any(|word| word == token);
    lines.into_iter().filter(has).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_parsed_with_their_changes() {
        let commit = parse(
            "c1\u{2}append\u{2}\n\ndiff --git a/a b.md b/a b.md\n--- a/a b.md\n+++ b/a b.md\n@@ -3,0 +4 @@\n+- t1\n",
        );
        let expected = Commit {
            id: "c1".into(),
            message: "append".into(),
            paths: BTreeSet::from(["a b.md".into()]),
            added: vec!["- t1".into()],
        };
        assert_eq!(commit, Some(expected));
        assert_eq!(lines_with("t1", ["- t1", "- t11", "t1"]), 2);
    }
}
