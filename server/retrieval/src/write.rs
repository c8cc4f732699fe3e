//! A batch of changes within one transaction.
//!
//! Rows of documents and groups are written at once; posting lists and records are collected, and written by [`Batch::flush`].

use std::collections::{BTreeMap, HashMap, btree_map::Entry};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{
    Change, Document, IndexError,
    columns::{Block, NO_TIME, Record},
    engine::{pull_bytes, pull_number, push_bytes, push_number},
    file::{self, State},
    postings::{self, damaged},
    terms::{self, Terms},
};

/// Number of collected postings after which they are written.
const MAX_COLLECTED: usize = 400_000;

/// Place of a document in its group.
type MemberKey = (i64, i64, u32);

/// Changes that are being made.
pub(crate) struct Batch<'c> {
    connection: &'c Connection,
    generation: i64,
    /// By term: documents, each with its occurrences; 0 removes. A document's last entry counts.
    edits: HashMap<Vec<u8>, Vec<(u32, u32)>>,
    collected: usize,
    blocks: BTreeMap<u32, Block>,
    /// By group: the first place that changed.
    moved: BTreeMap<u32, MemberKey>,
    is_changed: bool,
}

/// The data that removing a document needs.
struct Kept {
    number: u32,
    terms: Terms,
}

impl<'c> Batch<'c> {
    pub(crate) fn new(connection: &'c Connection, generation: i64) -> Self {
        Self {
            connection,
            generation,
            edits: HashMap::new(),
            collected: 0,
            blocks: BTreeMap::new(),
            moved: BTreeMap::new(),
            is_changed: false,
        }
    }

    /// Returns true if anything was put or removed.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Removes all documents.
    pub(crate) fn clear(&mut self, state: &mut State) -> Result<(), IndexError> {
        file::clear(self.connection, state)
    }

    /// Makes a change.
    pub(crate) fn make(&mut self, change: &Change) -> Result<(), IndexError> {
        match change {
            Change::Put(document) => self.put(document),
            Change::Remove(id) => self.remove(id),
        }
    }

    /// Adds or replaces a document.
    pub(crate) fn put(&mut self, document: &Document) -> Result<(), IndexError> {
        self.is_changed = true;
        let (terms, length) = terms::of_document(document);
        let kept = self.find_document(&document.id)?;
        let number = match &kept {
            Some(kept) => kept.number,
            None => self.free_number()?,
        };
        self.leave_group(number)?;
        let group = match &document.group {
            Some(key) => self.group(key)?,
            None => 0,
        };
        let record = Record {
            time: document.time.unwrap_or(NO_TIME),
            group,
            // The largest length marks a record without a document.
            length: length.min(u32::MAX - 1),
            ..Record::FIRST
        };
        let record = record.with_text(document.text_key());
        self.set_record(number, record)?;
        if group > 0 {
            let sql = "INSERT INTO member (grp, time, seq, number) VALUES (?, ?, ?, ?)";
            let row = params![group, record.time, document.seq, number];
            self.connection.prepare_cached(sql)?.execute(row)?;
            self.moved_from(group, (record.time, document.seq, number));
        }
        let sql = "INSERT INTO document (number, id, seq, terms) VALUES (?, ?, ?, ?)
                   ON CONFLICT (number) DO UPDATE SET id = excluded.id, seq = excluded.seq, terms = excluded.terms";
        let row = params![number, document.id, document.seq, encode(&terms)];
        self.connection.prepare_cached(sql)?.execute(row)?;
        let old = kept.map(|kept| kept.terms).unwrap_or_default();
        for term in old.keys().filter(|term| !terms.contains_key(*term)) {
            self.edit(term, number, 0);
        }
        for (term, count) in &terms {
            if old.get(term) != Some(count) {
                self.edit(term, number, *count);
            }
        }
        self.flush_if_large()
    }

    fn remove(&mut self, id: &str) -> Result<(), IndexError> {
        let Some(kept) = self.find_document(id)? else {
            return Ok(());
        };
        self.is_changed = true;
        self.leave_group(kept.number)?;
        self.set_record(kept.number, Record::NONE)?;
        let sql = "UPDATE document SET id = NULL, terms = x'' WHERE number = ?";
        self.connection.prepare_cached(sql)?.execute([kept.number])?;
        for term in kept.terms.keys() {
            self.edit(term, kept.number, 0);
        }
        self.flush_if_large()
    }

    fn flush_if_large(&mut self) -> Result<(), IndexError> {
        if self.collected > MAX_COLLECTED {
            self.flush()?;
        }
        Ok(())
    }

    fn edit(&mut self, term: &[u8], number: u32, count: u32) {
        let edits = match self.edits.get_mut(term) {
            Some(edits) => edits,
            None => self.edits.entry(term.to_vec()).or_default(),
        };
        edits.push((number, count));
        self.collected += 1;
    }

