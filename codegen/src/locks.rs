//! The changes of a contract's rows that have the lock of their org alone where several servers share the rows: information for the
//! contract's author, not a problem.

use std::fmt::Write as _;

use tabellion_runtime::{
    rows::{LoneChange, lone_changes},
    spec::{Action, RowsSpec},
};

use crate::{Contract, table};

/// Describes which changes of a contract's rows wait for all others of their org, with the reasons; `None` if the contract has no rows.
///
/// A line per entity: its creations, then its updates by field. The store decides with the same function.
#[must_use]
pub fn locks(contract: &Contract) -> Option<String> {
    let rows: &'static RowsSpec = table::build(contract).rows?;
    let mut text = String::from(
        "changes that wait for all others of their org, if several servers share the rows:\n  each entity: deletions, and calls that \
         are not one create or update\n",
    );
    for entity in rows.entities {
        let lone = lone_changes(rows, entity);
        let lone: Vec<_> = lone.iter().filter_map(describe).collect();
        if !lone.is_empty() {
            // Writing to a `String` can't fail.
            let _ = writeln!(text, "  {}: {}", entity.name, lone.join("; "));
        }
    }
    Some(text)
}

/// Returns a phrase for a change; `None` for deletions, which are so in each entity.
fn describe(lone: &LoneChange) -> Option<String> {
    let LoneChange { action, field, reason } = lone;
    let change = match (action, field) {
        (Action::Create, Some(field)) => format!("create with `{field}` set"),
        (Action::Create, None) => "create".into(),
        (Action::Update, Some(field)) => format!("update of `{field}`"),
        (Action::Update, None) => "update".into(),
        _ => return None,
    };
    Some(format!("{change} ({reason})"))
}
