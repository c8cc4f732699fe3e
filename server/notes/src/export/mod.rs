//! Export: notes in one file, as JSON, as the Markdown files, or as a vault for Obsidian.
//!
//! Notes are written one after the other, in the order of their creation, from one snapshot of the catalogue. The file is synced before
//! [`export`] returns.

mod archive;
mod files;
mod json;
mod links;
mod names;
mod obsidian;
mod plan;
mod secret;

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufWriter, Write as _},
};

use uuid::Uuid;

use self::plan::Plan;
pub use self::{
    files::ExportFiles,
    plan::{Export, ExportError, Format},
    secret::{SECRET_BYTES, SecretFile},
};
use crate::{Entry, Snapshot};

/// Summary of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// Number of notes.
    pub notes: usize,
    /// Number of links between these notes, whether they are included or not.
    pub links: usize,
    /// Size of the file.
    pub bytes: u64,
}

/// Writes an export to `file`, which is empty. `version` returns a note's version, by the rule of [`crate::Metadata::current_version`].
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
    Ok(Exported { notes: plan.entries.len(), links: plan.links.len(), bytes: file.metadata()?.len() })
}
