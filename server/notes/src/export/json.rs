//! One JSON document: notes, then links.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::plan::{ExportError, Plan};
use crate::{Entry, FoundLink, Metadata, scalar::show_time};

pub(super) fn write(plan: &Plan<'_>, out: &mut impl Write) -> Result<(), ExportError> {
    let export = plan.export;
    let (id, time) = (json!(export.id.to_string()), json!(show_time(export.created_at)));
    write!(out, "{{\"export_id\":{id},\"created_at\":{time},\"notes\":[")?;
    for (number, entry) in plan.entries.iter().enumerate() {
        let separator = if number == 0 { "\n" } else { ",\n" };
        write!(out, "{separator}{}", note(plan, entry)?)?;
    }
    write!(out, "]")?;
    if export.include_links {
        write!(out, ",\"links\":{}", links(plan))?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

/// Returns the links between exported notes.
pub(super) fn links(plan: &Plan<'_>) -> Value {
    let link = |found: &FoundLink| {
        let mut link = json!({
            "id": found.id.to_string(),
            "source": found.source.to_string(),
            "target": found.link.to.to_string(),
            "relation": found.link.relation,
            "created_at": found.link.created_at.map(show_time),
            "metadata": found.link.metadata,
        });
        for (key, value) in &found.link.others {
            if link[key].is_null() {
                link[key] = value.clone();
            }
        }
        link
    };
    plan.links.iter().map(link).collect()
}

fn note(plan: &Plan<'_>, entry: &Entry) -> Result<Value, ExportError> {
    let metadata = &entry.metadata;
    let mut note = json!({
        "id": entry.id.to_string(),
        "path": entry.path,
        "title": entry.title,
        "type": metadata.note_type(),
        "tags": metadata.tags,
        "source": metadata.source,
        "version": (plan.version)(entry),
        "created_at": show_time(entry.created_at),
        "updated_at": show_time(entry.modified_at),
        "created_by": metadata.created_by,
        "ai_justification": metadata.ai_justification,
        "metadata": others(metadata),
    });
    if plan.export.include_content {
        note["content"] = plan.notes.note(entry)?.content().into();
    }
    Ok(note)
}

/// Returns `agent`, `reviewed_by`, `sensitive` and all of the front matter that can't be understood.
fn others(metadata: &Metadata) -> Map<String, Value> {
    const OWN: [&str; 3] = ["agent", "reviewed_by", "sensitive"];
    let mut others = metadata.members();
    others.retain(|key, _| OWN.contains(&key.as_str()));
    others.extend(metadata.others.clone());
    others
}
