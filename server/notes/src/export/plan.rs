//! Options, content and errors of an export.

use std::{io, ops::RangeInclusive};

use chrono::{DateTime, Datelike as _, Timelike as _, Utc};
use uuid::Uuid;
use zip::{result::ZipError, write::SimpleFileOptions};

use crate::{CatalogueError, Entry, FoundLink, NoteError, Selection, Snapshot};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One document: notes and links.
    Json,
    /// A zip of the files, byte for byte but for links to files that have another name in it, and `links.json`.
    Markdown,
    /// A zip of a vault: files at their paths, those named by tools under their titles, with links as `[[NAME]]`.
    Obsidian,
}

/// Options of an export.
#[derive(Debug, Clone)]
pub struct Export {
    /// Id of the export.
    pub id: Uuid,
    /// Time of the export.
    pub created_at: DateTime<Utc>,
    /// The form.
    pub format: Format,
    /// The notes to export.
    pub selection: Selection,
    /// Set to include the texts of notes.
    pub include_content: bool,
    /// Set to include the links between them.
    pub include_links: bool,
}

/// Reason why an export failed. The caller has to remove the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The catalogue can't be read.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The front matter of a note can't be written.
    #[error("`{path}` can't be exported: {source}")]
    Note {
        /// Path of the note.
        path: String,
        /// The cause.
        source: NoteError,
    },
    /// The file can't be written.
    #[error("the export can't be written: {0}")]
    Io(#[from] io::Error),
}

impl From<ZipError> for ExportError {
    fn from(error: ZipError) -> Self {
        Self::Io(error.into())
    }
}

/// Times that zips have, in seconds since 1970: from 1980 to 2107.
const ZIP_TIMES: RangeInclusive<i64> = 315_532_800..=4_354_819_199;

/// Returns the options of a note's file in a zip: its time, in UTC, since that names no zone.
pub(super) fn file_options(entry: &Entry) -> SimpleFileOptions {
    let seconds = entry.modified_at.timestamp().clamp(*ZIP_TIMES.start(), *ZIP_TIMES.end());
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    let [month, day, hour, minute, second] =
        [time.month(), time.day(), time.hour(), time.minute(), time.second()].map(|part| part as u8);
    let time = zip::DateTime::from_date_and_time(time.year() as u16, month, day, hour, minute, second);
    SimpleFileOptions::default().last_modified_time(time.unwrap_or_default())
}

/// Notes and links that are exported.
pub(super) struct Plan<'p> {
    pub(super) export: &'p Export,
    pub(super) notes: &'p Snapshot<'p>,
    pub(super) entries: Vec<Entry>,
    pub(super) links: Vec<FoundLink>,
    /// Returns the version of a note, from git's history.
    pub(super) version: &'p dyn Fn(&Entry) -> u64,
}
