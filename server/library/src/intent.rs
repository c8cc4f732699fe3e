//! The intent: the record of a transaction, on disk before anything is visible.
//!
//! Recovery reads it after a crash and finds both sides of every change. One line per field and a digest at the end
//! distinguish an intent from a torn or foreign file: a torn one was never durable, so nothing had begun.

use std::fs;

use gix::{ObjectId, objs::tree::EntryMode, refs::FullName};
use sha1::{Digest, Sha1};

use super::{repository::Repository, tree::TreeEntry};
use crate::path::LibraryPath;

/// Name of the intent file in our own folder. An empty file means that no transaction is under way.
pub(super) const INTENT: &str = "intent";
/// Name of the index before the transaction, until the transaction has ended.
pub(super) const OLD_INDEX: &str = "index.old";
/// Prefix of the names of exchange files in our own folder; a number follows.
pub(super) const ASIDE: &str = "content-";
/// The same for an exchange file next to a document that is on a different device than our own folder.
pub(super) const ASIDE_HIDDEN: &str = ".tabellion-content-";
const FIRST_LINE: &str = "tabellion intent 2";

/// A transaction: consecutive commits, and the documents that they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intent {
    /// The branch that moves, with its full name.
    pub(super) branch: String,
    /// The branch's commit before; `None` if it had none.
    pub(super) base: Option<ObjectId>,
    /// The commits with their reflog lines, oldest first. The branch moves to the last one.
    pub(super) commits: Vec<Logged>,
    /// All new objects.
    pub(super) objects: Vec<ObjectId>,
    /// The change of each document.
    pub(super) documents: Vec<Exchange>,
}

/// A commit and its line in git's reflogs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Logged {
    pub(super) commit: ObjectId,
    /// The line, after the two ids.
    pub(super) line: String,
}

/// A document before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Path of the document.
    pub(super) path: LibraryPath,
    /// Id of its bytes before; `None` if there was no document.
    pub(super) old: Option<ObjectId>,
    /// Id of its bytes after; `None` if it is deleted.
    pub(super) new: Option<ObjectId>,
    pub(super) kept_before: Option<TreeEntry>,
    pub(super) kept_after: Option<TreeEntry>,
    /// Name of the exchange file, with the other side's bytes.
    pub(super) aside: String,
    /// True if that file is next to the document; otherwise it is in our own folder.
    pub(super) beside: bool,
    /// Number of folders above the document that are created for it, from the innermost.
    pub(super) folders: usize,
}

impl Exchange {
    /// Returns false if there is a file neither before nor after: only git has the document.
    pub(super) fn has_file(&self) -> bool {
        self.old.is_some() || self.new.is_some()
    }
}

impl Intent {
    /// Returns the branch's commit after the transaction.
    pub(super) fn next(&self) -> ObjectId {
        self.commits.last().expect("a transaction makes a commit").commit
    }

    /// Returns the content of the intent file.
    pub(super) fn render(&self) -> String {
        let mut text = Fields(format!("{FIRST_LINE}\n"));
        text.add("branch", &self.branch);
        text.add("base", &shown(self.base.as_ref()));
        for Logged { commit, line } in &self.commits {
            text.add("commit", &commit.to_string());
            text.add("log", line);
        }
        for object in &self.objects {
            text.add("object", &object.to_string());
        }
        for document in &self.documents {
            text.add("path", document.path.as_str());
            text.add("old", &shown(document.old.as_ref()));
            text.add("new", &shown(document.new.as_ref()));
            text.add("kept-before", &shown_kept(document.kept_before));
            text.add("kept-after", &shown_kept(document.kept_after));
            text.add("aside", &document.aside);
            text.add("beside", &document.beside.to_string());
            text.add("folders", &document.folders.to_string());
        }
        let digest = digest(&text.0);
        text.0 + &digest
    }