    fn find_document(&self, id: &str) -> Result<Option<Kept>, IndexError> {
        let sql = "SELECT number, terms FROM document WHERE id = ?";
        let mut select = self.connection.prepare_cached(sql)?;
        let row = select.query_row([id], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)));
        let Some((number, terms)) = row.optional()? else {
            return Ok(None);
        };
        let terms = decode(&terms)?;
        Ok(Some(Kept { number, terms }))
    }

    /// Returns the number of a removed document, or else the next.
    fn free_number(&self) -> Result<u32, IndexError> {
        self.number(
            "SELECT number FROM document WHERE id IS NULL LIMIT 1",
            "SELECT ifnull(max(number) + 1, 0) FROM document",
        )
    }

    fn number(&self, free: &str, next: &str) -> Result<u32, IndexError> {
        let free = self.connection.prepare_cached(free)?.query_row([], |row| row.get(0));
        match free.optional()? {
            Some(number) => Ok(number),
            None => Ok(self.connection.prepare_cached(next)?.query_row([], |row| row.get(0))?),
        }
    }

    /// Returns the number of the group, and makes it if there is none.
    fn group(&self, key: &str) -> Result<u32, IndexError> {
        let sql = "SELECT number FROM grp WHERE key = ?";
        let row = self.connection.prepare_cached(sql)?.query_row([key], |row| row.get(0));
        if let Some(number) = row.optional()? {
            return Ok(number);
        }
        let number = self.number(
            "SELECT number FROM grp WHERE key IS NULL LIMIT 1",
            "SELECT ifnull(max(number), 0) + 1 FROM grp",
        )?;
        let sql = "INSERT OR REPLACE INTO grp (number, key) VALUES (?, ?)";
        self.connection.prepare_cached(sql)?.execute(params![number, key])?;
        Ok(number)
    }

    fn leave_group(&mut self, number: u32) -> Result<(), IndexError> {
        let record = self.record(number)?;
        if !record.is_document() || record.group == 0 {
            return Ok(());
        }
        let sql = "SELECT seq FROM document WHERE number = ?";
        let seq: i64 = self.connection.prepare_cached(sql)?.query_row([number], |row| row.get(0))?;
        let sql = "DELETE FROM member WHERE grp = ? AND time = ? AND seq = ? AND number = ?";
        let row = params![record.group, record.time, seq, number];
        self.connection.prepare_cached(sql)?.execute(row)?;
        self.moved_from(record.group, (record.time, seq, number));
        Ok(())
    }

    fn moved_from(&mut self, group: u32, key: MemberKey) {
        let first = self.moved.entry(group).or_insert(key);
        *first = key.min(*first);
    }

    fn block(&mut self, number: u32) -> Result<(&mut Block, usize), IndexError> {
        let (block, place) = Block::locate(number);
        let block = match self.blocks.entry(block) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Block::read(self.connection, block)?),
        };
        Ok((block, place))
    }

    fn record(&mut self, number: u32) -> Result<Record, IndexError> {
        let (block, place) = self.block(number)?;
        Ok(block.get(place))
    }

    fn set_record(&mut self, number: u32, record: Record) -> Result<(), IndexError> {
        let (block, place) = self.block(number)?;
        block.set(place, record);
        Ok(())
    }

    /// Numbers the documents of a group anew, from the first place that changed.
    fn place_members(&mut self, group: u32, (time, seq, number): MemberKey) -> Result<(), IndexError> {
        let sql = "SELECT number FROM member WHERE grp = ?1 AND (time, seq, number) < (?2, ?3, ?4)
                   ORDER BY time DESC, seq DESC, number DESC LIMIT 1";
        let row = params![group, time, seq, number];
        let before = self.connection.prepare_cached(sql)?.query_row(row, |row| row.get(0));
        let mut position = match before.optional()? {
            Some(before) => self.record(before)?.position.saturating_add(1),
            None => 0,
        };
        let is_first = position == 0;
        let sql = "SELECT number FROM member WHERE grp = ?1 AND (time, seq, number) >= (?2, ?3, ?4)
                   ORDER BY time, seq, number";
        let connection = self.connection;
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query(row)?;
        while let Some(row) = rows.next()? {
            let number = row.get(0)?;
            let record = self.record(number)?;
            if record.position != position {
                self.set_record(number, Record { position, ..record })?;
            }
            position += 1;
        }
        if is_first && position == 0 {
            let sql = "UPDATE grp SET key = NULL WHERE number = ?";
            self.connection.prepare_cached(sql)?.execute([group])?;
        }
        Ok(())
    }

    /// Writes the collected postings and records.
    pub(crate) fn flush(&mut self) -> Result<(), IndexError> {
        for (group, first) in std::mem::take(&mut self.moved) {
            self.place_members(group, first)?;
        }
        let mut edits: Vec<_> = std::mem::take(&mut self.edits).into_iter().collect();
        // In the order of the table: its neighbouring pages are written together.
        edits.sort_unstable_by(|(term, _), (other, _)| term.cmp(other));
        for (term, mut edits) in edits {
            // The last entry of a document is the first of its entries that stay.
            edits.reverse();
            edits.sort_by_key(|(document, _)| *document);
            edits.dedup_by_key(|(document, _)| *document);
            postings::edit(self.connection, &term, &edits)?;
        }
        self.collected = 0;
        for (number, block) in std::mem::take(&mut self.blocks) {
            block.write(self.connection, number, self.generation)?;
        }
        Ok(())
    }
}

fn encode(terms: &Terms) -> Vec<u8> {
    let mut bytes = vec![];
    for (term, count) in terms {
        push_bytes(&mut bytes, term);
        push_number(&mut bytes, u64::from(*count));
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Result<Terms, IndexError> {
    let mut terms = Terms::new();
    while !bytes.is_empty() {
        let term = pull_bytes(&mut bytes).ok_or_else(damaged)?;
        let count = pull_number(&mut bytes).ok_or_else(damaged)?;
        let count = u32::try_from(count).map_err(|_| damaged())?;
        terms.insert(term.to_vec(), count);
    }
    Ok(terms)
}
