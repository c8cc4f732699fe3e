//! The front matter of a note.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    Link, Problem,
    scalar::{is_false, parse_time, scalar, show_time},
};

/// Keys that have a meaning, in the order in which new notes have them.
pub(crate) const KEYS: [&str; 13] = [
    "id",
    "title",
    "type",
    "tags",
    "source",
    "version",
    "created_at",
    "created_by",
    "agent",
    "ai_justification",
    "reviewed_by",
    "sensitive",
    "links",
];

/// The largest version that is read from a file: beyond it is room for later ones that JSON's readers still tell apart.
pub const MAX_VERSION: u64 = 1 << 52;

/// The type of a note without one.
const PERMANENT: &str = "permanent";

/// Keys that are set by tools and refused in requests.
pub const KEPT_KEYS: [&str; 9] = [
    "id",
    "type",
    "version",
    "created_at",
    "created_by",
    "agent",
    "ai_justification",
    "reviewed_by",
    "links",
];

/// The front matter of a note. A key with the value null counts as absent. Keys that tools set are read as written, the others in any case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    /// The id in the file.
    pub id: Option<Uuid>,
    /// The title in the file.
    pub title: Option<String>,
    /// The type in the file: `permanent`, `agent_generated`, or any word.
    pub note_type: Option<String>,
    /// Tags without `#`, each once.
    pub tags: Vec<String>,
    /// Source of the content.
    pub source: Option<String>,
    /// The version number set by the last tool, from 1; see [`Metadata::current_version`].
    pub version: Option<u64>,
    /// Time of the note's creation, in whole seconds.
    pub created_at: Option<DateTime<Utc>>,
    /// Its maker.
    pub created_by: Option<String>,
    /// The agent that wrote it.
    pub agent: Option<Agent>,
    /// Reason for an AI's content in the library.
    pub ai_justification: Option<String>,
    /// Its reviewer.
    pub reviewed_by: Option<String>,
    /// True if the note is confidential. A value that can't be understood counts as true, and so does a line that says so in front matter
    /// that can't be read.
    pub sensitive: bool,
    /// Links from this note, in their order.
    pub links: Vec<Link>,
    /// All other members, and those with a meaning whose values can't be understood; of lists, the items that can't be.
    pub others: Map<String, Value>,
}

/// An agent: `NAME@VERSION`, or a map with both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

impl Metadata {
    /// Reads the members of front matter; returns a problem for each one that can't be understood.
    pub fn from_members(mut members: Map<String, Value>) -> (Self, Vec<Problem>) {
        let mut reader = Reader { members: &mut members, unread: Map::new(), problems: vec![] };
        let metadata = Self {
            id: reader.take("id", "a UUID", |value| Uuid::try_parse(value.as_str()?).ok()),
            title: reader.text("title"),
            note_type: reader.text("type"),
            tags: reader.tags(),
            source: reader.text("source"),
            version: reader.take("version", "a number from 1 to 4503599627370496", |value| {
                value.as_u64().filter(|version| (1..=MAX_VERSION).contains(version))
            }),
            created_at: reader.take("created_at", "a time, such as 2026-01-31T12:00:00Z", |value| {
                parse_time(value.as_str()?)
            }),
            created_by: reader.text("created_by"),
            agent: reader.agent(),
            ai_justification: reader.text("ai_justification"),
            reviewed_by: reader.text("reviewed_by"),
            sensitive: reader.sensitive(),
            links: reader.links(),
            others: Map::new(),
        };
        let Reader { unread, problems, .. } = reader;
        let others = members.into_iter().chain(unread).collect();
        (Self { others, ..metadata }, problems)
    }

    /// Returns the type in the file, or else that of notes written by people.
    pub fn note_type(&self) -> &str {
        self.note_type.as_deref().unwrap_or(PERMANENT)
    }

    /// Returns the key of Obsidian's aliases, in any case, and the aliases; `None` if there is none.
    pub(crate) fn aliases(&self) -> Option<(&str, Vec<String>)> {
        let (key, value) = self.others.iter().find(|(key, _)| key.eq_ignore_ascii_case("aliases"))?;
        let aliases = match value {
            Value::Array(aliases) => aliases.iter().filter_map(scalar).collect(),
            alias => scalar(alias).into_iter().collect(),
        };
        Some((key, aliases))
    }

    /// Returns the note's version: the number in its front matter, or 1 if there is none. If a person has edited the file since a tool
    /// last changed it, `left` is the number that the tool left, and the version is one more than the larger of both: regardless of the
    /// number of edits and of any number written in them, no number is given twice. The next change by a tool has the number after it.
    pub fn current_version(&self, left: Option<u64>) -> u64 {
        let said = self.version.unwrap_or(1);
        left.map_or(said, |left| said.max(left).saturating_add(1))
    }

    /// Returns the members of the front matter, in the order of new notes.
    pub fn members(&self) -> Map<String, Value> {
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let list = |list: Vec<Value>| Some(list).filter(|list| !list.is_empty()).map(Value::Array);
        let values = [
            self.id.map(|id| json!(id.to_string())),
            text(&self.title),
            text(&self.note_type),
            list(self.tags.iter().map(|tag| json!(tag)).collect()),
            text(&self.source),
            self.version.map(|version| json!(version)),
            self.created_at.map(|time| json!(show_time(time))),
            text(&self.created_by),
            self.agent.as_ref().map(Agent::to_value),
            text(&self.ai_justification),
            text(&self.reviewed_by),
            self.sensitive.then(|| json!(true)),
            list(self.links.iter().map(Link::to_value).collect()),
        ];
        let known = KEYS.iter().zip(values).filter_map(|(key, value)| Some((key.to_string(), value?)));
        let mut members: Map<String, Value> = known.collect();
        for (key, value) in &self.others {
            match (members.get_mut(key), value) {
                (Some(Value::Array(known)), Value::Array(others)) => known.extend(others.iter().cloned()),
                _ => drop(members.insert(key.clone(), value.clone())),
            }
        }
        members
    }
}

