//! How entities are written, and the constants of the runtime that they become.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec::{
    Action, Also, Assigned, Assignment, Edges, EntitySpec, FieldSpec, FieldType, Hook, Moment, Next,
    OnDelete, OrgSpec, Reference, RowsSpec, Scope, Seed, Unique,
};

use super::{Entity, json};
use crate::{
    contract::Contract,
    table::{leaked, list},
};

/// Largest number of characters of a text that says no other.
pub(super) const MAX_TEXT: usize = 8 << 20;
/// Largest number of texts in a list that says no other.
pub(super) const MAX_ITEMS: usize = 10_000;
/// Largest integer that all JSON implementations agree on.
const MAX_INTEGER: i64 = crate::views::LARGEST_INTEGER;

/// That a contract's store keeps rows, and how they are divided.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rows {
    /// Names of the entities, in the order in which they are documented.
    pub entities: Vec<String>,
    /// How the rows are divided into orgs.
    pub org: Option<Org>,
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
    /// What follows from a field's value.
    #[serde(default)]
    pub on: Vec<When>,
    /// Changes of other rows.
    #[serde(default)]
    pub also: IndexMap<String, Vec<Other>>,
    /// The graphs without circles that the rows are edges of.
    #[serde(default)]
    pub acyclic: Vec<EdgesOf>,
    /// The operations that follow.
    pub operations: Option<OperationsOf>,
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
    /// The operations by what they do.
    #[serde(flatten)]
    pub actions: IndexMap<String, ActionOf>,
}

fn data() -> String {
    "data".into()
}

/// One of these operations.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ActionOf {
    /// Its name.
    pub name: Option<String>,
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

/// Returns what `word` in an entity's file does.
pub(super) fn action(word: &str) -> Option<Action> {
    Some(match word {
        "create" => Action::Create,
        "get" => Action::Get,
        "update" => Action::Update,
        "list" => Action::List,
        "delete" => Action::Delete,
        _ => return None,
    })
}

/// Returns the constant of a contract that has rows.
pub(crate) fn table(contract: &Contract) -> Option<RowsSpec> {
    let rows = contract.spec.rows.as_ref()?;
    Some(RowsSpec {
        contract: leaked(&contract.spec.contract),
        version: leaked(&contract.spec.version),
        org: rows.org.as_ref().map(|org| OrgSpec {
            entity: leaked(&org.entity),
            argument: org.argument.as_deref().map(leaked),
            default: leaked(&org.default),
        }),
        entities: list(contract.entities.iter().map(|entity| self::entity(rows, entity))),
        seeds: list(rows.seeds.iter().map(|seed| Seed {
            entity: leaked(&seed.entity),
            org: seed.org.as_deref().map(leaked),
            row: json(&seed.row),
        })),
    })
}

fn entity(rows: &Rows, entity: &Entity) -> EntitySpec {
    let file = &entity.file;
    let is_org = rows.org.as_ref().is_some_and(|org| org.entity == file.name);
    let also = file
        .also
        .iter()
        .flat_map(|(on, others)| others.iter().map(move |other| (on, other)));
    EntitySpec {
        name: leaked(&file.name),
        table: leaked(&file.table),
        scope: match &file.scope {
            Some(field) => Scope::Org(leaked(field)),
            None if is_org => Scope::Root,
            None => Scope::Global,
        },
        key: texts(&file.key),
        fields: list(file.fields.iter().map(|(name, field)| self::field(name, field))),
        uniques: list(file.unique.iter().map(unique)),
        order: texts(&file.order),
        on: list(file.on.iter().filter_map(|hook| {
            let (field, is) = hook.when.first()?;
            Some(Hook {
                field: leaked(field),
                is: json(is),
                set: assignments(&hook.set),
                otherwise: assignments(&hook.otherwise),
            })
        })),
        also: list(also.filter_map(|(on, other)| {
            Some(Also {
                on: action(on)?,
                when: list(other.when.iter().map(|(field, is)| (leaked(field), json(is)))),
                entity: leaked(&other.entity),
                key: leaked(&other.key),
                set: assignments(&other.set),
            })
        })),
        acyclic: list(file.acyclic.iter().map(|edges| Edges {
            from: leaked(&edges.from),
            to: leaked(&edges.to),
            by: edges.by.as_deref().map(leaked),
            among: list(edges.among.iter().map(json)),
        })),
    }
}

fn field(name: &str, field: &Field) -> FieldSpec {
    FieldSpec {
        optional: field.optional,
        fixed: field.fixed,
        of_store: field.of_store,
        hidden: field.hidden,
        default: field.default.as_ref().map(json),
        from: field.from.as_deref().map(leaked),
        one_true_in: texts(&field.one_true_in),
        ..FieldSpec::new(leaked(name), kind(field))
    }
}

fn kind(field: &Field) -> FieldType {
    let text = |text: &Option<String>| leaked(text.as_deref().unwrap_or_default());
    match field.kind.as_str() {
        "id" => FieldType::Id,
        "ref" => FieldType::Ref(Reference {
            to: text(&field.to),
            on_delete: match field.on_delete.as_deref() {
                Some("cascade") => OnDelete::Cascade,
                Some("clear") => OnDelete::Clear,
                _ => OnDelete::Restrict,
            },
            same: texts(&field.same),
            acyclic: field.acyclic,
        }),
        "string" => FieldType::Text {
            min: field.min_length.unwrap_or(0),
            max: field.max_length.unwrap_or(MAX_TEXT),
        },
        "integer" => FieldType::Integer {
            min: field.minimum.unwrap_or(-MAX_INTEGER),
            max: field.maximum.unwrap_or(MAX_INTEGER),
        },
        "number" => FieldType::Number,
        "boolean" => FieldType::Boolean,
        "enum" => FieldType::Enum(texts(&field.values)),
        "time" => FieldType::Time,
        "now" => FieldType::Now(match field.on.as_deref() {
            Some("change") => Moment::Change,
            _ => Moment::Create,
        }),
        "list" => FieldType::List {
            max: field.max_items.unwrap_or(MAX_ITEMS),
            max_chars: field.max_length.unwrap_or(MAX_TEXT),
        },
        "secret" => FieldType::Secret {
            prefix: text(&field.prefix),
        },
        "next" => FieldType::Next(Next {
            within: texts(&field.within),
            strict: field.strict,
        }),
        "seq" => FieldType::Seq,
        _ => FieldType::Json,
    }
}

fn unique(unique: &UniqueFields) -> Unique {
    let (folded, while_null): (&[String], _) = match unique {
        UniqueFields::Plain(_) => (&[], None),
        UniqueFields::Conditional {
            folded, while_null, ..
        } => (folded, while_null.as_deref()),
    };
    Unique {
        fields: texts(unique.fields()),
        folded: texts(folded),
        while_null: while_null.map(leaked),
    }
}

fn assignments(set: &IndexMap<String, Value>) -> &'static [Assignment] {
    list(set.iter().map(|(field, value)| {
        let said = value.as_object();
        let value = match said {
            Some(said) if said.get("now").is_some() => Assigned::Now,
            Some(said) => match said.get("field").and_then(Value::as_str) {
                Some(field) => Assigned::Field(leaked(field)),
                None => Assigned::Json(json(&said.get("value").cloned().unwrap_or_default())),
            },
            None => Assigned::Json(json(value)),
        };
        Assignment {
            field: leaked(field),
            value,
            if_null: said.is_some_and(|said| said.get("ifNull") == Some(&true.into())),
        }
    }))
}

fn texts(texts: &[String]) -> &'static [&'static str] {
    list(texts.iter().map(|text| leaked(text)))
}
