//! Literal text search in the library's visible files: matching lines, each once, ordered by path and line.
//!
//! Reads the files each time, so an answer is never older than its query. [`super::walk`] chooses the files; results are not ranked.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gix::bstr::ByteSlice;
use memchr::{memchr, memchr_iter, memrchr};
use parking_lot::Mutex;
use regex::bytes::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization as _;

use super::ignore::IgnoreRules;
use super::root::Root;
use super::walk::{FolderError, LeftOut, WalkItem, walk};
use crate::path::{LibraryDir, LibraryPath};

/// Size limit of a query in bytes.
pub const MAX_QUERY_BYTES: usize = 4000;

/// Upper bound of the characters of a line in a snippet, without the marks where it was cut.
pub const SNIPPET_CHARS: usize = 240;

/// Size of the read buffer: a small multiple of most notes; two of them fit a core's cache.
const BUFFER_BYTES: usize = 256 * 1024;

/// Upper bound of a snippet's bytes: characters have at most four.
const SNIPPET_BYTES: usize = 4 * SNIPPET_CHARS;

/// Upper bound of a match's bytes: case folding turns one byte into at most three (`k` and the Kelvin sign), and so does decomposition.
const MATCH_BYTES: usize = 9 * MAX_QUERY_BYTES;

/// Bytes kept of a line longer than the buffer: any match not reported yet, with its context.
const KEPT_BYTES: usize = MATCH_BYTES + 2 * SNIPPET_BYTES;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Limits of a search's result; the totals count everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Matching lines.
    pub lines: usize,
    /// Matching lines of one file: more of them would only hide those of other files.
    pub of_file: usize,
    /// Bytes of all snippets together.
    pub bytes: usize,
}

impl Default for Limits {
    /// 1000 lines, 100 of a file, 256 KiB.
    fn default() -> Self {
        Self { lines: 1000, of_file: 100, bytes: 256 * 1024 }
    }
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMatch {
    /// The file.
    pub path: LibraryPath,
    /// Line number, from 1. Only `\n` ends a line: a file with lone `\r`s is one line.
    pub line: u64,
    /// The line without its ending (`\n` or `\r\n`) and without byte order mark; invalid UTF-8 becomes `U+FFFD`. A line with more
    /// than [`SNIPPET_CHARS`] characters is cut around its first match, with `…` at each cut.
    pub snippet: String,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// The first matching lines within the limits, by path and line.
    pub matches: Vec<LineMatch>,
    /// Number of matching lines.
    pub total_lines: u64,
    /// Number of files with a matching line.
    pub total_files: u64,
    /// Set if `matches` lacks matching lines.
    pub truncated: bool,
    /// Numbers of unsearched files. A file that was removed meanwhile counts as unreadable.
    pub left_out: LeftOut,
}

/// Error of a search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The query is empty.
    #[error("the query is empty; give the text to look for")]
    QueryEmpty,
    /// The query has a line break.
    #[error("the query has a line break; search is line by line, so give text from one line")]
    QueryMultiline,
    /// It has more than [`MAX_QUERY_BYTES`].
    #[error("the query has {size} bytes, at most {MAX_QUERY_BYTES}; give a shorter part of the text")]
    QueryTooLong {
        /// Its size in bytes.
        size: usize,
    },
    /// The matcher could not be created.
    #[error("the query can't be searched for: {0}")]
    QueryRefused(#[from] regex::Error),
    /// The folder can't be searched.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The caller cancelled the search.
    #[error("the search was cancelled")]
    Cancelled,
}

impl SearchError {
    /// The stable name of the error, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::QueryEmpty => "query_empty",
            Self::QueryMultiline => "query_multiline",
            Self::QueryTooLong { .. } => "query_too_long",
            Self::QueryRefused(_) => "query_refused",
            Self::Folder(error) => error.rule(),
            Self::Cancelled => "search_cancelled",
        }
    }
}

