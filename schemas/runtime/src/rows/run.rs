//! Dispatch of operations that follow from an entity.

use serde_json::Value;

use super::{Rows, Table, table};
use crate::{
    answer::{Answer, Rejection},
    context::CallContext,
    dispatch,
    failure::ContractError,
    spec::{RowsSpec, ToolSpec},
    store::Store,
};

/// Runs an operation that has no method, by the rules of its entity.
///
/// # Errors
/// See [`Rejection`]. After any of them, nothing has changed.
pub async fn run<Error: ContractError>(
    spec: &'static RowsSpec,
    operation: &'static ToolSpec,
    store: &dyn Store<Rows>,
    call: &CallContext,
    arguments: Value,
) -> Result<Answer, Rejection> {
    let Some(rows) = &operation.rows else {
        return Err(Rejection::UnknownTool);
    };
    let table = Table::new(spec, rows);
    if operation.mutating {
        dispatch::mutate(operation, &table, store, call, arguments, table::mutate::<Error>).await
    } else {
        dispatch::read(operation, &table, store, call, arguments, table::read::<Error>).await
    }
}
