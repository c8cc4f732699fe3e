//! Entities as contracts write them.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec::{
    Action, CallerSpec, Copied, Edges, FilterBy, Moment, OnDelete, OrgSpec, Range, RowRule,
    read::one_or_several,
};

use crate::{document::Document, leak::list};

/// An entity and its file.
#[derive(Debug, Clone)]
pub struct Entity {
    /// The file as read.
    pub document: Document,
    /// The decoded file.
    pub file: EntityFile,
}

/// The rows of a contract's store, and their division into orgs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rows {
    #[serde(borrow)]
    pub entities: Vec<&'static str>,
    pub org: Option<OrgSpec>,
    pub caller: Option<CallerSpec>,
    #[serde(default)]
    pub seeds: Vec<SeedRow>,
}

/// An initial row of a new store.
#[derive(Debug, Clone, Deserialize)]
pub struct SeedRow {
    pub entity: &'static str,
    pub org: Option<&'static str>,
    pub row: Value,
}

/// The content of an entity file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityFile {
    pub name: &'static str,
    pub description: Option<&'static str>,
    pub table: &'static str,
    pub scope: Option<&'static str>,
    #[serde(default)]
    pub global: bool,
    #[serde(default = "id")]
    pub key: Vec<&'static str>,
    pub fields: IndexMap<&'static str, Field>,
    #[serde(default)]
    pub unique: Vec<UniqueFields>,
    #[serde(default)]
    pub order: Vec<&'static str>,
    #[serde(default)]
    pub index: Vec<Vec<&'static str>>,
    #[serde(default)]
    pub on: Vec<When>,
    #[serde(default)]
    pub also: IndexMap<&'static str, Vec<Other>>,
    #[serde(default)]
    pub acyclic: Vec<Edges>,
    #[serde(default)]
    pub rules: Vec<RowRule>,
    #[serde(default)]
    pub adds: IndexMap<&'static str, Copied>,
    #[serde(default)]
    pub retired: IndexMap<&'static str, Value>,
    #[serde(default, deserialize_with = "one_or_several")]
    pub operations: &'static [OperationsOf],
}

fn id() -> Vec<&'static str> {
    vec!["id"]
}

/// A field of an entity.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Field {
    pub description: Option<&'static str>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub optional: bool,
    pub fixed: bool,
    pub of_store: bool,
    pub hidden: bool,
    /// `null` is a valid default too.
    pub default: Option<Value>,
    pub from: Option<&'static str>,
    pub one_true_in: Vec<&'static str>,
    pub to: Option<&'static str>,
    pub on_delete: Option<OnDelete>,
    pub same: Vec<&'static str>,
    pub acyclic: bool,
    pub min_length: Option<usize>,
    pub max_length: Option<usize>,
    pub minimum: Option<i64>,
    pub maximum: Option<i64>,
    pub values: Vec<&'static str>,
    pub max_items: Option<usize>,
    pub prefix: Option<&'static str>,
    pub on: Option<Moment>,
    pub within: Vec<&'static str>,
    pub strict: bool,
    pub slug_of: Option<&'static str>,
    pub copy_of: Option<Copied>,
    pub alias: Option<&'static str>,
    pub max_bytes: Option<usize>,
    pub pattern: Option<&'static str>,
    pub not_blank: bool,
    pub format: Option<&'static str>,
    pub pascal_case: bool,
    pub range: Option<Range>,
    pub loose: bool,
}

impl Field {
    /// Returns true if requests can never set the field.
    pub(super) fn is_of_store(&self) -> bool {
        self.of_store
            || self.hidden
            || self.copy_of.is_some()
            || matches!(self.kind, "now" | "secret" | "seq")
    }

    /// Returns true if the field keeps its first value.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed || self.is_of_store() || self.kind == "id"
    }
}

/// Fields whose values must be unique.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum UniqueFields {
    Plain(Vec<&'static str>),
    #[serde(rename_all = "camelCase")]
    Conditional {
        fields: Vec<&'static str>,
        #[serde(default)]
        folded: Vec<&'static str>,
        while_null: Option<&'static str>,
    },
}

impl UniqueFields {
    /// Returns the fields.
    pub fn fields(&self) -> &[&'static str] {
        match self {
            Self::Plain(fields) | Self::Conditional { fields, .. } => fields,
        }
    }
}

/// The consequences of a field's value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct When {
    #[serde(borrow)]
    pub when: IndexMap<&'static str, Value>,
    pub set: IndexMap<&'static str, Value>,
    #[serde(default, rename = "else")]
    pub otherwise: IndexMap<&'static str, Value>,
}

/// A change of another row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Other {
    pub entity: &'static str,
    pub key: &'static str,
    #[serde(default)]
    pub when: IndexMap<&'static str, Value>,
    #[serde(default)]
    pub unless: IndexMap<&'static str, Value>,
    pub set: IndexMap<&'static str, Value>,
}

/// The operations that follow from an entity.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationsOf {
    pub tool: &'static str,
    pub resource: Option<&'static str>,
    #[serde(default = "data")]
    pub data: &'static str,
    #[serde(default)]
    pub errors: Vec<&'static str>,
    #[serde(default)]
    pub key: IndexMap<&'static str, &'static str>,
    #[serde(default)]
    pub key_in_data: bool,
    #[serde(default)]
    pub by: IndexMap<&'static str, &'static str>,
    #[serde(default)]
    pub required: Vec<&'static str>,
    #[serde(default)]
    pub names_resource: bool,
    #[serde(flatten)]
    pub actions: IndexMap<&'static str, ActionOf>,
}

fn data() -> &'static str {
    "data"
}

/// One of these operations.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ActionOf {
    pub name: Option<&'static str>,
    pub description: Option<&'static str>,
    pub or_by: IndexMap<&'static str, &'static str>,
    pub wildcard: Option<&'static str>,
    pub set: IndexMap<&'static str, Value>,
    pub fields: Vec<&'static str>,
    pub omit: Vec<&'static str>,
    pub filters: IndexMap<&'static str, FilterOf>,
    pub filters_in: Option<&'static str>,
    pub after_by: Option<&'static str>,
    pub by: IndexMap<&'static str, &'static str>,
    pub required: Vec<&'static str>,
    pub limit: Option<&'static str>,
    pub default: Option<u64>,
    pub most: Option<u64>,
    pub after: Option<&'static str>,
    pub answer: Option<&'static str>,
}

/// The comparison of a row with the value of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum FilterOf {
    Field(&'static str),
    Other(FilterBy),
}

impl FilterOf {
    /// Returns the comparison in the runtime's form.
    pub fn by(&self) -> FilterBy {
        match self {
            Self::Field(field) => FilterBy::Value(list([*field])),
            Self::Other(by) => *by,
        }
    }
}

/// Returns the action of `word` in an entity's file. Words other than the five are updates that set fields.
pub(super) fn action(word: &str) -> Action {
    match word {
        "create" => Action::Create,
        "get" => Action::Get,
        "list" => Action::List,
        "delete" => Action::Delete,
        _ => Action::Update,
    }
}

/// Returns the operation that changes of other rows can be part of.
pub(super) fn changing(word: &str) -> Option<Action> {
    Some(match word {
        "create" => Action::Create,
        "update" => Action::Update,
        "delete" => Action::Delete,
        _ => return None,
    })
}
