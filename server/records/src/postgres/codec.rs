//! Conversion of rows and parameters to and from PostgreSQL's types.

use std::error::Error;

use bytes::BytesMut;

use rusqlite::types::Value as Sql;
use serde_json::{Number, Value};
use tabellion_runtime::{
    Failure, Row,
    spec::{EntitySpec, FieldSpec, FieldType},
};
use tokio_postgres::{
    Row as Columns,
    types::{IsNull, ToSql, Type, to_sql_checked},
};

use crate::sql::row_of;

/// A parameter's value, sent as the type that the statement declares for it.
#[derive(Debug)]
pub(crate) struct Parameter<'v>(pub(crate) &'v Sql);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, kind) {
            (Sql::Null, _) => Ok(IsNull::Yes),
            (Sql::Integer(value), &Type::BOOL) => (*value != 0).to_sql(kind, out),
            #[expect(
                clippy::cast_precision_loss,
                reason = "a whole number that a field of numbers was given"
            )]
            (Sql::Integer(value), &Type::FLOAT8) => (*value as f64).to_sql(kind, out),
            (Sql::Integer(value), &Type::INT8) => value.to_sql(kind, out),
            (Sql::Real(value), &Type::FLOAT8) => value.to_sql(kind, out),
            (Sql::Text(value), &Type::TEXT) => value.to_sql(kind, out),
            (Sql::Blob(value), &Type::BYTEA) => value.to_sql(kind, out),
            (value, kind) => {
                Err(format!("a parameter of type {kind} can't be {:?}", value.data_type()).into())
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Reads a row whose columns are the entity's fields in their order.
///
/// # Errors
/// If a column's value is not of its field's type.
pub(crate) fn read_row(entity: &EntitySpec, columns: &Columns) -> Result<Row, Failure> {
    row_of(entity, |field, at| value(field, columns, at))
}

fn value(field: &FieldSpec, columns: &Columns, at: usize) -> Option<Value> {
    let value = match field.kind {
        FieldType::Boolean => columns.try_get::<_, Option<bool>>(at).ok()?.map(Value::from),
        FieldType::Number => match columns.try_get::<_, Option<f64>>(at).ok()? {
            Some(number) => Some(Value::Number(Number::from_f64(number)?)),
            None => None,
        },
        FieldType::Integer { .. }
        | FieldType::Time
        | FieldType::Now(_)
        | FieldType::Next(_)
        | FieldType::Seq => columns.try_get::<_, Option<i64>>(at).ok()?.map(Value::from),
        kind => {
            let text = columns.try_get::<_, Option<&str>>(at).ok()?;
            match (kind, text) {
                (FieldType::Json | FieldType::List { .. }, Some(text)) => {
                    Some(serde_json::from_str(text).ok()?)
                }
                (_, text) => text.map(Value::from),
            }
        }
    };
    Some(value.unwrap_or_default())
}
