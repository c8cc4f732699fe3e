//! Calls that a person must approve, and the decision if the client can't ask a person.

use std::{collections::BTreeSet, time::Duration};

use tabellion_runtime::{Approver, BoxFuture, Decision, Proposal, ToolSpec};

/// Default time limit of an approval.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The operator's policy on approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// Treatment of calls that need approval.
    pub mode: ApprovalMode,
    /// Names of tools, and labels of operations, that need approval although their contract does not require it.
    pub tools: BTreeSet<String>,
    /// Time limit for the person. Afterwards the approval is void.
    pub timeout: Duration,
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        Self { mode: ApprovalMode::Prompt, tools: BTreeSet::new(), timeout: APPROVAL_TIMEOUT }
    }
}

/// Treatment of calls that need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalMode {
    /// The client asks its person. If the client can't, the call is refused.
    Prompt,
    /// The client asks its person. If the client can't, the call is granted.
    Auto,
    /// The call is refused without asking.
    Deny,
}

impl ApprovalPolicy {
    /// Returns true if calls of this tool need approval.
    pub fn covers(&self, tool: &ToolSpec) -> bool {
        let is_named = |name| self.tools.contains(name);
        tool.approval.is_some() || is_named(tool.name) || is_named(tool.label())
    }

    /// Returns the decision on a call of `tool`, unless a person is to be asked. `can_ask`: the client can ask.
    pub fn decision_without_asking(&self, tool: &ToolSpec, can_ask: bool) -> Option<Decision> {
        match (self.mode, can_ask) {
            (ApprovalMode::Deny, _) => Some(Decision::Declined(
                "calls that need a person's approval are refused: the server was started with `--approval deny`".into(),
            )),
            (ApprovalMode::Auto, false) => Some(Decision::Granted),
            (ApprovalMode::Prompt, false) => Some(Decision::Declined(format!(
                "`{}` needs a person's approval, and this client can't ask for it (no `elicitation`). Use a client \
                 that can, or let the operator start the server with `--approval auto`",
                tool.label()
            ))),
            (ApprovalMode::Prompt | ApprovalMode::Auto, true) => None,
        }
    }
}

/// Decides on the calls of clients that can't ask a person.
#[derive(Debug)]
pub struct Unattended {
    policy: ApprovalPolicy,
    tool: &'static ToolSpec,
}

impl Unattended {
    /// Decides on a call of `tool` by `policy`.
    pub fn new(policy: &ApprovalPolicy, tool: &'static ToolSpec) -> Self {
        Self { policy: policy.clone(), tool }
    }
}

impl Approver for Unattended {
    fn insists_on(&self, tool: &ToolSpec) -> bool {
        self.policy.covers(tool)
    }

    fn decide<'a>(&'a self, _: &'a Proposal) -> BoxFuture<'a, Decision> {
        let decision = self.policy.decision_without_asking(self.tool, false);
        Box::pin(std::future::ready(decision.unwrap_or(Decision::Ask)))
    }
}
