//! Dispatch of operations that follow from an entity.

use serde_json::{Map, Value};

use super::{Rows, Table, table};
use crate::{
    answer::{Answer, Rejection},
    context::CallContext,
    dispatch,
    failure::ContractError,
    provenance::Provenance,
    spec::{RowsSpec, ToolSpec},
    store::Store,
};

/// Name of the fact that is the key of the caller's row, as the caller's own key says it.
pub const USER: &str = "user";
/// Name of the fact that is the call's provenance, by field.
pub const PROVENANCE: &str = "provenance";

/// Returns the facts of a call: the caller's user, as its key says it, and its provenance.
pub fn facts_of(call: &CallContext) -> Map<String, Value> {
    let user = call.user.as_deref().map(Value::from);
    let provenance = call.provenance.as_deref().map(Provenance::to_value);
    let facts = [(USER, user), (PROVENANCE, provenance)];
    facts
        .into_iter()
        .filter_map(|(name, fact)| Some((name.to_owned(), fact?)))
        .collect()
}

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
