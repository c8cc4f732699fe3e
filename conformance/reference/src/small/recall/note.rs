//! A note: its fields, and the rows that represent it.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha1::{Digest, Sha1};

use super::{Request, object};
use crate::small::now;

/// A stored note.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    /// The resource as which it was stored.
    pub(super) resource: String,
    pub(super) id: String,
    /// The type of an observation, or the resource.
    pub(super) word: String,
    pub(super) content: String,
    pub(super) tags: Vec<String>,
    pub(super) project_id: String,
    pub(super) repo_id: String,
    pub(super) session_id: String,
    pub(super) created_at: i64,
    pub(super) seq: i64,
    /// All other fields of the request.
    pub(super) fields: Map<String, Value>,
}

impl Note {
    /// Makes an observation.
    pub(super) fn observed(
        seq: i64,
        request: &Request<'_>,
        word: &str,
        content: String,
        tags: Vec<String>,
    ) -> Self {
        let data = &request.arguments["data"];
        let of = |name: &str| {
            let said = request.text(name).or(data[name].as_str());
            said.or(request.provenance(name)).unwrap_or_default().to_owned()
        };
        let now = now();
        let hash = HEXLOWER.encode(&Sha1::digest(format!("{seq} {content}")));
        Self {
            resource: request.resource.to_owned(),
            id: format!("note-{seq}-{}", &hash[..8]),
            word: word.to_owned(),
            tags,
            project_id: of("project_id"),
            repo_id: of("repo_id"),
            session_id: of("session_id"),
            created_at: now,
            seq,
            fields: object([("last_seen_at", now.into()), ("provenance", request.meta.clone())]),
            content,
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    /// Returns true if a call of the resource is about it.
    pub(super) fn is_of(&self, resource: &str) -> bool {
        let is_observed = !matches!(&*self.resource, "error_pattern" | "session");
        resource == self.resource || resource == "observation" && is_observed
    }

    /// Returns the fields of answers, `null` if absent.
    pub(super) fn shown(&self) -> Map<String, Value> {
        let mut all = self.fields.clone();
        all.extend(object([
            ("id", json!(self.id)),
            ("observation_id", json!(self.id)),
            ("summary_id", json!(self.id)),
            ("content", json!(self.content)),
            ("observation_type", json!(self.word)),
            ("tags", json!(self.tags)),
            ("project_id", json!(self.project_id)),
            ("repo_id", json!(self.repo_id)),
            ("session_id", json!(self.session_id)),
            ("created_at", json!(self.created_at)),
            ("first_seen_at", json!(self.created_at)),
            ("seq", json!(self.seq)),
        ]));
        all
    }

    /// Returns the rows that represent it, with the entities' names.
    pub(super) fn rows(&self) -> Vec<(&str, Map<String, Value>)> {
        let row = self.shown();
        match &*self.resource {
            "session" => vec![("session_summary", row)],
            "execution" | "quality_gate" => vec![("observation", row.clone()), (&*self.resource, row)],
            other => vec![(other, row)],
        }
    }
}
