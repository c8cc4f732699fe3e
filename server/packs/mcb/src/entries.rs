//! One form for all resources of the memory, so that lists, timelines and contexts need not distinguish them.

use tabellion_contracts::mcb::tool;
use tabellion_runtime::{
    Row,
    rows::{Filter, RowError, Select, Test},
    text::composed,
};
use unicode_normalization::UnicodeNormalization as _;

use super::{
    call::entity,
    observations::OBSERVATION,
    runs::{EXECUTION, QUALITY_GATE},
    summaries::{self, SESSION_SUMMARY},
    values::{integer, text, texts},
};

/// Name of the entity.
pub(super) const ERROR_PATTERN: &str = "error_pattern";

/// Maximum number of characters of a preview.
const MAX_PREVIEW_CHARS: usize = 120;

/// A resource of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Observations of all types.
    Observation,
    Execution,
    QualityGate,
    ErrorPattern,
    /// Summaries of sessions.
    Session,
}

impl Kind {
    /// Returns the name of the entity that has the text and the time.
    pub(super) fn entity(self) -> &'static str {
        match self {
            Self::Observation | Self::Execution | Self::QualityGate => OBSERVATION,
            Self::ErrorPattern => ERROR_PATTERN,
            Self::Session => SESSION_SUMMARY,
        }
    }

    /// Returns the noun for one entry.
    pub(super) fn noun(self) -> &'static str {
        self.only_type().unwrap_or(self.entity())
    }

    /// Returns the only type of its observations, if they all have the same.
    fn only_type(self) -> Option<&'static str> {
        match self {
            Self::Execution => Some(EXECUTION),
            Self::QualityGate => Some(QUALITY_GATE),
            Self::Observation | Self::ErrorPattern | Self::Session => None,
        }
    }

    /// Returns the name of the field with the time.
    pub(super) fn time(self) -> &'static str {
        match self {
            Self::ErrorPattern => "first_seen_at",
            _ => "created_at",
        }
    }

    /// Converts a row to the common form.
    pub(super) fn entry(self, row: &Row) -> Entry {
        let of_provenance = |field: &str| {
            let value = row.get("provenance")?.get(field)?;
            Some(value.as_str()?.to_owned())
        };
        let own = |field: &str| text(row, field).map(String::from);
        let (word, content, preview) = match self {
            Self::ErrorPattern => (ERROR_PATTERN, pattern(row), None),
            // The resource has the name of a tool.
            Self::Session => (tool::SESSION, summaries::content(row), Some(summaries::topics(row))),
            _ => {
                let word = text(row, "observation_type").unwrap_or_default();
                (word, own("content").unwrap_or_default(), None)
            }
        };
        Entry {
            id: own("id").unwrap_or_default(),
            word: word.to_owned(),
            preview: preview.unwrap_or_else(|| content.clone()),
            content,
            tags: texts(row, "tags"),
            project_id: own("project_id"),
            repo_id: own("repo_id").or_else(|| of_provenance("repo_id")),
            session_id: own("session_id").or_else(|| of_provenance("session_id")),
            file_path: own("file_path"),
            at: At {
                time: integer(row, self.time()).unwrap_or_default(),
                seq: integer(row, "seq").unwrap_or_default(),
            },
            category: own("category"),
            occurrences: integer(row, "occurrence_count"),
        }
    }
}

/// A position in the order of time. The sequence number decides within a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) time: i64,
    pub(super) seq: i64,
}

/// An entry of the memory, in the form common to all resources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) id: String,
    /// The type of an observation, or else the resource.
    pub(super) word: String,
    pub(super) content: String,
    /// The text that a preview is cut from.
    preview: String,
    pub(super) tags: Vec<String>,
    pub(super) project_id: Option<String>,
    pub(super) repo_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) file_path: Option<String>,
    pub(super) at: At,
    /// Category of a pattern.
    pub(super) category: Option<String>,
    /// Number of occurrences of a pattern.
    pub(super) occurrences: Option<i64>,
}

impl Entry {
    /// Returns true if it has a tag, composed or decomposed.
    pub(super) fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| composed(own) == composed(tag))
    }

    /// Returns the beginning of the content, or of a summary's topics.
    pub(super) fn preview(&self) -> String {
        preview(&self.preview)
    }
}

/// Returns the beginning of a text, cut between characters; `…` replaces the rest.
fn preview(text: &str) -> String {
    if text.chars().nth(MAX_PREVIEW_CHARS).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(MAX_PREVIEW_CHARS - 1);
    kept.chain(['…']).collect()
}

