//! `rows` and the files of entities: the data of a contract whose store keeps rows, and the operations that need no Rust.
//!
//! An entity becomes a constant of the runtime, which has the engine. The operations that follow from it are parts of a tool like those
//! with files, but have no method.

mod compare;
mod expand;
mod lint;
mod lint_operations;
mod read;
mod schema;
mod table;

use quote::quote;
use tabellion_runtime::spec;

pub use self::read::{Entity, EntityFile, Rows};
pub(crate) use self::{expand::operations, table::table};
use super::{Emitted, EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    leak::constant,
    problem::Problem,
    rust::{literal, text},
};

pub(super) struct Entities;

impl Key for Entities {
    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        compare::contracts(changes, old, new);
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        match (&old.tool.rows, &new.tool.rows) {
            (Some(old), Some(new)) => compare::operations(changes, *old, *new),
            (None, None) => {}
            _ => changes.compatible("it is implemented in another way"),
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let Some(table) = table(contract) else {
            return Emitted::default();
        };
        let table = literal::expression(&table);
        Emitted {
            fields: quote!(rows: Some(&ROWS),),
            items: vec![quote! {
                /// The entities, from which the store makes its tables and the engine its operations.
                pub static ROWS: spec::RowsSpec = #table;
            }],
            ..Emitted::default()
        }
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        let Some(rows) = &tool.rows else {
            return EmittedTool::default();
        };
        let (entity, action) = (rows.entity, text::variant(rows.action));
        let usual = spec::RowOperation::new(entity, rows.action);
        let constructor = quote!(spec::RowOperation::new(#entity, spec::Action::#action));
        let run = literal::differing(rows, &usual, constructor);
        EmittedTool::fields(quote!(rows: Some(#run),))
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.rows = self::table(contract).map(constant);
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.rows = tool.rows;
    }
}

/// Checks all entities. The operations that follow from them are checked afterwards, like all others.
pub(crate) fn lint(contract: &Contract, problems: &mut Vec<Problem>) {
    if let Some(rows) = &contract.spec.rows {
        lint::contract(contract, rows, problems);
        lint_operations::contract(contract, problems);
    }
}
