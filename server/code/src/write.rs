//! Changing the index: transactions over segments and files.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tabellion_syntax::source_language;

use crate::{
    CodeError,
    facts::TEXT,
    segment::{Builder, IndexedFile, Segment, Source},
};

/// Bytes of texts below which a segment is small.
const SMALL: i64 = 1 << 20;
/// Maximum number of small segments of a collection. A search looks a word up in every segment that may have it.
const MAX_SMALL: usize = 8;
/// Bytes of texts that one merged segment has, at most.
const MERGED: i64 = 8 << 20;

/// Identity of a file in a collection: branch and path.
pub(crate) type Name = (String, String);

/// Begins a transaction that writes.
pub(crate) fn begin(connection: &Connection) -> Result<Transaction<'_>, CodeError> {
    Ok(Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?)
}

/// Marks the collection as changed; readers then read it anew.
pub(crate) fn touch(connection: &Connection, collection: i64) -> Result<(), CodeError> {
    let sql = "UPDATE collection SET generation = generation + 1 WHERE number = ?";
    connection.prepare_cached(sql)?.execute([collection])?;
    Ok(())
}

/// Returns the files of a collection, with the hash of each.
pub(crate) fn files(connection: &Connection, collection: i64) -> Result<HashMap<Name, Vec<u8>>, CodeError> {
    let mut select = connection.prepare_cached("SELECT branch, path, blob FROM file WHERE collection = ?")?;
    let rows = select.query_map([collection], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Bits of a bucket's number within its segment, whose buckets follow one another.
const BUCKET_BITS: u32 = 24;

/// Returns the number of a segment's bucket.
pub(crate) fn bucket_number(segment: i64, bucket: usize) -> i64 {
    (segment << BUCKET_BITS) + bucket as i64
}

/// Removes a segment that is no longer used by any file.
fn remove_segment(connection: &Connection, segment: i64) -> Result<(), CodeError> {
    let buckets = [bucket_number(segment, 0), bucket_number(segment + 1, 0)];
    connection.execute("DELETE FROM bucket WHERE number >= ? AND number < ?", buckets)?;
    connection.execute("DELETE FROM segment WHERE number = ?", [segment])?;
    Ok(())
}

/// Adds the files of a segment, in place of those with their names.
pub(crate) fn add(connection: &Connection, collection: i64, segment: Segment) -> Result<(), CodeError> {
    let sql = "INSERT INTO segment (collection, chunks, words, buckets) VALUES (?, ?, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![
        collection,
        segment.chunks,
        segment.words.as_bytes(),
        segment.buckets.len() as i64
    ])?;
    let number = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached("INSERT INTO bucket (number, words) VALUES (?, ?)")?;
    for (bucket, words) in segment.buckets.iter().enumerate() {
        insert.execute(params![bucket_number(number, bucket), words])?;
    }
    for file in segment.files {
        remove(connection, collection, &file.source.branch, &file.source.path)?;
        add_file(connection, collection, number, &file)?;
    }
    Ok(())
}

fn add_file(
    connection: &Connection,
    collection: i64,
    segment: i64,
    file: &IndexedFile,
) -> Result<(), CodeError> {
    let source = &file.source;
    let lengths: Vec<u8> = file.lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
    let texts: Vec<u8> = file.texts.iter().flat_map(|text| text.to_bytes()).collect();
    let language = source_language(&source.path, &source.text).unwrap_or(TEXT);
    let sql =
        "INSERT INTO file (collection, branch, path, language, segment, first, lengths, texts, blob, bytes)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![
        collection,
        source.branch,
        source.path,
        language,
        segment,
        file.first,
        lengths,
        texts,
        source.blob.as_slice(),
        source.text.len() as i64,
    ])?;
    let number = connection.last_insert_rowid();
    let chunks = serde_json::to_string(&file.chunks).expect("numbers and texts");
    connection
        .prepare_cached("INSERT INTO content (file, chunks, text) VALUES (?, ?, ?)")?
        .execute(params![number, chunks, source.text])?;
    Ok(())
}

