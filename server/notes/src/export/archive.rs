//! A zip of the files as they are.

use std::{
    collections::HashSet,
    io::{Seek, Write},
};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::{ExportError, Plan, json};
use crate::identity::{full_file_name, short_file_name};

pub(super) fn write(plan: &Plan<'_>, out: &mut (impl Write + Seek)) -> Result<(), ExportError> {
    let mut zip = ZipWriter::new(out);
    let mut names = HashSet::new();
    for entry in &plan.entries {
        let mut name = short_file_name(&entry.title, entry.id);
        if !names.insert(name.clone()) {
            name = full_file_name(&entry.title, entry.id);
        }
        let bytes = plan.notes.bytes(entry)?;
        let end = if plan.export.include_content {
            bytes.len()
        } else {
            plan.notes.note(entry)?.front_matter_bytes(bytes.len())
        };
        zip.start_file(name, SimpleFileOptions::default())?;
        zip.write_all(&bytes[..end])?;
    }
    if plan.export.include_links {
        zip.start_file("links.json", SimpleFileOptions::default())?;
        writeln!(zip, "{:#}", json::links(plan))?;
    }
    zip.finish()?;
    Ok(())
}
