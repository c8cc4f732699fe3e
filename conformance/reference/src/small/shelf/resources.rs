//! Notes, their versions and their links as resources.

use serde_json::{Value, json};

use super::{Shelf, note::Note};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

impl Shelf {
    /// Returns the resource of an address; `None` if there is none.
    pub(super) fn read_resource(&self, uri: &str) -> Result<Option<Value>, Refusal> {
        let Some(rest) = uri.strip_prefix("note://") else {
            return Ok(None);
        };
        let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let Some(note) = self.note(id)? else {
            return Ok(None);
        };
        Ok(match rest.strip_prefix("versions") {
            _ if rest.is_empty() => Some(json!({
                "note_id": id,
                "title": note.meta["title"],
                "version": note.version(),
                "content": note.content,
            })),
            _ if rest == "links" => Some(self.links_of(&note)?),
            Some("") => {
                let versions: Vec<_> = self
                    .versions(&note)
                    .iter()
                    .map(|version| json!({ "version": version.version() }))
                    .collect();
                Some(json!({ "versions": versions }))
            }
            Some(number) => {
                let number = number.trim_start_matches('/').parse().unwrap_or(0_u64);
                let versions = self.versions(&note);
                let version = versions.iter().find(|version| version.version() == number);
                version.map(|version| json!({ "note_id": id, "version": number, "content": version.content }))
            }
            None => None,
        })
    }

    /// Returns the versions of a note, the newest first, from git's history.
    fn versions(&self, note: &Note) -> Vec<Note> {
        let mut versions = vec![note.clone()];
        if is(Mutant::ForgetsVersions) {
            return versions;
        }
        let log = self.git_says(&["log", "--format=%H", "--", &note.path]);
        for commit in log.unwrap_or_default().lines() {
            let Some(text) = self.git_says(&["show", &format!("{commit}:{}", note.path)]) else {
                continue;
            };
            let version = Note::parse(&note.path, &text);
            if versions.iter().all(|other| other.version() > version.version()) {
                versions.push(version);
            }
        }
        versions
    }

    fn links_of(&self, note: &Note) -> Result<Value, Refusal> {
        let (mut out, mut into) = (Vec::new(), Vec::new());
        for source in self.notes()? {
            for link in source.meta["links"].as_array().into_iter().flatten() {
                let whole = json!({
                    "link_id": link["id"],
                    "source_note_id": source.meta["id"],
                    "target_note_id": link["to"],
                    "relation_type": link["relation"],
                });
                if source.id() == note.id() {
                    out.push(whole);
                } else if link["to"] == note.id() {
                    into.push(whole);
                }
            }
        }
        Ok(json!({ "out": out, "in": into }))
    }
}