impl Agent {
    fn parse(value: &Value) -> Option<Self> {
        let (name, version) = match value {
            Value::String(text) => match text.rsplit_once('@') {
                Some((name, version)) => (name.to_owned(), Some(version.to_owned())),
                None => (text.clone(), None),
            },
            Value::Object(members) => {
                (scalar(members.get("name")?)?, members.get("version").and_then(scalar))
            }
            _ => return None,
        };
        let version = version.filter(|version| !version.trim().is_empty());
        Some(Self { name, version }).filter(|agent| !agent.name.trim().is_empty())
    }

    fn to_value(&self) -> Value {
        match &self.version {
            Some(version) => json!({ "name": self.name, "version": version }),
            None => json!({ "name": self.name }),
        }
    }
}

/// Takes the members that have a meaning, and collects their problems.
struct Reader<'m> {
    members: &'m mut Map<String, Value>,
    /// Members that can't be understood: they are a person's.
    unread: Map<String, Value>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn take<T>(
        &mut self,
        key: &str,
        expected: &'static str,
        parse: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.member(key)?;
        let parsed = parse(&value);
        if parsed.is_none() {
            self.problem(key.into(), expected);
            self.unread.insert(key.into(), value);
        }
        parsed
    }

    /// Removes a key and returns its value, which is not null. A key in a different case is the same key, unless tools set it.
    fn member(&mut self, key: &str) -> Option<Value> {
        loop {
            let is_as_written = self.members.contains_key(key);
            let mut names = self.members.keys();
            let name =
                if is_as_written { key.into() } else { names.find(|name| is_spelled(name, key))?.clone() };
            let value = self.members.shift_remove(&name)?;
            if !value.is_null() {
                return Some(value);
            }
        }
    }

    fn problem(&mut self, key: String, expected: &'static str) {
        self.problems.push(Problem::Member { key, expected });
    }

    /// Takes a text. A blank one counts as absent.
    fn text(&mut self, key: &str) -> Option<String> {
        let text = self.take(key, "a text", scalar)?;
        Some(text).filter(|text| !text.trim().is_empty())
    }

    /// Takes the key in all its spellings, one of which is enough.
    fn sensitive(&mut self) -> bool {
        let mut is_sensitive = false;
        while let Some(value) = self.member("sensitive") {
            let is_off = value.as_str().is_some_and(is_false);
            let read = value.as_bool().or(is_off.then_some(false));
            if read.is_none() {
                self.problem("sensitive".into(), "true or false");
            }
            is_sensitive |= read.unwrap_or(true);
        }
        is_sensitive
    }

    fn tags(&mut self) -> Vec<String> {
        let mut unread = vec![];
        let tags = self.take("tags", "a list of texts", |value| {
            unread = value.as_array().cloned().unwrap_or_default();
            tags(value)
        });
        unread.retain(|item| scalar(item).is_none());
        self.leave("tags", unread);
        tags.unwrap_or_default()
    }

    fn agent(&mut self) -> Option<Agent> {
        let mut unread = None;
        let agent = self.take("agent", "NAME@VERSION, or a map with both", |value| {
            let is_whole =
                |members: &Map<String, Value>| members.keys().all(|key| key == "name" || key == "version");
            unread = Some(value.clone()).filter(|value| !value.as_object().is_none_or(is_whole));
            Agent::parse(value)
        });
        self.unread.extend(unread.map(|value| ("agent".to_owned(), value)));
        agent
    }

    fn links(&mut self) -> Vec<Link> {
        let all =
            self.take("links", "a list of links", |value| value.as_array().cloned()).unwrap_or_default();
        let (mut links, mut unread) = (vec![], vec![]);
        for (number, value) in (1..).zip(all) {
            match Link::parse(&value) {
                Ok(link) => links.push(link),
                Err(expected) => {
                    self.problem(format!("links[{number}]"), expected);
                    unread.push(value);
                }
            }
        }
        self.leave("links", unread);
        links
    }

    /// Leaves items of a list to the person.
    fn leave(&mut self, key: &str, mut items: Vec<Value>) {
        items.retain(|item| !item.is_null());
        if !items.is_empty() {
            self.unread.insert(key.into(), items.into());
        }
    }
}

/// Returns true if a key in front matter is a spelling of `key`. Keys that callers set and that have a meaning are the same in any case.
pub(crate) fn is_spelled(name: &str, key: &str) -> bool {
    let is_free = KEYS.contains(&key) && !KEPT_KEYS.contains(&key);
    name == key || is_free && name.trim().eq_ignore_ascii_case(key)
}

/// Returns tags from a list, or from a text with commas or blanks between them.
pub(crate) fn tags(value: &Value) -> Option<Vec<String>> {
    let all: Vec<String> = match value {
        // An invalid item, such as `- #lost`, which is a comment, does not invalidate the others.
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        _ => scalar(value)?.split([',', ' ']).map(String::from).collect(),
    };
    let mut tags: Vec<String> = vec![];
    for tag in all {
        let tag = tag.trim().trim_start_matches('#');
        if !tag.is_empty() && !tags.iter().any(|known| known == tag) {
            tags.push(tag.into());
        }
    }
    Some(tags)
}
