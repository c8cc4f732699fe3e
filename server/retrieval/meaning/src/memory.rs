//! Vectors in memory, by text, and their bytes.

use std::{collections::HashMap, ops::Range};

use rusqlite::Connection;
use tabellion_embed::{DIMENSIONS, Query, cosine};
use tabellion_retrieval::{Nearness, TextKey};

use crate::MeaningError;

/// Number of vectors that are kept, 100 MB. Of later ones, only the keys are known; they take no part in searches.
const MAX_VECTORS: usize = 1 << 18;
/// Number of vectors that are allocated at a time: 384 KB.
const BLOCK: usize = 1 << 10;

type Bytes = [u8; DIMENSIONS];

/// Contents of a file.
#[derive(Default)]
pub(crate) struct Memory {
    /// Grows when vectors are removed.
    generation: i64,
    /// Number of the last vector that was read.
    last: i64,
    /// By text: the places of its vectors.
    places: HashMap<TextKey, Range<usize>>,
    /// Number of vectors.
    count: usize,
    blocks: Vec<Vec<Bytes>>,
}

impl Memory {
    /// Returns the generation of the file that was read; 0 if none was.
    pub(crate) fn generation(&self) -> i64 {
        self.generation
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if a text has a vector.
    pub(crate) fn has(&self, text: &TextKey) -> bool {
        self.places.contains_key(text)
    }

    /// Returns true if the file has no vectors that are unknown here.
    pub(crate) fn is_current(&self, connection: &Connection) -> Result<bool, MeaningError> {
        let sql = "SELECT generation, ifnull((SELECT max(number) FROM vector), 0) FROM state";
        let (generation, last): (i64, i64) =
            connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((generation, last) == (self.generation, self.last))
    }

    /// Reads the added vectors, or all vectors anew if any was removed.
    pub(crate) fn refresh(&mut self, connection: &Connection) -> Result<(), MeaningError> {
        let generation =
            connection.prepare_cached("SELECT generation FROM state")?.query_row([], |row| row.get(0))?;
        if generation != self.generation {
            *self = Self { generation, ..Self::default() };
        }
        let sql = "SELECT number, key, bytes FROM vector WHERE number > ? ORDER BY number";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([self.last])?;
        while let Some(row) = rows.next()? {
            let place = self.count;
            self.count += 1;
            let key = TextKey::from_bytes(row.get(1)?);
            let places = self.places.entry(key).or_insert(place..place);
            if places.end == place {
                places.end += 1;
            }
            if place < MAX_VECTORS {
                if place.is_multiple_of(BLOCK) {
                    self.blocks.push(Vec::with_capacity(BLOCK));
                }
                let block = self.blocks.last_mut().expect("one was pushed for the first place");
                block.push(row.get(2)?);
            }
            self.last = row.get(0)?;
        }
        Ok(())
    }

    /// Returns the vectors of a text.
    fn bytes(&self, text: &TextKey) -> impl Iterator<Item = &Bytes> {
        let places = self.places.get(text).cloned().unwrap_or_default();
        places.filter_map(|place| self.blocks.get(place / BLOCK)?.get(place % BLOCK))
    }
}

/// A query among the vectors.
pub(crate) struct QueryNearness<'m> {
    pub(crate) query: Query,
    pub(crate) memory: &'m Memory,
}

impl Nearness for QueryNearness<'_> {
    fn cosine(&self, text: &TextKey) -> Option<f32> {
        let parts = self.memory.bytes(text).map(|bytes| self.query.dot(bytes));
        parts.max().map(cosine)
    }
}
