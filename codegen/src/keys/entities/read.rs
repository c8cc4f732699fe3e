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
    /// Names of the entities, in the order in which they are documented.
    #[serde(borrow)]
    pub entities: Vec<&'static str>,
    /// The division of the rows into orgs.
    pub org: Option<OrgSpec>,
    /// The caller's own row.
    pub caller: Option<CallerSpec>,
    /// The rows that a new store begins with.
    #[serde(default)]
    pub seeds: Vec<SeedRow>,
}

/// An initial row of a new store.
#[derive(Debug, Clone, Deserialize)]
pub struct SeedRow {
    /// The entity.
    pub entity: &'static str,
    /// Key of the org.
    pub org: Option<&'static str>,
    /// The row's given fields.
    pub row: Value,
}

/// The content of an entity file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityFile {
    /// The entity's name.
    pub name: &'static str,
    /// Description of a row.
    pub description: Option<&'static str>,
    /// Name of the table.
    pub table: &'static str,
    /// The field with the org's key.
    pub scope: Option<&'static str>,
    /// True if the rows belong to no org.
    #[serde(default)]
    pub global: bool,
    /// The fields that identify a row.
    #[serde(default = "id")]
    pub key: Vec<&'static str>,
    /// The fields.
    pub fields: IndexMap<&'static str, Field>,
    /// Fields whose values must be unique.
    #[serde(default)]
    pub unique: Vec<UniqueFields>,
    /// The fields by which lists are ordered.
    #[serde(default)]
    pub order: Vec<&'static str>,
    /// The fields by which rows are looked up often.
    #[serde(default)]
    pub index: Vec<Vec<&'static str>>,
    /// Consequences of a field's value.
    #[serde(default)]
    pub on: Vec<When>,
    /// Changes of other rows.
    #[serde(default)]
    pub also: IndexMap<&'static str, Vec<Other>>,
    /// The graphs without circles that the rows are edges of.
    #[serde(default)]
    pub acyclic: Vec<Edges>,
    /// Conditions on several fields together.
    #[serde(default)]
    pub rules: Vec<RowRule>,
    /// Members that answers add from other rows.
    #[serde(default)]
    pub adds: IndexMap<&'static str, Copied>,
    /// The operations that follow, by tool.
    #[serde(default, deserialize_with = "one_or_several")]
    pub operations: &'static [OperationsOf],
}

fn id() -> Vec<&'static str> {
    vec!["id"]
}

/// A field of an entity.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "`meta/entity.schema.json` describes them")]
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
    /// Just these.
    Plain(Vec<&'static str>),
    /// With conditions.
    #[serde(rename_all = "camelCase")]
    Conditional {
        /// The fields.
        fields: Vec<&'static str>,
        /// The fields that are compared without regard to case.
        #[serde(default)]
        folded: Vec<&'static str>,
        /// Only rows in which this field is null count.
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
    /// The field and the value.
    #[serde(borrow)]
    pub when: IndexMap<&'static str, Value>,
    /// The values to set then.
    pub set: IndexMap<&'static str, Value>,
    /// The values to set when it changes to another value.
    #[serde(default, rename = "else")]
    pub otherwise: IndexMap<&'static str, Value>,
}

/// A change of another row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Other {
    /// The other row's entity.
    pub entity: &'static str,
    /// The field that refers to it.
    pub key: &'static str,
    /// Values that the row must have.
    #[serde(default)]
    pub when: IndexMap<&'static str, Value>,
    /// The values to set in it.
    pub set: IndexMap<&'static str, Value>,
}

/// The operations that follow from an entity.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationsOf {
    /// The tool that they are parts of.
    pub tool: &'static str,
    /// The value of its second selector.
    pub resource: Option<&'static str>,
    /// The member of the request with the row's fields.
    #[serde(default = "data")]
    pub data: &'static str,
    /// Errors in addition to those that follow from the failures.
    #[serde(default)]
    pub errors: Vec<&'static str>,
    /// Members of the request by the field of the key.
    #[serde(default)]
    pub key: IndexMap<&'static str, &'static str>,
    /// True if the data identifies the row.
    #[serde(default)]
    pub key_in_data: bool,
    /// Members of the request that each operation takes, by the field with their value.
    #[serde(default)]
    pub by: IndexMap<&'static str, &'static str>,
    /// The fields of `by` whose members each request must have.
    #[serde(default)]
    pub required: Vec<&'static str>,
    /// True if answers of `list` and `delete` contain the value of the second selector.
    #[serde(default)]
    pub names_resource: bool,
    /// The operations by their action.
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
    /// The name.
    pub name: Option<&'static str>,
    /// The description.
    pub description: Option<&'static str>,
    /// Members that identify the row instead of the key, by the field.
    pub or_by: IndexMap<&'static str, &'static str>,
    /// A value of members of `by` that all rows match.
    pub wildcard: Option<&'static str>,
    /// The values to set.
    pub set: IndexMap<&'static str, Value>,
    /// The fields of `set` whose value a request may override.
    pub fields: Vec<&'static str>,
    /// Fields that the data can't set.
    pub omit: Vec<&'static str>,
    /// Members that select the rows of a list.
    pub filters: IndexMap<&'static str, FilterOf>,
    /// The member of the request that contains the filters.
    pub filters_in: Option<&'static str>,
    /// The field whose value is in `after`.
    pub after_by: Option<&'static str>,
    /// Members of the request, by the field with their value.
    pub by: IndexMap<&'static str, &'static str>,
    /// The fields of `by` whose members a request must have.
    pub required: Vec<&'static str>,
    /// The member with the maximum number of listed rows.
    pub limit: Option<&'static str>,
    /// The default of that number.
    pub default: Option<u64>,
    /// The maximum of that number.
    pub most: Option<u64>,
    /// The member with the key of the last row seen.
    pub after: Option<&'static str>,
    /// The member of the answer that contains the row.
    pub answer: Option<&'static str>,
}

/// The comparison of a row with the value of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum FilterOf {
    /// The field equals the value.
    Field(&'static str),
    /// Another comparison.
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
