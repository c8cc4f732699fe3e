//! Export: notes in one file, as JSON, as the Markdown files that they are, or as a vault for Obsidian.
//!
//! Notes are written one after the other, in the order of their creation, from one snapshot of the catalogue. The file is synced before
//! [`export`] returns.

mod archive;
mod files;
mod json;
mod names;
mod obsidian;
mod secret;

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufWriter, Write as _},
};

use chrono::{DateTime, Utc};
use uuid::Uuid;
use zip::result::ZipError;

pub use self::{
    files::ExportFiles,
    secret::{SECRET_BYTES, SecretFile},
};
use crate::{CatalogueError, Entry, FoundLink, NoteError, Selection, Snapshot};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One document: notes and links.
    Json,
    /// A zip of the files, byte for byte, and `links.json`.
    Markdown,
    /// A zip of a vault: files where they are, those that tools have named by their titles, with links as `[[NAME]]`.
    Obsidian,
}

/// What is exported.
#[derive(Debug, Clone)]
pub struct Export {
    /// Identifies the export.
    pub id: Uuid,
    /// When it is made.
    pub created_at: DateTime<Utc>,
    /// The form.
    pub format: Format,
    /// Which notes.
    pub selection: Selection,
    /// Whether with the texts of notes.
    pub include_content: bool,
    /// Whether with the links between them.
    pub include_links: bool,
}

/// What was exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// Number of notes.
    pub notes: usize,
    /// Number of links with both ends among them, whether they were asked for or not.
    pub links: usize,
    /// Size of the file.
    pub bytes: u64,
}

/// Why an export was not made. The file is to be removed.
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
        /// Why.
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
struct Plan<'p> {
    export: &'p Export,
    notes: &'p Snapshot<'p>,
    entries: Vec<Entry>,
    links: Vec<FoundLink>,
    /// Returns the version of a note, which is in git's history.
    version: &'p dyn Fn(&Entry) -> u64,
}

/// Writes an export to `file`, which is empty. `version` returns a note's version; [`crate::Metadata::current_version`] has the rule.
///
/// # Errors
/// [`ExportError`].
pub fn export(
    notes: &Snapshot<'_>,
    export: &Export,
    version: &dyn Fn(&Entry) -> u64,
    file: File,
) -> Result<Exported, ExportError> {
    let entries = notes.list(&export.selection, None, usize::MAX)?;
    let ids: HashSet<Uuid> = entries.iter().map(|entry| entry.id).collect();
    let links = entries.iter().flat_map(|entry| notes.links_from(entry));
    let plan = Plan {
        links: links.filter(|found| ids.contains(&found.link.to)).collect(),
        export,
        notes,
        entries,
        version,
    };
    let mut out = BufWriter::new(file);
    match export.format {
        Format::Json => json::write(&plan, &mut out)?,
        Format::Markdown => archive::write(&plan, &mut out)?,
        Format::Obsidian => obsidian::write(&plan, &mut out)?,
    }
    out.flush()?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(Exported {
        notes: plan.entries.len(),
        links: plan.links.len(),
        bytes: file.metadata()?.len(),
    })
}