    /// Parses an intent file; `None` if it is torn or not an intent. A packed repository can bring one: its names lead nowhere but to
    /// branches, documents and exchange files.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (body, found) = text.split_at_checked(text.len().checked_sub(40)?)?;
        if digest(body) != found {
            return None;
        }
        let mut lines = Lines(body);
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut intent = Self {
            branch: lines.value("branch").filter(|name| is_branch(name))?.to_owned(),
            base: optional(lines.value("base")?, id).ok()?,
            commits: Vec::new(),
            objects: Vec::new(),
            documents: Vec::new(),
        };
        while let Some(commit) = lines.value("commit") {
            intent.commits.push(Logged { commit: id(commit)?, line: lines.value("log")?.to_owned() });
        }
        while let Some(object) = lines.value("object") {
            intent.objects.push(id(object)?);
        }
        while let Some(path) = lines.value("path") {
            let exchange = Exchange {
                path: LibraryPath::of_entry(path).ok()?,
                old: optional(lines.value("old")?, id).ok()?,
                new: optional(lines.value("new")?, id).ok()?,
                kept_before: optional(lines.value("kept-before")?, parse_tree_entry).ok()?,
                kept_after: optional(lines.value("kept-after")?, parse_tree_entry).ok()?,
                aside: lines.value("aside")?.to_owned(),
                beside: lines.value("beside")?.parse().ok()?,
                folders: lines.value("folders")?.parse().ok()?,
            };
            intent.documents.push(is_aside(&exchange.aside, exchange.beside).then_some(exchange)?);
        }
        (lines.0.is_empty() && !intent.commits.is_empty()).then_some(intent)
    }
}

/// Returns true if a transaction is under way or was interrupted.
pub(super) fn is_under_way(repository: &Repository) -> bool {
    fs::metadata(repository.own(INTENT)).is_ok_and(|found| found.len() > 0)
}

struct Fields(String);

impl Fields {
    fn add(&mut self, name: &str, value: &str) {
        for part in [name, " ", value, "\n"] {
            self.0.push_str(part);
        }
    }
}

/// The lines not yet parsed.
struct Lines<'a>(&'a str);

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (line, rest) = self.0.split_once('\n')?;
        self.0 = rest;
        Some(line)
    }

    /// Returns the value of the next line if it is called `name`.
    fn value(&mut self, name: &str) -> Option<&'a str> {
        if !self.0.strip_prefix(name)?.starts_with(' ') {
            return None;
        }
        Some(&self.next()?[name.len() + 1..])
    }
}

pub(super) fn digest(text: &str) -> String {
    ObjectId::from_bytes_or_panic(&Sha1::digest(text)).to_string()
}

fn shown(value: Option<&ObjectId>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn shown_kept(kept: Option<TreeEntry>) -> String {
    kept.map_or_else(|| "-".to_owned(), |kept| format!("{:o} {}", kept.mode.value(), kept.blob))
}

/// Parses `-` as `None`, and any other text with `read`.
fn optional<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Unreadable> {
    if text == "-" {
        return Ok(None);
    }
    read(text).map(Some).ok_or(Unreadable)
}

fn is_branch(name: &str) -> bool {
    name.starts_with("refs/heads/") && FullName::try_from(name).is_ok()
}

fn is_aside(name: &str, beside: bool) -> bool {
    let number = name.strip_prefix(if beside { ASIDE_HIDDEN } else { ASIDE });
    number.is_some_and(|number| number.parse::<usize>().is_ok_and(|parsed| parsed.to_string() == number))
}

/// A value of the wrong form.
struct Unreadable;

fn id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

fn parse_tree_entry(text: &str) -> Option<TreeEntry> {
    let (mode, blob) = text.split_once(' ')?;
    Some(TreeEntry { blob: id(blob)?, mode: EntryMode::from_bytes(mode.as_bytes())? })
}

#[cfg(test)]
#[path = "tests/intent.rs"]
mod tests;
