//! Stored notes of five resources, which are counted, or each kept.

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::{Request, invalid, note::Note, request::texts, store::State};
use crate::{
    mutant::{Mutant, is},
    small::{Refusal, now},
};

/// Stores the data of a request; returns the answer.
pub(super) fn store(state: &mut State, request: &Request<'_>) -> Result<Value, Refusal> {
    let data = &request.arguments["data"];
    let word = |name: &str| data[name].as_str().unwrap_or_default();
    let lists = |name: &str| joined(vec![], texts(&data[name]));
    let session_matters = request.resource == "session" && request.text("session_id").is_some();
    for name in ["project_id", "repo_id", "session_id"] {
        let both = request.text(name).zip(data[name].as_str());
        if both.is_some_and(|(argument, data)| argument != data) && (name != "session_id" || !session_matters)
        {
            return Err(invalid(format!("conflicting {name} between args and data")));
        }
    }
    let (kind, content, tags) = match request.resource {
        "observation" => (
            word("observation_type"),
            word("content").to_owned(),
            lists("tags"),
        ),
        "execution" => {
            let outcome = if data["success"] == true {
                "success"
            } else {
                "failure"
            };
            let tags = vec!["execution".into(), word("execution_type").into(), outcome.into()];
            let (code, success) = (&data["exit_code"], &data["success"]);
            let content = format!(
                "Execution: {} (exit_code={code}, success={success})",
                word("command")
            );
            ("execution", content, tags)
        }
        "quality_gate" => {
            let tags = vec!["quality_gate".into(), word("status").into()];
            let content = format!("Quality Gate: {} (status={})", word("gate_name"), word("status"));
            ("quality_gate", content, tags)
        }
        "error_pattern" => {
            let content = format!("{}: {}", word("pattern_signature"), word("description"));
            ("error_pattern", content, lists("tags"))
        }
        _ => {
            let lists = ["topics", "decisions", "next_steps", "key_files"];
            let all: Vec<_> = lists.iter().flat_map(|name| texts(&data[*name])).collect();
            ("session", all.join("; "), vec![])
        }
    };
    let mut note = Note::observed(state.next(), request, kind, content, tags);
    for (name, value) in data.as_object().into_iter().flatten() {
        if !matches!(&**name, "project_id" | "repo_id" | "session_id" | "tags") {
            note.fields.insert(name.clone(), value.clone());
        }
    }
    match request.resource {
        "observation" => store_observation(state, note),
        "execution" => store_execution(state, note),
        "quality_gate" => store_gate(state, note),
        "error_pattern" => store_pattern(state, note),
        _ => {
            let answer = json!({ "summary_id": note.id, "session_id": note.session_id });
            for name in ["topics", "decisions", "next_steps", "key_files"] {
                note.set(name, json!(texts(&data[name])));
            }
            state.notes.push(note);
            Ok(answer)
        }
    }
}

fn store_observation(state: &mut State, mut note: Note) -> Result<Value, Refusal> {
    note.set("content_hash", sha256(&note.content).into());
    note.set("times_seen", 1.into());
    if is(Mutant::ForgetsCommit) {
        note.fields.shift_remove("commit");
    }
    let is_same = |other: &&mut Note| {
        other.resource == note.resource
            && (other.project_id == note.project_id || is(Mutant::CountsAcrossProjects))
            && other.word == note.word
            && other.content == note.content
    };
    if let Some(earlier) = state.notes.iter_mut().find(is_same) {
        let times = earlier.fields["times_seen"].as_i64().unwrap_or_default();
        earlier.set("times_seen", (times + 1).into());
        earlier.set("last_seen_at", now().into());
        if !is(Mutant::ForgetsLaterTags) {
            earlier.tags = joined(std::mem::take(&mut earlier.tags), note.tags);
        }
        return Ok(json!({ "observation_id": earlier.id, "deduplicated": true }));
    }
    let answer = json!({ "observation_id": note.id, "deduplicated": false });
    state.notes.push(note);
    Ok(answer)
}

fn store_execution(state: &mut State, mut note: Note) -> Result<Value, Refusal> {
    let made = json!(format!("run-of-{}", note.id));
    let run = note.fields.entry("execution_id").or_insert(made).clone();
    let earlier = state.notes.iter().filter(|other| other.resource == "execution");
    for other in earlier {
        if other.fields["execution_id"] == run {
            return Err(invalid("`execution_id` is taken"));
        }
        if is(Mutant::MergesRuns) && other.project_id == note.project_id && other.content == note.content {
            let run = &other.fields["execution_id"];
            return Ok(json!({ "observation_id": other.id, "execution_id": run, "deduplicated": true }));
        }
    }
    note.fields.entry("files_affected").or_insert(json!([]));
    let answer = json!({ "observation_id": note.id, "execution_id": run, "deduplicated": false });
    state.notes.push(note);
    Ok(answer)
}

fn store_gate(state: &mut State, mut note: Note) -> Result<Value, Refusal> {
    if let Some(run) = note.fields.get("execution_id") {
        let is_there = |other: &Note| {
            other.resource == "execution"
                && other.project_id == note.project_id
                && other.fields["execution_id"] == *run
        };
        if !state.notes.iter().any(is_there) {
            return Err(invalid("`execution_id` names no execution of the project"));
        }
    }
    note.fields.entry("timestamp").or_insert(json!(now()));
    let answer = json!({ "observation_id": note.id, "deduplicated": false });
    state.notes.push(note);
    Ok(answer)
}

fn store_pattern(state: &mut State, mut note: Note) -> Result<Value, Refusal> {
    const LISTS: [&str; 2] = ["solutions", "affected_files"];
    for name in LISTS {
        let list = note.fields.get(name).map(texts).unwrap_or_default();
        note.set(name, json!(joined(vec![], list)));
    }
    let is_same = |other: &&mut Note| {
        other.resource == note.resource
            && other.project_id == note.project_id
            && other.fields["pattern_signature"] == note.fields["pattern_signature"]
    };
    if let Some(earlier) = state.notes.iter_mut().find(is_same) {
        if !is(Mutant::CountsNoPatterns) {
            let count = earlier.fields["occurrence_count"].as_i64().unwrap_or_default();
            earlier.set("occurrence_count", (count + 1).into());
        }
        for name in LISTS {
            let list = joined(texts(&earlier.fields[name]), texts(&note.fields[name]));
            earlier.set(name, json!(list));
        }
        for name in ["description", "category", "last_seen_at", "provenance"] {
            if let Some(value) = note.fields.get(name) {
                earlier.set(name, value.clone());
            }
        }
        earlier.tags = joined(std::mem::take(&mut earlier.tags), note.tags);
        earlier.content = note.content;
        (earlier.repo_id, earlier.session_id) = (note.repo_id, note.session_id);
        let count = &earlier.fields["occurrence_count"];
        return Ok(json!({ "id": earlier.id, "occurrence_count": count, "deduplicated": true }));
    }
    note.set("occurrence_count", 1.into());
    note.fields.entry("category").or_insert(json!("other"));
    let answer = json!({ "id": note.id, "occurrence_count": 1, "deduplicated": false });
    state.notes.push(note);
    Ok(answer)
}

/// Returns two lists as one, without duplicates.
fn joined(mut first: Vec<String>, second: Vec<String>) -> Vec<String> {
    for text in second {
        if !first.contains(&text) {
            first.push(text);
        }
    }
    first
}

fn sha256(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    HEXLOWER.encode(&Sha256::digest(text))
}
