//! Queries of the catalogue, in one snapshot.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params_from_iter, types::Value as Sql};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    follow::{NANOS, Part, StatKeys},
    instance::ContentHash,
};
use crate::{CatalogueError, Link, Metadata, Note, tag};

const ENTRY: &str = "SELECT file.id, path, title, members, created, modified, number, hash FROM file";
/// The order of notes: by creation and, within a second, by the last change and the path.
const ORDER: &str = "created, modified, file.id";

/// A note in the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its id, unique among notes.
    pub id: Uuid,
    /// Path of its document.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its front matter, with all its tags, those in the text included.
    pub metadata: Metadata,
    /// Time of its creation in whole seconds: from the front matter, or else the file's last change.
    pub created_at: DateTime<Utc>,
    /// Time of the file's last change, in whole seconds.
    pub modified_at: DateTime<Utc>,
    /// Content id of the file.
    pub content: ContentHash,
    /// Time of the file's last change, in nanoseconds since 1970.
    modified: i64,
    number: i64,
}

/// A note's place in the order of lists, which stays a place when the note is changed or removed. Its text is a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    created: i64,
    modified: i64,
    id: Uuid,
}

impl Position {
    /// Parses the text of a place.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let mut number = || parts.next()?.parse().ok();
        let (created, modified) = (number()?, number()?);
        Some(Self { created, modified, id: Uuid::try_parse(parts.next()?).ok()? })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.created, self.modified, self.id)
    }
}

impl Entry {
    /// Returns its place in the order of lists.
    pub fn place(&self) -> Position {
        Position { created: self.created_at.timestamp(), modified: self.modified, id: self.id }
    }
}

/// A link in the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundLink {
    /// Its id, which is derived from its ends and relation if the link has none.
    pub id: Uuid,
    /// The note whose front matter contains it.
    pub source: Uuid,
    /// The link.
    pub link: Link,
}

/// Conditions for notes, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Ids of the notes to select from; `None` for any.
    pub ids: Option<Vec<Uuid>>,
    /// The type.
    pub note_type: Option<String>,
    /// Tags; for each, the note must have it or a tag nested in it. Case and a leading `#` do not matter.
    pub tags: Vec<String>,
    /// Created at this time or later.
    pub created_after: Option<DateTime<Utc>>,
    /// Created before this time.
    pub created_before: Option<DateTime<Utc>>,
}

impl Selection {
    /// Returns the earliest and latest second of creation.
    pub(crate) fn seconds(&self) -> (Option<i64>, Option<i64>) {
        let up = |time: DateTime<Utc>| time.timestamp() + i64::from(time.timestamp_subsec_nanos() > 0);
        (self.created_after.map(up), self.created_before.map(|time| up(time) - 1))
    }

    /// Returns the conditions in SQL, and their values.
    fn to_sql(&self) -> (String, Vec<Sql>) {
        let mut sql = String::from("1");
        let mut values = vec![];
        let mut add = |condition: &str, value: Sql| {
            let _ = write!(sql, " AND {condition}");
            values.push(value);
        };
        if let Some(note_type) = &self.note_type {
            add("type = ?", note_type.clone().into());
        }
        for tag in &self.tags {
            add("number IN (SELECT file FROM tagged WHERE key = ?)", tag::key(tag).into());
        }
        let (since, until) = self.seconds();
        if let Some(since) = since {
            add("created >= ?", since.into());
        }
        if let Some(until) = until {
            add("created <= ?", until.into());
        }
        if let Some(ids) = &self.ids {
            let places = vec!["?"; ids.len()].join(", ");
            let _ = write!(sql, " AND file.id IN ({places})");
            values.extend(ids.iter().map(|id| Sql::Blob(blob(*id).to_vec())));
        }
        (sql, values)
    }
}

/// A consistent state of the catalogue.
pub struct Snapshot<'c>(pub(super) &'c Connection);

