//! `tags`: words by which clients can group tools.

use tabellion_runtime::spec;

use super::{Key, ToolOf};
use crate::{changes::Changes, contract::Tool, leak::texts};

pub(super) struct Tags;

impl Key for Tags {
    fn compare_any_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        if old.tool.spec.tags != new.tool.spec.tags {
            changes.compatible("its tags changed");
        }
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.tags = texts(&tool.spec.tags);
    }
}
