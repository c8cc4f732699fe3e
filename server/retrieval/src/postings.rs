//! Posting lists: for each term, the documents that contain it, with its occurrences.
//!
//! A list is cut into blocks of at most [`MAX_BLOCK_BYTES`], each a row of the table `posting` under its term and its first
//! document's number. A change rewrites only the blocks that it affects. The meaning of a term is left to `terms`.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{
    IndexError,
    engine::{entries, push_entry},
};

/// Documents and the occurrences of the term in each, in the order of documents.
pub(crate) type Postings = Vec<(u32, u32)>;

/// Bytes of a block. A row of the table stays within a page: SQLite moves the excess over 1,002 bytes to separate pages.
const MAX_BLOCK_BYTES: usize = 900;
/// Bytes that a block is filled to when it is made anew, so that later changes fit.
const FILLED_BLOCK_BYTES: usize = 700;

/// Makes the changes to the list of `term`: `(document, count)` in the order of documents; a count of 0 removes the document.
pub(crate) fn edit(connection: &Connection, term: &[u8], mut edits: &[(u32, u32)]) -> Result<(), IndexError> {
    while let Some(&(document, _)) = edits.first() {
        let block = block_of(connection, term, document)?;
        let (first, old, next) = match &block {
            Some((first, entries)) => {
                (Some(*first), decode(entries, *first)?, next_block(connection, term, *first)?)
            }
            None => (None, vec![], None),
        };
        let end = next.map_or(edits.len(), |next| edits.partition_point(|(document, _)| *document < next));
        let (now, later) = edits.split_at(end);
        let new = merge(&old, now);
        let blocks = encode(&new, next.is_none());
        if let Some(first) = first.filter(|first| blocks.first().is_none_or(|(new, _)| new != first)) {
            let sql = "DELETE FROM posting WHERE term = ? AND first = ?";
            connection.prepare_cached(sql)?.execute(params![term, first])?;
        }
        let sql = "INSERT OR REPLACE INTO posting (term, first, entries) VALUES (?, ?, ?)";
        let mut insert = connection.prepare_cached(sql)?;
        for (first, entries) in blocks {
            insert.execute(params![term, first, entries])?;
        }
        edits = later;
    }
    Ok(())
}

/// Returns the block that `document` belongs to: the last that begins before it, or else the first.
fn block_of(
    connection: &Connection,
    term: &[u8],
    document: u32,
) -> Result<Option<(u32, Vec<u8>)>, IndexError> {
    for sql in [
        "SELECT first, entries FROM posting WHERE term = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
        "SELECT first, entries FROM posting WHERE term = ?1 AND first > ?2 ORDER BY first LIMIT 1",
    ] {
        let row = connection
            .prepare_cached(sql)?
            .query_row(params![term, document], |row| Ok((row.get(0)?, row.get(1)?)));
        if let Some(block) = row.optional()? {
            return Ok(Some(block));
        }
    }
    Ok(None)
}

fn next_block(connection: &Connection, term: &[u8], first: u32) -> Result<Option<u32>, IndexError> {
    let sql = "SELECT first FROM posting WHERE term = ? AND first > ? ORDER BY first LIMIT 1";
    let row = connection.prepare_cached(sql)?.query_row(params![term, first], |row| row.get(0));
    Ok(row.optional()?)
}

/// Returns the list of `term`.
pub(crate) fn read(connection: &Connection, term: &[u8]) -> Result<Postings, IndexError> {
    let mut select =
        connection.prepare_cached("SELECT first, entries FROM posting WHERE term = ? ORDER BY first")?;
    let mut rows = select.query([term])?;
    let mut postings = vec![];
    while let Some(row) = rows.next()? {
        let (first, block) = (row.get(0)?, row.get_ref(1)?);
        let block = block.as_blob().map_err(|_| damaged())?;
        if postings.last().is_some_and(|(last, _)| *last >= first) {
            return Err(damaged());
        }
        for entry in entries(block, first) {
            postings.push(entry.ok_or_else(damaged)?);
        }
    }
    Ok(postings)
}

fn merge(old: &[(u32, u32)], edits: &[(u32, u32)]) -> Postings {
    let mut merged = Vec::with_capacity(old.len() + edits.len());
    let mut old = old.iter().peekable();
    for edit in edits {
        while let Some(entry) = old.next_if(|entry| entry.0 < edit.0) {
            merged.push(*entry);
        }
        old.next_if(|entry| entry.0 == edit.0);
        if edit.1 > 0 {
            merged.push(*edit);
        }
    }
    merged.extend(old);
    merged
}

/// Returns the list as blocks with their first documents. The last list of a term is filled up, because new documents follow it.
fn encode(postings: &[(u32, u32)], is_last: bool) -> Vec<(u32, Vec<u8>)> {
    let mut blocks: Vec<(u32, Vec<u8>)> = vec![];
    let mut previous = 0;
    let whole: usize = postings.len() * 2;
    let limit = if is_last || whole <= MAX_BLOCK_BYTES { MAX_BLOCK_BYTES } else { FILLED_BLOCK_BYTES };
    for &(document, count) in postings {
        match blocks.last_mut().filter(|(_, entries)| entries.len() < limit) {
            Some((_, entries)) => push_entry(entries, document - previous, count),
            None => {
                let mut entries = vec![];
                push_entry(&mut entries, 0, count);
                blocks.push((document, entries));
            }
        }
        previous = document;
    }
    blocks
}

fn decode(block: &[u8], first: u32) -> Result<Postings, IndexError> {
    entries(block, first).map(|entry| entry.ok_or_else(damaged)).collect()
}

pub(crate) fn damaged() -> IndexError {
    IndexError::damaged("a block of it can't be read")
}
