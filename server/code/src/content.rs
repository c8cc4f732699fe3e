//! The texts of files as they were indexed, and the places of chunks and symbols in them.

use std::{borrow::Cow, ops::Range};

use rusqlite::Connection;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use crate::{
    CodeError,
    facts::{ChunkFacts, Lines},
};

/// Returns a file's text, and the facts about its chunks.
pub(crate) fn content(connection: &Connection, file: i64) -> Result<(String, Vec<ChunkFacts>), CodeError> {
    let sql = "SELECT text, chunks FROM content WHERE file = ?";
    let (text, chunks): (String, String) =
        connection.prepare_cached(sql)?.query_row([file], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((text, read_facts(&chunks)?))
}

/// Returns the facts about a file's chunks.
pub(crate) fn facts(connection: &Connection, file: i64) -> Result<Vec<ChunkFacts>, CodeError> {
    let sql = "SELECT chunks FROM content WHERE file = ?";
    let chunks: String = connection.prepare_cached(sql)?.query_row([file], |row| row.get(0))?;
    read_facts(&chunks)
}

fn read_facts(chunks: &str) -> Result<Vec<ChunkFacts>, CodeError> {
    let read = serde_json::from_str(chunks);
    Ok(read.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?)
}

/// Returns a text in Unicode's composed form (NFC), in which texts are compared: a query is typed composed, a file may be decomposed.
pub(crate) fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfc().collect()),
    }
}

/// Returns lines of a chunk, numbered as in its file.
pub(crate) fn lines_of<'t>(facts: &ChunkFacts, text: &'t str, lines: Lines) -> &'t str {
    let start = |line: u32| {
        let before = line.saturating_sub(facts.start_line) as usize;
        match before.checked_sub(1) {
            Some(last) => text.match_indices('\n').nth(last).map_or(text.len(), |(at, _)| at + 1),
            None => 0,
        }
    };
    text.get(start(lines.0)..start(lines.1 + 1)).unwrap_or_default()
}

/// Returns the bytes of a chunk in its file's text.
pub(crate) fn bytes_of(chunks: &[ChunkFacts], at: usize) -> Range<usize> {
    let before: usize = chunks[..at.min(chunks.len())].iter().map(|chunk| chunk.bytes as usize).sum();
    before..before + chunks.get(at).map_or(0, |chunk| chunk.bytes as usize)
}
