//! SQL of the entities' names alone, with values as parameters: selections, and changes of one row.
//!
//! Both databases keep the same tables. A [`Dialect`] has the differences in syntax.

use std::fmt::Write as _;

use data_encoding::HEXLOWER;
use rusqlite::types::Value as Sql;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tabellion_runtime::{
    Failure, Row,
    rows::{Filter, MAX_LOOSE_CHARS, Order, Select, Test},
    spec::{EntitySpec, FieldSpec, FieldType},
};

use crate::failures::damaged;

/// Maximum number of bytes of a name in PostgreSQL.
const MAX_NAME_BYTES: usize = 63;
/// Maximum number of bytes of the columns of an index in PostgreSQL, whose entries have 2,704 at most.
const MAX_INDEXED_BYTES: usize = 2_500;
/// Number of bytes above which a unique index of PostgreSQL holds a text's digest.
const MAX_COMPARED_BYTES: usize = 512;

/// The SQL dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
}

/// A statement and the values of its parameters.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) values: Vec<Sql>,
}

impl Dialect {
    fn is_postgres(self) -> bool {
        self != Self::Sqlite
    }

    fn statement(self, mut sql: String, values: Vec<Sql>) -> Statement {
        if self.is_postgres() {
            // Values are never part of the text, and names have no `?`.
            let mut numbered = String::with_capacity(sql.len() + 2 * values.len());
            for (number, part) in sql.split('?').enumerate() {
                if number > 0 {
                    // A `String` takes all that is written.
                    let _ = write!(numbered, "${number}");
                }
                numbered += part;
            }
            sql = numbered;
        }
        Statement { sql, values }
    }

    /// Returns the name of an index.
    pub(crate) fn name(self, name: String) -> String {
        if !self.is_postgres() || name.len() <= MAX_NAME_BYTES {
            return name;
        }
        let digest = HEXLOWER.encode(&Sha256::digest(&name)[..8]);
        let start: String = name.chars().take(MAX_NAME_BYTES - digest.len() - 1).collect();
        format!("{start}_{digest}")
    }

    /// Returns the indexed form of a column in a unique index, or of an expression that is compared with it.
    pub(crate) fn compared(self, expression: &str, kind: FieldType, is_folded: bool) -> String {
        let mut compared = expression.to_owned();
        if is_folded {
            compared = self.folded(&compared);
        }
        if self.compares_digests(kind) {
            // As bytes: a backslash begins an escape there.
            compared = format!("sha256(replace({compared}, '\\', '\\\\')::bytea)");
        }
        compared
    }

    fn compares_digests(self, kind: FieldType) -> bool {
        self.is_postgres() && max_bytes(kind) > MAX_COMPARED_BYTES
    }

    /// Returns the columns of an index by which rows are ordered, as far as they fit.
    pub(crate) fn indexed(self, fields: impl Iterator<Item = &'static FieldSpec>) -> String {
        let mut room = MAX_INDEXED_BYTES;
        let columns = fields.map_while(|field| {
            if !self.is_postgres() {
                return Some(quoted(field.name));
            }
            room = room.checked_sub(max_bytes(field.kind))?;
            Some(self.ordered(field, Order::Up))
        });
        columns.collect::<Vec<_>>().join(", ")
    }

    /// Returns a column's term in an `ORDER BY`: `null` is smaller than all values.
    pub(crate) fn ordered(self, field: &FieldSpec, order: Order) -> String {
        let name = quoted(field.name);
        let nulls = |what| {
            if field.optional && self.is_postgres() { what } else { "" }
        };
        match order {
            Order::Up => name + nulls(" NULLS FIRST"),
            Order::Down => name + " DESC" + nulls(" NULLS LAST"),
        }
    }

    /// Returns an expression that is equal for texts that differ only in the case of ASCII letters.
    pub(crate) fn folded(self, expression: &str) -> String {
        match self {
            Self::Sqlite => format!("{expression} COLLATE NOCASE"),
            #[cfg(feature = "postgres")]
            Self::Postgres => format!("lower({expression} COLLATE \"C\")"),
        }
    }

