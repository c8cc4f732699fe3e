//! Lines that contain a text, in the tree of a commit: every matching line once, by path and line.

use std::ops::Range;

use gix::bstr::ByteSlice;
use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization as _;

use crate::{
    blobs::Submodules, compare::content::is_binary, error::VcsError, repository::GitRepository,
    revision::Revision,
};

/// Size limit of a query in bytes.
pub const MAX_QUERY_BYTES: usize = 4000;

/// Upper bound of the characters of a line in a snippet, without the marks where it was cut.
pub const SNIPPET_CHARS: usize = 240;

/// Size limit of a file that is searched.
pub const MAX_SEARCHED_BYTES: u64 = 16 * 1024 * 1024;

/// Upper bound of a snippet's bytes: a character has at most four.
const SNIPPET_BYTES: usize = 4 * SNIPPET_CHARS;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchLine {
    /// Path of the file.
    pub path: String,
    /// Line number, from 1.
    pub line: u64,
    /// The line without its ending. One with more than [`SNIPPET_CHARS`] characters is cut around its first match, with `…` at each
    /// cut.
    pub snippet: String,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchSearch {
    /// The first matching lines, by path and line.
    pub lines: Vec<BranchLine>,
    /// Number of matching lines.
    pub total: u64,
    /// Number of files with a matching line.
    pub files: u64,
    /// Number of files that were not searched because they are binary.
    pub binary: u64,
    /// Paths of files that were not searched because they have more than [`MAX_SEARCHED_BYTES`].
    pub too_large: Vec<String>,
}

impl GitRepository {
    /// Returns the first `limit` lines that contain `query`, literally, in the files of a commit. Case matters if the query has an
    /// upper-case letter; otherwise letters match by Unicode's simple case folding. A letter with marks matches composed and decomposed.
    /// Symbolic links and submodules are not searched.
    ///
    /// # Errors
    /// If the query is blank, too long or has a line break; if a file can't be read.
    pub fn search(
        &self,
        revision: &Revision,
        query: &str,
        limit: usize,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<BranchSearch, VcsError> {
        let matcher = matcher(query)?;
        let mut result = BranchSearch::default();
        let mut blobs = self.blobs(revision, Submodules::Skip, cancelled)?;
        while let Some(blob) = blobs.next() {
            let blob = blob?;
            if blob.size > MAX_SEARCHED_BYTES {
                result.too_large.push(blob.path);
                continue;
            }
            let bytes = blobs.read(&blob)?;
            if is_binary(&bytes) {
                result.binary += 1;
                continue;
            }
            let before = result.total;
            lines(&matcher, &bytes, |line, snippet| {
                result.total += 1;
                if result.lines.len() < limit {
                    result.lines.push(BranchLine { path: blob.path.clone(), line, snippet: snippet() });
                }
            });
            result.files += u64::from(result.total > before);
        }
        Ok(result)
    }
}

fn matcher(query: &str) -> Result<Regex, VcsError> {
    let refused = |why: String| Err(VcsError::Query(why));
    if query.trim().is_empty() {
        return refused("the query is blank; give the text to look for".into());
    }
    if query.len() > MAX_QUERY_BYTES {
        let size = query.len();
        return refused(format!(
            "the query has {size} bytes, at most {MAX_QUERY_BYTES}; give a shorter part of the text"
        ));
    }
    if query.contains(['\n', '\r']) {
        return refused(
            "the query has a line break; search is line by line, so give text from one line".into(),
        );
    }
    let case_counts = query.chars().any(char::is_uppercase);
    let spelled = |char: char| {
        let [composed, decomposed] =
            [char.to_string(), char.nfd().collect()].map(|text| regex::escape(&text));
        if composed == decomposed { composed } else { format!("(?:{composed}|{decomposed})") }
    };
    let pattern: String = query.nfc().map(spelled).collect();
    let matcher = RegexBuilder::new(&pattern).case_insensitive(!case_counts).build();
    matcher.or_else(|error| refused(format!("the query can't be searched for: {error}")))
}

/// Calls `found` with the number of each matching line, and a function that makes its snippet.
fn lines(matcher: &Regex, text: &[u8], mut found: impl FnMut(u64, &dyn Fn() -> String)) {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let (mut at, mut number) = (0, 1);
    while let Some(hit) = matcher.find(&text[at..]) {
        let hit = hit.start() + at..hit.end() + at;
        number += memchr_iter(b'\n', &text[at..hit.start]).count() as u64;
        let start = memrchr(b'\n', &text[..hit.start]).map_or(0, |end| end + 1);
        let end = memchr(b'\n', &text[hit.end..]).map_or(text.len(), |end| end + hit.end);
        let line = &text[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        found(number, &|| snippet(line, hit.start - start..hit.end - start));
        at = end + 1;
        number += 1;
        if at >= text.len() {
            return;
        }
    }
}

/// Returns the part of `line` around the match `found`: all of it, or [`SNIPPET_CHARS`] characters with the match in the middle.
fn snippet(line: &[u8], found: Range<usize>) -> String {
    if line.len() <= SNIPPET_BYTES {
        let text = String::from_utf8_lossy(line);
        if text.chars().count() <= SNIPPET_CHARS {
            return text.into_owned();
        }
    }
    // One more on each side than can be shown reveals whether the line is cut.
    let before: Vec<char> = line[..found.start].chars().rev().take(SNIPPET_CHARS + 1).collect();
    let matched = line[found.clone()].chars().count();
    let after: Vec<char> = line[found.end..].chars().take(SNIPPET_CHARS + 1).collect();
    let around = SNIPPET_CHARS.saturating_sub(matched);
    let right = after.len().min(around - (around / 2).min(before.len()));
    let left = before.len().min(around - right);
    let mut text = String::new();
    if left < before.len() {
        text.push('…');
    }
    text.extend(before[..left].iter().rev());
    text.extend(line[found].chars().take(SNIPPET_CHARS));
    text.extend(&after[..right]);
    if right < after.len() || matched > SNIPPET_CHARS {
        text.push('…');
    }
    text
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
