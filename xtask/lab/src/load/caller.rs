//! A caller: its calls, and their results.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::shared::{DOCUMENTS, SHARED};

/// Percentage of changes that are of the shared document.
const SHARED_CHANGES: u32 = 10;

/// Returns the path of a document to read.
pub(super) fn document(number: usize) -> String {
    format!("read/{number}.md")
}

/// The tools of a server, and their arguments.
#[derive(Debug, Clone)]
pub(super) enum Dialect {
    /// As in `braindrive-markdown`.
    Ours,
    /// As in the filesystem server, which takes absolute paths in this folder.
    Filesystem(PathBuf),
}

/// Kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    WriteOwn,
    AddToShared,
}

/// A caller that makes one call after another.
#[derive(Debug)]
pub(super) struct Caller {
    number: usize,
    dialect: Dialect,
    /// Percentage of calls that make a change.
    changing: u32,
    dice: u64,
    made: usize,
    /// The call in flight, and its start.
    under_way: Option<(Kind, Instant)>,
    /// Durations of answered calls, for reads and changes.
    pub(super) reads: Vec<Duration>,
    pub(super) changes: Vec<Duration>,
    /// Refused and unanswered calls.
    pub(super) errors: Vec<String>,
    /// The acknowledged content of its own document.
    own: Option<String>,
    /// The acknowledged lines in the shared document.
    pub(super) added: Vec<String>,
}

impl Caller {
    /// `changing` is the percentage of its calls that make a change.
    pub(super) fn new(number: usize, dialect: Dialect, changing: u32) -> Self {
        Self {
            number,
            dialect,
            changing,
            dice: number as u64 + 1,
            made: 0,
            under_way: None,
            reads: Vec::new(),
            changes: Vec::new(),
            errors: Vec::new(),
            own: None,
            added: Vec::new(),
        }
    }

    /// Starts the next call; returns the tool and its arguments.
    pub(super) fn next(&mut self) -> (&'static str, Value) {
        self.made += 1;
        let kind = match (self.roll(100), self.roll(100)) {
            (call, _) if call >= self.changing => Kind::Read,
            (_, SHARED_CHANGES..) => Kind::WriteOwn,
            _ => Kind::AddToShared,
        };
        let read = document(self.roll(DOCUMENTS as u32) as usize);
        self.under_way = Some((kind, Instant::now()));
        let own = self.own_document();
        match (&self.dialect, kind) {
            (Dialect::Ours, Kind::Read) => ("read_markdown", json!({ "path": read })),
            (Dialect::Ours, Kind::WriteOwn) => {
                ("write_markdown", json!({ "path": own, "content": self.text() }))
            }
            (Dialect::Ours, Kind::AddToShared) => {
                let operation = json!({ "type": "append", "content": self.line() });
                ("edit_markdown", json!({ "path": SHARED, "operation": operation }))
            }
            (Dialect::Filesystem(root), Kind::Read) => ("read_text_file", json!({ "path": root.join(read) })),
            (Dialect::Filesystem(root), Kind::WriteOwn) => {
                ("write_file", json!({ "path": root.join(own), "content": self.text() }))
            }
            (Dialect::Filesystem(root), Kind::AddToShared) => {
                let edit =
                    json!({ "oldText": "# Shared\n", "newText": format!("# Shared\n{}", self.line()) });
                ("edit_file", json!({ "path": root.join(SHARED), "edits": [edit] }))
            }
        }
    }

    /// Records the answer to the call in flight: the whole message, or the reason why there is none.
    pub(super) fn answered(&mut self, answer: Result<Value, String>) {
        let Some((kind, since)) = self.under_way.take() else {
            return;
        };
        let took = since.elapsed();
        let refused = match answer {
            Ok(answer) if answer["result"].is_object() && answer["result"]["isError"] != true => None,
            Ok(answer) => Some(answer.to_string()),
            Err(error) => Some(error),
        };
        if let Some(refused) = refused {
            self.errors.push(refused);
            return;
        }
        match kind {
            Kind::Read => self.reads.push(took),
            Kind::WriteOwn => self.own = Some(self.text()),
            Kind::AddToShared => self.added.push(self.line()),
        }
        if kind != Kind::Read {
            self.changes.push(took);
        }
    }

    /// Returns the own document's path and its acknowledged content, if any.
    pub(super) fn acknowledged(&self) -> Option<(String, &str)> {
        Some((self.own_document(), self.own.as_deref()?))
    }

    fn own_document(&self) -> String {
        format!("own/{}.md", self.number)
    }

    fn text(&self) -> String {
        format!("# Of {}\n\n{}\n", self.number, self.made)
    }

    /// Returns a line that no other call adds.
    fn line(&self) -> String {
        format!("- {} {}\n", self.number, self.made)
    }

    /// Returns a number below `sides`, deterministic per caller.
    fn roll(&mut self, sides: u32) -> u32 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as u32 % sides
    }
}
