//! A vault for Obsidian: files named by their titles, so that `[[TITLE]]` leads to them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{Seek, Write},
};

use serde_json::Value;
use uuid::Uuid;
use zip::{ZipWriter, write::SimpleFileOptions};

use super::{ExportError, Plan};
use crate::{Entry, Metadata, metadata::tags, render};

/// Maximum bytes of a file's name, without its number and extension.
const MAX_NAME_BYTES: usize = 200;
/// Characters that file systems refuse in names, or Obsidian in links.
const REFUSED: [char; 14] = [
    '/', '\\', ':', '*', '?', '"', '<', '>', '|', '#', '^', '[', ']', '%',
];

pub(super) fn write(plan: &Plan<'_>, out: &mut (impl Write + Seek)) -> Result<(), ExportError> {
    let names = names(&plan.entries);
    let mut links: HashMap<Uuid, BTreeMap<&str, Vec<&str>>> = HashMap::new();
    for found in plan.links.iter().filter(|_| plan.export.include_links) {
        let of_note = links.entry(found.source).or_default();
        of_note
            .entry(&found.link.relation)
            .or_default()
            .push(&names[&found.link.to]);
    }
    let mut zip = ZipWriter::new(out);
    for entry in &plan.entries {
        let name = &names[&entry.id];
        let front_matter = render(&metadata(entry, name), "").map_err(|source| ExportError::Note {
            path: entry.path.clone(),
            source,
        })?;
        zip.start_file(format!("{name}.md"), SimpleFileOptions::default())?;
        zip.write_all(front_matter.as_bytes())?;
        if plan.export.include_content {
            zip.write_all(plan.notes.note(entry)?.content().as_bytes())?;
        }
        if let Some(links) = links.get(&entry.id) {
            write!(zip, "\n\n## Links\n")?;
            for (relation, targets) in links {
                write!(zip, "\n### {relation}\n\n")?;
                for target in targets {
                    writeln!(zip, "- [[{target}]]")?;
                }
            }
        }
    }
    zip.finish()?;
    Ok(())
}

/// Returns a name for each note, which no other has in any case.
fn names(entries: &[Entry]) -> HashMap<Uuid, String> {
    let mut taken = HashSet::new();
    let name = |entry: &Entry| {
        let base = file_name(&entry.title);
        let numbered = (2..).map(|number| format!("{base} ({number})"));
        let mut all = std::iter::once(base.clone()).chain(numbered);
        let name = all.find(|name| taken.insert(name.to_lowercase()));
        (entry.id, name.unwrap_or(base))
    };
    entries.iter().map(name).collect()
}

fn file_name(title: &str) -> String {
    let permitted = title.replace(|c: char| REFUSED.contains(&c) || c.is_control(), " ");
    let name = permitted.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = &name[..name.floor_char_boundary(MAX_NAME_BYTES)];
    let name = name.trim_matches(['.', ' ']);
    if name.is_empty() {
        "Untitled".into()
    } else {
        name.into()
    }
}

/// Returns what the file's front matter says: tags without blanks, and the title as an alias if the name differs.
fn metadata(entry: &Entry, name: &str) -> Metadata {
    let mut metadata = Metadata {
        id: Some(entry.id),
        title: Some(entry.title.clone()),
        links: vec![],
        ..entry.metadata.clone()
    };
    for tag in &mut metadata.tags {
        *tag = tag.split_whitespace().collect::<Vec<_>>().join("-");
    }
    let mut aliases = metadata.others.get("aliases").and_then(tags).unwrap_or_default();
    if name != entry.title && !aliases.contains(&entry.title) {
        aliases.insert(0, entry.title.clone());
    }
    if !aliases.is_empty() {
        metadata.others.insert("aliases".into(), Value::from(aliases));
    }
    metadata.created_at = Some(entry.created_at);
    metadata
}
