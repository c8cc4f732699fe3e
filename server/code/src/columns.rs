//! What ranking needs of each chunk and file of a collection, in memory: some 30 bytes a chunk and 150 a file.

use rusqlite::Connection;
use tabellion_retrieval::TextKey;

use crate::{CodeError, corpus, ranking};

/// The chunk of no file: of one that was removed or changed.
pub(crate) const DEAD: u32 = u32::MAX;

/// A file.
pub(crate) struct FileColumns {
    pub(crate) number: i64,
    pub(crate) path: Box<str>,
    pub(crate) branch: Box<str>,
    /// Number of its first chunk, and how many it has.
    pub(crate) first: u32,
    pub(crate) chunks: u32,
    /// Identifiers in it.
    pub(crate) length: u32,
    /// What kind of file it is.
    pub(crate) place: ranking::Place,
}

/// A segment, and the number of its first chunk among those of all segments.
pub(crate) struct SegmentColumns {
    pub(crate) number: i64,
    pub(crate) first: u32,
}

/// A collection, as of one generation.
pub(crate) struct Columns {
    pub(crate) collection: i64,
    pub(crate) generation: i64,
    pub(crate) segments: Vec<SegmentColumns>,
    pub(crate) files: Vec<FileColumns>,
    /// By chunk: its file, or [`DEAD`].
    pub(crate) file_of: Vec<u32>,
    /// By chunk: identifiers in it.
    pub(crate) lengths: Vec<u32>,
    /// By chunk: the key of the text that is embedded for it.
    pub(crate) texts: Vec<TextKey>,
}

impl Columns {
    /// Reads a collection.
    pub(crate) fn read(connection: &Connection, collection: i64, generation: i64) -> Result<Self, CodeError> {
        let mut columns = Self {
            collection,
            generation,
            segments: vec![],
            files: vec![],
            file_of: vec![],
            lengths: vec![],
            texts: vec![],
        };
        let sql = "SELECT number, chunks FROM segment WHERE collection = ? ORDER BY number";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([collection])?;
        while let Some(row) = rows.next()? {
            columns.segments.push(SegmentColumns {
                number: row.get(0)?,
                first: columns.file_of.len() as u32,
            });
            let chunks: u32 = row.get(1)?;
            let end = columns.file_of.len() + chunks as usize;
            columns.file_of.resize(end, DEAD);
        }
        columns.lengths = vec![0; columns.file_of.len()];
        columns.texts = vec![TextKey::from_bytes([0; TextKey::BYTES]); columns.file_of.len()];
        let sql =
            "SELECT number, branch, path, segment, first, lengths, texts FROM file WHERE collection = ?";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([collection])?;
        while let Some(row) = rows.next()? {
            let segment: i64 = row.get(3)?;
            let Ok(at) = columns
                .segments
                .binary_search_by_key(&segment, |segment| segment.number)
            else {
                continue;
            };
            let first = columns.segments[at].first + row.get::<_, u32>(4)?;
            let lengths = row.get_ref(5)?.as_blob().unwrap_or_default();
            let texts = corpus::keys(row.get_ref(6)?.as_blob().unwrap_or_default());
            for (known, text) in columns.texts[first as usize..].iter_mut().zip(texts) {
                *known = text;
            }
            let mut length = 0_u32;
            let mut chunks = 0;
            for (chunk, bytes) in (first as usize..columns.file_of.len()).zip(lengths.chunks_exact(4)) {
                let of_chunk = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
                columns.file_of[chunk] = columns.files.len() as u32;
                columns.lengths[chunk] = of_chunk;
                length = length.saturating_add(of_chunk);
                chunks += 1;
            }
            let path: String = row.get(2)?;
            columns.files.push(FileColumns {
                number: row.get(0)?,
                branch: row.get::<_, String>(1)?.into(),
                first,
                chunks,
                length,
                place: ranking::Place::of(&path),
                path: path.into(),
            });
        }
        Ok(columns)
    }
}
