//! One transaction of changes: rows of files, ownership of ids, and sequence numbers of changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;
use tabellion_sqlite::new_generation;
use uuid::Uuid;

use super::{
    follow::{Content, NANOS, Parsed, Read},
    instances,
    read::{blob, uuid},
};
use crate::{
    CatalogueError, Metadata, derived_id,
    identity::{alternate_id, chunk_key, claim},
    tag,
};

/// Changes within a transaction.
pub(super) struct Writer<'c> {
    connection: &'c Connection,
    sequence: i64,
    /// The previous id and number of chunks of each file involved; `None` if it had no id.
    before: BTreeMap<i64, Option<(Uuid, u32)>>,
    /// Ids whose owners may change.
    ids: BTreeSet<Uuid>,
    /// Files whose content or time differs.
    differ: BTreeSet<i64>,
    is_touched: bool,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self, CatalogueError> {
        let sequence = connection.query_row("SELECT sequence FROM state", [], |row| row.get(0))?;
        Ok(Self {
            connection,
            sequence,
            before: BTreeMap::new(),
            ids: BTreeSet::new(),
            differ: BTreeSet::new(),
            is_touched: false,
        })
    }

    /// Removes the file at `path`, if the catalogue has it.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), CatalogueError> {
        let Some(number) = self.number(path)? else {
            self.is_touched = true;
            return instances::remove(self.connection, path);
        };
        self.take_note(number)?;
        let mut delete = self.connection.prepare_cached("DELETE FROM file WHERE number = ?")?;
        delete.execute([number])?;
        self.clear_details(number)?;
        self.differ.remove(&number);
        self.is_touched = true;
        Ok(())
    }

    /// Stores the current content of a file. Returns the reason if it can't be read.
    pub(super) fn put(&mut self, read: Read) -> Result<Option<String>, CatalogueError> {
        let parsed = match read.content {
            Content::Note(parsed) => parsed,
            Content::Instance(content, instance) => {
                self.is_touched = true;
                let instance = instance.map(|instance| *instance);
                instances::put(self.connection, &read.path, read.stat, content, instance)?;
                return Ok(None);
            }
            Content::None(reason) => {
                self.remove(&read.path)?;
                return Ok(reason);
            }
        };
        let stat = read.stat.map(|stat| stat.to_vec());
        self.is_touched = true;
        let number = self.number(&read.path)?;
        if let Some(number) = number {
            let sql = "UPDATE file SET stat = ? WHERE number = ? AND hash = ? AND modified = ?";
            let mut same = self.connection.prepare_cached(sql)?;
            if same.execute(params![stat, number, parsed.hash, read.modified])? > 0 {
                return Ok(None);
            }
            self.take_note(number)?;
            self.clear_details(number)?;
        }
        let number = self.put_row(number, &read.path, stat, read.modified, &parsed)?;
        self.before.entry(number).or_insert(None);
        self.ids.extend(parsed.note.metadata.id);
        self.ids.insert(derived_id(&read.path));
        self.differ.insert(number);
        self.put_details(number, &parsed)?;
        Ok(None)
    }

    fn put_row(
        &self,
        number: Option<i64>,
        path: &str,
        stat: Option<Vec<u8>>,
        modified: i64,
        parsed: &Parsed,
    ) -> Result<i64, CatalogueError> {
        let sql = "INSERT INTO file (number, path, stat, hash, modified, claimed, derived, title, type, members,
                created, chunks, sequence)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
            ON CONFLICT (number) DO UPDATE SET stat = excluded.stat, hash = excluded.hash, modified = excluded.modified,
                claimed = excluded.claimed, title = excluded.title, type = excluded.type, members = excluded.members,
                created = excluded.created, chunks = excluded.chunks
            RETURNING number";
        let note = &parsed.note;
        let metadata = Metadata { tags: note.tags(), ..note.metadata.clone() };
        let created = metadata.created_at.map_or(modified / NANOS, |time| time.timestamp());
        let mut insert = self.connection.prepare_cached(sql)?;
        let row = params![
            number,
            path,
            stat,
            parsed.hash,
            modified,
            metadata.id.map(blob),
            blob(derived_id(path)),
            note.title,
            metadata.note_type(),
            Value::Object(metadata.members()).to_string(),
            created,
            parsed.chunks,
        ];
        Ok(insert.query_row(row, |row| row.get(0))?)
    }

    fn put_details(&self, number: i64, parsed: &Parsed) -> Result<(), CatalogueError> {
        let metadata = &parsed.note.metadata;
        let mut insert = self.connection.prepare_cached("INSERT INTO content VALUES (?, ?)")?;
        insert.execute(params![number, parsed.bytes])?;
        let mut insert = self.connection.prepare_cached("INSERT INTO tag VALUES (?, ?)")?;
        let mut insert_key = self.connection.prepare_cached("INSERT OR IGNORE INTO tagged VALUES (?, ?)")?;
        for tag in parsed.note.tags() {
            insert.execute(params![tag, number])?;
            for key in tag::keys(&tag) {
                insert_key.execute(params![key, number])?;
            }
        }
        let mut insert = self.connection.prepare_cached("INSERT INTO link VALUES (?, ?, ?)")?;
        for (place, link) in (0_i64..).zip(&metadata.links) {
            insert.execute(params![blob(link.to), number, place])?;
        }
        Ok(())
    }

    fn clear_details(&self, number: i64) -> Result<(), CatalogueError> {
        for sql in [
            "DELETE FROM content WHERE file = ?",
            "DELETE FROM tag WHERE file = ?",
            "DELETE FROM tagged WHERE file = ?",
            "DELETE FROM link WHERE file = ?",
        ] {
            self.connection.prepare_cached(sql)?.execute([number])?;
        }
        Ok(())
    }

    fn number(&self, path: &str) -> Result<Option<i64>, CatalogueError> {
        let mut select = self.connection.prepare_cached("SELECT number FROM file WHERE path = ?")?;
        Ok(select.query_row([path], |row| row.get(0)).optional()?)
    }

    /// Notes the state of a file before it is changed.
    fn take_note(&mut self, number: i64) -> Result<(), CatalogueError> {
        let sql = "SELECT id, chunks, claimed, derived FROM file WHERE number = ?";
        let mut select = self.connection.prepare_cached(sql)?;
        let (id, chunks, claimed, derived) = select.query_row([number], |row| {
            let claimed: Option<[u8; 16]> = row.get(2)?;
            let id: Option<[u8; 16]> = row.get(0)?;
            Ok((id.map(Uuid::from_bytes), row.get(1)?, claimed.map(Uuid::from_bytes), uuid(row, 3)?))
        })?;
        self.ids.extend(id.into_iter().chain(claimed).chain([derived]));
        self.before.entry(number).or_insert(id.map(|id| (id, chunks)));
        Ok(())
    }

    /// Decides on ids, numbers the changes, and returns the last sequence number.
    pub(super) fn finish(mut self) -> Result<i64, CatalogueError> {
        if !self.is_touched {
            return Ok(self.sequence);
        }
        let first = self.sequence;
        self.decide_ids()?;
        self.number_changes()?;
        if self.sequence > first {
            let sql = "INSERT INTO batch VALUES (?, ?)";
            self.connection.execute(sql, params![self.sequence, new_generation()])?;
        }
        let sql = "UPDATE state SET generation = generation + 1, sequence = ?";
        self.connection.execute(sql, [self.sequence])?;
        Ok(self.sequence)
    }

    /// Assigns ids to the files that may be concerned. The owner of an id depends on all files, never on their order.
    fn decide_ids(&mut self) -> Result<(), CatalogueError> {
        let concerned = self.concerned()?;
        for number in concerned.keys() {
            self.take_note(*number)?;
        }
        let mut clear = self.connection.prepare_cached("UPDATE file SET id = NULL WHERE number = ?")?;
        for number in concerned.keys() {
            clear.execute([number])?;
        }
        let mut assign =
            self.connection.prepare_cached("UPDATE file SET id = ?, is_alternate = ? WHERE number = ?")?;
        for (number, (path, claimed)) in concerned {
            let kept = match claimed {
                Some(id) if self.keeper(id)? == Some(number) => Some(id),
                _ => None,
            };
            let (id, is_alternate) = kept.map_or_else(|| self.free_id(&path), |id| Ok((id, false)))?;
            assign.execute(params![blob(id), is_alternate, number])?;
        }
        Ok(())
    }

    /// Returns the files whose ids may change: those that claim one of the ids in question, or would derive it from their path, and those
    /// that have no id of either kind.
    fn concerned(&self) -> Result<HashMap<i64, (String, Option<Uuid>)>, CatalogueError> {
        let mut concerned = HashMap::new();
        let mut add = |sql: &str, id: Option<Uuid>| -> Result<(), CatalogueError> {
            let mut select = self.connection.prepare_cached(sql)?;
            let mut rows = match id {
                Some(id) => select.query([blob(id)])?,
                None => select.query([])?,
            };
            while let Some(row) = rows.next()? {
                let claimed: Option<[u8; 16]> = row.get(2)?;
                concerned.insert(row.get(0)?, (row.get(1)?, claimed.map(Uuid::from_bytes)));
            }
            Ok(())
        };
        for id in &self.ids {
            for column in ["claimed", "derived", "id"] {
                add(&format!("SELECT number, path, claimed FROM file WHERE {column} = ?"), Some(*id))?;
            }
        }
        add("SELECT number, path, claimed FROM file WHERE is_alternate = 1", None)?;
        Ok(concerned)
    }

    /// Returns the file that owns `id` among those that claim it.
    fn keeper(&self, id: Uuid) -> Result<Option<i64>, CatalogueError> {
        let mut select = self.connection.prepare_cached("SELECT number, path FROM file WHERE claimed = ?")?;
        let rows = select.query_map([blob(id)], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
        let all = rows.collect::<Result<Vec<_>, _>>()?;
        let keeper = all.into_iter().min_by_key(|(_, path)| claim(path, id));
        Ok(keeper.map(|(number, _)| number))
    }

    /// Returns the first id derived from a path that no file claims, and true if it is an alternate one.
    fn free_id(&self, path: &str) -> Result<(Uuid, bool), CatalogueError> {
        let mut select = self.connection.prepare_cached("SELECT 1 FROM file WHERE claimed = ?")?;
        let mut n = 0;
        loop {
            let id = alternate_id(path, n);
            if !select.exists([blob(id)])? {
                return Ok((id, n > 0));
            }
            n += 1;
        }
    }

    /// Numbers the changed files and the removed chunks.
    fn number_changes(&mut self) -> Result<(), CatalogueError> {
        let mut select = self.connection.prepare_cached("SELECT id, chunks FROM file WHERE number = ?")?;
        let mut number = self.connection.prepare_cached("UPDATE file SET sequence = ? WHERE number = ?")?;
        let mut back = self.connection.prepare_cached("DELETE FROM gone WHERE key = ?")?;
        let mut present = BTreeMap::new();
        for (file, before) in &self.before {
            let now =
                select.query_row([file], |row| Ok((uuid(row, 0)?, row.get::<_, u32>(1)?))).optional()?;
            let Some((id, chunks)) = now else { continue };
            if before.map(|(id, _)| id) != Some(id) || self.differ.contains(file) {
                self.sequence += 1;
                number.execute([self.sequence, *file])?;
                let kept = before.filter(|(before, _)| *before == id).map_or(0, |(_, chunks)| chunks);
                for place in kept..chunks {
                    back.execute([chunk_key(id, place)])?;
                }
            }
            present.insert(id, chunks);
        }
        let mut gone = self.connection.prepare_cached("INSERT OR REPLACE INTO gone VALUES (?, ?)")?;
        for (id, chunks) in self.before.values().flatten() {
            for place in present.get(id).copied().unwrap_or(0)..*chunks {
                self.sequence += 1;
                gone.execute(params![chunk_key(*id, place), self.sequence])?;
            }
        }
        Ok(())
    }
}