/// Returns the lines that contain `query`, literally, in the visible files of `dir` and all folders below it.
///
/// Case matters if `query` has an upper-case letter; otherwise letters match by Unicode's simple case folding. The result
/// does not depend on the number of threads. `searched` is called after each file, from any of these threads, with the number
/// of files so far; its [`ControlFlow::Break`] ends the search.
///
/// # Errors
///
/// [`SearchError`]; a single file that can't be read is not an error, but counted.
pub fn search(
    root: &Root,
    dir: &LibraryDir,
    rules: &IgnoreRules,
    query: &str,
    limits: Limits,
    searched: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<SearchResult, SearchError> {
    let matcher = matcher(query)?;
    let (files_so_far, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let kept = Mutex::new(FirstMatches::new(limits));
    // Each clone has its own caches, which the threads would otherwise contend for.
    let start =
        || Searcher { scanner: Scanner::new(matcher.clone()), total_lines: 0, total_files: 0, unreadable: 0 };
    let walked = walk(root, dir, rules, start, |searcher, step| {
        match step {
            WalkItem::Files(folder, files) => {
                for path in files {
                    match folder.open_entry(path.file_name()) {
                        Ok(mut file) => searcher.search(path, &mut file, &kept),
                        Err(_) => searcher.unreadable += 1,
                    }
                    let so_far = files_so_far.fetch_add(1, Ordering::Relaxed) + 1;
                    if searched(so_far).is_break() {
                        ended.store(true, Ordering::Relaxed);
                    }
                    // Other threads may be in the middle of a file.
                    if ended.load(Ordering::Relaxed) {
                        return ControlFlow::Break(());
                    }
                }
            }
            WalkItem::Folder(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    if ended.load(Ordering::Relaxed) {
        return Err(SearchError::Cancelled);
    }
    let mut result = SearchResult { left_out: walked.left_out, ..SearchResult::default() };
    for searcher in walked.states {
        result.total_lines += searcher.total_lines;
        result.total_files += searcher.total_files;
        result.left_out.unreadable += searcher.unreadable;
    }
    result.matches = kept.into_inner().into_matches();
    result.truncated = result.total_lines > result.matches.len() as u64;
    Ok(result)
}

fn matcher(query: &str) -> Result<Regex, SearchError> {
    if query.is_empty() {
        return Err(SearchError::QueryEmpty);
    }
    if query.len() > MAX_QUERY_BYTES {
        return Err(SearchError::QueryTooLong { size: query.len() });
    }
    if query.contains(['\n', '\r']) {
        return Err(SearchError::QueryMultiline);
    }
    let case_counts = query.chars().any(char::is_uppercase);
    Ok(RegexBuilder::new(&pattern(query)).case_insensitive(!case_counts).build()?)
}

/// Returns a pattern of the query's text, and of each text that is canonically equivalent: `é` as one character or as two.
fn pattern(query: &str) -> String {
    let literal = regex::escape(query);
    if query.is_ascii() {
        return literal;
    }
    let either = |composed: char| {
        let composed = composed.to_string();
        let decomposed: String = composed.nfd().collect();
        match regex::escape(&composed) {
            composed if composed == regex::escape(&decomposed) => composed,
            composed => format!("(?:{composed}|{decomposed})"),
        }
    };
    let equivalent: String = query.nfc().map(either).collect();
    if equivalent == literal { literal } else { format!("{literal}|{equivalent}") }
}

/// One thread's part of a search.
struct Searcher {
    scanner: Scanner,
    total_lines: u64,
    total_files: u64,
    unreadable: usize,
}

impl Searcher {
    fn search(&mut self, path: LibraryPath, file: &mut impl Read, kept: &Mutex<FirstMatches>) {
        // Only a file with a match takes the lock, to check if its lines can still be among the first.
        let limits = || kept.lock().wanted(&path);
        let Ok(found) = self.scanner.scan(file, limits) else {
            self.unreadable += 1;
            return;
        };
        if found.total > 0 {
            self.total_lines += found.total;
            self.total_files += 1;
            kept.lock().add(path, found.lines);
        }
    }
}

/// The first matching lines by path, of all files searched so far. Drops files that can't be among the first any more, so it
/// never holds much more than the limits.
struct FirstMatches {
    limits: Limits,
    files: BTreeMap<LibraryPath, Vec<Line>>,
    lines: usize,
    bytes: usize,
}

/// A matching line's number and snippet.
type Line = (u64, String);

impl FirstMatches {
    fn new(limits: Limits) -> Self {
        Self { limits, files: BTreeMap::new(), lines: 0, bytes: 0 }
    }

    /// Returns the limits for the lines of the file at `path` that can be among the first.
    fn wanted(&self, path: &LibraryPath) -> Limits {
        let full = self.lines >= self.limits.lines || self.bytes >= self.limits.bytes;
        match self.files.last_key_value() {
            Some((last, _)) if full && path > last => Limits { lines: 0, ..self.limits },
            None if full => Limits { lines: 0, ..self.limits },
            _ => self.limits,
        }
    }

    fn add(&mut self, path: LibraryPath, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        self.lines += lines.len();
        self.bytes += size(&lines);
        self.files.insert(path, lines);
        // The last file is superfluous once those before it reach a limit.
        while let Some(last) = self.files.last_entry() {
            let (lines, bytes) = (self.lines - last.get().len(), self.bytes - size(last.get()));
            if lines < self.limits.lines && bytes < self.limits.bytes {
                break;
            }
            (self.lines, self.bytes) = (lines, bytes);
            last.remove();
        }
    }

    fn into_matches(self) -> Vec<LineMatch> {
        let mut bytes = 0;
        self.files
            .into_iter()
            .flat_map(|(path, lines)| {
                lines.into_iter().map(move |(line, snippet)| LineMatch { path: path.clone(), line, snippet })
            })
            .take(self.limits.lines)
            .take_while(|found| {
                bytes += found.snippet.len();
                bytes <= self.limits.bytes
            })
            .collect()
    }
}

fn size(lines: &[Line]) -> usize {
    lines.iter().map(|(_, snippet)| snippet.len()).sum()
}

/// Finds the matching lines of one file after the other, in a buffer of fixed size.
struct Scanner {
    matcher: Regex,
    buffer: Vec<u8>,
}

/// The number of matching lines of a file, and the first of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct FileMatches {
    total: u64,
    lines: Vec<Line>,
}

impl Scanner {
    fn new(matcher: Regex) -> Self {
        Self { matcher, buffer: vec![0; BUFFER_BYTES] }
    }

    /// Returns the matching lines of `file`. At the first match, `wanted` returns the number of them to return.
    fn scan(&mut self, file: &mut impl Read, wanted: impl Fn() -> Limits) -> io::Result<FileMatches> {
        let mut scan = Scan {
            matcher: &self.matcher,
            wanted,
            limits: None,
            found: FileMatches::default(),
            line: 1,
            line_matched: false,
        };
        let (mut filled, mut at_start) = (0, true);
        loop {
            let end_of_file = fill(file, &mut self.buffer, &mut filled)?;
            if std::mem::take(&mut at_start) && self.buffer[..filled].starts_with(BYTE_ORDER_MARK) {
                self.buffer.copy_within(BYTE_ORDER_MARK.len()..filled, 0);
                filled -= BYTE_ORDER_MARK.len();
                if !end_of_file {
                    continue;
                }
            }
            let window = &self.buffer[..filled];
            if end_of_file {
                scan.lines(window);
                return Ok(scan.found);
            }
            let rest = match memrchr(b'\n', window) {
                Some(end) => {
                    scan.lines(&window[..=end]);
                    end + 1
                }
                None => {
                    scan.part_of_line(window);
                    filled - KEPT_BYTES
                }
            };
            self.buffer.copy_within(rest..filled, 0);
            filled -= rest;
        }
    }
}

/// Reads until `buffer` is full or `file` ends; returns true at the end.
fn fill(file: &mut impl Read, buffer: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    while *filled < buffer.len() {
        match file.read(&mut buffer[*filled..]) {
            Ok(0) => return Ok(true),
            Ok(read) => *filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The state between two windows of a file.
struct Scan<'a, W> {
    matcher: &'a Regex,
    wanted: W,
    limits: Option<Limits>,
    found: FileMatches,
    /// Number of the line in which the next window starts.
    line: u64,
    /// True if that line was already reported, from an earlier window.
    line_matched: bool,
}

impl<W: Fn() -> Limits> Scan<'_, W> {
    /// Searches `window`, which ends at the end of a line.
    fn lines(&mut self, window: &[u8]) {
        let mut at = 0;
        if self.line_matched {
            at = self.next_line(window, 0);
            self.line_matched = false;
        }
        while let Some(found) = self.matcher.find(&window[at..]) {
            let found = found.start() + at..found.end() + at;
            self.line += memchr_iter(b'\n', &window[at..found.start]).count() as u64;
            let start = memrchr(b'\n', &window[..found.start]).map_or(0, |end| end + 1);
            let end = memchr(b'\n', &window[found.end..]).map_or(window.len(), |end| end + found.end);
            let line = &window[start..end];
            self.report(line.strip_suffix(b"\r").unwrap_or(line), found.start - start..found.end - start);
            at = self.next_line(window, end);
        }
        self.line += memchr_iter(b'\n', &window[at..]).count() as u64;
    }

    /// Searches `window`, a part of one line without its end.
    fn part_of_line(&mut self, window: &[u8]) {
        if self.line_matched {
            return;
        }
        // A match too close to the end for its snippet is found again in the next window.
        if let Some(found) = self.matcher.find(window)
            && found.end() + SNIPPET_BYTES <= window.len()
        {
            self.report(window, found.range());
            self.line_matched = true;
        }
    }

    /// Returns the start of the line after the one around `at`.
    fn next_line(&mut self, window: &[u8], at: usize) -> usize {
        match memchr(b'\n', &window[at..]) {
            Some(end) => {
                self.line += 1;
                at + end + 1
            }
            None => window.len(),
        }
    }

    fn report(&mut self, line: &[u8], found: Range<usize>) {
        self.found.total += 1;
        let limits = self.limits.get_or_insert_with(&self.wanted);
        if self.found.lines.len() < limits.lines.min(limits.of_file) && limits.bytes > 0 {
            let snippet = snippet(line, found);
            // The line that exceeds the limit is the last; the caller sees that the limit is reached.
            limits.bytes = limits.bytes.saturating_sub(snippet.len());
            self.found.lines.push((self.line, snippet));
        }
    }
}

/// Returns `line` around the match `found`: all of it, or [`SNIPPET_CHARS`] characters with the match in the middle.
fn snippet(line: &[u8], found: Range<usize>) -> String {
    if line.len() <= SNIPPET_BYTES {
        let text = String::from_utf8_lossy(line);
        if text.len() <= SNIPPET_CHARS || text.chars().count() <= SNIPPET_CHARS {
            return text.into_owned();
        }
    }
    // One more on each side than can be shown reveals a cut.
    let before: Vec<char> = line[..found.start].chars().rev().take(SNIPPET_CHARS + 1).collect();
    let middle: Vec<char> = line[found.clone()].chars().take(SNIPPET_CHARS).collect();
    let after: Vec<char> = line[found.end..].chars().take(SNIPPET_CHARS + 1).collect();
    let matched = line[found].chars().count();
    let around = SNIPPET_CHARS.saturating_sub(matched);
    let right = after.len().min(around - (around / 2).min(before.len()));
    let left = before.len().min(around - right);
    let mut text = String::new();
    if left < before.len() {
        text.push('…');
    }
    text.extend(before[..left].iter().rev());
    text.extend(middle);
    text.extend(&after[..right]);
    if right < after.len() || matched > SNIPPET_CHARS {
        text.push('…');
    }
    text
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
