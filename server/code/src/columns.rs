//! The data of each chunk and file that ranking needs, in memory: some 30 bytes a chunk and 180 a file.

use std::ops::Range;

use rusqlite::Connection;
use tabellion_retrieval::TextKey;

use crate::{CodeError, filter::WordFilter, ranking};

/// File number of a chunk whose file was removed or changed.
pub(crate) const DEAD: u32 = u32::MAX;

/// A file.
pub(crate) struct FileColumns {
    pub(crate) number: i64,
    pub(crate) path: Box<str>,
    pub(crate) branch: Box<str>,
    /// Name of its language, or `text`.
    pub(crate) language: Box<str>,
    /// Number of its first chunk, and number of its chunks.
    pub(crate) first: u32,
    pub(crate) chunks: u32,
    /// Identifiers in it.
    pub(crate) length: u32,
    /// The kind of file, by its path.
    pub(crate) place: ranking::FileKind,
}

impl FileColumns {
    /// Returns the numbers of its chunks.
    pub(crate) fn chunks(&self) -> Range<usize> {
        self.first as usize..(self.first + self.chunks) as usize
    }
}

/// A segment, and the number of its first chunk among those of all segments.
pub(crate) struct SegmentColumns {
    pub(crate) number: i64,
    pub(crate) first: u32,
    pub(crate) words: WordFilter,
    pub(crate) buckets: usize,
}

/// Numbers of files and chunks, and their length.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) files: usize,
    pub(crate) chunks: usize,
    /// Identifiers in them.
    pub(crate) length: u64,
}

impl Sizes {
    /// Returns the sizes of a file with chunks of these lengths; all 0 if it has no chunks.
    pub(crate) fn of_file(lengths: impl Iterator<Item = u32>) -> Self {
        lengths.fold(Self::default(), |sizes, length| Self {
            files: 1,
            chunks: sizes.chunks + 1,
            length: sizes.length + u64::from(length),
        })
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            chunks: self.chunks + other.chunks,
            length: self.length + other.length,
        }
    }
}

/// A collection, as of one generation.
pub(crate) struct Columns {
    pub(crate) collection: i64,
    pub(crate) generation: i64,
    pub(crate) sizes: Sizes,
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
            sizes: Sizes::default(),
            segments: vec![],
            files: vec![],
            file_of: vec![],
            lengths: vec![],
            texts: vec![],
        };
        let sql = "SELECT number, chunks, words, buckets FROM segment WHERE collection = ? ORDER BY number";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([collection])?;
        while let Some(row) = rows.next()? {
            columns.segments.push(SegmentColumns {
                number: row.get(0)?,
                first: columns.file_of.len() as u32,
                words: WordFilter::from_bytes(row.get_ref(2)?.as_blob().unwrap_or_default()),
                buckets: row.get::<_, u32>(3)? as usize,
            });
            let chunks: u32 = row.get(1)?;
            let end = columns.file_of.len() + chunks as usize;
            columns.file_of.resize(end, DEAD);
        }
        columns.lengths = vec![0; columns.file_of.len()];
        columns.texts = vec![TextKey::from_bytes([0; TextKey::BYTES]); columns.file_of.len()];
        let sql = "SELECT number, branch, path, segment, first, lengths, texts, language FROM file WHERE collection = ?";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([collection])?;
        while let Some(row) = rows.next()? {
            let segment: i64 = row.get(3)?;
            let Ok(at) = columns.segments.binary_search_by_key(&segment, |segment| segment.number) else {
                continue;
            };
            let first = columns.segments[at].first.saturating_add(row.get(4)?);
            let (lengths, _) = row.get_ref(5)?.as_blob().unwrap_or_default().as_chunks();
            let chunks = first as usize..first as usize + lengths.len();
            // The chunks of a file are all in its segment, unless the row is damaged.
            if chunks.end > columns.file_of.len() {
                continue;
            }
            let texts = keys(row.get_ref(6)?.as_blob().unwrap_or_default());
            for (chunk, text) in chunks.clone().zip(texts) {
                columns.texts[chunk] = text;
            }
            for (chunk, length) in chunks.clone().zip(lengths) {
                columns.file_of[chunk] = columns.files.len() as u32;
                columns.lengths[chunk] = u32::from_le_bytes(*length);
            }
            let sizes = Sizes::of_file(columns.lengths[chunks].iter().copied());
            columns.sizes = columns.sizes.plus(sizes);
            let path: String = row.get(2)?;
            columns.files.push(FileColumns {
                number: row.get(0)?,
                branch: row.get::<_, String>(1)?.into(),
                language: row.get::<_, String>(7)?.into(),
                first,
                chunks: sizes.chunks as u32,
                length: u32::try_from(sizes.length).unwrap_or(u32::MAX),
                place: ranking::FileKind::from_path(&path),
                path: path.into(),
            });
        }
        Ok(columns)
    }
}

/// Returns the keys of a file's chunks.
pub(crate) fn keys(bytes: &[u8]) -> impl Iterator<Item = TextKey> + '_ {
    let (keys, _) = bytes.as_chunks();
    keys.iter().map(|key| TextKey::from_bytes(*key))
}
