//! `commit`: the location of the commit id in a response.

use tabellion_runtime::spec;

use super::{Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Side, Tool},
    lint::pointers::always_leads_to,
    problem::Problem,
};

pub(super) struct Commit;

impl Key for Commit {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        // A change of rows is not a commit.
        for tool in contract.operations().filter(|_| contract.spec.rows.is_none()) {
            is_given(tool, problems);
            if let (Some(commit), true) = (tool.spec.commit, tool.spec.mutating) {
                let output = tool.schema(Side::Output);
                always_leads_to(output, commit, "string", &tool.document, "/commit", problems);
            }
        }
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        if old.tool.spec.commit != new.tool.spec.commit {
            changes.compatible("the commit's location in the response changed");
        }
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.commit = tool.spec.commit;
    }
}

/// Checks that a mutating tool has the key, even if `null`: the response may have no place for the commit.
fn is_given(tool: &Tool, problems: &mut Vec<Problem>) {
    let is_given = tool.document.value.get("commit").is_some();
    if tool.spec.mutating && !is_given {
        problems.push(tool.document.problem(
            "/mutating",
            "a mutating tool must declare where its response has the commit id",
            "add `\"commit\"`: a JSON pointer, or null if the response has no field for it",
        ));
    } else if !tool.spec.mutating && is_given {
        problems.push(tool.document.problem(
            "/commit",
            "a tool that changes nothing makes no commit",
            "remove the key, or set `mutating`",
        ));
    }
}
