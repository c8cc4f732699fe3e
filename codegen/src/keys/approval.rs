//! `approval`: that a person must approve of what a call is about to change.

use quote::quote;
use tabellion_runtime::spec::{EffectKind, Shows};

use super::{EmittedTool, Key, ToolOf};
use crate::{
    compat::Changes,
    contract::{Contract, Tool},
    problem::Problem,
    rust::text,
};

pub(super) struct Approvals;

impl Key for Approvals {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in &contract.tools {
            self::tool(tool, problems);
        }
    }

    /// Whether a person is asked is a promise to the person too: neither may a client be kept waiting all at once, nor a
    /// person no longer be asked.
    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        match (old.tool.spec.approval, new.tool.spec.approval) {
            (old, new) if old == new => {}
            (None, _) => changes.breaking("a person must approve of its calls"),
            (_, None) => changes.breaking("nobody approves of its calls any more"),
            (Some(_), Some(_)) => changes.compatible("a person who approves is shown something else"),
        }
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        let approval = tool.spec.approval.iter().map(|approval| {
            let shows = text::variant(approval.shows);
            quote!(approval: Some(spec::Approval { shows: spec::Shows::#shows }),)
        });
        EmittedTool::fields(approval.collect())
    }
}

fn tool(tool: &Tool, problems: &mut Vec<Problem>) {
    let Some(approval) = tool.spec.approval else {
        return;
    };
    if !tool.spec.mutating {
        problems.push(tool.document.problem(
            "/approval",
            "a tool that changes nothing needs nobody's approval",
            "take the key away, or set `mutating`",
        ));
    }
    let appends = |kind: EffectKind| matches!(kind, EffectKind::Append | EffectKind::AppendLine);
    for (i, effect) in tool.spec.effects.iter().enumerate() {
        if approval.shows == Shows::Appended && !appends(effect.kind) {
            problems.push(tool.document.problem(
                format!("/effects/{i}/effect"),
                format!(
                    "what is appended would be shown, but the tool has effect `{}`",
                    effect.kind
                ),
                "say that approval shows the `diff`, or correct the effect",
            ));
        }
    }
}
