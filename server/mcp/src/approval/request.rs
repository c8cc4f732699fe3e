//! A call that may need approval, and the decisions on it.

use std::sync::Arc;

use rmcp::model::{ElicitResult, ElicitationAction};
use tabellion_gateway::ApprovalPolicy;
use tabellion_runtime::{Decision, Proposal, Shows, ToolSpec};

use super::question;

/// Key of the question and of its answer in a repeated call.
pub(super) const QUESTION: &str = "approval";

/// A call that may need approval, and the client's ability to ask.
#[derive(Debug)]
pub(super) struct ApprovalRequest {
    pub(super) policy: Arc<ApprovalPolicy>,
    pub(super) tool: &'static ToolSpec,
    /// True if the client can show a form.
    pub(super) can_show_forms: bool,
}

impl ApprovalRequest {
    /// Returns the decision if no person needs to be asked.
    pub(super) fn decision_without_asking(&self, proposal: &Proposal) -> Option<Decision> {
        let decision = self.policy.decision_without_asking(self.tool, self.can_show_forms);
        decision.or_else(|| question::too_long(proposal).map(Decision::Declined))
    }
}

/// Returns the form in which the person sees the change.
pub(super) fn shows(tool: &ToolSpec) -> Shows {
    tool.approval.map_or(Shows::Diff, |approval| approval.shows)
}

/// Converts the person's answer.
pub(super) fn decision(answer: &ElicitResult) -> Decision {
    match answer.action {
        ElicitationAction::Accept => Decision::Granted,
        ElicitationAction::Cancel => {
            Decision::Declined("the person dismissed the question; repeat the call to ask again".into())
        }
        _ => Decision::Declined("the user declined; drop the change or revise it".into()),
    }
}
