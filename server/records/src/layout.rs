//! The tables of a contract's entities, and the differences between two versions of them.
//!
//! A layout contains only the properties that the data file depends on. Rules of the table engine, such as the length of a text or
//! the words of an enumeration, can change without touching it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::spec::{EntitySpec, FieldSpec, FieldType, RowsSpec};

use crate::sql::{Dialect, quoted};

/// Names of the store's own tables.
const OWN_TABLES: [&str; 3] = ["change", "meta", "removed"];

/// The tables of all entities, by the entities' names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Layout(BTreeMap<String, Table>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Table {
    table: String,
    identity: Vec<String>,
    columns: BTreeMap<String, Column>,
    /// SQL of each index by its name.
    indexes: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Column {
    kind: String,
    required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// The steps from one layout to another.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Steps {
    /// SQL that only adds, or drops indexes.
    pub(crate) sql: Vec<String>,
    /// Changes that would lose or invalidate data, for people.
    pub(crate) lossy: Vec<String>,
    /// SQL of the lossy changes.
    pub(crate) lossy_sql: Vec<String>,
    /// Changes that can't be made at all, for people.
    pub(crate) impossible: Vec<String>,
}

impl Layout {
    pub(crate) fn from_spec(spec: &RowsSpec, dialect: Dialect) -> Self {
        let tables = spec.entities.iter().map(|entity| {
            let columns = entity
                .fields
                .iter()
                .map(|field| (field.name.to_owned(), Column::from_field(field)));
            let table = Table {
                table: entity.table.to_owned(),
                identity: entity.identity().map(String::from).collect(),
                columns: columns.collect(),
                indexes: indexes(entity, dialect),
            };
            (entity.name.to_owned(), table)
        });
        Self(tables.collect())
    }

    /// Returns the steps from this layout to that of `spec`.
    pub(crate) fn to(&self, spec: &RowsSpec, dialect: Dialect) -> Steps {
        let (new, mut steps, mut links) = (Self::from_spec(spec, dialect), Steps::default(), vec![]);
        for (name, old) in &self.0 {
            if !new.0.contains_key(name) {
                steps
                    .lossy
                    .push(format!("the entity `{name}` and all its rows are dropped"));
                steps.lossy_sql.push(format!("DROP TABLE {}", quoted(&old.table)));
            }
        }
        for entity in spec.entities {
            let Some(table) = new.0.get(entity.name) else {
                continue;
            };
            match self.0.get(entity.name) {
                None => {
                    steps.sql.extend(create(spec, entity, dialect));
                    links.extend(
                        dialect
                            .links_later()
                            .then(|| linked(spec, entity))
                            .into_iter()
                            .flatten(),
                    );
                }
                Some(old) => old.alter(table, entity, dialect, &mut steps),
            }
        }
        steps.sql.extend(links);
        steps
    }
}

impl Table {
    fn alter(&self, new: &Self, entity: &EntitySpec, dialect: Dialect, steps: &mut Steps) {
        let name = entity.name;
        if self.table != new.table || self.identity != new.identity {
            steps
                .impossible
                .push(format!("the table, key or org of `{name}` differs"));
            return;
        }
        for (index, sql) in &self.indexes {
            if new.indexes.get(index) != Some(sql) {
                steps.sql.push(format!("DROP INDEX IF EXISTS {}", quoted(index)));
            }
        }
        for field in entity.fields {
            let (old, column) = (self.columns.get(field.name), &new.columns[field.name]);
            match old {
                None if column.required && column.default.is_none() => steps.impossible.push(format!(
                    "the new field `{}` of `{name}` is required and has no default",
                    field.name
                )),
                None => {
                    let default = column
                        .default
                        .as_ref()
                        .map_or_else(String::new, |value| literal(value, dialect));
                    let (table, definition) = (quoted(&self.table), dialect.column(field));
                    steps
                        .sql
                        .push(format!("ALTER TABLE {table} ADD COLUMN {definition}{default}"));
                }
                Some(old) if old.kind != column.kind || old.to != column.to => steps.impossible.push(
                    format!("the field `{}` of `{name}` has a different type", field.name),
                ),
                Some(old) if column.required && !old.required => {
                    steps.impossible.push(format!(
                        "the field `{}` of `{name}` was optional and is required now",
                        field.name
                    ));
                }
                Some(_) => {}
            }
        }
        for dropped in self
            .columns
            .keys()
            .filter(|column| !new.columns.contains_key(*column))
        {
            steps
                .lossy
                .push(format!("the field `{dropped}` of `{name}` is dropped"));
            let (table, column) = (quoted(&self.table), quoted(dropped));
            steps
                .lossy_sql
                .push(format!("ALTER TABLE {table} DROP COLUMN {column}"));
        }
        for (index, sql) in &new.indexes {
            if self.indexes.get(index) != Some(sql) {
                steps.sql.push(sql.clone());
            }
        }
    }
}

impl Column {
    fn from_field(field: &FieldSpec) -> Self {
        let kind = match field.kind {
            FieldType::Id | FieldType::Ref(_) | FieldType::Text { .. } | FieldType::Enum(_) => "text",
            FieldType::Integer { .. } | FieldType::Time | FieldType::Now(_) => "integer",
            FieldType::Next(_) | FieldType::Seq => "integer",
            FieldType::Number => "number",
            FieldType::Boolean => "boolean",
            FieldType::Json | FieldType::List { .. } => "json",
            FieldType::Secret { .. } => "secret",
        };
        Self {
            kind: kind.into(),
            required: !field.optional,
            default: default(field),
            to: match field.kind {
                FieldType::Ref(reference) if !field.loose => Some(reference.to.into()),
                _ => None,
            },
        }
    }
}