/// Removes a file, if it exists. Its postings are removed with its segment.
pub(crate) fn remove(
    connection: &Connection,
    collection: i64,
    branch: &str,
    path: &str,
) -> Result<(), CodeError> {
    let sql = "DELETE FROM file WHERE collection = ? AND branch = ? AND path = ? RETURNING number";
    let number: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![collection, branch, path], |row| row.get(0))
        .optional()?;
    if let Some(number) = number {
        connection.prepare_cached("DELETE FROM content WHERE file = ?")?.execute([number])?;
    }
    Ok(())
}

/// Removes the whole collection; returns its numbers of files and chunks.
pub(crate) fn clear(connection: &Connection, collection: i64) -> Result<(i64, i64), CodeError> {
    let counts = counts(connection, collection)?;
    for segment in segments(connection, collection)? {
        remove_segment(connection, segment.number)?;
    }
    for sql in [
        "DELETE FROM content WHERE file IN (SELECT number FROM file WHERE collection = ?)",
        "DELETE FROM file WHERE collection = ?",
        "DELETE FROM failure WHERE collection = ?",
        "DELETE FROM collection WHERE number = ?",
    ] {
        connection.execute(sql, [collection])?;
    }
    Ok(counts)
}

/// Returns the number of files and of chunks.
pub(crate) fn counts(connection: &Connection, collection: i64) -> Result<(i64, i64), CodeError> {
    let sql = "SELECT count(*), ifnull(sum(length(lengths)), 0) / 4 FROM file WHERE collection = ?";
    Ok(connection.prepare_cached(sql)?.query_row([collection], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// A segment as it is now.
struct Live {
    number: i64,
    chunks: i64,
    live_chunks: i64,
    bytes: i64,
}

/// Removes unused segments, or merges small ones. Returns true if there were any; there may be more then.
pub(crate) fn tidy(connection: &Connection, collection: i64) -> Result<bool, CodeError> {
    let chosen = choose(&segments(connection, collection)?);
    if chosen.is_empty() {
        return Ok(false);
    }
    let mut builder = Builder::default();
    for number in &chosen {
        for source in sources(connection, *number)? {
            builder.add(source);
        }
    }
    if !builder.is_empty() {
        add(connection, collection, builder.build())?;
    }
    for number in chosen {
        remove_segment(connection, number)?;
    }
    touch(connection, collection)?;
    Ok(true)
}

/// Returns segments to merge into one: those with less than half of their chunks alive, and small ones if there are many.
fn choose(segments: &[Live]) -> Vec<i64> {
    let worn = |segment: &&Live| segment.live_chunks * 2 < segment.chunks;
    let small: Vec<&Live> =
        segments.iter().filter(|segment| segment.bytes < SMALL && !worn(segment)).collect();
    let small = if small.len() > MAX_SMALL { small } else { vec![] };
    let mut bytes = 0;
    segments
        .iter()
        .filter(worn)
        .chain(small)
        .take_while(|segment| {
            bytes += segment.bytes;
            bytes <= MERGED || bytes == segment.bytes
        })
        .map(|segment| segment.number)
        .collect()
}

fn segments(connection: &Connection, collection: i64) -> Result<Vec<Live>, CodeError> {
    let sql = "SELECT segment.number, segment.chunks, ifnull(sum(length(file.lengths)), 0) / 4, ifnull(sum(file.bytes), 0)
               FROM segment LEFT JOIN file ON file.segment = segment.number WHERE segment.collection = ?
               GROUP BY segment.number ORDER BY 4";
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map([collection], |row| {
        Ok(Live { number: row.get(0)?, chunks: row.get(1)?, live_chunks: row.get(2)?, bytes: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the files of a segment in their original form.
fn sources(connection: &Connection, segment: i64) -> Result<Vec<Source>, CodeError> {
    let sql = "SELECT path, branch, blob, text FROM file JOIN content ON content.file = file.number WHERE segment = ? ORDER BY first";
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map([segment], |row| {
        Ok(Source { path: row.get(0)?, branch: row.get(1)?, blob: row.get(2)?, text: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
