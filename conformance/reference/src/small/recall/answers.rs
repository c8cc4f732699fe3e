//! Answers in the contract's shape.

use serde_json::{Map, Value, json};

use super::{Request, note::Note};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// Maximum number of characters of a preview.
const MAX_PREVIEW_CHARS: usize = 120;

/// Returns some fields of a note, `null` if absent.
fn picked(note: &Note, names: &[&str]) -> Map<String, Value> {
    let mut shown = note.shown();
    let value = |name: &&str| ((*name).to_owned(), shown.shift_remove(*name).unwrap_or_default());
    names.iter().map(value).collect()
}

pub(super) fn summary(note: &Note) -> Value {
    let names = [
        "summary_id",
        "session_id",
        "topics",
        "decisions",
        "next_steps",
        "key_files",
        "created_at",
        "seq",
    ];
    picked(note, &names).into()
}

pub(super) fn read(resource: &str, notes: &[&Note], missing: &[String]) -> Value {
    let (member, names): (&str, &[&str]) = match resource {
        "observation" => (
            "observations",
            &[
                "id",
                "project_id",
                "content",
                "observation_type",
                "tags",
                "session_id",
                "repo_id",
                "file_path",
                "branch",
                "commit",
                "created_at",
                "seq",
                "content_hash",
                "times_seen",
                "last_seen_at",
                "provenance",
            ],
        ),
        "execution" => (
            "executions",
            &[
                "observation_id",
                "execution_id",
                "command",
                "exit_code",
                "duration_ms",
                "success",
                "execution_type",
                "coverage",
                "files_affected",
                "output_summary",
                "warnings_count",
                "errors_count",
                "created_at",
                "seq",
            ],
        ),
        "quality_gate" => (
            "quality_gates",
            &[
                "observation_id",
                "gate_name",
                "status",
                "message",
                "timestamp",
                "execution_id",
                "created_at",
                "seq",
            ],
        ),
        _ => (
            "patterns",
            &[
                "id",
                "project_id",
                "pattern_signature",
                "description",
                "category",
                "solutions",
                "affected_files",
                "tags",
                "occurrence_count",
                "first_seen_at",
                "last_seen_at",
                "provenance",
                "seq",
            ],
        ),
    };
    let shown: Vec<_> = notes.iter().map(|note| picked(note, names)).collect();
    json!({ "count": shown.len(), "missing": missing, member: shown })
}

pub(super) fn listing(
    request: &Request<'_>,
    entries: &[(&Note, f64)],
    total: usize,
) -> Result<Value, Refusal> {
    let mut results = Vec::new();
    for (note, score) in entries {
        let names = [
            "id",
            "observation_type",
            "tags",
            "session_id",
            "repo_id",
            "file_path",
            "created_at",
            "seq",
        ];
        let mut entry = picked(note, &names);
        entry.insert("relevance_score".into(), json!(score));
        entry.insert("content_preview".into(), preview(note)?.into());
        if request.resource == "error_pattern" {
            entry.extend(picked(note, &["category", "occurrence_count"]));
        }
        results.push(entry);
    }
    Ok(json!({
        "query": request.text("query"), "count": results.len(), "total": total, "hint": "`get` has all of it",
        "results": results,
    }))
}

fn preview(note: &Note) -> Result<String, Refusal> {
    let topics =
        (note.resource == "session").then(|| super::request::texts(&note.fields["topics"]).join("; "));
    let text = topics.as_deref().unwrap_or(&note.content);
    if is(Mutant::CutsInsideCharacters) && text.len() > MAX_PREVIEW_CHARS {
        let cut = text.get(..MAX_PREVIEW_CHARS);
        return cut
            .map(str::to_owned)
            .ok_or_else(|| (-32603, "internal error".to_owned()));
    }
    Ok(text.chars().take(MAX_PREVIEW_CHARS).collect())
}

pub(super) fn timeline(anchor: &Note, first: i64, shown: &[&Note]) -> Value {
    let entry = |(offset, note): (i64, &&Note)| {
        let names = [
            "observation_id",
            "content",
            "observation_type",
            "created_at",
            "seq",
        ];
        let mut entry = picked(note, &names);
        entry.insert("offset".into(), offset.into());
        entry
    };
    let timeline: Vec<_> = (first..).zip(shown).map(entry).collect();
    json!({ "anchor_id": anchor.id, "count": timeline.len(), "timeline": timeline })
}

pub(super) fn hits(request: &Request<'_>, hits: &[(&Note, f64)], total: usize) -> Value {
    let hit = |(note, score): &(&Note, f64)| {
        let names = [
            "observation_id",
            "project_id",
            "content",
            "observation_type",
            "tags",
            "session_id",
            "repo_id",
            "file_path",
            "branch",
            "commit",
            "created_at",
            "provenance",
        ];
        let mut hit = picked(note, &names);
        hit.insert("similarity_score".into(), json!(score));
        hit
    };
    let results: Vec<_> = hits.iter().map(hit).collect();
    json!({
        "query": request.text("query"), "resource": request.resource, "count": results.len(), "total": total,
        "results": results,
    })
}
