//! Notes and proposals as files.

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::mutant::{Mutant, is};

/// A note, or a proposal of one.
#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) path: String,
    /// Its metadata.
    pub(super) meta: Value,
    pub(super) content: String,
}

const START: &str = "<!-- ";
const END: &str = " -->";

impl Note {
    /// Reads a file. A file without our first line is a person's note.
    pub(super) fn parse(path: &str, text: &str) -> Self {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let inner = first
            .strip_prefix(START)
            .and_then(|first| first.strip_suffix(END));
        let meta: Option<Value> = inner.and_then(|meta| serde_json::from_str(meta).ok());
        match meta {
            Some(meta) => Self {
                path: path.to_owned(),
                meta,
                content: rest.to_owned(),
            },
            None => Self {
                path: path.to_owned(),
                meta: json!({
                    "id": id_of(path),
                    "title": title_of(text),
                    "type": "permanent",
                    "tags": [],
                    "created_at": "2026-01-01T00:00:00.000000Z",
                    "version": 1,
                    "digest": digest(text),
                    "links": [],
                }),
                content: text.to_owned(),
            },
        }
    }

    pub(super) fn text(&self) -> String {
        format!("{START}{}{END}\n{}", self.meta, self.content)
    }

    pub(super) fn said(&self, key: &str) -> &str {
        self.meta[key].as_str().unwrap_or_default()
    }

    pub(super) fn id(&self) -> &str {
        self.said("id")
    }

    /// Returns its version: its number, plus one if its content was edited since that number was written.
    pub(super) fn version(&self) -> u64 {
        let number = self.meta["version"].as_u64().unwrap_or(1);
        let is_edited = self.meta["digest"] != digest(&self.content);
        number + u64::from(is_edited && !is(Mutant::HandEditsDoNotCount))
    }

    /// Returns a proposal's record of its base, which differs after any edit.
    pub(super) fn base(&self) -> Value {
        if is(Mutant::ComparesNumbersAlone) {
            return self.version().into();
        }
        json!([self.version(), digest(&self.content)])
    }

    /// Replaces the content, as this version.
    pub(super) fn put(&mut self, content: &str, version: u64) {
        content.clone_into(&mut self.content);
        self.meta["version"] = version.into();
        self.meta["digest"] = digest(content).into();
    }

    pub(super) fn has_tags(&self, tags: &Value) -> bool {
        let has = |tag: &Value| {
            let mut own = self.meta["tags"].as_array().into_iter().flatten();
            own.any(|own| own == tag)
        };
        tags.as_array().into_iter().flatten().all(has)
    }
}

/// Returns the first line with text.
pub(super) fn title_of(content: &str) -> String {
    let mut lines = content.lines().map(|line| line.trim_start_matches('#').trim());
    lines
        .find(|line| !line.is_empty())
        .unwrap_or("Untitled")
        .to_owned()
}

pub(super) fn digest(text: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

/// Returns an id that is derived from a path.
fn id_of(path: &str) -> String {
    let hex = digest(path);
    format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}

/// Returns a random id.
pub(super) fn new_id() -> String {
    id_of(&format!("{}{}", fastrand::u128(..), std::process::id()))
}

pub(super) fn now() -> String {
    DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Micros, true)
}
