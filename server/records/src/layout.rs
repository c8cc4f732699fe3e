//! The tables of a contract's entities, and the differences between two versions of them.
//!
//! A layout contains only the properties that the data file depends on. Rules of the table engine, such as the length of a text or
//! the words of an enumeration, can change without touching it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::{
    rows::is_table,
    spec::{EntitySpec, FieldSpec, FieldType, RowsSpec},
};

use crate::sql::{Dialect, quoted};

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

/// An index of an entity's table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Index {
    pub(crate) name: String,
    /// Name of the table.
    pub(crate) table: &'static str,
    /// Fields of a unique index, without the org; `None` if values may repeat.
    pub(crate) unique: Option<&'static [&'static str]>,
    /// SQL of each column.
    columns: Vec<String>,
    /// SQL of the condition, if only some rows are in the index.
    filter: Option<String>,
    /// All fields that the index reads.
    fields: Vec<&'static str>,
}

/// An index that a table gets later than its first rows.
#[derive(Debug, PartialEq)]
pub(crate) struct AddedIndex {
    pub(crate) index: Index,
    /// True if the index reads a field that is added in the same migration.
    pub(crate) reads_new_fields: bool,
}

/// The steps from one layout to another.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Steps {
    /// SQL that only adds, or drops indexes.
    pub(crate) sql: Vec<String>,
    /// Indexes that tables with rows get, once `sql` is done.
    pub(crate) indexes: Vec<AddedIndex>,
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
            let columns =
                entity.fields.iter().map(|field| (field.name.to_owned(), Column::from_field(field)));
            let table = Table {
                table: entity.table.to_owned(),
                identity: entity.identity().map(String::from).collect(),
                columns: columns.collect(),
                indexes: indexes(entity, dialect)
                    .into_iter()
                    .map(|index| (index.name.clone(), index.create()))
                    .collect(),
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
                steps.lossy.push(format!("the entity `{name}` and all its rows are dropped"));
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
                    links.extend(dialect.links_later().then(|| linked(spec, entity)).into_iter().flatten());
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
            steps.impossible.push(format!("the table, key or org of `{name}` differs"));
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
                    let default =
                        column.default.as_ref().map_or_else(String::new, |value| literal(value, dialect));
                    let (table, definition) = (quoted(&self.table), dialect.column(field));
                    steps.sql.push(format!("ALTER TABLE {table} ADD COLUMN {definition}{default}"));
                }
                Some(old) if old.kind != column.kind || old.to != column.to => steps
                    .impossible
                    .push(format!("the field `{}` of `{name}` has a different type", field.name)),
                Some(old) if column.required && !old.required => {
                    steps.impossible.push(format!(
                        "the field `{}` of `{name}` was optional and is required now",
                        field.name
                    ));
                }
                Some(_) => {}
            }
        }
        for dropped in self.columns.keys().filter(|column| !new.columns.contains_key(*column)) {
            steps.lossy.push(format!("the field `{dropped}` of `{name}` is dropped"));
            let (table, column) = (quoted(&self.table), quoted(dropped));
            steps.lossy_sql.push(format!("ALTER TABLE {table} DROP COLUMN {column}"));
        }
        for index in indexes(entity, dialect) {
            if self.indexes.get(&index.name) != new.indexes.get(&index.name) {
                let reads_new_fields = index.fields.iter().any(|name| !self.columns.contains_key(*name));
                steps.indexes.push(AddedIndex { index, reads_new_fields });
            }
        }
    }
}

impl Index {
    /// Returns the SQL that creates the index while nothing is written to the table.
    pub(crate) fn create(&self) -> String {
        self.sql("", &quoted(self.table))
    }

    /// Returns PostgreSQL's SQL that builds the index while others write to the table. It can't run in a transaction.
    #[cfg(feature = "postgres")]
    pub(crate) fn build(&self, schema: &str) -> String {
        self.sql("CONCURRENTLY ", &self.table_in(schema))
    }

    fn sql(&self, option: &str, table: &str) -> String {
        let kind = if self.unique.is_some() { "UNIQUE INDEX" } else { "INDEX" };
        let (name, columns) = (quoted(&self.name), self.columns.join(", "));
        let filter = self.filter.as_ref().map_or_else(String::new, |filter| format!(" WHERE {filter}"));
        format!("CREATE {kind} {option}{name} ON {table} ({columns}){filter}")
    }

    /// Returns SQL that selects a row if the table has rows that a unique index can't hold together.
    #[cfg(feature = "postgres")]
    pub(crate) fn select_repeated(&self, schema: &str) -> String {
        let columns = self.columns.join(", ");
        let tests = self.columns.iter().map(|column| format!("{column} IS NOT NULL"));
        let tests = tests.chain(self.filter.clone()).collect::<Vec<_>>().join(" AND ");
        format!(
            "SELECT 1 FROM {} WHERE {tests} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1",
            self.table_in(schema)
        )
    }

    #[cfg(feature = "postgres")]
    fn table_in(&self, schema: &str) -> String {
        format!("{}.{}", quoted(schema), quoted(self.table))
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
        if !is_table(entity.table) || !is_name(entity.table) {
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
    let table =
        format!("CREATE TABLE {} ({}){}", quoted(entity.table), parts.join(", "), dialect.table_options());
    let indexes = indexes(entity, dialect).into_iter().map(|index| index.create());
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
        let own = to.org_field().and(entity.org_field()).into_iter().chain([field.name]);
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

/// Quotes a text as an SQL literal.
pub(crate) fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn columns<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// Returns the indexes of an entity's table.
pub(crate) fn indexes(entity: &EntitySpec, dialect: Dialect) -> Vec<Index> {
    let mut indexes = BTreeMap::new();
    let mut add = |prefix: &str, names: &[&str], index: Index| {
        let name = dialect.name(format!("{prefix}_{}_{}", entity.table, names.join("_")));
        indexes.insert(name.clone(), Index { name, ..index });
    };
    let org = || entity.org_field().into_iter();
    let plain = |names: &[&'static str], filter: Option<String>| Index {
        name: String::new(),
        table: entity.table,
        unique: None,
        columns: vec![dialect.indexed(names.iter().filter_map(|name| entity.field(name)))],
        filter,
        fields: names.to_vec(),
    };
    for unique in entity.uniques {
        let own = org().filter(|org| !unique.fields.contains(org));
        let columns = unique.fields.iter().map(|name| {
            let kind = entity.field(name).map_or(FieldType::Json, |field| field.kind);
            dialect.compared(&quoted(name), kind, unique.folded.contains(name))
        });
        let index = Index {
            name: String::new(),
            table: entity.table,
            unique: Some(unique.fields),
            columns: own.clone().map(quoted).chain(columns).collect(),
            filter: unique.while_null.map(|name| format!("{} IS NULL", quoted(name))),
            fields: own.chain(unique.fields.iter().copied()).chain(unique.while_null).collect(),
        };
        add("unique", unique.fields, index);
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
        let filter = field.optional.then(|| format!("{} IS NOT NULL", quoted(field.name)));
        add("by", &names, plain(&names, filter));
    }
    for index in entity.indexes {
        let names: Vec<_> = org().chain(index.iter().copied()).collect();
        add("by", &names, plain(&names, None));
    }
    if !entity.order.is_empty() {
        let names = ordered(None);
        add("by", &names, plain(&names, None));
    }
    indexes.into_values().collect()
}
