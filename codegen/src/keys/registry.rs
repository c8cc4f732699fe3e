//! `tools`: the tools in wire order, each in a file of its own.

use quote::quote;
use tabellion_runtime::spec;

use super::{
    Emitted, KEYS, Key, ToolOf, about::About, annotations::Annotated, modes::OperationModes, operations,
    provenance::CallProvenance, tags::Tags,
};
use crate::{
    compat::Changes,
    contract::{Contract, Side, Tool},
    table::{list, schema},
};

pub(super) struct Tools;

impl Key for Tools {
    /// Lists what has changed tool by tool, and asks every other key about each.
    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        if !same_order(&old.spec.tools, &new.spec.tools) {
            changes.compatible("the order of the tools changed");
        }
        for before in &old.tools {
            let mut changes = changes.of_tool(&before.spec.name);
            let Some(after) = new.tool(&before.spec.name) else {
                changes.breaking("the tool was removed");
                continue;
            };
            let before = ToolOf {
                contract: old,
                tool: before,
            };
            let after = ToolOf {
                contract: new,
                tool: after,
            };
            match [before, after].map(|it| it.tool.spec.select.is_empty()) {
                [true, true] => {
                    for key in KEYS {
                        key.compare_tool(&mut changes, before, after);
                    }
                }
                [false, false] => {
                    About.compare_tool(&mut changes, before, after);
                    Annotated.compare_tool(&mut changes, before, after);
                    Tags.compare_tool(&mut changes, before, after);
                    OperationModes.compare_tool(&mut changes, before, after);
                    CallProvenance.compare_tool(&mut changes, before, after);
                    operations::compare(&mut changes, before, after);
                }
                [true, false] => changes.breaking("it has become a tool with operations"),
                [false, true] => changes.breaking("it is no longer a tool with operations"),
            }
        }
        for after in &new.tools {
            if old.tool(&after.spec.name).is_none() {
                changes.of_tool(&after.spec.name).compatible("the tool was added");
            }
        }
    }

    fn emit(&self, _: &Contract) -> Emitted {
        Emitted {
            fields: quote!(tools: &TOOLS,),
            ..Emitted::default()
        }
    }

    /// Asks every other key about each tool.
    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.tools = list(contract.tools.iter().map(entry));
    }
}

/// Returns the entry of a tool, or of an operation, as every key fills it.
pub(super) fn entry(tool: &Tool) -> spec::ToolSpec {
    let [input, output] = Side::ALL.map(|side| schema(&tool.authored(side)));
    let mut entry = spec::ToolSpec::new(input, output);
    for key in KEYS {
        key.fill_tool(tool, &mut entry);
    }
    entry
}

/// Returns whether the names that both lists have stand in the same order.
fn same_order(before: &[String], after: &[String]) -> bool {
    let kept = before.iter().filter(|name| after.contains(name));
    kept.eq(after.iter().filter(|name| before.contains(name)))
}
