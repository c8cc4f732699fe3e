//! Conversion of rows from SQLite's types.

use rusqlite::types::{Type, ValueRef};
use serde_json::{Number, Value};
use tabellion_runtime::{
    Failure, Row,
    spec::{EntitySpec, FieldSpec, FieldType},
};

use crate::sql::row_of;

/// Reads a row whose columns are the entity's fields in their order.
///
/// # Errors
/// If a column's value is not of its field's type.
pub(crate) fn read_row(entity: &EntitySpec, row: &rusqlite::Row<'_>) -> Result<Row, Failure> {
    row_of(entity, |field, at| from_sql(field, row.get_ref(at).ok()?))
}

fn from_sql(field: &FieldSpec, value: ValueRef<'_>) -> Option<Value> {
    if value.data_type() == Type::Null {
        return Some(Value::Null);
    }
    match field.kind {
        FieldType::Json | FieldType::List { .. } => serde_json::from_slice(value.as_bytes().ok()?).ok(),
        FieldType::Boolean => Some((value.as_i64().ok()? != 0).into()),
        FieldType::Number => Some(Value::Number(Number::from_f64(value.as_f64().ok()?)?)),
        FieldType::Integer { .. } | FieldType::Time | FieldType::Now(_) => Some(value.as_i64().ok()?.into()),
        FieldType::Next(_) | FieldType::Seq => Some(value.as_i64().ok()?.into()),
        _ => Some(value.as_str().ok()?.into()),
    }
}
