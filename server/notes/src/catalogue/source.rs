//! The catalogue as the source of an index of words: chunks of notes as documents.

use rusqlite::{OptionalExtension as _, params};
use tabellion_retrieval::{Change, Changes, Source, SourceError};
use uuid::Uuid;

use super::{Catalogue, read::uuid};
use crate::{CatalogueError, Note, identity::chunk_key, search::documents};

/// Maximum number of notes in one transaction of the index.
const MAX_NOTES: u32 = 1000;

impl Source for Catalogue {
    fn changes(&self, after: i64) -> Result<Changes, SourceError> {
        Ok(self.read(|snapshot| {
            let connection = snapshot.0;
            let mut to = snapshot.sequence()?;
            let sql = "SELECT sequence, id, path, created, bytes FROM file JOIN content ON file = number
                WHERE sequence > ? ORDER BY sequence LIMIT ?";
            let mut select = connection.prepare_cached(sql)?;
            let notes = select.query_map(params![after, MAX_NOTES], |row| {
                let (path, bytes): (String, Vec<u8>) = (row.get(2)?, row.get(4)?);
                Ok((row.get(0)?, uuid(row, 1)?, row.get(3)?, Note::parse(&path, &bytes)))
            })?;
            let notes: Vec<(i64, Uuid, i64, Note)> = notes.collect::<Result<_, _>>()?;
            if let Some((last, ..)) = notes.last().filter(|_| notes.len() == MAX_NOTES as usize) {
                to = *last;
            }
            let mut select =
                connection.prepare_cached("SELECT key FROM gone WHERE sequence > ? AND sequence <= ?")?;
            let gone = select.query_map([after, to], |row| Ok(Change::Remove(row.get(0)?)))?;
            let mut changes: Vec<Change> = gone.collect::<Result<_, _>>()?;
            for (_, id, created, note) in &notes {
                let documents = documents(note, *created);
                changes.extend((0..).zip(documents).map(|(place, mut document)| {
                    document.id = chunk_key(*id, place);
                    document.group = Some(id.to_string());
                    Change::Put(document)
                }));
            }
            Ok::<_, CatalogueError>(Changes { changes, to })
        })?)
    }

    fn mark(&self, at: i64) -> Result<Option<String>, SourceError> {
        Ok(self.read(|snapshot| {
            let sql = "SELECT mark FROM batch WHERE last >= ? ORDER BY last LIMIT 1";
            let mut select = snapshot.0.prepare_cached(sql)?;
            let mark = select.query_row([at], |row| row.get(0)).optional()?;
            Ok(mark.map(|mark: i64| mark.to_string()))
        })?)
    }
}
