//! `rows` and the files of entities: what a contract whose store keeps rows has, and the operations that need no Rust.
//!
//! An entity becomes a constant of the runtime, which has the engine. The operations that follow from it are parts of a tool like
//! those that have files of their own, but have no method.

mod compare;
mod expand;
mod lint;
mod lint_operations;
mod read;
mod schema;
mod table;

use indexmap::IndexMap;
use quote::quote;
use serde_json::Value;
use tabellion_runtime::spec;

pub use self::read::{EntityFile, Rows};
pub(crate) use self::{expand::operations, lint::contract as lint, table::table};
use super::{Emitted, EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    document::Document,
    rust::literal,
};

/// An entity and its file.
#[derive(Debug, Clone)]
pub struct Entity {
    /// The file as read.
    pub document: Document,
    /// Its content.
    pub file: EntityFile,
}

/// An operation that follows from an entity.
#[derive(Debug, Clone)]
pub struct RowsOperation {
    /// How the engine runs it.
    pub run: spec::RowOperation,
}

pub(super) struct Entities;

impl Key for Entities {
    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        compare::contracts(changes, old, new);
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        match (&old.tool.rows, &new.tool.rows) {
            (Some(old), Some(new)) => compare::operations(changes, old.run, new.run),
            (None, None) => {}
            _ => changes.compatible("it is implemented in another way"),
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let Some(table) = table(contract) else {
            return Emitted::default();
        };
        let table = literal::of(&table);
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
        let run = literal::of(&rows.run);
        EmittedTool::fields(quote!(rows: Some(#run),))
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.rows = self::table(contract).map(|rows| &*Box::leak(Box::new(rows)));
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.rows = tool.rows.as_ref().map(|rows| rows.run);
    }
}

/// Returns the JSON text of a value, as constants have it.
fn json(value: &Value) -> &'static str {
    crate::leak::leaked(&value.to_string())
}

/// Returns pairs of texts, as constants have them.
fn pairs(members: &IndexMap<String, String>) -> Vec<(&'static str, &'static str)> {
    let leaked = crate::leak::leaked;
    members
        .iter()
        .map(|(field, member)| (leaked(member), leaked(field)))
        .collect()
}
