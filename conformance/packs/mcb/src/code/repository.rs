//! Repositories with two branches, as data, and the git program's report on them.

use std::{collections::BTreeMap, fs, path::Path};

use super::server::write;
use tabellion_conformance::{checks::prelude::*, ledger::git};

/// The folder of the repository in the workspace.
pub(super) const REPO: &str = "repo";

/// A repository: files by their paths, on the main branch and on a topic branch, both of which begin at the base.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Repository {
    pub(super) base: Files,
    pub(super) main: Files,
    pub(super) topic: Files,
}

/// Contents of files, by their paths.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

const WORDS: &[&str] = &["amount", "Till", "price", "rate", "count(", "x * y", "größe", "TODO"];

/// Returns cases of random repositories.
pub(super) fn repositories(bench: &Bench<'_>, what: &str, many: usize) -> Vec<Case> {
    let mut dice = bench.dice(what);
    let case = |number| Case::new(format!("repository {number}"), random(&mut dice));
    (1..=many).map(case).collect()
}

fn lines(dice: &mut fastrand::Rng, name: usize) -> Vec<u8> {
    let line = |number| format!("{name}.{number} {} {}\n", one(dice), one(dice));
    let mut text: String = (0..20).map(line).collect();
    if dice.u8(..6) == 0 {
        text.pop();
    }
    text.into_bytes()
}

fn one(dice: &mut fastrand::Rng) -> &'static str {
    WORDS[dice.usize(..WORDS.len())]
}

/// Changes few of the lines, so that a renamed file is still similar.
fn edited(dice: &mut fastrand::Rng, content: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> =
        content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..1 + dice.usize(..3) {
        let at = dice.usize(..lines.len().max(1));
        match dice.u8(..3) {
            0 if lines.len() > 15 => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = format!("changed {}\n", one(dice)).into_bytes(),
            _ => lines.insert(at, format!("more {}\n", one(dice)).into_bytes()),
        }
    }
    lines.concat()
}

fn changed(dice: &mut fastrand::Rng, files: &Files, prefix: &str) -> Files {
    let mut changed = files.clone();
    for (number, path) in files.keys().enumerate() {
        let content = &files[path];
        match dice.u8(..8) {
            0 => drop(changed.remove(path)),
            1 | 2 if !content.contains(&0) => drop(changed.insert(path.clone(), edited(dice, content))),
            3 | 4 => {
                let content = if dice.bool() && !content.contains(&0) {
                    edited(dice, content)
                } else {
                    content.clone()
                };
                changed.remove(path);
                changed.insert(format!("{prefix}/moved {number}.rs"), content);
            }
            5 if content.contains(&0) => {
                drop(changed.insert(path.clone(), [content.as_slice(), b"\0"].concat()))
            }
            _ => {}
        }
    }
    for number in 0..dice.usize(1..4) {
        let name = 1000 + dice.usize(..1_000_000);
        changed.insert(format!("{prefix}/new_{number}.rs"), lines(dice, name));
    }
    changed
}

fn random(dice: &mut fastrand::Rng) -> Repository {
    let mut base = Files::new();
    for number in 0..dice.usize(4..14) {
        let folder = ["src", "src/ä", "lib"][dice.usize(..3)];
        let content = if dice.u8(..6) == 0 {
            (0..400_usize).map(|_| dice.u8(..)).chain([0]).collect()
        } else {
            lines(dice, number)
        };
        base.insert(format!("{folder}/file {number}.rs"), content);
    }
    let (main, topic) = (changed(dice, &base, "main"), changed(dice, &base, "topic"));
    Repository { base, main, topic }
}

impl Repository {
    /// Makes the repository at `root`; the other branch is `topic/x`, and the work tree is that of `main`.
    pub(super) fn make(&self, root: &Path) -> Result<(), Stop> {
        fs::create_dir_all(root)?;
        git(root, &["init", "--quiet", "--initial-branch=main"])?;
        commit(root, &self.base, "base")?;
        git(root, &["checkout", "--quiet", "-b", "topic/x"])?;
        commit(root, &self.topic, "topic")?;
        git(root, &["checkout", "--quiet", "main"])?;
        commit(root, &self.main, "main")
    }
}

/// Commits exactly these files to the checked-out branch.
pub(super) fn commit(root: &Path, files: &Files, message: &str) -> Result<(), Stop> {
    git(root, &["rm", "-r", "--quiet", "--ignore-unmatch", "."])?;
    for (path, content) in files {
        write(&root.join(path), content)?;
    }
    git(root, &["add", "--all", "."])?;
    git(root, &["commit", "--quiet", "--allow-empty", "-m", message])?;
    Ok(())
}

/// A file that differs between two trees, as git reports it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Changed {
    pub(super) path: String,
    pub(super) old_path: Option<String>,
    pub(super) status: &'static str,
    pub(super) additions: u64,
    pub(super) deletions: u64,
    pub(super) binary: bool,
}

/// Returns the git program's comparison of two branches: the merge base, and the files.
pub(super) fn of_git(root: &Path, base: &str, target: &str) -> Result<(String, Vec<Changed>), Stop> {
    let merge_base = git(root, &["merge-base", base, target])?.trim().to_owned();
    // A folder may have the name of a branch.
    let between = [merge_base.as_str(), target, "--"];
    let numbers = git(root, &[&["diff", "--numstat", "-z", "-M"][..], &between].concat())?;
    let names = git(root, &[&["diff", "--name-status", "-z", "-M"][..], &between].concat())?;
    let mut statuses = BTreeMap::new();
    let mut parts = names.split('\0').filter(|part| !part.is_empty());
    while let Some(letter) = parts.next() {
        let first = parts.next().unwrap_or_default();
        let (path, status) = match letter.as_bytes().first() {
            Some(b'R') => (parts.next().unwrap_or_default(), "renamed"),
            Some(b'A') => (first, "added"),
            Some(b'D') => (first, "deleted"),
            _ => (first, "modified"),
        };
        statuses.insert(path.to_owned(), status);
    }
    let mut files = Vec::new();
    let mut parts = numbers.split('\0').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        let mut cells = part.splitn(3, '\t');
        let (additions, deletions) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let (old_path, path) = match cells.next() {
            Some("") | None => {
                let old = parts.next().unwrap_or_default().to_owned();
                (Some(old), parts.next().unwrap_or_default().to_owned())
            }
            Some(path) => (None, path.to_owned()),
        };
        files.push(Changed {
            status: statuses.get(&path).copied().unwrap_or("modified"),
            additions: additions.parse().unwrap_or_default(),
            deletions: deletions.parse().unwrap_or_default(),
            binary: additions == "-",
            path,
            old_path,
        });
    }
    files.sort();
    Ok((merge_base, files))
}
