//! The complete content of a library's folder, including `.git`, compared with the states before and after a mutation.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tabellion_conformance::{Ledger, ledger};

use crate::support::{Library, Server, below};

/// A library's state at one time.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) ledger: Ledger,
    /// The folders, outside of `.git`.
    folders: BTreeSet<PathBuf>,
    /// Every name in `.git`.
    git_names: BTreeSet<PathBuf>,
    /// The commits made by tools, newest last, according to their messages.
    recorded: Vec<String>,
}

/// The states before and after a mutation.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) before: Disk,
    pub(crate) after: Disk,
    /// True if the server makes the first commit, whose id differs between runs.
    pub(crate) makes_repository: bool,
}

/// One of the two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

impl Disk {
    pub(crate) fn read(library: &Library) -> io::Result<Self> {
        let root = library.root();
        let (mut folders, mut git_names) = (BTreeSet::new(), BTreeSet::new());
        for entry in below(root) {
            let path = entry.path().strip_prefix(root).map_err(io::Error::other)?.to_path_buf();
            let is_no_intent = path.ends_with("tabellion/intent")
                && fs::metadata(root.join(&path)).is_ok_and(|found| found.len() == 0);
            if is_no_intent {
                // An empty intent counts as none.
            } else if path.starts_with(".git") {
                git_names.insert(path);
            } else if entry.file_type().is_dir() {
                folders.insert(path);
            }
        }
        let ledger = Ledger::read(root)?;
        let format = "--format=%H %(trailers:key=Tabellion-Tool,valueonly,separator=%x2C)";
        let log = if ledger.commits.is_empty() {
            String::new()
        } else {
            ledger::git(root, &["log", "--reverse", format])?
        };
        let recorded = log.lines().filter_map(|line| {
            Some(line.split_once(' ').filter(|(_, tool)| !tool.is_empty())?.0.to_string())
        });
        Ok(Self { ledger, folders, git_names, recorded: recorded.collect() })
    }

    /// Returns HEAD's commit; empty if there is none.
    pub(crate) fn head(&self) -> &str {
        self.ledger.commits.first().map_or("", String::as_str)
    }

    /// Returns the bytes of a file.
    pub(crate) fn document(&self, path: &str) -> Option<&[u8]> {
        self.ledger.files.get(Path::new(path)).map(|(_, bytes)| &bytes[..])
    }
}

impl Sides {
    /// Determines the side of the library, and adds every deviation from it to `problems`.
    pub(crate) fn judge(&self, library: &Library, problems: &mut Vec<String>) -> (Side, Disk) {
        let disk = match Disk::read(library) {
            Ok(disk) => disk,
            Err(error) => panic!("the library can't be read: {error}; {problems:?}"),
        };
        let side = if disk.ledger.commits.len() == self.before.ledger.commits.len() {
            Side::Before
        } else {
            Side::After
        };
        let expected = match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        };
        let mut hold = |what: &str, holds: bool, detail: &dyn Fn() -> String| {
            if !holds {
                problems.push(format!("{what}, as {side:?}: {}", detail()));
            }
        };
        let (is, should) = (&disk.ledger, &expected.ledger);
        hold("the number of commits", is.commits.len() == should.commits.len(), &|| {
            format!("{} for {}", is.commits.len(), should.commits.len())
        });
        let earlier = &self.before.ledger.commits;
        hold("the earlier commits", self.makes_repository || is.commits.ends_with(earlier), &|| {
            format!("{:?}", is.commits)
        });
        hold("the files", is.files == should.files, &|| format!("{:?} differ", is.changed_since(should)));
        hold("the folders", disk.folders == expected.folders, &|| format!("{:?}", disk.folders));
        hold("git status", is.status == should.status, &|| is.status.clone());
        hold("the index", is.index == should.index, &|| is.index.clone());
        let left: Vec<_> = disk
            .git_names
            .iter()
            .filter(|name| !self.before.git_names.contains(*name) && !is_gits_own(name))
            .collect();
        hold("leftovers in .git", left.is_empty(), &|| format!("{left:?}"));
        let sound = ledger::fsck(library.root());
        hold("git fsck", sound.is_ok(), &|| format!("{sound:?}"));
        (side, disk)
    }
}

/// Checks that a server's activity log agrees with the commits.
pub(crate) fn judge_log(server: &mut Server, disk: &Disk, problems: &mut Vec<String>) {
    let log = match server.call("get_markdown_activity_log", json!({ "limit": 1000 })) {
        Ok(log) => log,
        Err(refusal) => return problems.push(format!("no log: {refusal:?}")),
    };
    let entries = log["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let told: Vec<_> = entries.iter().map(|entry| &entry["git_commit_sha"]).collect();
    if told != disk.recorded.iter().collect::<Vec<_>>() {
        problems.push(format!("the log tells {told:?}, and the commits are {:?}", disk.recorded));
    }
}

/// Copies `template` deeply. Hard links within it stay hard links.
pub(crate) fn copy(template: &Path, to: &Path) -> io::Result<()> {
    let mut copied = BTreeMap::new();
    for entry in below(template) {
        let target = to.join(entry.path().strip_prefix(template).map_err(io::Error::other)?);
        let metadata = entry.metadata()?;
        let id = (metadata.dev(), metadata.ino());
        if metadata.is_dir() {
            fs::create_dir_all(&target)?;
        } else if let Some(first) = copied.get(&id) {
            fs::hard_link(first, &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            copied.insert(id, target);
        }
    }
    Ok(())
}

/// Returns true for the files of commits in `.git`, and for the server's lock, which stays.
fn is_gits_own(name: &Path) -> bool {
    let text = name.to_string_lossy();
    let parts: Vec<_> = text.split('/').collect();
    let hex = |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    match parts[..] {
        [_, "objects", folder] => hex(folder, 2),
        [_, "objects", "pack", file] => file.starts_with("pack-") && !file.ends_with(".keep"),
        [_, "objects", folder, object] => hex(folder, 2) && hex(object, 38),
        [_, "tabellion", name] if name.starts_with("log.sqlite") => true,
        [_, "index" | "tabellion" | "logs"]
        | [_, "tabellion", "lock" | "gathering.lock"]
        | [_, "logs", "HEAD" | "refs"] => true,
        [_, "refs", "heads", "main"] | [_, "logs", "refs", "heads"] => true,
        [_, "logs", "refs", "heads", "main"] => true,
        _ => false,
    }
}

/// Returns the id of a document's content for `tabellion/ifBase`; null if there is no document.
pub(crate) fn content_id(library: &Library, document: &str) -> Value {
    if !library.path(document).exists() {
        return Value::Null;
    }
    // A path outside the repository, so that its attributes do not apply.
    let id =
        ledger::git(library.root(), &["hash-object", "--no-filters", document]).expect("git hash-object");
    id.trim().into()
}
