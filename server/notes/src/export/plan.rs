//! Options, content and errors of an export.

use std::io;

use chrono::{DateTime, Utc};
use uuid::Uuid;
use zip::result::ZipError;

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

/// Notes and links that are exported.
pub(super) struct Plan<'p> {
    pub(super) export: &'p Export,
    pub(super) notes: &'p Snapshot<'p>,
    pub(super) entries: Vec<Entry>,
    pub(super) links: Vec<FoundLink>,
    /// Returns the version of a note, from git's history.
    pub(super) version: &'p dyn Fn(&Entry) -> u64,
}
