//! Values for templates, from the request and derived from the document on the disk.

use std::{
    fs,
    ops::Range,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use serde_json::{Map, Value};
use tabellion_runtime::{ToolSpec, spec::EffectKind};

use super::hole::Hole;
use crate::{
    ledger,
    request::Call,
    semantics::{self, Change, Impossible},
};

/// Values of one request.
#[derive(Debug)]
pub(super) struct Values<'a> {
    tool: &'static ToolSpec,
    request: &'a Value,
    root: &'a Path,
    /// Values that a reading before the call gave.
    pub(super) taken: Map<String, Value>,
    /// Position of the next page.
    pub(super) next: Option<Value>,
}

/// A document's change: a text, its replacement, and the whole new content.
#[derive(Debug, PartialEq, Eq)]
struct Edit {
    old: String,
    new: String,
    content: String,
    /// First and last line of `old`, from 1.
    lines: [usize; 2],
}

impl<'a> Values<'a> {
    /// Creates the values of a request of `tool`, for the library at `root`.
    pub(super) fn new(tool: &'static ToolSpec, request: &'a Value, root: &'a Path) -> Self {
        Self { tool, request, root, taken: Map::new(), next: None }
    }

    /// Returns the value for a hole; `None` if the request has none.
    ///
    /// # Errors
    /// If the value cannot be derived, because the document or the section does not exist.
    pub(super) fn resolve(&self, hole: &Hole) -> Result<Option<Value>, String> {
        Ok(Some(match hole {
            Hole::Request(pointer) => return Ok(self.request.pointer(pointer).cloned()),
            Hole::Library => self.root.to_string_lossy().into(),
            Hole::LibraryName => {
                let name = self.root.file_name().unwrap_or_default();
                name.to_string_lossy().into()
            }
            Hole::Absolute => match self.tool.path.and_then(|at| self.request.pointer(at)) {
                // An empty path is the library itself; `join` would add a slash.
                Some(Value::String(path)) if path.is_empty() => self.root.to_string_lossy().into(),
                Some(Value::String(path)) => self.root.join(path).to_string_lossy().into(),
                other => return Ok(other.cloned()),
            },
            Hole::Dirname => return Ok(self.parted().and_then(|(folder, _)| folder).map(Value::from)),
            Hole::Basename => return Ok(self.parted().map(|(_, name)| name.into())),
            Hole::Old => self.edit()?.old.into(),
            Hole::New => self.edit()?.new.into(),
            Hole::Content => {
                let (before, change) = self.change()?;
                spliced(&before, &change)?.2.into()
            }
            Hole::OldStartLine => self.lines()?[0].into(),
            Hole::OldEndLine => self.lines()?[1].into(),
            Hole::OldSha256 => sha256(self.edit()?.old.as_bytes()).into(),
            Hole::Sha256 => return Ok(ledger::bytes(&self.document()).map(|bytes| sha256(&bytes).into())),
            Hole::GitBlob => {
                let document = self.document();
                if ledger::bytes(&document).is_none() {
                    return Ok(None);
                }
                let arguments = ["hash-object", "--no-filters", "--", &document.to_string_lossy()];
                let id = ledger::git(self.root, &arguments).map_err(|error| error.to_string())?;
                id.trim().into()
            }
            Hole::Size => return Ok(self.metadata().map(|it| it.len().into())),
            Hole::Mtime => return Ok(self.metadata().map(|it| python_mtime(&it).into())),
            Hole::MtimeMs => return Ok(self.metadata().map(|it| node_mtime_ms(&it).into())),
            Hole::Next => return Ok(self.next.clone()),
            Hole::Taken(name) => return Ok(self.taken.get(name).cloned()),
        }))
    }

    /// Returns the folder and the name in the path of the request's document.
    fn parted(&self) -> Option<(Option<&str>, &str)> {
        let path = self.request.pointer(self.tool.path?)?.as_str()?;
        Some(match path.rsplit_once('/') {
            Some((folder, name)) => (Some(folder), name),
            None => (None, path),
        })
    }

    /// Returns the path of the request's document on the disk.
    pub(super) fn document(&self) -> PathBuf {
        self.root.join(self.tool.path_of(self.request).unwrap_or_default())
    }

    fn metadata(&self) -> Option<fs::Metadata> {
        fs::metadata(self.document()).ok()
    }

