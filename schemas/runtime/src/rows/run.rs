//! Dispatch of operations that follow from an entity.

use serde_json::{Map, Value};

use super::{Rows, Table, table};
use crate::{
    answer::{Answer, Rejection},
    context::CallContext,
    dispatch,
    failure::ContractError,
    spec::{RowsSpec, ToolSpec},
    store::Store,
};

/// Name of the fact that is the key of the caller's row, as the caller's own key says it.
pub const USER: &str = "user";
/// Name of the fact by which the call itself names the caller's row.
pub const OPERATOR: &str = "operator";

/// Returns the facts of a call: who the caller is, as its key and as the call say it.
pub fn facts_of(call: &CallContext) -> Map<String, Value> {
    let said = [(USER, &call.user), (OPERATOR, &call.operator)];
    let said = said
        .into_iter()
        .filter_map(|(name, said)| Some((name, said.as_deref()?)));
    said.map(|(name, said)| (name.to_owned(), said.into())).collect()
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
    let table = Table {
        facts: facts_of(call),
        ..Table::new(spec, rows)
    };
    if operation.mutating {
        dispatch::mutate(operation, &table, store, call, arguments, table::mutate::<Error>).await
    } else {
        dispatch::read(operation, &table, store, call, arguments, table::read::<Error>).await
    }
}
