//! The data of every document that ranking needs, in memory: 40 bytes each; only changed rows are read again.
//!
//! In the file, the records of consecutive documents are a row of the table `record`, with the generation that last changed it.

use rusqlite::{Connection, params};

use crate::{IndexError, TextKey, postings::damaged};

/// Number of records in a row; together they fit a page.
const RECORDS_PER_BLOCK: u32 = 110;
const RECORD_BYTES: usize = 36;
/// Key of a document that has no meaning to compare.
const NO_TEXT: TextKey = TextKey::from_bytes([0; TextKey::BYTES]);
/// Length of a record without a document.
const NO_DOCUMENT: u32 = u32::MAX;
/// Time of a document without a time.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// The data of a document that ranking needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) time: i64,
    /// Number of the group, from 1; 0 is none.
    pub(crate) group: u32,
    /// Place in the group, from 0.
    pub(crate) position: u32,
    /// Length in words.
    pub(crate) length: u32,
    /// Key of the text that is compared with the meaning of a query.
    pub(crate) text: TextKey,
}

impl Record {
    /// The first of a group.
    pub(crate) const FIRST: Self = Self { length: 0, ..Self::NONE };

    pub(crate) const NONE: Self =
        Self { time: NO_TIME, group: 0, position: 0, length: NO_DOCUMENT, text: NO_TEXT };

    /// Returns the record with the key of a text.
    pub(crate) fn with_text(self, text: Option<TextKey>) -> Self {
        let text = text.unwrap_or(NO_TEXT);
        Self { text, ..self }
    }

    /// Returns the key of the text that is compared with the meaning of a query.
    pub(crate) fn text(&self) -> Option<&TextKey> {
        (self.text != NO_TEXT).then_some(&self.text)
    }

    pub(crate) fn is_document(&self) -> bool {
        self.length != NO_DOCUMENT
    }

    fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.group.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.position.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..].copy_from_slice(&self.text.to_bytes());
        bytes
    }

    fn decode(bytes: &[u8; RECORD_BYTES]) -> Self {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self {
            time: i64::from(number(0)) | i64::from(number(4)) << 32,
            group: number(8),
            position: number(12),
            length: number(16),
            text: TextKey::from_bytes(*bytes.last_chunk().expect("a record is longer")),
        }
    }
}

/// The records of one row.
pub(crate) struct Block {
    records: Vec<Record>,
}

impl Block {
    /// Returns the row of a document, and its place there.
    pub(crate) fn locate(document: u32) -> (u32, usize) {
        (document / RECORDS_PER_BLOCK, (document % RECORDS_PER_BLOCK) as usize)
    }

    pub(crate) fn read(connection: &Connection, block: u32) -> Result<Self, IndexError> {
        let mut select = connection.prepare_cached("SELECT entries FROM record WHERE block = ?")?;
        let mut rows = select.query([block])?;
        match rows.next()? {
            Some(row) => Self::decode(row.get_ref(0)?.as_blob().map_err(|_| damaged())?),
            None => Ok(Self { records: vec![Record::NONE; RECORDS_PER_BLOCK as usize] }),
        }
    }

    fn decode(bytes: &[u8]) -> Result<Self, IndexError> {
        let (records, rest) = bytes.as_chunks();
        if !rest.is_empty() || records.len() != RECORDS_PER_BLOCK as usize {
            return Err(damaged());
        }
        Ok(Self { records: records.iter().map(Record::decode).collect() })
    }

    pub(crate) fn write(
        &self,
        connection: &Connection,
        block: u32,
        generation: i64,
    ) -> Result<(), IndexError> {
        let bytes: Vec<u8> = self.records.iter().flat_map(Record::encode).collect();
        let sql = "INSERT OR REPLACE INTO record (block, generation, entries) VALUES (?, ?, ?)";
        let mut insert = connection.prepare_cached(sql)?;
        insert.execute(params![block, generation, bytes])?;
        Ok(())
    }

    pub(crate) fn get(&self, place: usize) -> Record {
        self.records[place]
    }

    pub(crate) fn set(&mut self, place: usize, record: Record) {
        self.records[place] = record;
    }
}

/// The records of all documents in one generation of the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    /// Increases with each change of the index.
    pub(crate) generation: i64,
    /// By the document's number.
    pub(crate) records: Vec<Record>,
    /// Number of groups, which are numbered from 1, and 1.
    pub(crate) groups: usize,
    /// For each group, the slot of its first document, if all grouped documents follow one another with [`Columns::GAP`]
    /// between groups.
    pub(crate) starts: Vec<u32>,
    /// Number of slots.
    pub(crate) slots: usize,
}

impl Columns {
    /// Number of free slots around each group, so that neighbours never reach into the next.
    pub(crate) const GAP: usize = 2;

    /// Reads the rows that changed after `self`, up to `generation`.
    pub(crate) fn refresh(&mut self, connection: &Connection, generation: i64) -> Result<(), IndexError> {
        if self.generation == generation {
            return Ok(());
        }
        let sql = "SELECT block, entries FROM record WHERE generation > ? ORDER BY block";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([self.generation])?;
        while let Some(row) = rows.next()? {
            let block: u32 = row.get(0)?;
            let entries = Block::decode(row.get_ref(1)?.as_blob().map_err(|_| damaged())?)?;
            let start = block.checked_mul(RECORDS_PER_BLOCK).ok_or_else(damaged)? as usize;
            let end = start + entries.records.len();
            if self.records.len() < end {
                self.records.resize(end, Record::NONE);
            }
            self.records[start..end].copy_from_slice(&entries.records);
        }
        self.generation = generation;
        self.place_groups()
    }

    fn place_groups(&mut self) -> Result<(), IndexError> {
        let grouped = || self.records.iter().filter(|record| record.is_document() && record.group > 0);
        let last = grouped().map(|record| record.group as usize).max().unwrap_or(0);
        // Numbers of groups are reused, so there are never more groups than documents.
        if last > self.records.len() {
            return Err(damaged());
        }
        let mut sizes = vec![0_u32; last + 1];
        for record in grouped() {
            let size = &mut sizes[record.group as usize];
            *size = (*size).max(record.position.checked_add(1).ok_or_else(damaged)?);
        }
        let mut next = Self::GAP;
        self.starts.clear();
        for size in sizes {
            self.starts.push(u32::try_from(next).map_err(|_| damaged())?);
            next += size as usize + Self::GAP;
        }
        // Places in a group are consecutive.
        if next > self.records.len() + (last + 2) * Self::GAP {
            return Err(damaged());
        }
        self.groups = last + 1;
        self.slots = next;
        Ok(())
    }

    /// Returns the slot of a document that has a group.
    pub(crate) fn slot(&self, record: &Record) -> Option<usize> {
        (record.group > 0).then(|| (self.starts[record.group as usize] + record.position) as usize)
    }
}
