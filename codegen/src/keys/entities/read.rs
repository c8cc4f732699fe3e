//! Entities as contracts write them.

use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::Value;
use tabellion_runtime::spec::{self, Action};

use crate::document::Document;

/// An entity and its file.
#[derive(Debug, Clone)]
pub struct Entity {
    /// The file as read.
    pub document: Document,
    /// The decoded file.
    pub file: EntityFile,
}

/// An operation that follows from an entity.
#[derive(Debug, Clone)]
pub struct RowsOperation {
    /// The engine's way to run it.
    pub run: spec::RowOperation,
}

/// The rows of a contract's store, and their division into orgs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rows {
    /// Names of the entities, in the order in which they are documented.
    pub entities: Vec<String>,
    /// The division of the rows into orgs.
    pub org: Option<Org>,
    /// The caller's own row.
    pub caller: Option<Caller>,
    /// The rows that a new store begins with.
    #[serde(default)]
    pub seeds: Vec<SeedRow>,
}

/// The division of rows into orgs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Org {
    /// The entity whose rows are the orgs.
    pub entity: String,
    /// The member of a request that names the org.
    pub argument: Option<String>,
    /// Key of the org of calls without one.
    pub default: String,
}

/// The caller's own row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Caller {
    /// The entity.
    pub entity: String,
    /// The fields by which calls identify the row.
    pub by: Vec<String>,
    /// The field of the provenance that has such a value.
    pub provenance: Option<String>,
    /// Key of the row of calls without a caller.
    pub default: String,
}

/// An initial row of a new store.
#[derive(Debug, Clone, Deserialize)]
pub struct SeedRow {
    /// The entity.
    pub entity: String,
    /// Key of the org.
    pub org: Option<String>,
    /// The row's given fields.
    pub row: Value,
}

/// The content of an entity file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityFile {
    /// The entity's name.
    pub name: String,
    /// Description of a row.
    pub description: Option<String>,
    /// Name of the table.
    pub table: String,
    /// The field with the org's key.
    pub scope: Option<String>,
    /// True if the rows belong to no org.
    #[serde(default)]
    pub global: bool,
    /// The fields that identify a row.
    #[serde(default = "id")]
    pub key: Vec<String>,
    /// The fields.
    pub fields: IndexMap<String, Field>,
    /// Fields whose values must be unique.
    #[serde(default)]
    pub unique: Vec<UniqueFields>,
    /// The fields by which lists are ordered.
    #[serde(default)]
    pub order: Vec<String>,
    /// The fields by which rows are looked up often.
    #[serde(default)]
    pub index: Vec<Vec<String>>,
    /// Consequences of a field's value.
    #[serde(default)]
    pub on: Vec<When>,
    /// Changes of other rows.
    #[serde(default)]
    pub also: IndexMap<String, Vec<Other>>,
    /// The graphs without circles that the rows are edges of.
    #[serde(default)]
    pub acyclic: Vec<EdgesOf>,
    /// Conditions on several fields together.
    #[serde(default)]
    pub rules: Vec<RuleOf>,
    /// Members that answers add from other rows.
    #[serde(default)]
    pub adds: IndexMap<String, FieldOf>,
    /// The operations that follow, by tool.
    #[serde(default, deserialize_with = "one_or_several")]
    pub operations: Vec<OperationsOf>,
}

/// Reads a value that may be written without a list.
fn one_or_several<'de, D: Deserializer<'de>, T: DeserializeOwned>(read: D) -> Result<Vec<T>, D::Error> {
    let value = Value::deserialize(read)?;
    let several = match value {
        Value::Array(several) => several,
        one => vec![one],
    };
    let read = |value: Value| T::deserialize(&value).map_err(D::Error::custom);
    several.into_iter().map(read).collect()
}

fn id() -> Vec<String> {
    vec!["id".into()]
}

/// A field of an entity.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "`meta/entity.schema.json` describes them")]
pub struct Field {
    pub description: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    pub optional: bool,
    pub fixed: bool,
    pub of_store: bool,
    pub hidden: bool,
    /// `null` is a valid default too.
    pub default: Option<Value>,
    pub from: Option<String>,
    pub one_true_in: Vec<String>,
    pub to: Option<String>,
    pub on_delete: Option<String>,
    pub same: Vec<String>,
    pub acyclic: bool,
    pub min_length: Option<usize>,
    pub max_length: Option<usize>,
    pub minimum: Option<i64>,
    pub maximum: Option<i64>,
    pub values: Vec<String>,
    pub max_items: Option<usize>,
    pub prefix: Option<String>,
    pub on: Option<String>,
    pub within: Vec<String>,
    pub strict: bool,
    pub slug_of: Option<String>,
    pub copy_of: Option<FieldOf>,
    pub alias: Option<String>,
    pub max_bytes: Option<usize>,
    pub pattern: Option<String>,
    pub not_blank: bool,
    pub format: Option<String>,
    pub pascal_case: bool,
    pub range: Option<String>,
    pub loose: bool,
}

impl Field {
    /// Returns true if requests can never set the field.
    pub(super) fn is_of_store(&self) -> bool {
        self.of_store
            || self.hidden
            || self.copy_of.is_some()
            || matches!(self.kind.as_str(), "now" | "secret" | "seq")
    }

