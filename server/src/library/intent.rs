//! The intent: what a mutation is about to do, on the disk before the first thing that anybody can see.
//!
//! Recovery reads it after a crash and knows both sides of everything. One line per field and a digest at the end, so
//! that a torn or foreign file is told from an intent.

use gix::{ObjectId, objs::tree::EntryMode};
use sha1::{Digest, Sha1};

use super::tree::Kept;
use crate::path::LibraryPath;

const FIRST_LINE: &str = "tabellion intent 1";

/// One mutation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intent {
    /// The branch that moves, with its full name.
    pub(super) branch: String,
    /// Its commit before; `None` when it had none.
    pub(super) base: Option<ObjectId>,
    /// Its commit after.
    pub(super) next: ObjectId,
    /// The document.
    pub(super) path: LibraryPath,
    /// Id of the document's bytes before; `None` when there is no document.
    pub(super) old: Option<ObjectId>,
    /// Id of the document's bytes after; `None` when there is no document.
    pub(super) new: Option<ObjectId>,
    /// What the commit before has at the path.
    pub(super) kept_before: Option<Kept>,
    /// What the commit after has at the path.
    pub(super) kept_after: Option<Kept>,
    /// The file beside the document that holds the other side's bytes; `None` where it is in our own folder.
    pub(super) beside: Option<String>,
    /// How many folders on the way to the document are made for it, counted from the innermost.
    pub(super) folders: usize,
    /// The line that the branch's and HEAD's logs get, after the two ids.
    pub(super) log_line: String,
}

impl Intent {
    /// The intent as a file's content.
    pub(super) fn render(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for (name, value) in [
            ("branch", self.branch.clone()),
            ("base", shown(self.base.as_ref())),
            ("next", self.next.to_string()),
            ("path", self.path.to_string()),
            ("old", shown(self.old.as_ref())),
            ("new", shown(self.new.as_ref())),
            ("kept-before", shown_kept(self.kept_before)),
            ("kept-after", shown_kept(self.kept_after)),
            ("beside", self.beside.clone().unwrap_or_default()),
            ("folders", self.folders.to_string()),
            ("log", self.log_line.clone()),
        ] {
            text.push_str(&format!("{name} {value}\n"));
        }
        let digest = digest(&text);
        text.push_str(&digest);
        text
    }

    /// The intent in a file's content; `None` when it is torn or none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (body, found) = text.split_at_checked(text.len().checked_sub(40)?)?;
        if digest(body) != found {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        Some(Self {
            branch: value("branch")?.to_owned(),
            base: optional(value("base")?, id)?,
            next: id(value("next")?)?,
            path: LibraryPath::parse(value("path")?).ok()?,
            old: optional(value("old")?, id)?,
            new: optional(value("new")?, id)?,
            kept_before: optional(value("kept-before")?, kept)?,
            kept_after: optional(value("kept-after")?, kept)?,
            beside: Some(value("beside")?)
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
            folders: value("folders")?.parse().ok()?,
            log_line: value("log")?.to_owned(),
        })
    }
}

fn digest(text: &str) -> String {
    ObjectId::from_bytes_or_panic(&Sha1::digest(text)).to_string()
}

fn shown(value: Option<&ObjectId>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn shown_kept(kept: Option<Kept>) -> String {
    kept.map_or_else(
        || "-".to_owned(),
        |kept| format!("{:o} {}", kept.mode.value(), kept.blob),
    )
}

/// `-` is nothing, and anything else must be readable.
fn optional<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "-" {
        Some(None)
    } else {
        read(text).map(Some)
    }
}

fn id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

fn kept(text: &str) -> Option<Kept> {
    let (mode, blob) = text.split_once(' ')?;
    Some(Kept {
        blob: id(blob)?,
        mode: EntryMode::from_bytes(mode.as_bytes())?,
    })
}

#[cfg(test)]
#[path = "tests/intent.rs"]
mod tests;
