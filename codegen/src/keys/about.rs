//! `contract`, `version`, `title`, `source` and `rust`, `name` and `description`: names and descriptions of contracts and tools.

use serde::Deserialize;
use tabellion_runtime::spec;

use super::{Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
};

/// The document that a contract was taken from.
#[derive(Debug, Clone, Deserialize)]
pub struct Source {
    pub document: &'static str,
    pub version: &'static str,
    pub file: Option<&'static str>,
}

/// A contract's names in Rust.
#[derive(Debug, Clone, Deserialize)]
pub struct RustNames {
    pub module: &'static str,
    #[serde(rename = "trait")]
    pub trait_name: &'static str,
}

pub(super) struct About;

impl Key for About {
    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let (before, after) = (old.document.value, new.document.value);
        for key in ["title", "description", "source", "rust"] {
            if before[key] != after[key] {
                changes.compatible(format!("`{key}` says something else"));
            }
        }
    }

    fn compare_any_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let is_own = |of: ToolOf<'_>| of.tool.document.value.get("description").is_some();
        if !is_own(old) && !is_own(new) {
            return;
        }
        if old.tool.spec.description != new.tool.spec.description {
            changes.compatible("the description changed");
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        let spec = &contract.spec;
        table.id = spec.contract;
        table.version = spec.version;
        table.title = spec.title;
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.name = tool.spec.name;
        entry.description = tool.spec.description;
    }
}