impl<'c> Snapshot<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self(connection)
    }

    /// Returns the note with this id.
    ///
    /// # Errors
    /// If the catalogue can't be read.
    pub fn get(&self, id: Uuid) -> Result<Option<Entry>, CatalogueError> {
        self.one(&format!("{ENTRY} WHERE file.id = ?"), &blob(id))
    }

    /// Returns the note at this path.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn entry_at(&self, path: &str) -> Result<Option<Entry>, CatalogueError> {
        self.one(&format!("{ENTRY} WHERE path = ?"), &path)
    }

    fn one(&self, sql: &str, key: &dyn ToSql) -> Result<Option<Entry>, CatalogueError> {
        let mut select = self.0.prepare_cached(sql)?;
        Ok(select.query_row([key], entry).optional()?)
    }

    /// Returns at most `limit` notes after the place `after`, in the order of creation. Those of the same second are in the order of
    /// their last change.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn list(
        &self,
        selection: &Selection,
        after: Option<Position>,
        limit: usize,
    ) -> Result<Vec<Entry>, CatalogueError> {
        let (mut sql, mut values) = selection.to_sql();
        if let Some(after) = after {
            let _ = write!(sql, " AND ({ORDER}) > (?, ?, ?)");
            let id = Sql::Blob(blob(after.id).to_vec());
            values.extend([after.created.into(), after.modified.into(), id]);
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = format!("{ENTRY} WHERE {sql} ORDER BY {ORDER} LIMIT {limit}");
        let mut select = self.0.prepare(&sql)?;
        let entries = select.query_map(params_from_iter(values), entry)?;
        Ok(entries.collect::<Result<_, _>>()?)
    }

    /// Returns the number of selected notes.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn count(&self, selection: &Selection) -> Result<usize, CatalogueError> {
        let (sql, values) = selection.to_sql();
        let sql = format!("SELECT count(*) FROM file WHERE {sql}");
        let count: u32 = self.0.query_row(&sql, params_from_iter(values), |row| row.get(0))?;
        Ok(count as usize)
    }

    /// Returns all tags with the numbers of notes that have them, in the order of their bytes. Spellings that a filter takes for one tag
    /// are one: the most frequent, then the first.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn tags(&self) -> Result<Vec<(String, u32)>, CatalogueError> {
        let mut select = self.0.prepare_cached("SELECT tag, count(*) FROM tag GROUP BY tag ORDER BY tag")?;
        let spelled = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut tags: HashMap<String, (String, u32, u32)> = HashMap::new();
        for spelling in spelled {
            let (spelling, notes): (String, u32) = spelling?;
            let (shown, most, all) =
                tags.entry(tag::key(&spelling)).or_insert_with(|| (spelling.clone(), notes, 0));
            // A note has one spelling of a tag.
            *all += notes;
            if notes > *most {
                (*shown, *most) = (spelling, notes);
            }
        }
        let mut tags: Vec<_> = tags.into_values().map(|(tag, _, notes)| (tag, notes)).collect();
        tags.sort_unstable();
        Ok(tags)
    }

    /// Returns the number of the catalogue's last change.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn sequence(&self) -> Result<i64, CatalogueError> {
        Ok(self.0.query_row("SELECT sequence FROM state", [], |row| row.get(0))?)
    }

    /// Returns the note's bytes, as they were when the catalogue last followed the library.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn bytes(&self, entry: &Entry) -> Result<Vec<u8>, CatalogueError> {
        let mut select = self.0.prepare_cached("SELECT bytes FROM content WHERE file = ?")?;
        Ok(select.query_row([entry.number], |row| row.get(0))?)
    }

    /// Returns the note, parsed.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn note(&self, entry: &Entry) -> Result<Note, CatalogueError> {
        Ok(Note::parse(&entry.path, &self.bytes(entry)?))
    }

    /// Returns the links from a note, in the order of its front matter. The notes that they lead to may not exist.
    pub fn links_from(&self, entry: &Entry) -> Vec<FoundLink> {
        let link =
            |link: &Link| FoundLink { id: link.id_from(entry.id), source: entry.id, link: link.clone() };
        entry.metadata.links.iter().map(link).collect()
    }

    /// Returns the links to a note, which may not exist, in the order of their sources' creation.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn links_to(&self, id: Uuid) -> Result<Vec<FoundLink>, CatalogueError> {
        let sql = format!(
            "{ENTRY} WHERE number IN (SELECT file FROM link WHERE target = ?) ORDER BY created, file.id"
        );
        let mut select = self.0.prepare_cached(&sql)?;
        let sources = select.query_map([blob(id)], entry)?.collect::<Result<Vec<_>, _>>()?;
        let links = sources.iter().flat_map(|source| self.links_from(source));
        Ok(links.filter(|found| found.link.to == id).collect())
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let members: String = row.get(3)?;
    let members: Map<String, Value> = serde_json::from_str(&members).map_err(|error| invalid(3, error))?;
    let time = |column, seconds: i64| {
        DateTime::from_timestamp(seconds, 0).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, seconds))
    };
    let modified: i64 = row.get(5)?;
    Ok(Entry {
        id: uuid(row, 0)?,
        path: row.get(1)?,
        title: row.get(2)?,
        metadata: Metadata::from_members(members).0,
        created_at: time(4, row.get(4)?)?,
        modified_at: time(5, modified / NANOS)?,
        modified,
        number: row.get(6)?,
        content: row.get(7)?,
    })
}

fn invalid(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// Reads the stat fields of files.
pub(super) fn stat_keys(connection: &Connection, part: Part) -> Result<StatKeys, CatalogueError> {
    let mut select = connection.prepare_cached(match part {
        Part::All => "SELECT path, stat FROM file UNION ALL SELECT path, stat FROM instance",
        Part::Instances => "SELECT path, stat FROM instance",
    })?;
    let known = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(known.collect::<Result<_, _>>()?)
}

/// Returns an id as it is stored in tables.
pub(super) fn blob(id: Uuid) -> [u8; 16] {
    id.into_bytes()
}

pub(super) fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    row.get(column).map(Uuid::from_bytes)
}
