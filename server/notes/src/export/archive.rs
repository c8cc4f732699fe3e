//! A zip of the unchanged files.

use std::io::{Seek, Write};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::{
    json,
    names::Names,
    plan::{ExportError, Plan},
};

pub(super) fn write(plan: &Plan<'_>, out: &mut (impl Write + Seek)) -> Result<(), ExportError> {
    let mut zip = ZipWriter::new(out);
    let names = Names::as_in_library(&plan.entries);
    for entry in &plan.entries {
        let bytes = plan.notes.bytes(entry)?;
        let end = if plan.export.include_content {
            bytes.len()
        } else {
            plan.notes.note(entry)?.front_matter_bytes(bytes.len())
        };
        zip.start_file(names.path(entry.id), SimpleFileOptions::default())?;
        zip.write_all(&bytes[..end])?;
    }
    if plan.export.include_links {
        zip.start_file("links.json", SimpleFileOptions::default())?;
        writeln!(zip, "{:#}", json::links(plan))?;
    }
    zip.finish()?;
    Ok(())
}
