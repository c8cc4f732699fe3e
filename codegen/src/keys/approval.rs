//! `approval`: a person must approve a call's change.

use tabellion_runtime::spec::{self, EffectKind, Shows};

use super::{Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    problem::Problem,
};

pub(super) struct Approvals;

impl Key for Approvals {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in contract.operations() {
            self::tool(tool, problems);
        }
    }

    /// Compares approvals. Both directions break: a client that suddenly waits, and a person who is no longer asked.
    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        match (old.tool.spec.approval, new.tool.spec.approval) {
            (old, new) if old == new => {}
            (None, _) => changes.breaking("its calls need approval"),
            (_, None) => changes.breaking("its calls no longer need approval"),
            (Some(_), Some(_)) => changes.compatible("approvers are shown something different"),
        }
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.approval = tool.spec.approval;
    }
}

fn tool(tool: &Tool, problems: &mut Vec<Problem>) {
    let Some(approval) = tool.spec.approval else {
        return;
    };
    if !tool.spec.mutating {
        problems.push(tool.document.problem(
            "/approval",
            "a tool that changes nothing needs no approval",
            "remove the key, or set `mutating`",
        ));
    }
    let appends = |kind: EffectKind| matches!(kind, EffectKind::Append | EffectKind::AppendLine);
    for (i, effect) in tool.spec.effects.iter().enumerate() {
        if approval.shows == Shows::Appended && !appends(effect.kind) {
            problems.push(tool.document.problem(
                format!("/effects/{i}/effect"),
                format!("approval shows the appended text, but the tool has effect `{}`", effect.kind),
                "let approval show the `diff`, or correct the effect",
            ));
        }
    }
}
