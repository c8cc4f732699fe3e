//! Notes of a memory in the model, and the filters of calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A resource of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Resource {
    Observation,
    Execution,
    QualityGate,
    ErrorPattern,
    Session,
}

impl Resource {
    pub(super) fn random(dice: &mut fastrand::Rng) -> Self {
        Self::ALL[dice.usize(..Self::ALL.len())]
    }

    pub(super) const ALL: [Self; 5] =
        [Self::Observation, Self::Execution, Self::QualityGate, Self::ErrorPattern, Self::Session];

    /// Returns the word for it in requests and answers.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Observation => "observation",
            Self::Execution => "execution",
            Self::QualityGate => "quality_gate",
            Self::ErrorPattern => "error_pattern",
            Self::Session => "session",
        }
    }

    /// Returns the name of its table.
    pub(super) fn entity(self) -> &'static str {
        match self {
            Self::Session => "session_summary",
            other => other.word(),
        }
    }

    /// Returns the member of `get`'s answer that contains the notes, and the member of a note that contains its id.
    pub(super) fn answered(self) -> (&'static str, &'static str) {
        match self {
            Self::Observation => ("observations", "id"),
            Self::Execution => ("executions", "observation_id"),
            Self::QualityGate => ("quality_gates", "observation_id"),
            Self::ErrorPattern => ("patterns", "id"),
            Self::Session => ("", "summary_id"),
        }
    }

    /// Returns true if notes stored as `other` belong to it: executions and quality gates are observations too.
    pub(super) fn has(self, other: Self) -> bool {
        let is_observed = !matches!(other, Self::ErrorPattern | Self::Session);
        self == other || self == Self::Observation && is_observed
    }

    /// Returns true if the text of an entry is specified: that of a summary is the server's own.
    pub(super) fn has_text(self) -> bool {
        self != Self::Session
    }
}

/// A stored note.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Note {
    pub(super) resource: Resource,
    pub(super) id: String,
    /// The other id of an execution.
    pub(super) run: Option<String>,
    /// The type of an observation, or the resource.
    pub(super) word: String,
    /// The text.
    pub(super) content: String,
    pub(super) tags: Vec<String>,
    pub(super) project: String,
    pub(super) repo: String,
    pub(super) session: String,
    pub(super) file: Option<String>,
    pub(super) branch: Option<String>,
    /// Fields that `get` answers, except times.
    pub(super) fields: Map<String, Value>,
    /// Time and number, assigned by the server.
    pub(super) at: (i64, i64),
}

/// Filters of a query: all given ones must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Filters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repo_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) observation_types: Vec<String>,
}

impl Filters {
    pub(super) fn passes(&self, note: &Note) -> bool {
        let is = |asked: &Option<String>, has: &str| asked.as_deref().is_none_or(|asked| asked == has);
        is(&self.project_id, &note.project)
            && is(&self.repo_id, &note.repo)
            && is(&self.session_id, &note.session)
            && self.tags.iter().all(|tag| note.tags.contains(tag))
            && (self.observation_types.is_empty() || self.observation_types.contains(&note.word))
    }

    /// Returns the arguments with these filters.
    pub(super) fn arguments(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        }
    }

    /// Keeps the filters that calls of the resource accept.
    pub(super) fn fit(mut self, action: &str, resource: Resource) -> Self {
        if resource == Resource::Session {
            self.tags.clear();
        }
        if resource != Resource::Observation || action == "list" {
            self.observation_types.clear();
        }
        if resource == Resource::ErrorPattern && action == "list" {
            (self.repo_id, self.session_id) = (None, None);
        }
        self
    }

    /// Returns up to two tags.
    pub(super) fn random_tags(dice: &mut fastrand::Rng) -> Vec<String> {
        let mut tags = TAGS.to_vec();
        dice.shuffle(&mut tags);
        tags.truncate(dice.usize(..3));
        tags.into_iter().map(str::to_owned).collect()
    }

    /// Makes random filters.
    pub(super) fn random(dice: &mut fastrand::Rng) -> Self {
        let mut pick = |from: &[&str]| {
            let is_asked = dice.u8(..4) == 0;
            is_asked.then(|| from[dice.usize(..from.len())].to_owned())
        };
        let [project_id, repo_id, session_id] = [PROJECTS, REPOS, SESSIONS].map(&mut pick);
        let observation_types = [pick(TYPES), pick(TYPES)].into_iter().flatten().collect();
        let tags = Self::random_tags(dice);
        Self { project_id, repo_id, session_id, tags, observation_types }
    }
}

pub(super) const PROJECTS: &[&str] = &["acme/shop", "acme/bank", "side"];
pub(super) const REPOS: &[&str] = &["repo-a", "repo-b", "repo-c"];
pub(super) const SESSIONS: &[&str] = &["session-a", "session-b", "session-c", "session-d"];
pub(super) const TAGS: &[&str] = &["money", "speed", "naïve", "ÖL"];
/// The types that observations can be stored with.
pub(super) const TYPES: &[&str] = &["code", "decision", "context", "error", "summary"];