    /// Returns the definition of a field's column: type and constraints.
    pub(crate) fn column(self, field: &FieldSpec) -> String {
        let name = quoted(field.name);
        let kind = match (field.kind, self) {
            (FieldType::Integer { .. } | FieldType::Time | FieldType::Now(_), Self::Sqlite)
            | (FieldType::Next(_) | FieldType::Seq, Self::Sqlite) => "INTEGER".into(),
            (FieldType::Boolean, Self::Sqlite) => format!("INTEGER CHECK ({name} IN (0, 1))"),
            (FieldType::Number, Self::Sqlite) => "REAL".into(),
            (_, Self::Sqlite) => "TEXT".into(),
            #[cfg(feature = "postgres")]
            (kind, Self::Postgres) => match kind {
                FieldType::Integer { .. }
                | FieldType::Time
                | FieldType::Now(_)
                | FieldType::Next(_)
                | FieldType::Seq => "bigint",
                FieldType::Boolean => "boolean",
                FieldType::Number => "double precision",
                _ => "text COLLATE \"C\"",
            }
            .into(),
        };
        format!("{name} {kind}")
    }

    /// Returns true if foreign keys must be added once all tables exist.
    pub(crate) fn links_later(self) -> bool {
        self.is_postgres()
    }

    /// Returns the options at the end of `CREATE TABLE` for an entity.
    pub(crate) fn table_options(self) -> &'static str {
        if self.is_postgres() { "" } else { " STRICT" }
    }

    /// Selects the rows.
    pub(crate) fn select(self, select: &Select) -> Result<Statement, Failure> {
        let columns = select.entity.fields.iter().map(|field| quoted(field.name));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let mut query = Query::new(self, format!("SELECT {columns} FROM {}", quoted(select.entity.table)));
        query.filter(select)?;
        if !select.order.is_empty() || select.limit.is_some() || select.after.is_some() {
            let mut order = vec![];
            for (name, direction) in select.whole_order() {
                order.push(self.ordered(field(select.entity, name)?, direction));
            }
            query.sql += " ORDER BY ";
            query.sql += &order.join(", ");
        }
        if let Some(limit) = select.limit {
            query.sql += " LIMIT ?";
            query.values.push(Sql::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
        }
        Ok(self.statement(query.sql, query.values))
    }

    /// Counts the rows that pass the filters.
    pub(crate) fn count(self, select: &Select) -> Result<Statement, Failure> {
        let mut query = Query::new(self, format!("SELECT count(*) FROM {}", quoted(select.entity.table)));
        query.filter(&Select { after: None, ..select.clone() })?;
        Ok(self.statement(query.sql, query.values))
    }

    /// Adds a row.
    pub(crate) fn insert(self, entity: &'static EntitySpec, row: &Row) -> Statement {
        let fields: Vec<_> = entity.fields.iter().map(|field| quoted(field.name)).collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            quoted(entity.table),
            fields.join(", "),
            vec!["?"; fields.len()].join(", ")
        );
        self.statement(sql, values(entity, row))
    }

    /// Sets fields of a row.
    pub(crate) fn patch(
        self,
        entity: &'static EntitySpec,
        key: &[Value],
        set: &Row,
    ) -> Result<Statement, Failure> {
        let mut values = vec![];
        let mut assignments = vec![];
        for (name, value) in set {
            let field = field(entity, name)?;
            assignments.push(format!("{} = ?", quoted(field.name)));
            values.push(to_sql(field, value));
        }
        let filter = of_key(entity, key, &mut values)?;
        let sql = format!("UPDATE {} SET {} WHERE {filter}", quoted(entity.table), assignments.join(", "));
        Ok(self.statement(sql, values))
    }

    /// Removes a row.
    pub(crate) fn remove(self, entity: &'static EntitySpec, key: &[Value]) -> Result<Statement, Failure> {
        let mut values = vec![];
        let filter = of_key(entity, key, &mut values)?;
        Ok(self.statement(format!("DELETE FROM {} WHERE {filter}", quoted(entity.table)), values))
    }

    /// Keeps the id of a removed row: no other row gets it.
    pub(crate) fn keep_id(self, entity: &str, key: &[Value]) -> Statement {
        let sql = "INSERT INTO removed VALUES (?, ?) ON CONFLICT DO NOTHING";
        let values = [entity.to_owned(), Value::from(key).to_string()].map(Sql::Text);
        self.statement(sql.into(), values.into())
    }

    /// Checks for a removed row with this identity.
    pub(crate) fn was_removed(self, entity: &EntitySpec, key: &[Value]) -> Statement {
        let sql = "SELECT EXISTS (SELECT 1 FROM removed WHERE entity = ? AND key = ?)";
        let values = [entity.name.to_owned(), Value::from(key).to_string()].map(Sql::Text);
        self.statement(sql.into(), values.into())
    }
}