/// Returns the field's constant value in rows that are older than the field.
pub(crate) fn default(field: &FieldSpec) -> Option<Value> {
    serde_json::from_str(field.default?).ok()
}

/// Checks that the store can use the names of entities and fields.
///
/// # Errors
/// A description of the problem, for people.
pub(crate) fn check_names(spec: &RowsSpec) -> Result<(), String> {
    let is_name = |name: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        !name.is_empty() && name.bytes().all(is_of_name)
    };
    for entity in spec.entities {
        if OWN_TABLES.contains(&entity.table) || entity.table.starts_with("sqlite_") || !is_name(entity.table)
        {
            return Err(format!("an entity can't have the table `{}`", entity.table));
        }
        if let Some(field) = entity.fields.iter().find(|field| !is_name(field.name)) {
            return Err(format!("an entity can't have the field `{}`", field.name));
        }
        if let Some(name) = entity.identity().find(|name| entity.field(name).is_none()) {
            return Err(format!("the entity `{}` has no field `{name}`", entity.name));
        }
    }
    Ok(())
}

/// Returns the SQL that creates an entity's table and its indexes.
pub(crate) fn create(spec: &RowsSpec, entity: &EntitySpec, dialect: Dialect) -> Vec<String> {
    let mut parts: Vec<_> = entity.fields.iter().map(|field| dialect.column(field)).collect();
    parts.push(format!("PRIMARY KEY ({})", columns(entity.identity())));
    if !dialect.links_later() {
        parts.extend(foreign_keys(spec, entity));
    }
    let table = format!(
        "CREATE TABLE {} ({}){}",
        quoted(entity.table),
        parts.join(", "),
        dialect.table_options()
    );
    let indexes = indexes(entity, dialect).into_values();
    [table].into_iter().chain(indexes).collect()
}

/// Returns the SQL that adds foreign keys to an entity's table, once all tables exist.
fn linked(spec: &RowsSpec, entity: &EntitySpec) -> Vec<String> {
    let table = quoted(entity.table);
    let keys = foreign_keys(spec, entity).into_iter();
    keys.map(|key| format!("ALTER TABLE {table} ADD {key}")).collect()
}

fn foreign_keys(spec: &RowsSpec, entity: &EntitySpec) -> Vec<String> {
    let mut keys = vec![];
    for (field, reference) in entity.references().filter(|(field, _)| !field.loose) {
        let Some(to) = spec.entity(reference.to) else {
            continue;
        };
        let own = to
            .org_field()
            .and(entity.org_field())
            .into_iter()
            .chain([field.name]);
        // The table engine applies a deletion's effects itself, so the log records them; the key rejects any it misses.
        keys.push(format!(
            "FOREIGN KEY ({}) REFERENCES {} ({}) DEFERRABLE INITIALLY DEFERRED",
            columns(own),
            quoted(to.table),
            columns(to.identity())
        ));
    }
    keys
}

fn literal(default: &Value, dialect: Dialect) -> String {
    let literal = match default {
        Value::Null => return String::new(),
        Value::Bool(value) if dialect == Dialect::Sqlite => u8::from(*value).to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text_literal(text),
        other => text_literal(&other.to_string()),
    };
    format!(" DEFAULT {literal}")
}

fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn columns<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// Returns the SQL of each index by its name.
fn indexes(entity: &EntitySpec, dialect: Dialect) -> BTreeMap<String, String> {
    let mut indexes = BTreeMap::new();
    let table = quoted(entity.table);
    let mut add = |prefix: &str, names: &[&str], what: &str, columns: String, filter: String| {
        let name = dialect.name(format!("{prefix}_{}_{}", entity.table, names.join("_")));
        let sql = format!("CREATE {what} {} ON {table} ({columns}){filter}", quoted(&name));
        indexes.insert(name, sql);
    };
    let org = || entity.org_field().into_iter();
    let ordered_by = |names: &[&str]| {
        let fields = names.iter().filter_map(|name| entity.field(name));
        dialect.indexed(fields)
    };
    for unique in entity.uniques {
        let own = org().filter(|org| !unique.fields.contains(org)).map(quoted);
        let columns = own.chain(unique.fields.iter().map(|name| {
            let kind = entity.field(name).map_or(FieldType::Json, |field| field.kind);
            dialect.compared(&quoted(name), kind, unique.folded.contains(name))
        }));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let filter = unique
            .while_null
            .map(|name| format!(" WHERE {} IS NULL", quoted(name)));
        add(
            "unique",
            unique.fields,
            "UNIQUE INDEX",
            columns,
            filter.unwrap_or_default(),
        );
    }
    let ordered = |first: Option<&'static str>| {
        let mut names: Vec<_> = org().chain(first).collect();
        for name in entity.order.iter().copied() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    // The key begins with the org, so it serves as the index of that reference.
    let is_org = |name: &str| entity.org_field() == Some(name);
    for (field, _) in entity.references().filter(|(field, _)| !is_org(field.name)) {
        let names = ordered(Some(field.name));
        // A row without a reference costs no page of the index.
        let filter = format!(" WHERE {} IS NOT NULL", quoted(field.name));
        add(
            "by",
            &names,
            "INDEX",
            ordered_by(&names),
            if field.optional { filter } else { String::new() },
        );
    }
    for index in entity.indexes {
        let names: Vec<_> = org().chain(index.iter().copied()).collect();
        let sql = ordered_by(&names);
        add("by", &names, "INDEX", sql, String::new());
    }
    if !entity.order.is_empty() {
        let names = ordered(None);
        add("by", &names, "INDEX", ordered_by(&names), String::new());
    }
    indexes
}
