//! `tags`: words by which clients can group tools.

use quote::quote;
use tabellion_runtime::spec;

use super::{EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::Tool,
    leak::{leaked, list},
};

pub(super) struct Tags;

impl Key for Tags {
    fn compare_any_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        if old.tool.spec.tags != new.tool.spec.tags {
            changes.compatible("its tags changed");
        }
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        let tags = &tool.spec.tags;
        if tags.is_empty() {
            return EmittedTool::default();
        }
        EmittedTool::fields(quote!(tags: &[#(#tags),*],))
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.tags = list(tool.spec.tags.iter().map(|tag| leaked(tag)));
    }
}