/// Returns the maximum number of bytes of a value.
fn max_bytes(kind: FieldType) -> usize {
    match kind {
        FieldType::Text { max, .. } => max.saturating_mul(4),
        FieldType::Json | FieldType::List { .. } => usize::MAX,
        FieldType::Ref(_) => 4 * MAX_LOOSE_CHARS,
        FieldType::Id | FieldType::Secret { .. } => 128,
        FieldType::Enum(words) => words.iter().map(|word| word.len()).max().unwrap_or(0),
        _ => 8,
    }
}

/// Quotes `name` as an SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Selects the row with this identity.
pub(crate) fn of_identity(entity: &'static EntitySpec, key: &[Value]) -> Select {
    let filters = entity.identity().zip(key).map(|(name, value)| Filter::is(name, value.clone()));
    Select::new(entity, filters.collect())
}

fn of_key(entity: &'static EntitySpec, key: &[Value], values: &mut Vec<Sql>) -> Result<String, Failure> {
    let mut tests = vec![];
    for (name, value) in entity.identity().zip(key) {
        tests.push(format!("{} = ?", quoted(name)));
        values.push(to_sql(field(entity, name)?, value));
    }
    Ok(tests.join(" AND "))
}

struct Query {
    dialect: Dialect,
    sql: String,
    values: Vec<Sql>,
}

impl Query {
    fn new(dialect: Dialect, sql: String) -> Self {
        Self { dialect, sql, values: vec![] }
    }

    fn filter(&mut self, select: &Select) -> Result<(), Failure> {
        let mut tests = vec![];
        for filter in &select.all {
            tests.push(self.test(select.entity, filter)?);
        }
        for any in &select.any {
            let mut alternatives = vec![];
            for filter in any {
                alternatives.push(self.test(select.entity, filter)?);
            }
            tests.push(match alternatives.as_slice() {
                [] => "FALSE".into(),
                [one] => one.clone(),
                several => format!("({})", several.join(" OR ")),
            });
        }
        if let Some(after) = &select.after {
            tests.push(self.after(select, after)?);
        }
        if !tests.is_empty() {
            self.sql += " WHERE ";
            self.sql += &tests.join(" AND ");
        }
        Ok(())
    }

    fn test(&mut self, entity: &EntitySpec, filter: &Filter) -> Result<String, Failure> {
        let (field, test, value) = (field(entity, filter.field)?, filter.test, &filter.value);
        let name = quoted(field.name);
        if test == Test::Is && value.is_null() {
            return Ok(format!("{name} IS NULL"));
        }
        let value = match (test, value) {
            // A single text of a list is not a list.
            (Test::HasItem, Value::String(text)) => Sql::Text(text.clone()),
            _ => to_sql(field, value),
        };
        self.values.push(value.clone());
        if matches!((test, &value), (Test::Is | Test::IsFolded, Sql::Text(_)))
            && self.dialect.compares_digests(field.kind)
            && entity.uniques.iter().any(|unique| unique.fields.contains(&field.name))
        {
            // The index of the unique fields contains digests.
            self.values.push(value);
            let compared = |of: &str| self.dialect.compared(of, field.kind, test == Test::IsFolded);
            let equal = self.equal(&name, test);
            return Ok(format!("({} = {} AND {equal})", compared(&name), compared("?")));
        }
        let is_postgres = self.dialect.is_postgres();
        Ok(match test {
            Test::Is | Test::IsFolded => self.equal(&name, test),
            Test::IsNot => format!("{name} {} ?", self.differs()),
            Test::Less => format!("{name} < ?"),
            Test::More => format!("{name} > ?"),
            Test::HasItem if is_postgres => {
                format!(
                    "EXISTS (SELECT 1 FROM json_array_elements_text({name}::json) AS item WHERE item = ?)"
                )
            }
            Test::HasItem => format!("EXISTS (SELECT 1 FROM json_each({name}) WHERE value = ?)"),
            Test::Contains if is_postgres => format!("strpos(lower({name}), lower(? COLLATE \"C\")) > 0"),
            Test::Contains => format!("instr(lower({name}), lower(?)) > 0"),
        })
    }

