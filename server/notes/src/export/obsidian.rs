//! A vault for Obsidian: files with the names that wiki links have, see [`Names`], and links as `[[NAME]]`.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{Seek, Write},
};

use serde_json::Value;
use tabellion_markdown::ending_of;
use uuid::Uuid;
use zip::ZipWriter;

use super::{
    links::Links,
    names::{Names, leaf},
    plan::{ExportError, Plan, file_options},
};
use crate::{Entry, Link, Metadata, Note, Problem, front_matter};

/// Number of hexadecimal digits of the id in the names that tools make.
const ID_DIGITS: usize = 8;

pub(super) fn write(plan: &Plan<'_>, out: &mut (impl Write + Seek)) -> Result<(), ExportError> {
    let names = Names::in_vault(&plan.entries, &mentioned(plan)?);
    let texts = Links::new(&names, &plan.entries);
    let mut links: HashMap<Uuid, BTreeMap<&str, Vec<Uuid>>> = HashMap::new();
    for found in plan.links.iter().filter(|_| plan.export.include_links) {
        let of_note = links.entry(found.source).or_default();
        of_note.entry(&found.link.relation).or_default().push(found.link.to);
    }
    let mut zip = ZipWriter::new(out);
    for entry in &plan.entries {
        let path = names.path(entry.id);
        let name = leaf(path).trim_end_matches(".md");
        let note = plan.notes.note(entry)?;
        zip.start_file(path, file_options(entry))?;
        if note.problems.contains(&Problem::NotUtf8) && plan.export.include_content {
            zip.write_all(&plan.notes.bytes(entry)?)?;
            continue;
        }
        if note.is_front_matter_read() {
            let front_matter = front_matter(metadata(plan, entry, &note, name).members(), &note.text)
                .map_err(|source| ExportError::Note { path: entry.path.clone(), source })?;
            zip.write_all(texts.rewrite_front_matter(entry, &front_matter).as_bytes())?;
        }
        if plan.export.include_content {
            // Unreadable front matter is exported unchanged.
            zip.write_all(texts.rewrite(entry, &note, note.content_range()).as_bytes())?;
        }
        if let Some(links) = links.get(&entry.id) {
            let ending = ending_of(&note.text);
            write!(zip, "{ending}{ending}## Links{ending}")?;
            for (relation, targets) in links {
                write!(zip, "{ending}### {relation}{ending}{ending}")?;
                for target in targets {
                    write!(zip, "- {}{ending}", texts.link(entry.id, *target))?;
                }
            }
        }
    }
    zip.finish()?;
    Ok(())
}

/// Returns the notes whose files' names, which end with digits of their ids, occur in an exported note.
fn mentioned(plan: &Plan<'_>) -> Result<HashSet<Uuid>, ExportError> {
    let digits = |entry: &Entry| entry.id.simple().to_string()[..ID_DIGITS].to_owned();
    let made: HashMap<String, Uuid> = plan.entries.iter().map(|entry| (digits(entry), entry.id)).collect();
    let mut mentioned = HashSet::new();
    for entry in plan.entries.iter().filter(|_| plan.export.include_content) {
        let note = plan.notes.note(entry)?;
        let names = note.text.split('-').skip(1);
        let ids = names.filter_map(|rest| made.get(rest.get(..ID_DIGITS)?));
        mentioned.extend(ids.filter(|id| **id != entry.id));
    }
    Ok(mentioned)
}

/// Returns the front matter of the exported file: tags without blanks, and the title as an alias if the name differs.
fn metadata(plan: &Plan<'_>, entry: &Entry, note: &Note, name: &str) -> Metadata {
    let mut metadata =
        Metadata { id: Some(entry.id), title: Some(entry.title.clone()), ..note.metadata.clone() };
    // The list of links shows targets and relations.
    let says_more = |link: &Link| !link.metadata.is_empty() || !link.others.is_empty();
    metadata.links.retain(|link| plan.export.include_links && says_more(link));
    for tag in &mut metadata.tags {
        *tag = tag.split_whitespace().collect::<Vec<_>>().join("-");
    }
    let (key, mut aliases) = metadata.aliases().unwrap_or(("aliases", vec![]));
    let key = key.to_owned();
    if name != entry.title && !aliases.contains(&entry.title) {
        aliases.insert(0, entry.title.clone());
    }
    if !aliases.is_empty() {
        metadata.others.insert(key, Value::from(aliases));
    }
    metadata.created_at = Some(entry.created_at);
    metadata
}