    /// Returns true if the field keeps its first value.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed || self.is_of_store() || self.kind == "id"
    }
}

/// A field of a row that another row refers to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FieldOf {
    /// The field that refers to the row.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The row's field.
    pub field: String,
}

/// A condition on several fields together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleOf {
    /// At least one has a value.
    AnyOf(Vec<String>),
    /// Neighbours have different values.
    Differ(Vec<String>),
    /// The times are in this order.
    Ordered(Vec<String>),
}

impl RuleOf {
    /// Returns the fields.
    pub fn fields(&self) -> &[String] {
        match self {
            Self::AnyOf(fields) | Self::Differ(fields) | Self::Ordered(fields) => fields,
        }
    }
}

/// Fields whose values must be unique.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum UniqueFields {
    /// Just these.
    Plain(Vec<String>),
    /// With conditions.
    #[serde(rename_all = "camelCase")]
    Conditional {
        /// The fields.
        fields: Vec<String>,
        /// The fields that are compared without regard to case.
        #[serde(default)]
        folded: Vec<String>,
        /// Only rows in which this field is null count.
        while_null: Option<String>,
    },
}

impl UniqueFields {
    /// Returns the fields.
    pub fn fields(&self) -> &[String] {
        match self {
            Self::Plain(fields) | Self::Conditional { fields, .. } => fields,
        }
    }
}

/// The consequences of a field's value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct When {
    /// The field and the value.
    pub when: IndexMap<String, Value>,
    /// The values to set then.
    pub set: IndexMap<String, Value>,
    /// The values to set when it changes to another value.
    #[serde(default, rename = "else")]
    pub otherwise: IndexMap<String, Value>,
}

/// A change of another row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Other {
    /// The other row's entity.
    pub entity: String,
    /// The field that refers to it.
    pub key: String,
    /// Values that the row must have.
    #[serde(default)]
    pub when: IndexMap<String, Value>,
    /// The values to set in it.
    pub set: IndexMap<String, Value>,
}

/// Edges of a graph without circles.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EdgesOf {
    /// The field with the beginning.
    pub from: String,
    /// The field with the end.
    pub to: String,
    /// The field that distinguishes several graphs.
    pub by: Option<String>,
    /// The values of that field whose graphs can't have circles.
    #[serde(default)]
    pub among: Vec<Value>,
}

/// The operations that follow from an entity.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationsOf {
    /// The tool that they are parts of.
    pub tool: String,
    /// The value of its second selector.
    pub resource: Option<String>,
    /// The member of the request with the row's fields.
    #[serde(default = "data")]
    pub data: String,
    /// Errors in addition to those that follow from the failures.
    #[serde(default)]
    pub errors: Vec<String>,
    /// Members of the request by the field of the key.
    #[serde(default)]
    pub key: IndexMap<String, String>,
    /// True if the data identifies the row.
    #[serde(default)]
    pub key_in_data: bool,
    /// Members of the request that each operation takes, by the field with their value.
    #[serde(default)]
    pub by: IndexMap<String, String>,
    /// The fields of `by` whose members each request must have.
    #[serde(default)]
    pub required: Vec<String>,
    /// True if answers of `list` and `delete` contain the value of the second selector.
    #[serde(default)]
    pub names_resource: bool,
    /// The operations by their action.
    #[serde(flatten)]
    pub actions: IndexMap<String, ActionOf>,
}

fn data() -> String {
    "data".into()
}

/// One of these operations.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ActionOf {
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Members that identify the row instead of the key, by the field.
    pub or_by: IndexMap<String, String>,
    /// A value of members of `by` that all rows match.
    pub wildcard: Option<String>,
    /// The values to set.
    pub set: IndexMap<String, Value>,
    /// The fields of `set` whose value a request may override.
    pub fields: Vec<String>,
    /// Fields that the data can't set.
    pub omit: Vec<String>,
    /// Members that select the rows of a list.
    pub filters: IndexMap<String, FilterOf>,
    /// The member of the request that contains the filters.
    pub filters_in: Option<String>,
    /// The field whose value is in `after`.
    pub after_by: Option<String>,
    /// Members of the request, by the field with their value.
    pub by: IndexMap<String, String>,
    /// The fields of `by` whose members a request must have.
    pub required: Vec<String>,
    /// The member with the maximum number of listed rows.
    pub limit: Option<String>,
    /// The default of that number.
    pub default: Option<u64>,
    /// The maximum of that number.
    pub most: Option<u64>,
    /// The member with the key of the last row seen.
    pub after: Option<String>,
    /// The member of the answer that contains the row.
    pub answer: Option<String>,
}

/// The comparison of a row with the value of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", untagged)]
pub enum FilterOf {
    /// The field equals the value.
    Field(String),
    /// Another comparison.
    Other(OtherFilter),
}

/// Another comparison of a row with the value of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OtherFilter {
    /// One of these fields equals the value.
    Either(Vec<String>),
    /// This list contains it.
    Item(String),
    /// The words of the value are in these texts.
    Words(Vec<String>),
}

impl FilterOf {
    /// Returns the compared fields.
    pub fn fields(&self) -> &[String] {
        match self {
            Self::Field(field) | Self::Other(OtherFilter::Item(field)) => std::slice::from_ref(field),
            Self::Other(OtherFilter::Either(fields) | OtherFilter::Words(fields)) => fields,
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