    /// Returns the numbers of the first and the last line of the text to replace.
    fn lines(&self) -> Result<[usize; 2], String> {
        let bytes = ledger::bytes(&self.document()).unwrap_or_default();
        let mut pairs = bytes.windows(2);
        let has_lone_return =
            bytes.ends_with(b"\r") || pairs.any(|pair| pair[0] == b'\r' && pair[1] != b'\n');
        if has_lone_return {
            return Err(
                "the edit cannot be derived: servers count lone carriage returns as lines or not".to_owned()
            );
        }
        Ok(self.edit()?.lines)
    }

    fn edit(&self) -> Result<Edit, String> {
        let (before, change) = self.change()?;
        let kind = self.tool.effect(self.request).map(|effect| effect.kind);
        let from_end = !matches!(kind, Some(EffectKind::Prepend | EffectKind::InsertBefore));
        edit(&before, &change, from_end)
    }

    /// Returns the document and the request's change to it.
    fn change(&self) -> Result<(Vec<u8>, Change), String> {
        let call = Call { tool: self.tool, arguments: self.request.clone() };
        let before = ledger::bytes(&self.document());
        let change = semantics::change(&call, before.as_deref()).map_err(|impossible| match impossible {
            Impossible::NoDocument => "the edit cannot be derived: the document does not exist",
            Impossible::NoText => "the edit cannot be derived: the document is not UTF-8",
            Impossible::NoSection(_) => {
                "the edit cannot be derived: the heading does not exist or is ambiguous"
            }
            Impossible::Unclear(_) => {
                "the edit cannot be derived: parsers disagree about the document's headings"
            }
            Impossible::NotDeclared => {
                "the edit cannot be derived: the contract declares no effect for this request"
            }
        })?;
        Ok((before.unwrap_or_default(), change))
    }
}

/// Returns the time of the last modification in seconds, rounded as Python's `st_mtime`.
fn python_mtime(metadata: &fs::Metadata) -> f64 {
    let (seconds, nanoseconds) = mtime(metadata);
    seconds + 1e-9 * nanoseconds
}

/// Returns the time of the last modification in milliseconds, rounded as `mtimeMs` of Node.js.
fn node_mtime_ms(metadata: &fs::Metadata) -> f64 {
    let (seconds, nanoseconds) = mtime(metadata);
    seconds * 1e3 + nanoseconds / 1e6
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Returns the time of the last modification in whole seconds and nanoseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "the times that Python and Node.js report have this precision too"
)]
fn mtime(metadata: &fs::Metadata) -> (f64, f64) {
    (metadata.mtime() as f64, metadata.mtime_nsec() as f64)
}

/// Returns a change as an edit. If the change only inserts text, `old` is the text before it if `from_end`, else the
/// text after it: as many lines as needed to occur exactly once.
fn edit(before: &[u8], change: &Change, from_end: bool) -> Result<Edit, String> {
    let (at, comes, content) = spliced(before, change)?;
    let before = text(before)?;
    let old = unique(&before, &at, from_end).ok_or("the document has no text to put the edit at")?;
    let new = [&before[old.start..at.start], &comes, &before[at.end..old.end]].concat();
    let first = before[..old.start].matches('\n').count() + 1;
    let old = &before[old];
    Ok(Edit {
        old: old.to_owned(),
        new,
        content,
        lines: [first, first + old.lines().count().saturating_sub(1)],
    })
}

/// Returns the replaced range, its replacement, and the whole new document.
fn spliced(before: &[u8], change: &Change) -> Result<(Range<usize>, String, String), String> {
    let before = text(before)?;
    let (at, comes) = match change {
        Change::Splice(at, comes) => (at.clone(), with_line_endings(&before, at, &text(comes)?)),
        Change::Whole(comes) => (0..before.len(), text(comes)?),
        Change::None | Change::Gone => return Err("the call does not edit the document".to_owned()),
    };
    let content = [&before[..at.start], &comes, &before[at.end..]].concat();
    Ok((at, comes, content))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec())
        .map_err(|_| "the edit cannot be derived: the document is not UTF-8".to_owned())
}

/// Returns `comes` with line endings where it would share a line with other text.
fn with_line_endings(before: &str, at: &Range<usize>, comes: &str) -> String {
    let ending = if before.contains("\r\n") { "\r\n" } else { "\n" };
    let glued = |text: &str| !text.is_empty() && !text.ends_with('\n');
    let (earlier, later) = (&before[..at.start], &before[at.end..]);
    let ahead = if glued(earlier) && !comes.is_empty() { ending } else { "" };
    let behind = if glued(comes) && !later.is_empty() { ending } else { "" };
    [ahead, comes, behind].concat()
}

