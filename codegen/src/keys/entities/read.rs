//! How entities are written.

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
    /// Its content.
    pub file: EntityFile,
}

/// An operation that follows from an entity.
#[derive(Debug, Clone)]
pub struct RowsOperation {
    /// The engine's way to run it.
    pub run: spec::RowOperation,
}

/// That a contract's store keeps rows, and how they are divided.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rows {
    /// Names of the entities, in the order in which they are documented.
    pub entities: Vec<String>,
    /// How the rows are divided into orgs.
    pub org: Option<Org>,
    /// Which row is the caller's.
    pub caller: Option<Caller>,
    /// The rows that a new store begins with.
    #[serde(default)]
    pub seeds: Vec<SeedRow>,
}

/// How rows are divided into orgs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Org {
    /// The entity whose rows are the orgs.
    pub entity: String,
    /// The member of a request that names the org.
    pub argument: Option<String>,
    /// Key of the org of calls that name none.
    pub default: String,
}

/// Which row is the caller's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Caller {
    /// The entity.
    pub entity: String,
    /// The fields by which calls name the row.
    pub by: Vec<String>,
    /// The field of the provenance that has such a value.
    pub provenance: Option<String>,
    /// Key of the row of calls that name none.
    pub default: String,
}

/// A row that a new store begins with.
#[derive(Debug, Clone, Deserialize)]
pub struct SeedRow {
    /// Its entity.
    pub entity: String,
    /// Key of its org.
    pub org: Option<String>,
    /// The fields that are given.
    pub row: Value,
}

/// What an entity file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityFile {
    /// Its name.
    pub name: String,
    /// What a row is.
    pub description: Option<String>,
    /// Name of the table.
    pub table: String,
    /// The field with the org's key.
    pub scope: Option<String>,
    /// Whether the rows belong to no org.
    #[serde(default)]
    pub global: bool,
    /// The fields that identify a row.
    #[serde(default = "id")]
    pub key: Vec<String>,
    /// The fields.
    pub fields: IndexMap<String, Field>,
    /// What only one row can have.
    #[serde(default)]
    pub unique: Vec<UniqueFields>,
    /// The fields by which lists are ordered.
    #[serde(default)]
    pub order: Vec<String>,
    /// The fields by which rows are looked up often.
    #[serde(default)]
    pub index: Vec<Vec<String>>,
    /// What follows from a field's value.
    #[serde(default)]
    pub on: Vec<When>,
    /// Changes of other rows.
    #[serde(default)]
    pub also: IndexMap<String, Vec<Other>>,
    /// The graphs without circles that the rows are edges of.
    #[serde(default)]
    pub acyclic: Vec<EdgesOf>,
    /// What must hold of several fields together.
    #[serde(default)]
    pub rules: Vec<RuleOf>,
    /// What answers add from other rows.
    #[serde(default)]
    pub adds: IndexMap<String, FieldOf>,
    /// The operations that follow, by tool.
    #[serde(default, deserialize_with = "one_or_several")]
    pub operations: Vec<OperationsOf>,
}

/// Reads a value that need not stand in a list.
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
    /// `null` is a default too.
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
    /// Returns whether requests can never give it.
    pub(super) fn is_of_store(&self) -> bool {
        self.of_store
            || self.hidden
            || self.copy_of.is_some()
            || matches!(self.kind.as_str(), "now" | "secret" | "seq")
    }

    /// Returns whether it keeps the value that it was created with.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed || self.is_of_store() || self.kind == "id"
    }
}

/// A field of a row that is referred to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FieldOf {
    /// The field that refers to the row.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The row's field.
    pub field: String,
}

/// What must hold of several fields together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleOf {
    /// One at least has a value.
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

/// Fields whose values only one row can have.
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
        /// Those that are compared without regard to case.
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

/// What follows when a field becomes a value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct When {
    /// The field and the value.
    pub when: IndexMap<String, Value>,
    /// What is set then.
    pub set: IndexMap<String, Value>,
    /// What is set when it no longer is.
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
    /// What is set in it.
    pub set: IndexMap<String, Value>,
}

/// Edges of a graph without circles.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EdgesOf {
    /// The field with the beginning.
    pub from: String,
    /// The field with the end.
    pub to: String,
    /// The field that tells several graphs apart.
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
    /// Errors beside those that follow from the failures.
    #[serde(default)]
    pub errors: Vec<String>,
    /// Members of the request by the field of the key.
    #[serde(default)]
    pub key: IndexMap<String, String>,
    /// Whether the data names the row.
    #[serde(default)]
    pub key_in_data: bool,
    /// Members of the request that each operation takes, by the field whose value they are.
    #[serde(default)]
    pub by: IndexMap<String, String>,
    /// Those that each request must have.
    #[serde(default)]
    pub required: Vec<String>,
    /// Whether answers of `list` and `delete` have the value of the second selector.
    #[serde(default)]
    pub names_resource: bool,
    /// The operations by what they do.
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
    /// Its name.
    pub name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// Members that name the row instead of the key, by the field.
    pub or_by: IndexMap<String, String>,
    /// A value of members of `by` that all rows match.
    pub wildcard: Option<String>,
    /// What it sets.
    pub set: IndexMap<String, Value>,
    /// Those of `set` whose value a request may give.
    pub fields: Vec<String>,
    /// Fields that the data can't give.
    pub omit: Vec<String>,
    /// Members that select the rows of a list.
    pub filters: IndexMap<String, FilterOf>,
    /// The member of the request that has them.
    pub filters_in: Option<String>,
    /// The field that `after` has the value of.
    pub after_by: Option<String>,
    /// Members of the request by the field whose value they are.
    pub by: IndexMap<String, String>,
    /// Those that a request must have.
    pub required: Vec<String>,
    /// The member with the largest number of listed rows.
    pub limit: Option<String>,
    /// That number if none is given.
    pub default: Option<u64>,
    /// The largest that can be given.
    pub most: Option<u64>,
    /// The member with the key of the last row seen.
    pub after: Option<String>,
    /// The member of the answer that has the row.
    pub answer: Option<String>,
}

/// How a row is compared with the value of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", untagged)]
pub enum FilterOf {
    /// This field has it.
    Field(String),
    /// In another way.
    Other(OtherFilter),
}

/// Another way in which a row is compared with the value of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OtherFilter {
    /// One of these fields has it.
    Either(Vec<String>),
    /// This list contains it.
    Item(String),
    /// Its words are in these texts.
    Words(Vec<String>),
}

impl FilterOf {
    /// Returns the fields that are compared.
    pub fn fields(&self) -> &[String] {
        match self {
            Self::Field(field) | Self::Other(OtherFilter::Item(field)) => std::slice::from_ref(field),
            Self::Other(OtherFilter::Either(fields) | OtherFilter::Words(fields)) => fields,
        }
    }
}

/// Returns what `word` in an entity's file does. Words beside the five are updates that set fields.
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