/// Selection of entries. Only arguments of a call select; its provenance never does.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Selection {
    pub(super) kind: Kind,
    pub(super) project_id: Option<String>,
    pub(super) repo_id: Option<String>,
    pub(super) session_id: Option<String>,
    /// Tags, all of which an entry must have.
    pub(super) tags: Vec<String>,
    /// The types that an observation can have; any, if empty.
    pub(super) observation_types: Vec<String>,
}

impl Selection {
    /// Selects all entries of a kind.
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            project_id: None,
            repo_id: None,
            session_id: None,
            tags: vec![],
            observation_types: vec![],
        }
    }

    /// Selects the entries of a kind in a project, a repository and a session, as far as they are given.
    pub(super) fn in_place(kind: Kind, [project_id, repo_id, session_id]: [Option<String>; 3]) -> Self {
        Self { project_id, repo_id, session_id, ..Self::new(kind) }
    }

    /// Returns the types that an observation can have; any, if empty.
    pub(super) fn types(&self) -> Vec<String> {
        match self.kind.only_type() {
            Some(only) => vec![only.into()],
            None => self.observation_types.clone(),
        }
    }

    /// Selects rows by their fields: all entries that [`passes`](Self::passes) accepts, and possibly others.
    ///
    /// # Errors
    /// If the contract has no such entity.
    pub(super) fn select(&self) -> Result<Select, RowError> {
        let mut select = Select::new(entity(self.kind.entity())?, vec![]);
        let of_observations = !matches!(self.kind, Kind::ErrorPattern | Kind::Session);
        let mut given = |field, value: &Option<String>| {
            select.all.extend(value.as_deref().map(|value| Filter::is(field, value)));
        };
        given("project_id", &self.project_id);
        if self.kind != Kind::ErrorPattern {
            given("session_id", &self.session_id);
        }
        if of_observations {
            given("repo_id", &self.repo_id);
            match &*self.types() {
                [] => {}
                [only] => select.all.push(Filter::is("observation_type", only.as_str())),
                several => {
                    let is = |word: &String| Filter::is("observation_type", word.as_str());
                    select.any.push(several.iter().map(is).collect());
                }
            }
        }
        for tag in &self.tags {
            let has = |tag: String| Filter { field: "tags", test: Test::HasItem, value: tag.into() };
            select.any.push(spellings(tag).into_iter().map(has).collect());
        }
        Ok(select)
    }

    /// Returns true if [`select`](Self::select) selects no other entries.
    pub(super) fn is_of_fields(&self) -> bool {
        match self.kind {
            Kind::ErrorPattern => self.repo_id.is_none() && self.session_id.is_none(),
            Kind::Session => self.repo_id.is_none(),
            _ => true,
        }
    }

    /// Returns true if an entry of the kind is selected.
    pub(super) fn passes(&self, entry: &Entry) -> bool {
        let is = |asked: &Option<String>, has: &Option<String>| asked.is_none() || asked == has;
        // Only observations have types.
        let types = self.types();
        is(&self.project_id, &entry.project_id)
            && is(&self.repo_id, &entry.repo_id)
            && is(&self.session_id, &entry.session_id)
            && self.tags.iter().all(|tag| entry.has_tag(tag))
            && (types.is_empty() || types.contains(&entry.word))
    }
}

/// Returns a text composed and decomposed, once if that is the same.
pub(super) fn spellings(text: &str) -> Vec<String> {
    let mut all = vec![text.nfc().collect::<String>(), text.nfd().collect()];
    all.dedup();
    all
}

/// Returns a pattern as one text.
fn pattern(row: &Row) -> String {
    let part = |field| text(row, field).unwrap_or_default();
    format!("{}: {}", part("pattern_signature"), part("description"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_preview_is_the_beginning_and_never_too_long(text in "\\PC{0,200}") {
            let shown = preview(&text);
            prop_assert!(shown.chars().count() <= MAX_PREVIEW_CHARS);
            match shown.strip_suffix('…').filter(|_| shown != text) {
                Some(beginning) => {
                    prop_assert_eq!(beginning.chars().count(), MAX_PREVIEW_CHARS - 1);
                    prop_assert!(text.starts_with(beginning));
                    prop_assert!(text.chars().count() > MAX_PREVIEW_CHARS);
                }
                None => prop_assert_eq!(shown, text),
            }
        }
    }
}
