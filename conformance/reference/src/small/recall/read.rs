//! Reading: by ids, as lists, timelines, contexts and hits.

use serde_json::{Value, json};

use super::{Request, answers, find, invalid, note::Note, store::State};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// Default numbers of neighbours, entries and tokens.
const DEPTH: u64 = 5;
const LIMIT: u64 = 10;
const MAX_TOKENS: u64 = 2_000;
/// Maximum number of ids in a request.
const MAX_IDS: u64 = 100;

/// A reading call.
pub(super) struct ReadCall<'r> {
    pub(super) state: &'r State,
    /// The state that searching uses.
    pub(super) index: &'r State,
    pub(super) request: &'r Request<'r>,
}

impl ReadCall<'_> {
    /// Returns true if the note has the parents that the arguments name.
    fn is_there(&self, note: &Note) -> bool {
        let holds = |name: &str, has: &str| self.request.text(name).is_none_or(|asked| asked == has);
        let is_hidden = is(Mutant::HidesOtherSessions)
            && self
                .request
                .provenance("session_id")
                .is_some_and(|session| session != note.session_id);
        holds("project_id", &note.project_id)
            && holds("repo_id", &note.repo_id)
            && holds("session_id", &note.session_id)
            && !is_hidden
    }

    fn has_tags(&self, note: &Note) -> bool {
        let tags = self.request.texts("tags");
        let has = |tag: &String| note.tags.contains(tag);
        if is(Mutant::AnyTag) {
            return tags.is_empty() || tags.iter().any(has);
        }
        tags.iter().all(has)
    }

    fn has_type(&self, note: &Note) -> bool {
        let types = self.request.texts("observation_types");
        types.is_empty() || types.contains(&note.word)
    }

    /// Returns the resource's notes, newest first.
    fn newest(&self) -> Vec<&Note> {
        let all = self.state.notes.iter().rev();
        all.filter(|note| note.is_of(self.request.resource)).collect()
    }

    /// Returns the best matches with their scores, or the newest.
    fn ranked(&self, resource: &str, passes: impl Fn(&Note) -> bool) -> Result<Vec<(&Note, f64)>, Refusal> {
        let Some(query) = self.request.text("query") else {
            let all = self.newest().into_iter();
            return Ok(all.filter(|note| passes(note)).map(|note| (note, 1.0)).collect());
        };
        let mut hits = Vec::new();
        for note in self.index.notes.iter().filter(|note| note.is_of(resource)) {
            let score = find::score(query, note)?;
            if score > 0.0 && passes(note) {
                hits.push((note, score));
            }
        }
        hits.sort_by(|(note, score), (other, more)| more.total_cmp(score).then(other.seq.cmp(&note.seq)));
        if is(Mutant::ScoresAscend) {
            hits.reverse();
        }
        if is(Mutant::ScoresBeyondOne) {
            hits.iter_mut().for_each(|(_, score)| *score *= 20.0);
        }
        Ok(hits)
    }

    pub(super) fn get(&self) -> Result<Value, Refusal> {
        let request = self.request;
        if request.resource == "session" {
            let newest = self.newest().into_iter().find(|note| self.is_there(note));
            return newest
                .map(answers::summary)
                .ok_or_else(|| invalid("the session has no summary"));
        }
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        match request.arguments.get("ids") {
            Some(_) => {
                for id in request.texts("ids") {
                    let is_named = |note: &&Note| {
                        let is_run =
                            note.resource == "execution" && note.fields["execution_id"] == id.as_str();
                        (note.id == id || is_run) && self.is_there(note)
                    };
                    match self.newest().into_iter().find(is_named) {
                        Some(note) => found.push(note),
                        None => missing.push(id),
                    }
                }
                if matches!(request.resource, "execution" | "quality_gate") {
                    found.sort_by_key(|note| std::cmp::Reverse(note.seq));
                }
            }
            None => found.extend(
                self.ranked(request.resource, |note| self.is_there(note))?
                    .iter()
                    .map(|hit| hit.0),
            ),
        }
        let all = if request.arguments.get("ids").is_some() {
            MAX_IDS
        } else {
            LIMIT
        };
        found.truncate(request.number("limit", all));
        Ok(answers::read(request.resource, &found, &missing))
    }

    pub(super) fn list(&self) -> Result<Value, Refusal> {
        let request = self.request;
        let limit = request.number("limit", LIMIT);
        let passes = |note: &Note| self.is_there(note) && self.has_tags(note);
        let mut all = if is(Mutant::FiltersAfterCut) {
            let mut all = self.ranked(request.resource, |_| true)?;
            all.truncate(limit);
            all.retain(|(note, _)| passes(note));
            all
        } else {
            self.ranked(request.resource, passes)?
        };
        let total = all.len();
        all.truncate(limit);
        answers::listing(request, &all, total)
    }

    pub(super) fn search(&self) -> Result<Value, Refusal> {
        let request = self.request;
        let filters = request.texts("filters");
        for filter in &filters {
            if !matches!(filter.split_once(':'), Some((name, _)) if FILTERS.contains(&name)) {
                return Err(invalid(format!(
                    "`{filter}` is no filter; there are {}",
                    FILTERS.join(", ")
                )));
            }
        }
        let is_context = request.resource == "context";
        let passes = |note: &Note| {
            (!is_context || note.word == "context")
                && request
                    .text("session_id")
                    .is_none_or(|session| session == note.session_id)
                && self.is_there(note)
                && self.has_tags(note)
                && (is(Mutant::IgnoresFilters) || filters.iter().all(|filter| holds(filter, note)))
        };
        let limit = request.number("limit", LIMIT);
        let lowest = request.arguments["min_score"].as_f64().unwrap_or_default();
        let mut hits = if is(Mutant::FiltersAfterCut) {
            let mut hits = self.ranked("observation", |_| true)?;
            hits.truncate(limit);
            hits.retain(|(note, _)| passes(note));
            hits
        } else {
            self.ranked("observation", passes)?
        };
        if !is(Mutant::IgnoresLowest) {
            hits.retain(|(_, score)| *score >= lowest);
        }
        let total = hits.len();
        hits.truncate(limit);
        Ok(answers::hits(request, &hits, total))
    }

    pub(super) fn timeline(&self) -> Result<Value, Refusal> {
        let request = self.request;
        let mut all = if is(Mutant::TimelineOfAll) {
            let all = self.state.notes.iter().rev();
            all.filter(|note| note.is_of("observation") || note.is_of(request.resource))
                .collect()
        } else {
            self.newest()
        };
        all.reverse();
        let none = || invalid("there is no such anchor");
        let id = match request.text("anchor_id") {
            Some(id) => id,
            None => {
                &self
                    .ranked(request.resource, |_| true)?
                    .first()
                    .ok_or_else(none)?
                    .0
                    .id
            }
        };
        let place = all.iter().position(|note| note.id == id).ok_or_else(none)?;
        let anchor = all[place];
        let window = request.arguments["window_secs"]
            .as_u64()
            .filter(|_| !is(Mutant::IgnoresWindow));
        let is_near = |note: &&&Note| {
            let distance = note.created_at.abs_diff(anchor.created_at);
            window.is_none_or(|window| distance <= window)
                && (distance > 0 || !is(Mutant::DropsSameSecond))
                && self.is_there(note)
                && self.has_tags(note)
                && self.has_type(note)
        };
        let before = all[..place].iter().rev().filter(is_near);
        let mut shown: Vec<_> = before
            .take(request.number("depth_before", DEPTH))
            .copied()
            .collect();
        let first = -i64::try_from(shown.len()).unwrap_or_default();
        shown.reverse();
        shown.push(anchor);
        let after = all[place + 1..].iter().filter(is_near);
        shown.extend(after.take(request.number("depth_after", DEPTH)).copied());
        Ok(answers::timeline(anchor, first, &shown))
    }

    pub(super) fn inject(&self) -> Result<Value, Refusal> {
        let request = self.request;
        let tags = request.texts("tags");
        let passes = |note: &Note| self.is_there(note) && self.has_type(note);
        let mut ranked = self.ranked(request.resource, passes)?;
        let shared = |note: &Note| tags.iter().filter(|tag| note.tags.contains(tag)).count();
        // The sort is stable: among equals the order stays.
        if !is(Mutant::IgnoresSharedTags) {
            ranked.sort_by_key(|(note, _)| std::cmp::Reverse(shared(note)));
        }
        let limit = request.number("limit", LIMIT);
        let mut room = request.number("max_tokens", MAX_TOKENS) * 4;
        if is(Mutant::OverBudget) {
            room = room / 4 * 5;
        }
        let (mut context, mut ids, mut truncated) = (String::new(), Vec::new(), false);
        for (note, _) in ranked {
            if ids.len() == limit {
                break;
            }
            let entry = format!("[{}] {}: {}\n\n", note.word.to_uppercase(), note.id, note.content);
            let size = entry.chars().count();
            if size <= room {
                room -= size;
            } else {
                truncated = true;
                if !is(Mutant::CutsLastEntry) || room < 20 {
                    continue;
                }
                let cut: String = entry.chars().take(room).collect();
                context += &cut;
                ids.push(note.id.clone());
                break;
            }
            context += &entry;
            ids.push(note.id.clone());
        }
        Ok(json!({
            "observation_count": ids.len(), "observation_ids": ids, "estimated_tokens": context.chars().count().div_ceil(4),
            "context": context, "truncated": truncated, "vcs_context": null,
        }))
    }
}

const FILTERS: [&str; 7] = ["type", "file", "branch", "repo", "project", "since", "until"];

/// Returns true if a filter `name:value` holds for a note.
fn holds(filter: &str, note: &Note) -> bool {
    let (name, value) = filter.split_once(':').unwrap_or((filter, ""));
    let field = |name: &str| note.fields.get(name).and_then(Value::as_str) == Some(value);
    let time = value.parse::<i64>().unwrap_or_default();
    match name {
        "type" => note.word == value,
        "file" => field("file_path"),
        "branch" => field("branch"),
        "repo" => note.repo_id == value,
        "project" => note.project_id == value,
        "since" => note.created_at >= time,
        _ => note.created_at <= time,
    }
}
