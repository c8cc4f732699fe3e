//! Reading rows from a connection: SQL of the entities' names alone, values as parameters.

use rusqlite::{Connection, params_from_iter, types::Value as Sql};
use serde_json::Value;
use tabellion_runtime::{
    Failure, Row,
    rows::{Filter, Order, Select, Test},
    spec::{EntitySpec, FieldSpec},
};

use crate::{
    codec::{read_row, to_sql},
    failures::{Doing, damaged},
    layout::quoted,
};

/// Reads the row with this identity.
pub(crate) fn get(
    connection: &Connection,
    entity: &'static EntitySpec,
    key: &[Value],
) -> Result<Option<Row>, Failure> {
    let filters = entity
        .identity()
        .zip(key)
        .map(|(name, value)| Filter::is(name, value.clone()));
    let select = Select::new(entity, filters.collect());
    Ok(select_rows(connection, &select)?.pop())
}

/// Returns true if a row with this identity was removed.
pub(crate) fn was_removed(
    connection: &Connection,
    entity: &EntitySpec,
    key: &[Value],
) -> Result<bool, Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM removed WHERE entity = ? AND key = ?)";
    let mut statement = connection.prepare_cached(sql).doing("read rows")?;
    let found = statement.query_row([entity.name, &Value::from(key).to_string()], |row| row.get(0));
    found.doing("read rows")
}

/// Reads the selected rows.
pub(crate) fn select_rows(connection: &Connection, select: &Select) -> Result<Vec<Row>, Failure> {
    let mut query = Query::default();
    let columns: Vec<_> = select
        .entity
        .fields
        .iter()
        .map(|field| quoted(field.name))
        .collect();
    query.sql = format!(
        "SELECT {} FROM {}",
        columns.join(", "),
        quoted(select.entity.table)
    );
    query.filter(select)?;
    if !select.order.is_empty() || select.limit.is_some() || select.after.is_some() {
        let order = select.whole_order().into_iter().map(|(name, order)| match order {
            Order::Up => quoted(name),
            Order::Down => quoted(name) + " DESC",
        });
        query.sql += " ORDER BY ";
        query.sql += &order.collect::<Vec<_>>().join(", ");
    }
    if let Some(limit) = select.limit {
        query.sql += " LIMIT ?";
        query
            .values
            .push(Sql::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
    }
    let mut statement = connection.prepare_cached(&query.sql).doing("read rows")?;
    let mut rows = statement
        .query(params_from_iter(query.values))
        .doing("read rows")?;
    let mut found = vec![];
    while let Some(row) = rows.next().doing("read rows")? {
        found.push(read_row(select.entity, row)?);
    }
    Ok(found)
}

/// Counts the rows that pass the filters.
pub(crate) fn count(connection: &Connection, select: &Select) -> Result<u64, Failure> {
    let mut query = Query {
        sql: format!("SELECT count(*) FROM {}", quoted(select.entity.table)),
        values: vec![],
    };
    query.filter(&Select {
        after: None,
        ..select.clone()
    })?;
    let mut statement = connection.prepare_cached(&query.sql).doing("count rows")?;
    let count: i64 = statement
        .query_row(params_from_iter(query.values), |row| row.get(0))
        .doing("count rows")?;
    Ok(count.unsigned_abs())
}

#[derive(Default)]
struct Query {
    sql: String,
    values: Vec<Sql>,
}

impl Query {
    fn filter(&mut self, select: &Select) -> Result<(), Failure> {
        let mut tests = vec![];
        for filter in &select.all {
            tests.push(self.test(field(select.entity, filter.field)?, filter.test, &filter.value));
        }
        for any in &select.any {
            let mut alternatives = vec![];
            for filter in any {
                alternatives.push(self.test(field(select.entity, filter.field)?, filter.test, &filter.value));
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

    fn test(&mut self, field: &FieldSpec, test: Test, value: &Value) -> String {
        let name = quoted(field.name);
        if test == Test::Is && value.is_null() {
            return format!("{name} IS NULL");
        }
        self.values.push(match (test, value) {
            // One text of a list is no list.
            (Test::HasItem, Value::String(text)) => Sql::Text(text.clone()),
            _ => to_sql(field, value),
        });
        match test {
            Test::Is => format!("{name} = ?"),
            Test::IsNot => format!("{name} IS NOT ?"),
            Test::IsFolded => format!("{name} = ? COLLATE NOCASE"),
            Test::Less => format!("{name} < ?"),
            Test::More => format!("{name} > ?"),
            Test::HasItem => format!("EXISTS (SELECT 1 FROM json_each({name}) WHERE value = ?)"),
            Test::Contains => format!("instr(lower({name}), lower(?)) > 0"),
        }
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
            self.values
                .extend(places.iter().map(|(field, _, value)| to_sql(field, value)));
            return Ok(format!(
                "({}) > ({})",
                names.join(", "),
                vec!["?"; names.len()].join(", ")
            ));
        }
        let mut alternatives = vec![];
        for at in 0..places.len() {
            let mut tests = vec![];
            for (field, _, value) in &places[..at] {
                self.values.push(to_sql(field, value));
                tests.push(format!("{} IS ?", quoted(field.name)));
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

/// Returns the field of that name.
pub(crate) fn field(entity: &EntitySpec, name: &str) -> Result<&'static FieldSpec, Failure> {
    let field = entity.field(name);
    field.ok_or_else(|| damaged(format!("there is no field `{name}` of `{}`", entity.name)))
}
