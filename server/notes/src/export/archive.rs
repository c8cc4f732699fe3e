//! A zip of the files, unchanged but for links to files that have another name in it.

use std::io::{Seek, Write};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::{
    json,
    links::Links,
    names::Names,
    plan::{ExportError, Plan, file_options},
};
use crate::Problem;

pub(super) fn write(plan: &Plan<'_>, out: &mut (impl Write + Seek)) -> Result<(), ExportError> {
    let mut zip = ZipWriter::new(out);
    let names = Names::as_in_library(&plan.entries);
    let links = Links::new(&names, &plan.entries);
    for entry in &plan.entries {
        let (bytes, note) = (plan.notes.bytes(entry)?, plan.notes.note(entry)?);
        zip.start_file(names.path(entry.id), file_options(entry))?;
        if !plan.export.include_content {
            zip.write_all(&bytes[..note.front_matter_bytes(bytes.len())])?;
        } else if note.problems.contains(&Problem::NotUtf8) {
            zip.write_all(&bytes)?;
        } else {
            zip.write_all(links.rewrite(entry, &note, 0..note.text.len()).as_bytes())?;
        }
    }
    if plan.export.include_links {
        zip.start_file("links.json", SimpleFileOptions::default())?;
        writeln!(zip, "{:#}", json::links(plan))?;
    }
    zip.finish()?;
    Ok(())
}