/// Extends `at` by whole lines to a range whose text occurs once: on the side given by `from_end`, or else on the other
/// side.
fn unique(before: &str, at: &Range<usize>, from_end: bool) -> Option<Range<usize>> {
    let earlier = || lines_before(before, at.start).map(|start| start..at.end);
    let later = || lines_after(before, at.end).map(|end| at.start..end);
    let once = |range: &Range<usize>| {
        let text = &before[range.clone()];
        !text.trim().is_empty() && before.match_indices(text).count() == 1 && overlapping_once(before, text)
    };
    let as_it_is = std::iter::once(at.clone());
    let mut ways: Box<dyn Iterator<Item = Range<usize>>> = if from_end {
        Box::new(as_it_is.chain(earlier()).chain(later()))
    } else {
        Box::new(as_it_is.chain(later()).chain(earlier()))
    };
    ways.find(once)
}

/// Returns true if `text` occurs exactly once, counting overlapping occurrences.
fn overlapping_once(before: &str, text: &str) -> bool {
    let Some(first) = before.find(text) else {
        return false;
    };
    let next = first + before[first..].chars().next().map_or(1, char::len_utf8);
    before.get(next..).is_none_or(|rest| !rest.contains(text))
}

/// Returns the starts of the lines before `at`, the nearest first.
fn lines_before(text: &str, at: usize) -> impl Iterator<Item = usize> {
    let mut at = at;
    std::iter::from_fn(move || {
        let line = text[..at].split_inclusive('\n').next_back()?;
        at -= line.len();
        Some(at)
    })
}

/// Returns the ends of the lines after `at`, the nearest first.
fn lines_after(text: &str, at: usize) -> impl Iterator<Item = usize> {
    let mut at = at;
    text[at..].split_inclusive('\n').map(move |line| {
        at += line.len();
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn made(before: &str, at: Range<usize>, comes: &str, from_end: bool) -> [String; 3] {
        let change = Change::Splice(at, comes.as_bytes().to_vec());
        let edit = edit(before.as_bytes(), &change, from_end).expect("an edit");
        assert_eq!(before.replacen(&edit.old, &edit.new, 1), edit.content);
        assert_eq!(before.matches(&edit.old).count(), 1, "{before:?}");
        [edit.old, edit.new, edit.content]
    }

    #[test]
    fn an_edit_replaces_lines_that_occur_once() {
        let cases = [
            // An append uses as many last lines as are needed.
            ("a\nb\n", 4..4, "c\n", true, ["b\n", "b\nc\n", "a\nb\nc\n"]),
            ("a\nb\na\n", 6..6, "c\n", true, ["b\na\n", "b\na\nc\n", "a\nb\na\nc\n"]),
            ("a", 1..1, "c", true, ["a", "a\nc", "a\nc"]),
            ("a\r\nb", 4..4, "c", true, ["b", "b\r\nc", "a\r\nb\r\nc"]),
            // Blank lines alone do not identify a position.
            ("a\n\n\n", 4..4, "c\n", true, ["a\n\n\n", "a\n\n\nc\n", "a\n\n\nc\n"]),
            // A prepend uses the first lines.
            ("a\nb\n", 0..0, "c\n", false, ["a\n", "c\na\n", "c\na\nb\n"]),
            ("a\nb\n", 0..0, "c", false, ["a\n", "c\na\n", "c\na\nb\n"]),
            // A unique section is replaced as a whole.
            ("# A\n## B\nb\n# C\n", 4..11, "## D\n", true, ["## B\nb\n", "## D\n", "# A\n## D\n# C\n"]),
            // A section that occurs twice is replaced together with the text before it.
            ("# A\nx\n# A\nx\n", 6..12, "y\n", true, ["x\n# A\nx\n", "x\ny\n", "# A\nx\ny\n"]),
        ];
        for (before, at, comes, from_end, expected) in cases {
            assert_eq!(made(before, at, comes, from_end), expected, "{before:?}");
        }
    }

    #[test]
    fn an_empty_document_has_no_text_for_an_edit() {
        let change = Change::Splice(0..0, b"c".to_vec());
        assert!(edit(b"", &change, true).is_err());
        assert_eq!(spliced(b"", &change).expect("a document").2, "c");
    }
}