    fn equal(&self, name: &str, test: Test) -> String {
        match test {
            Test::IsFolded if self.dialect.is_postgres() => {
                format!("{} = {}", self.dialect.folded(name), self.dialect.folded("?"))
            }
            Test::IsFolded => format!("{name} = {}", self.dialect.folded("?")),
            _ => format!("{name} = ?"),
        }
    }

    /// Returns the inequality operator that treats `null` as a value.
    fn differs(&self) -> &'static str {
        if self.dialect.is_postgres() { "IS DISTINCT FROM" } else { "IS NOT" }
    }

    fn equals(&self) -> &'static str {
        if self.dialect.is_postgres() { "IS NOT DISTINCT FROM" } else { "IS" }
    }

    /// Tests that a row comes after `after`.
    fn after(&mut self, select: &Select, after: &Row) -> Result<String, Failure> {
        let order = select.whole_order();
        let mut places = vec![];
        for (name, order) in &order {
            let value = after.get(*name).cloned().unwrap_or_default();
            places.push((field(select.entity, name)?, *order, value));
        }
        let is_plain = |(field, order, value): &(&FieldSpec, Order, Value)| {
            *order == Order::Up && !field.optional && !value.is_null()
        };
        if places.iter().all(is_plain) {
            // An index serves a comparison of row values.
            let names: Vec<_> = places.iter().map(|(field, ..)| quoted(field.name)).collect();
            self.values.extend(places.iter().map(|(field, _, value)| to_sql(field, value)));
            return Ok(format!("({}) > ({})", names.join(", "), vec!["?"; names.len()].join(", ")));
        }
        let mut alternatives = vec![];
        for at in 0..places.len() {
            let mut tests = vec![];
            for (field, _, value) in &places[..at] {
                self.values.push(to_sql(field, value));
                tests.push(format!("{} {} ?", quoted(field.name), self.equals()));
            }
            let (field, order, value) = &places[at];
            let name = quoted(field.name);
            tests.push(match (order, value.is_null()) {
                (Order::Up, true) => format!("{name} IS NOT NULL"),
                (Order::Down, true) => "FALSE".into(),
                (order, false) => {
                    self.values.push(to_sql(field, value));
                    match order {
                        Order::Up => format!("{name} > ?"),
                        Order::Down => format!("({name} < ? OR {name} IS NULL)"),
                    }
                }
            });
            alternatives.push(tests.join(" AND "));
        }
        Ok(format!("({})", alternatives.join(" OR ")))
    }
}

pub(crate) fn field(entity: &EntitySpec, name: &str) -> Result<&'static FieldSpec, Failure> {
    let field = entity.field(name);
    field.ok_or_else(|| damaged(format!("there is no field `{name}` of `{}`", entity.name)))
}

/// Returns the stored forms of a row's values, in the order of the entity's fields.
pub(crate) fn values(entity: &EntitySpec, row: &Row) -> Vec<Sql> {
    let value = |field: &FieldSpec| to_sql(field, row.get(field.name).unwrap_or(&Value::Null));
    entity.fields.iter().map(value).collect()
}

/// Converts a field's value to its stored form.
fn to_sql(field: &FieldSpec, value: &Value) -> Sql {
    match (field.kind, value) {
        (_, Value::Null) => Sql::Null,
        (FieldType::Json | FieldType::List { .. }, value) => Sql::Text(value.to_string()),
        (FieldType::Number, Value::Number(number)) => number.as_f64().map_or(Sql::Null, Sql::Real),
        (_, Value::Bool(value)) => Sql::Integer((*value).into()),
        (_, Value::Number(number)) => match number.as_i64() {
            Some(number) => Sql::Integer(number),
            None => number.as_f64().map_or(Sql::Null, Sql::Real),
        },
        (_, Value::String(text)) => Sql::Text(text.clone()),
        (_, value) => Sql::Text(value.to_string()),
    }
}

/// Returns the row whose fields have these values; `value` reads a field's from the column with this number, and returns `None` if that
/// is not of the field's type.
pub(crate) fn row_of(
    entity: &EntitySpec,
    value: impl Fn(&FieldSpec, usize) -> Option<Value>,
) -> Result<Row, Failure> {
    let mut row = Row::new();
    for (at, field) in entity.fields.iter().enumerate() {
        let value = value(field, at).ok_or_else(|| {
            damaged(format!("`{}` of `{}` has no value of its type", field.name, entity.table))
        })?;
        row.insert(field.name.into(), value);
    }
    Ok(row)
}
