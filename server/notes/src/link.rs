//! Links: members of a note's front matter that name a second note.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    identity::link_id,
    scalar::{parse_time, scalar, show_time},
};

/// A link from the note whose front matter contains it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its id; a link written by hand may have none.
    pub id: Option<Uuid>,
    /// Id of the target note, which may not exist.
    pub to: Uuid,
    /// Relation of the source to the target, such as `supports` or `references`.
    pub relation: String,
    /// Time of its creation.
    pub created_at: Option<DateTime<Utc>>,
    /// The name of its maker, for people.
    pub by: Option<String>,
    /// Id of its maker, which programs compare.
    pub by_id: Option<Uuid>,
    /// All other data about it.
    pub metadata: Map<String, Value>,
    /// Members that have no meaning, or whose values can't be understood.
    pub others: Map<String, Value>,
}

impl Link {
    /// Returns its id, or one derived from its ends and relation if it has none.
    pub fn id_from(&self, source: Uuid) -> Uuid {
        self.id.unwrap_or_else(|| link_id(source, self.to, &self.relation))
    }

    /// Parses a member of `links`; the error describes the expected value.
    pub(crate) fn parse(value: &Value) -> Result<Self, &'static str> {
        const EXPECTED: &str = "a link with `to`, the id of a note, and `relation`";
        let Value::Object(members) = value else {
            return Err(EXPECTED);
        };
        let get = |key| members.get(key).and_then(scalar).filter(|text: &String| !text.trim().is_empty());
        let uuid = |key| get(key).and_then(|text| Uuid::try_parse(&text).ok());
        let link = Self {
            id: uuid("id"),
            to: uuid("to").ok_or(EXPECTED)?,
            relation: get("relation").ok_or(EXPECTED)?,
            created_at: get("created_at").and_then(|text| parse_time(&text)),
            by: get("by"),
            by_id: uuid("by_id"),
            metadata: members.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
            others: Map::new(),
        };
        let read = link.to_value();
        let is_other = |(key, value): &(&String, &Value)| read.get(key).is_none() && !value.is_null();
        let others = members.iter().filter(is_other).map(|(key, value)| (key.clone(), value.clone()));
        Ok(Self { others: others.collect(), ..link })
    }

    /// Returns the link as a member of `links`.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        if let Some(id) = self.id {
            members.insert("id".into(), json!(id.to_string()));
        }
        members.insert("to".into(), json!(self.to.to_string()));
        members.insert("relation".into(), json!(self.relation));
        if let Some(time) = self.created_at {
            members.insert("created_at".into(), json!(show_time(time)));
        }
        if let Some(by) = &self.by {
            members.insert("by".into(), json!(by));
        }
        if let Some(id) = self.by_id {
            members.insert("by_id".into(), json!(id.to_string()));
        }
        if !self.metadata.is_empty() {
            members.insert("metadata".into(), json!(self.metadata));
        }
        members.extend(self.others.clone());
        members.into()
    }
}
